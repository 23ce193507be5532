// SPDX-License-Identifier: MIT
#include "fake/timeline.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

void timeline_done(struct timeline *timeline)
{
	free(timeline->entries);
	*timeline = (struct timeline){ 0 };
}

static bool is_before(const struct timeline_entry *a, const struct timeline_entry *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->sequence < b->sequence);
}

void timeline_add(struct timeline *timeline, uint64_t at_ns, void *item)
{
	struct timeline_entry entry = { at_ns, timeline->sequence++, item };

	if (timeline->count == timeline->capacity) {
		timeline->capacity = timeline->capacity ? timeline->capacity * 2 : 64;
		timeline->entries =
			realloc(timeline->entries, timeline->capacity * sizeof(*timeline->entries));
		if (timeline->entries == NULL) {
			fprintf(stderr, "fake fabric: out of memory\n");
			abort();
		}
	}

	size_t at = timeline->count++;
	while (at > 0 && is_before(&entry, &timeline->entries[(at - 1) / 2])) {
		timeline->entries[at] = timeline->entries[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	timeline->entries[at] = entry;
}

uint64_t timeline_next_ns(const struct timeline *timeline)
{
	return timeline->count > 0 ? timeline->entries[0].at_ns : UINT64_MAX;
}

void *timeline_take(struct timeline *timeline)
{
	struct timeline_entry *entries = timeline->entries;
	void *item = entries[0].item;
	struct timeline_entry last = entries[--timeline->count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= timeline->count) {
			break;
		}
		if (child + 1 < timeline->count &&
		    is_before(&entries[child + 1], &entries[child])) {
			child++;
		}
		if (!is_before(&entries[child], &last)) {
			break;
		}
		entries[at] = entries[child];
		at = child;
	}
	entries[at] = last;
	return item;
}
