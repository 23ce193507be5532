// SPDX-License-Identifier: MIT
#pragma once

/*
 * A lock-free single-producer single-consumer ring of pointers. Capacity is a power of two.
 * Ownership of what a pointer points to moves with it. Producer thread: ring_put; consumer thread:
 * ring_get; never blocks.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	_Alignas(64) _Atomic uint64_t head; /* next to get; the consumer's */
	_Alignas(64) _Atomic uint64_t tail; /* next to put; the producer's */
	_Alignas(64) uint64_t mask;
	void **slots;
};

void ring_init(struct ring *ring, size_t capacity);
/* Does not touch what is still inside: drain first. */
void ring_done(struct ring *ring);
/* False when full. */
bool ring_put(struct ring *ring, void *item);
/* NULL when empty. */
void *ring_get(struct ring *ring);
