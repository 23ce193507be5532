// SPDX-License-Identifier: MIT
#include "engine/chain.h"

#include <errno.h>
#include <stdlib.h>

#include "model/load.h"
#include "model/workload_queue.h"
#include "util/memory.h"

/* Odd, so that queue pairs have decks of their own. */
#define SEED_STEP 0x9e3779b97f4a7c15ull

static bool allocate(struct chain *chain)
{
	size_t slots = chain->slot_count;
	size_t batches = slots / chain->post_list;

	chain->wrs = memory_try(slots, sizeof(*chain->wrs));
	chain->sges = memory_try(slots * chain->sge_count, sizeof(*chain->sges));
	chain->slots = memory_try(slots, sizeof(*chain->slots));
	chain->batches = memory_try(batches, sizeof(*chain->batches));
	chain->stamps = memory_try(batches, sizeof(*chain->stamps));
	chain->bytes_before = memory_try(slots + chain->qp_count, sizeof(*chain->bytes_before));
	chain->tail = memory_try(chain->post_list, sizeof(*chain->tail));
	chain->intended = chain->is_open ? memory_try(slots, sizeof(*chain->intended)) : NULL;
	return (chain->intended || !chain->is_open) && chain->wrs && chain->sges && chain->slots &&
	       chain->batches && chain->stamps && chain->bytes_before && chain->tail;
}

void chain_done(struct chain *chain)
{
	free(take(chain->wrs));
	free(take(chain->sges));
	free(take(chain->slots));
	free(take(chain->batches));
	free(take(chain->stamps));
	free(take(chain->intended));
	free(take(chain->bytes_before));
	free(take(chain->tail));
}

static void fill_request(struct chain *chain, size_t slot, size_t qp_index, uint32_t class_index)
{
	const struct flow *flow = chain->flow;
	bool is_last = (slot + 1) % chain->post_list == 0;
	bool is_signalled = (slot + 1) % chain->signal_interval == 0;

	flow_request(flow, qp_index, class_index, slot - qp_index * chain->length,
		     &chain->wrs[slot], &chain->sges[slot * chain->sge_count]);
	chain->wrs[slot].wr_id = slot;
	chain->wrs[slot].next = is_last ? NULL : &chain->wrs[slot + 1];
	chain->wrs[slot].send_flags |=
		is_signalled ? flow_signal_flags(flow, flow->classes[class_index].kind) : 0;
	chain->slots[slot] =
		(struct chain_slot){ .stamp = chain->is_open
						      ? &chain->intended[slot]
						      : &chain->stamps[slot / chain->post_list],
				     .latency = &chain->flow->window.interval[class_index],
				     .qp_index = (uint32_t)qp_index,
				     .class_index = class_index };
	if (is_signalled) {
		chain->batches[slot / chain->post_list].stamp =
			&chain->stamps[slot / chain->post_list];
	}
}

static void fill_ring(struct chain *chain, size_t qp_index, const uint16_t *deck)
{
	size_t first = qp_index * chain->length;
	uint64_t *bytes_before = &chain->bytes_before[qp_index * (chain->length + 1)];

	for (size_t i = 0; i < chain->length; i++) {
		fill_request(chain, first + i, qp_index, deck[i]);
		bytes_before[i + 1] = bytes_before[i] + chain->flow->classes[deck[i]].size_bytes;
	}
	for (size_t i = 0; i < chain->batch_count; i++) {
		size_t slot = first + i * chain->post_list;

		chain->batches[slot / chain->post_list].head = &chain->wrs[slot];
	}
}

static void fill(struct chain *chain, bool is_shared, uint16_t *deck)
{
	const struct flow *flow = chain->flow;
	uint64_t seed = flow->assignment->seed;

	if (is_shared) {
		operation_deck(flow->classes, flow->class_count, chain->signal_interval, seed, deck,
			       chain->slot_count);
	}
	for (size_t i = 0; i < chain->qp_count; i++) {
		if (!is_shared) {
			operation_deck(flow->classes, flow->class_count, chain->signal_interval,
				       seed + i * SEED_STEP, deck, chain->length);
		}
		fill_ring(chain, i, is_shared ? deck + i * chain->length : deck);
	}
}

int chain_init(struct chain *chain, const struct flow *flow, struct error *err)
{
	const struct workload_settings *workload = &flow->assignment->workload.workload;
	_cleanup_free_ uint16_t *deck = NULL;
	struct workload_ring ring;

	*chain = (struct chain){ .flow = flow,
				 .is_open = load_is_open(&flow->assignment->workload),
				 .qp_count = flow->resources->qp_count,
				 .sge_count = flow->assignment->workload.qp.max_send_sge,
				 .post_list = workload->post_list,
				 .signal_interval = workload->signal_interval };
	if (!workload_queue_ring(&flow->assignment->workload, flow->classes, flow->class_count,
				 &ring)) {
		return error_set(
			err, -E2BIG, ERROR_RESOURCE,
			"%zu queue pairs with %llu outstanding, post_list %zu and "
			"signal_interval %zu need %llu prepared requests, above %d; lower "
			"qp.num_qps, workload.load.outstanding, signal_interval or memory.buffers",
			chain->qp_count, (unsigned long long)workload->load.outstanding,
			chain->post_list, chain->signal_interval, (unsigned long long)ring.total,
			LIMIT_RING_WRS);
	}
	chain->length = ring.length;
	chain->slot_count = chain->length * chain->qp_count;
	chain->batch_count = chain->length / chain->post_list;
	deck = memory_try(ring.is_shared ? chain->slot_count : chain->length, sizeof(*deck));
	if (!deck || !allocate(chain)) {
		return error_set(err, -ENOMEM, ERROR_RESOURCE,
				 "no memory for %zu prepared work requests", chain->slot_count);
	}
	fill(chain, ring.is_shared, deck);
	return 0;
}

size_t chain_slot(const struct chain *chain, size_t qp_index, uint64_t position)
{
	return qp_index * chain->length + position % chain->length;
}

uint64_t chain_bytes(const struct chain *chain, size_t qp_index, uint64_t position)
{
	const uint64_t *bytes_before = &chain->bytes_before[qp_index * (chain->length + 1)];

	return position / chain->length * bytes_before[chain->length] +
	       bytes_before[position % chain->length];
}

uint32_t chain_class(const struct chain *chain, size_t qp_index, uint64_t position)
{
	return chain->slots[chain_slot(chain, qp_index, position)].class_index;
}

void chain_count(const struct chain *chain, size_t qp_index, uint64_t from, uint64_t to,
		 uint64_t *counts)
{
	uint64_t turns = (to - from) / chain->length;

	if (turns > 0) {
		for (uint64_t i = 0; i < chain->length; i++) {
			counts[chain_class(chain, qp_index, i)] += turns;
		}
	}
	for (uint64_t i = from + turns * chain->length; i < to; i++) {
		counts[chain_class(chain, qp_index, i)]++;
	}
}

struct ibv_send_wr *chain_tail(struct chain *chain, size_t qp_index, uint64_t position,
			       size_t count)
{
	struct ibv_send_wr *tail = chain->tail;

	for (size_t i = 0; i < count; i++) {
		tail[i] = chain->wrs[chain_slot(chain, qp_index, position + i)];
		tail[i].next = i + 1 < count ? &tail[i + 1] : NULL;
	}
	tail[count - 1].send_flags |= flow_signal_flags(
		chain->flow,
		chain->flow->classes[chain_class(chain, qp_index, position + count - 1)].kind);
	tail[count - 1].wr_id = FLOW_WR_TAIL | qp_index;
	return tail;
}
