// SPDX-License-Identifier: MIT
#include "util/ring.h"

#include <assert.h>

#include "util/memory.h"

void ring_init(struct ring *ring, size_t capacity)
{
	assert(capacity > 0 && (capacity & (capacity - 1)) == 0);
	atomic_init(&ring->head, 0);
	atomic_init(&ring->tail, 0);
	ring->mask = capacity - 1;
	ring->slots = memory_new_array(capacity, sizeof(ring->slots[0]));
}

void ring_done(struct ring *ring)
{
	free(ring->slots);
	ring->slots = NULL;
}

bool ring_put(struct ring *ring, void *item)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	assert(item);
	if (tail - head > ring->mask) {
		return false;
	}
	ring->slots[tail & ring->mask] = item;
	atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
	return true;
}

void *ring_get(struct ring *ring)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	void *item;

	if (head == tail) {
		return NULL;
	}
	item = ring->slots[head & ring->mask];
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	return item;
}
