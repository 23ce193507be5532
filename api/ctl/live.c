// SPDX-License-Identifier: MIT
#include "ctl/live.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ctl/field.h"

#define BAR_WIDTH 18u
#define GAP "  "

/* The coordinator's part, where it stands inside of a larger record. */
static const json_t *inner(const json_t *progress)
{
	const json_t *part = field_find(progress, "progress");

	return json_is_object(part) ? part : progress;
}

const char *live_state(const json_t *progress)
{
	return field_string(progress, "state", "-");
}

static uint64_t pair_remaining_ns(const json_t *pair)
{
	const json_t *progress = field_find(pair, "progress");
	uint64_t elapsed_ns;
	uint64_t total_ns;

	if (!field_u64(progress, "elapsed_ns", &elapsed_ns) ||
	    !field_u64(progress, "total_ns", &total_ns) || elapsed_ns >= total_ns) {
		return 0;
	}
	return total_ns - elapsed_ns;
}

uint64_t live_remaining_ns(const json_t *progress)
{
	const json_t *active = field_array(inner(progress), "active");
	uint64_t least_ns = json_array_size(active) > 0 ? UINT64_MAX : 0;

	for (size_t i = 0; i < json_array_size(active); i++) {
		uint64_t pair_ns = pair_remaining_ns(json_array_get(active, i));

		least_ns = pair_ns < least_ns ? pair_ns : least_ns;
	}
	return least_ns;
}

static void show_pair(const json_t *pair, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%s -> %s/%s", field_string(pair, "initiator", "-"),
		 field_string(pair, "initiator_device", "-"), field_string(pair, "responder", "-"),
		 field_string(pair, "responder_device", "-"));
}

/* Whether both are about the same endpoints. */
static bool is_same_pair(const json_t *a, const json_t *b)
{
	static const char *const keys[] = { "initiator", "initiator_device", "responder",
					    "responder_device" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (strcmp(field_string(a, keys[i], ""), field_string(b, keys[i], "")) != 0) {
			return false;
		}
	}
	return true;
}

/* "3.0/10.0 s", or operations where the end comes by count; *ret_share: 0..1, negative if not
 * known. */
static void show_elapsed(const json_t *progress, struct text *out, double *ret_share)
{
	char done[UNITS_SIZE];
	char wanted[UNITS_SIZE];
	uint64_t elapsed_ns;
	uint64_t total_ns;
	uint64_t operations;
	uint64_t iterations;

	*ret_share = -1;
	if (!field_u64(progress, "elapsed_ns", &elapsed_ns)) {
		return;
	}
	if (field_u64(progress, "total_ns", &total_ns) && total_ns > 0) {
		elapsed_ns = elapsed_ns < total_ns ? elapsed_ns : total_ns;
		*ret_share = (double)elapsed_ns / (double)total_ns;
		text_format(out, "%.1f/%.1f s", (double)elapsed_ns / 1e9, (double)total_ns / 1e9);
	} else if (field_u64(progress, "iterations", &iterations) && iterations > 0 &&
		   field_u64(progress, "operations", &operations)) {
		*ret_share = fmin((double)operations / (double)iterations, 1);
		text_format(out, "%s/%s operations", units_format_count(operations, done),
			    units_format_count(iterations, wanted));
	} else {
		text_add(out, units_format_duration(elapsed_ns, done));
	}
}

static void show_bar(double share, struct text *out)
{
	unsigned full = (unsigned)lround(share * BAR_WIDTH);

	text_add(out, "[");
	for (unsigned i = 0; i < BAR_WIDTH; i++) {
		text_add(out, i + 1 < full || (i + 1 == full && full == BAR_WIDTH) ? "="
			      : i + 1 == full					   ? ">"
										   : " ");
	}
	text_add(out, "]");
}

/* A member of the latest interval, which is a list of numbers in the order of struct sample, or an
 * object. */
static double last_of(const json_t *progress, size_t index, const char *key)
{
	const json_t *last = field_find(progress, "last");
	const json_t *value = json_is_array(last) ? json_array_get(last, index)
						  : json_object_get(last, key);

	return json_is_number(value) ? json_number_value(value) : 0;
}

static void show_rates(const json_t *progress, struct text *out)
{
	double ns = last_of(progress, 1, "end_ns") - last_of(progress, 0, "start_ns");
	char rate[UNITS_SIZE];
	char bandwidth[UNITS_SIZE];

	if (ns <= 0) {
		return;
	}
	text_format(out, "%s" GAP "%s",
		    units_format_ops_rate(last_of(progress, 2, "operations") * 1e9 / ns, rate),
		    units_format_rate(last_of(progress, 3, "bytes") * 8e9 / ns, bandwidth));
}

