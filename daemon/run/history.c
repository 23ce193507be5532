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

struct history {
	size_t keep;
	size_t count;
	size_t capacity;
	struct run **runs; /* oldest first */
};

struct history *history_new(size_t keep)
{
	struct history *history = memory_new(sizeof(*history));

	history->keep = keep;
	return history;
}

void history_free(struct history *history)
{
	if (history == NULL) {
		return;
	}
	for (size_t i = 0; i < history->count; i++) {
		run_free(history->runs[i]);
	}
	free(history->runs);
	free(history);
}

static uint64_t totals_bytes(const struct totals *totals)
{
	return totals->class_count * sizeof(*totals->classes) +
	       totals->interval_count * sizeof(*totals->intervals);
}

static uint64_t run_bytes(const struct run *run)
{
	uint64_t bytes = sizeof(*run) + sizeof(*run->scenario);

	for (size_t i = 0; i < run->measurement_count; i++) {
		const struct measurement *measurement = run->measurements[i];

		bytes += sizeof(*measurement) + totals_bytes(&measurement->initiator.totals) +
			 totals_bytes(&measurement->responder.totals);
		bytes += measurement->initiator.info ? sizeof(*measurement->initiator.info) : 0;
		bytes += measurement->responder.info ? sizeof(*measurement->responder.info) : 0;
	}
	return bytes;
}

/* How many of the oldest must go: beyond `keep`, or beyond the memory; the newest finished one
 * never does. */
static size_t count_excess(const struct history *history)
{
	size_t excess = history->count > history->keep ? history->count - history->keep : 0;
	uint64_t bytes = 0;
	size_t done = 0;
	size_t fitting = 0;

	for (size_t i = history->count; i-- > 0;) {
		if (history->runs[i]->state != RUN_DONE) {
			continue;
		}
		bytes += run_bytes(history->runs[i]);
		done++;
		fitting += bytes <= BYTES_MAX || done == 1;
	}
	return done - fitting > excess ? done - fitting : excess;
}

static void trim(struct history *history)
{
	size_t excess = count_excess(history);
	size_t kept = 0;

	for (size_t i = 0; i < history->count; i++) {
		struct run *run = history->runs[i];

		if (excess > 0 && run->state == RUN_DONE) {
			run_free(run);
			excess--;
		} else {
			history->runs[kept++] = run;
		}
	}
	history->count = kept;
}

void history_configure(struct history *history, size_t keep)
{
	history->keep = keep;
	trim(history);
}

void history_add(struct history *history, struct run *run)
{
	if (history->count == history->capacity) {
		history->capacity = history->capacity * 2 + 16;
		history->runs =
			memory_resize(history->runs, history->capacity, sizeof(*history->runs));
	}
	history->runs[history->count++] = run;
	trim(history);
}

size_t history_count(const struct history *history)
{
	return history->count;
}

struct run *history_at(const struct history *history, size_t index)
{
	return index < history->count ? history->runs[history->count - 1 - index] : NULL;
}

struct run *history_find(const struct history *history, const char *id)
{
	struct run *found = NULL;

	if (strlen(id) < ID_PREFIX) {
		return NULL;
	}
	for (size_t i = 0; i < history->count; i++) {
		if (strcmp(history->runs[i]->id, id) == 0) {
			return history->runs[i];
		}
		if (text_starts_with(history->runs[i]->id, id)) {
			if (found != NULL) {
				return NULL;
			}
			found = history->runs[i];
		}
	}
	return found;
}
