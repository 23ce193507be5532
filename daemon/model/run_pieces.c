// SPDX-License-Identifier: MIT
#include "model/run_pieces.h"

#include <inttypes.h>
#include <stdlib.h>

#include "model/run_operations.h"
#include "model/run_record.h"
#include "util/memory.h"

/* Of one piece. */
#define BUCKETS 256
#define INTERVALS 8

enum place {
	PLACE_RUN, /* what is told of the run as a whole */
	PLACE_MEASUREMENT, /* the same of a measurement, or the end of them */
	PLACE_OPERATION, /* an entry of `operations`, or their end */
	PLACE_BUCKETS, /* of the entry before */
	PLACE_INTERVALS,
};

struct run_pieces {
	struct run *run;
	unsigned with; /* RUN_PIECES_... */
	enum place place;
	size_t measurement; /* index */
	size_t item; /* operation or interval, index */
	unsigned bucket; /* next one */
	bool has_buckets; /* one was written */
	bool is_reverse; /* of what the responder posted */
	struct run_operation operation;
};

struct run_pieces *run_pieces_new(struct run *run, unsigned with)
{
	struct run_pieces *pieces = memory_new(sizeof(*pieces));

	pieces->run = run_ref(run);
	pieces->with = with;
	return pieces;
}

void run_pieces_free(struct run_pieces *pieces)
{
	if (!pieces) {
		return;
	}
	run_free(pieces->run);
	free(pieces);
}

/* Takes the value, and leaves its last `count` bytes off. */
static void write_open(json_t *value, size_t count, struct text *out)
{
	json_write(value, out);
	json_decref(value);
	out->length -= count;
	out->data[out->length] = '\0';
}

static const struct measurement *measurement_of(const struct run_pieces *pieces)
{
	return pieces->run->measurements[pieces->measurement];
}

static const struct participant *end_of(const struct run_pieces *pieces)
{
	return pieces->is_reverse ? &measurement_of(pieces)->responder
				  : &measurement_of(pieces)->initiator;
}

static void write_measurement(struct run_pieces *pieces, struct text *out)
{
	text_add(out, pieces->measurement ? "," : "");
	write_open(run_record_head(measurement_of(pieces)), 1, out);
	text_add(out, ",\"operations\":[");
	pieces->place = PLACE_OPERATION;
	pieces->item = 0;
	pieces->is_reverse = false;
}

static void write_operation(struct run_pieces *pieces, struct text *out)
{
	const struct participant *end = end_of(pieces);

	if (!run_operations_get(end, pieces->item, &pieces->operation)) {
		text_add(out, "],\"intervals\":[");
		pieces->place = PLACE_INTERVALS;
		pieces->item = 0;
		return;
	}
	text_add(out, pieces->item++ ? "," : "");
	if (!(pieces->with & RUN_PIECES_HISTOGRAMS)) {
		write_open(run_operations_write(&pieces->operation, end->totals.window_ns, NULL), 0,
			   out);
		return;
	}
	write_open(run_operations_write(&pieces->operation, end->totals.window_ns, json_array()),
		   sizeof("]}}") - 1, out);
	pieces->place = PLACE_BUCKETS;
	pieces->has_buckets = false;
	pieces->bucket = pieces->operation.latency.count
				 ? histogram_index(pieces->operation.latency.min_ns)
				 : HISTOGRAM_BUCKETS;
}

static void write_buckets(struct run_pieces *pieces, struct text *out)
{
	const uint64_t *buckets = pieces->operation.latency.buckets;
	unsigned last = histogram_index(pieces->operation.latency.max_ns);
	unsigned written = 0;

	for (; pieces->bucket <= last && written < BUCKETS; pieces->bucket++) {
		if (buckets[pieces->bucket]) {
			text_format(out, "%s[%" PRIu64 ",%" PRIu64 "]",
				    pieces->has_buckets ? "," : "",
				    histogram_floor_ns(pieces->bucket), buckets[pieces->bucket]);
			pieces->has_buckets = true;
			written++;
		}
	}
	if (pieces->bucket > last) {
		text_add(out, "]}}");
		pieces->place = PLACE_OPERATION;
	}
}

/* Behind the intervals of the initiator: the responder's turn, if it posted, too. */
static void end_measurement(struct run_pieces *pieces, struct text *out)
{
	json_t *reverse = pieces->is_reverse ? NULL : run_record_reverse(measurement_of(pieces));

	if (reverse) {
		text_add(out, "],\"reverse\":");
		write_open(reverse, 1, out);
		text_add(out, ",\"operations\":[");
		pieces->place = PLACE_OPERATION;
		pieces->item = 0;
		pieces->is_reverse = true;
		return;
	}
	text_add(out, pieces->is_reverse ? "]}}" : "],\"reverse\":null}");
	pieces->place = PLACE_MEASUREMENT;
	pieces->measurement++;
}

static void write_intervals(struct run_pieces *pieces, struct text *out)
{
	const struct participant *end = end_of(pieces);
	bool is_wanted = end->has_totals && pieces->with & RUN_PIECES_INTERVALS;
	size_t count = is_wanted ? end->totals.interval_count : 0;

	for (size_t i = 0; i < INTERVALS && pieces->item < count; i++) {
		text_add(out, pieces->item ? "," : "");
		write_open(run_record_interval(&end->totals.intervals[pieces->item++]), 0, out);
	}
	if (pieces->item >= count) {
		end_measurement(pieces, out);
	}
}

bool run_pieces_next(struct run_pieces *pieces, struct text *out)
{
	switch (pieces->place) {
	case PLACE_RUN:
		write_open(run_write_head(pieces->run), 1, out);
		text_add(out, ",\"measurements\":[");
		pieces->place = PLACE_MEASUREMENT;
		break;
	case PLACE_MEASUREMENT:
		if (pieces->measurement >= pieces->run->measurement_count) {
			text_add(out, "]}");
			return false;
		}
		write_measurement(pieces, out);
		break;
	case PLACE_OPERATION:
		write_operation(pieces, out);
		break;
	case PLACE_BUCKETS:
		write_buckets(pieces, out);
		break;
	case PLACE_INTERVALS:
		write_intervals(pieces, out);
		break;
	}
	return true;
}
