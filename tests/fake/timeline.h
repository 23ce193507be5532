// SPDX-License-Identifier: MIT
#pragma once

/*
 * What will happen, ordered by (time, order of scheduling): a binary heap of borrowed pointers. One
 * thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

struct timeline_entry {
	uint64_t at_ns;
	uint64_t sequence;
	void *item;
};

struct timeline {
	struct timeline_entry *entries;
	size_t count;
	size_t capacity;
	uint64_t sequence;
};

void timeline_done(struct timeline *timeline);
void timeline_add(struct timeline *timeline, uint64_t at_ns, void *item);
/* UINT64_MAX when empty. */
uint64_t timeline_next_ns(const struct timeline *timeline);
/* The earliest item; not empty. */
void *timeline_take(struct timeline *timeline);
