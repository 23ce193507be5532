// SPDX-License-Identifier: MIT
#pragma once

/*
 * Where things lie in the one registered region of a job, the same on both ends: queue pair i owns
 * [i * stride, (i + 1) * stride). Its first half is the source of what it sends and the target of
 * the peer's reads, its second half takes what the peer writes and sends and what our reads and
 * atomics bring back; behind both, where the workload has atomics, lies what the peer's atomics
 * work on, so that they change no byte that somebody waits for.
 *
 * Where payload is verified (workload.verify) each half is a row of slots instead, so that nothing
 * is written over before it was looked at: one for each request that may be in flight, and, where
 * they arrive, for each receive, and behind those for twice as many writes as may be in flight.
 * What reads fetch is laid out beforehand in slots of the first half. Behind all of it a line takes
 * the count of writes that were looked at.
 *
 * UD puts a header of 40 bytes before what it received: the halves have room for it.
 *
 * Otherwise buffers are "hot": every operation of a queue pair uses the same place of its half, as
 * perftest does above 2 KiB; or, with memory.buffers, each half is a row of so many slots, which
 * requests, and receives, take in turn. Pure.
 */

#include "model/workload.h"

#define BUFFER_LAYOUT_LINE_BYTES 64 /* parts begin at multiples of it */
#define BUFFER_LAYOUT_GRH_BYTES 40

struct buffer_layout {
	uint64_t header_bytes; /* before the payload of what was received */
	uint64_t slot_bytes; /* header and largest size, rounded up to a line */
	uint64_t half_bytes; /* the first half: a slot, or a row of them */
	uint64_t spread_slots; /* memory.buffers: request n uses slot n modulo that; 1 where payload
				  is verified */
	uint64_t source_slots; /* 1, unless payload is verified: requests in flight */
	uint64_t fetched_slots; /* verified reads: how many different payloads are laid out */
	uint64_t receive_slots; /* 1, or one for each receive, from half_bytes on */
	uint64_t write_slots; /* 1, or of verified writes, from write_offset_bytes on */
	uint64_t write_offset_bytes; /* in a queue pair's part: where the peer writes */
	uint64_t atomic_offset_bytes; /* in a queue pair's part */
	uint64_t acknowledged_offset_bytes; /* in a queue pair's part; verified writes */
	uint64_t stride_bytes;
	uint64_t total_bytes; /* rounded up to 4096 */
};

/* Fields within the ranges of their tables: nothing overflows. */
void buffer_layout_of(const struct workload *workload, struct buffer_layout *ret);
