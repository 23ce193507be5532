// SPDX-License-Identifier: MIT
#pragma once

/*
 * The prepared work requests of a stream: for each queue pair a ring of `length` requests in the
 * order of its deck, linked in batches of post_list, every signal_interval-th signalled, everything
 * filled in. Posting is handing out the next batch.
 *
 * A request's wr_id is the index of its slot over all queue pairs. A batch that holds signalled
 * requests has a time stamp; the ring is at least as long as what may be outstanding, so a stamp is
 * read before it is written again.
 *
 * Built on a setup thread, then read only, but for the stamps and the tail.
 */

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/flow.h"

struct chain_batch {
	struct ibv_send_wr *head;
	uint64_t *stamp; /* NULL: none of its requests is signalled */
};

struct chain_slot {
	const uint64_t *stamp; /* of its batch; of an open load what it was intended for */
	struct histogram *latency; /* of its class, in the running interval */
	uint32_t qp_index;
	uint32_t class_index;
};

struct chain {
	const struct flow *flow; /* borrowed */
	bool is_open;
	size_t qp_count;
	size_t length; /* of a ring; a multiple of post_list and signal_interval */
	size_t post_list;
	size_t signal_interval;
	size_t batch_count; /* of a ring */
	size_t slot_count; /* of all rings */
	size_t sge_count; /* entries that a slot has place for */
	struct ibv_send_wr *wrs;
	struct ibv_sge *sges;
	struct chain_slot *slots;
	struct chain_batch *batches;
	uint64_t *stamps;
	uint64_t *intended; /* open loads: when the request in a slot was meant to begin; else NULL
			     */
	uint64_t *bytes_before; /* length + 1 a ring: payload of the requests before a place in it
				 */
	struct ibv_send_wr *tail; /* post_list of them */
};

/* 0, or -errno with err. */
int chain_init(struct chain *chain, const struct flow *flow, struct error *err);
/* Half-built ones too. */
void chain_done(struct chain *chain);

/* Payload of a queue pair's first `position` requests. */
uint64_t chain_bytes(const struct chain *chain, size_t qp_index, uint64_t position);
/* Adds to counts[class] what is in the positions from..to of a queue pair. */
void chain_count(const struct chain *chain, size_t qp_index, uint64_t from, uint64_t to,
		 uint64_t *counts);
uint32_t chain_class(const struct chain *chain, size_t qp_index, uint64_t position);
/* The wr_id of the request at a position. */
size_t chain_slot(const struct chain *chain, size_t qp_index, uint64_t position);
/* Copies `count` (at most post_list) requests from a position on and has the last one signalled,
 * wr_id FLOW_WR_TAIL. */
struct ibv_send_wr *chain_tail(struct chain *chain, size_t qp_index, uint64_t position,
			       size_t count);
