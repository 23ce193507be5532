// SPDX-License-Identifier: MIT
#include "observer.h"

#include <stdlib.h>

#include "util/list.h"
#include "util/memory.h"

struct entry {
	struct list link;
	struct run *run; /* a reference */
	size_t counted; /* of its measurements */
};

struct observer {
	struct metrics *metrics;
	observer_done_fn done;
	void *arg;
	struct list entries; /* of struct entry, in order */
	sd_event_source *turn; /* deferred: the next piece of the first */
};

static void remove_entry(struct entry *entry)
{
	list_remove(&entry->link);
	run_free(entry->run);
	free(entry);
}

static void count_piece(struct observer *observer)
{
	struct entry *entry = list_first(&observer->entries, struct entry, link);

	if (!metrics_observe_piece(observer->metrics, entry->run, entry->counted, OBSERVER_PIECE)) {
		observer->done(observer->arg, entry->run);
		remove_entry(entry);
	} else {
		entry->counted += OBSERVER_PIECE;
	}
	if (!list_is_empty(&observer->entries)) {
		sd_event_source_set_enabled(observer->turn, SD_EVENT_ONESHOT);
	}
}

static int on_turn(sd_event_source *source, void *arg)
{
	count_piece(arg);
	return 0;
}

void observer_add(struct observer *observer, struct run *run)
{
	bool is_first = list_is_empty(&observer->entries);
	struct entry *entry = memory_new(sizeof(*entry));

	entry->run = run_ref(run);
	list_append(&observer->entries, &entry->link);
	if (is_first) {
		count_piece(observer);
	}
}

struct observer *observer_new(sd_event *event, struct metrics *metrics, observer_done_fn done,
			      void *arg)
{
	struct observer *observer = memory_new(sizeof(*observer));

	observer->metrics = metrics;
	observer->done = done;
	observer->arg = arg;
	list_init(&observer->entries);
	if (sd_event_add_defer(event, &observer->turn, on_turn, observer) < 0) {
		abort(); /* out of memory only */
	}
	sd_event_source_set_enabled(observer->turn, SD_EVENT_OFF);
	return observer;
}

void observer_free(struct observer *observer)
{
	struct entry *entry;

	if (observer == NULL) {
		return;
	}
	list_each(entry, &observer->entries, link) {
		remove_entry(entry);
	}
	sd_event_source_disable_unref(observer->turn);
	free(observer);
}
