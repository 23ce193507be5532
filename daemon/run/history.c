// SPDX-License-Identifier: MIT
#include "run/history.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/text.h"

/*
 * Of finished results, whatever keep says: a run may have thousands of pairs, each with histograms
 * that a peer filled.
 */
#define BYTES_MAX (256ull << 20)
/* Shortest beginning of an id that stands for it. */
#define ID_PREFIX 6
/* Measurements that one turn frees: some are of hundreds of KiB. */
#define FREED_AT_ONCE 16

struct runs {
	size_t count;
	size_t capacity;
	struct run **runs; /* oldest first */
};

struct history {
	size_t keep;
	struct runs kept;
	struct runs leaving;
	sd_event_source *turn; /* deferred: frees a piece of those that leave */
};

static void append(struct runs *list, struct run *run)
{
	if (list->count == list->capacity) {
		list->capacity = list->capacity * 2 + 16;
		list->runs = memory_resize(list->runs, list->capacity, sizeof(*list->runs));
	}
	list->runs[list->count++] = run;
}

static int on_turn(sd_event_source *source, void *arg)
{
	struct history *history = arg;
	struct runs *leaving = &history->leaving;

	if (leaving->count > 0 &&
	    !run_free_piece(leaving->runs[leaving->count - 1], FREED_AT_ONCE)) {
		leaving->count--;
	}
	if (leaving->count > 0) {
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	}
	return 0;
}

struct history *history_new(sd_event *event, size_t keep)
{
	struct history *history = memory_new(sizeof(*history));

	history->keep = keep;
	if (sd_event_add_defer(event, &history->turn, on_turn, history) < 0) {
		abort(); /* out of memory only */
	}
	sd_event_source_set_enabled(history->turn, SD_EVENT_OFF);
	return history;
}

static void free_all(struct runs *list)
{
	for (size_t i = 0; i < list->count; i++) {
		run_free(list->runs[i]);
	}
	free(list->runs);
}

void history_free(struct history *history)
{
	if (history == NULL) {
		return;
	}
	free_all(&history->kept);
	free_all(&history->leaving);
	sd_event_source_disable_unref(history->turn);
	free(history);
}

/* How many of the oldest must go: beyond `keep`, or beyond the memory; the newest finished one
 * never does. */
static size_t count_excess(const struct history *history)
{
	size_t excess = history->kept.count > history->keep ? history->kept.count - history->keep
							    : 0;
	uint64_t bytes = 0;
	size_t done = 0;
	size_t fitting = 0;

	for (size_t i = history->kept.count; i-- > 0;) {
		if (history->kept.runs[i]->state != RUN_DONE) {
			continue;
		}
		bytes += history->kept.runs[i]->weight_bytes;
		done++;
		fitting += bytes <= BYTES_MAX || done == 1;
	}
	return done - fitting > excess ? done - fitting : excess;
}

static void trim(struct history *history)
{
	size_t excess = count_excess(history);
	size_t kept = 0;

	for (size_t i = 0; i < history->kept.count; i++) {
		struct run *run = history->kept.runs[i];

		if (excess > 0 && run->state == RUN_DONE) {
			append(&history->leaving, run);
			sd_event_source_set_enabled(history->turn, SD_EVENT_ONESHOT);
			excess--;
		} else {
			history->kept.runs[kept++] = run;
		}
	}
	history->kept.count = kept;
}

void history_configure(struct history *history, size_t keep)
{
	history->keep = keep;
	trim(history);
}

void history_add(struct history *history, struct run *run)
{
	append(&history->kept, run);
	trim(history);
}

size_t history_count(const struct history *history)
{
	return history->kept.count;
}

struct run *history_at(const struct history *history, size_t index)
{
	return index < history->kept.count ? history->kept.runs[history->kept.count - 1 - index]
					   : NULL;
}

struct run *history_find(const struct history *history, const char *id)
{
	struct run *found = NULL;

	if (strlen(id) < ID_PREFIX) {
		return NULL;
	}
	for (size_t i = 0; i < history->kept.count; i++) {
		if (strcmp(history->kept.runs[i]->id, id) == 0) {
			return history->kept.runs[i];
		}
		if (text_starts_with(history->kept.runs[i]->id, id)) {
			if (found != NULL) {
				return NULL;
			}
			found = history->kept.runs[i];
		}
	}
	return found;
}

size_t history_leaving(const struct history *history)
{
	return history->leaving.count;
}
