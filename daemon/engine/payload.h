// SPDX-License-Identifier: MIT
#pragma once

/*
 * What verified payload holds (workload.verify), and whether it still does. It is made from the
 * queue pair and the number of a message, so that whoever knows both knows each byte:
 *
 *   sequence  words of 8 bytes that count on from one that the number gives
 *   crc32c    words drawn from that one; the sum of all of them is in the head
 *
 * A head of 24 bytes stands before it: number, queue pair, size, sum, and a sum over these. What
 * reads fetch has none, for whoever asks for it knows what is due. Zeroes are no payload: a place
 * is cleared once it was looked at. Numbers are little-endian. Pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/verification.h"

#define PAYLOAD_HEAD_BYTES VERIFICATION_HEAD_BYTES

/* What somebody sends, or should find. */
struct payload {
	int method; /* enum verify_method */
	uint64_t qp_index;
	uint64_t number;
	uint64_t size_bytes;
	bool is_whole; /* what is behind the head counts, too */
};

enum payload_state {
	PAYLOAD_GOOD, /* of its head nothing is known to be wrong */
	PAYLOAD_ABSENT, /* nothing came here */
	PAYLOAD_BROKEN,
};

/* Head, and payload if it is whole. At least PAYLOAD_HEAD_BYTES. */
void payload_write(const struct payload *payload, void *to);
/* Only its sender's word: what it says of itself. */
enum payload_state payload_read_head(const void *from, struct payload *ret);
/* Whether what stands there is this payload, head and all; where it is not, *ret says at which
 * offset first, and what should be there. */
bool payload_is(const struct payload *payload, const void *from, struct verification_fault *ret);
/* Only the place of the first difference; where it is shorter than a head, of its end. */
void payload_tell(const struct payload *payload, const void *from, struct verification_fault *ret);
void payload_clear(void *head);

/* Without a head. */
void payload_lay_out(const struct payload *payload, void *to);
uint32_t payload_sum(const struct payload *payload, const void *from);
/* sum: payload_sum of what was laid out. */
bool payload_is_laid_out(const struct payload *payload, uint32_t sum, const void *from,
			 struct verification_fault *ret);
/* Whether it begins as this one. */
bool payload_begins(const struct payload *payload, const void *from);