/* The part of the text that fits a line. */
static void add_cut(struct paper *paper, const char *string)
{
	unsigned room = paper->columns > paper->column ? paper->columns - paper->column : 0;
	_cleanup_text_ struct text part = TEXT_INIT;
	unsigned columns = 0;

	for (; *string != '\0'; string++) {
		columns += ((unsigned char)*string & 0xc0) != 0x80;
		if (columns > room) {
			break;
		}
		text_add_bytes(&part, string, 1);
	}
	if (part.length > 0) {
		paper_add(paper, PAPER_PLAIN, part.data);
	}
}

/* For a port that others use. */
static void show_in_use(const json_t *pair, struct text *line)
{
	uint64_t give_up_ns;
	char duration[UNITS_SIZE];

	if (field_u64(pair, "in_use.gives_up_in_ns", &give_up_ns)) {
		text_format(line, GAP "gives up in %s" GAP "%s",
			    units_format_duration(give_up_ns, duration),
			    field_string(pair, "in_use.text", ""));
	}
}

static void show_active(const json_t *pair, size_t others, struct text *line)
{
	const json_t *progress = field_find(pair, "progress");
	bool is_measuring = strcmp(field_string(pair, "phase", ""), "measuring") == 0;
	char endpoints[300];
	double share;

	show_pair(pair, endpoints, sizeof(endpoints));
	text_format(line, GAP "%s", endpoints);
	if (others > 0) {
		text_format(line, " and %zu more", others);
	}
	text_format(line, GAP "%s", field_string(pair, "phase", "-"));
	show_in_use(pair, line);
	if (progress == NULL) {
		return;
	}
	text_add(line, GAP);
	show_elapsed(progress, line, &share);
	if (share >= 0) {
		text_add(line, GAP);
		show_bar(share, line);
	}
	if (is_measuring) {
		text_add(line, GAP);
		show_rates(progress, line);
	}
}

void live_print_line(const json_t *progress, const char *scenario, struct paper *paper)
{
	const json_t *part = inner(progress);
	const json_t *active = field_array(part, "active");
	_cleanup_text_ struct text line = TEXT_INIT;
	uint64_t pairs;
	uint64_t done;
	uint64_t place;

	text_add(&line, scenario);
	if (field_u64(part, "place_in_queue", &place)) {
		text_format(&line, GAP "waits for other runs, place %" PRIu64 " in the queue",
			    place);
	} else {
		if (field_u64(part, "pairs", &pairs) && pairs > 1 &&
		    field_u64(part, "pairs_done", &done)) {
			text_format(&line, GAP "%" PRIu64 "/%" PRIu64 " pairs", done, pairs);
		}
		if (json_array_size(active) > 0) {
			show_active(json_array_get(active, 0), json_array_size(active) - 1, &line);
		} else {
			text_format(&line, GAP "%s", live_state(progress));
		}
	}
	add_cut(paper, line.data);
}

static const json_t *find_pair(const json_t *progress, const json_t *pair)
{
	const json_t *active = field_array(inner(progress), "active");

	for (size_t i = 0; i < json_array_size(active); i++) {
		if (is_same_pair(json_array_get(active, i), pair)) {
			return json_array_get(active, i);
		}
	}
	return NULL;
}

static bool is_queued(const json_t *progress)
{
	return strcmp(live_state(progress), "queued") == 0;
}

void live_print_changes(const json_t *before, const json_t *progress, const char *scenario,
			struct paper *paper)
{
	const json_t *active = field_array(inner(progress), "active");
	char endpoints[300];

	if (is_queued(progress)) {
		if (before == NULL || !is_queued(before)) {
			paper_format(paper, PAPER_PLAIN, "%s" GAP "waits for other runs", scenario);
			paper_newline(paper);
		}
		return;
	}
	for (size_t i = 0; i < json_array_size(active); i++) {
		const json_t *pair = json_array_get(active, i);
		const json_t *earlier = find_pair(before, pair);
		const char *phase = field_string(pair, "phase", "-");
		_cleanup_text_ struct text waits = TEXT_INIT;

		if (earlier != NULL && strcmp(field_string(earlier, "phase", "-"), phase) == 0) {
			continue;
		}
		show_pair(pair, endpoints, sizeof(endpoints));
		paper_format(paper, PAPER_PLAIN, "%s" GAP "%s" GAP "%s", scenario, endpoints,
			     phase);
		show_in_use(pair, &waits);
		paper_add(paper, PAPER_PLAIN, waits.data != NULL ? waits.data : "");
		paper_newline(paper);
	}
}
