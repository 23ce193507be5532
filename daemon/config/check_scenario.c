// SPDX-License-Identifier: MIT
#include "config/check_scenario.h"

#include <stdio.h>
#include <string.h>

#include "config/place.h"

#define NAMED_SCENARIOS 4

struct report_target {
	struct reader *reader;
	const struct origin *origin;
};

static void report_problem(struct report_target *target, bool is_warning, const char *field,
			   const char *other, const char *sentence)
{
	const struct origin *origin = target->origin;
	struct place place = place_find(origin->node, field);
	struct place second = other ? place_find(origin->node, other) : (struct place){ 0 };
	char where[160] = "";

	if (other && second.is_written) {
		snprintf(where, sizeof(where), " (%s: %u:%u)", other, second.line, second.column);
	} else if (other) {
		snprintf(where, sizeof(where), " (%s is not written)", other);
	}
	/* What was written is what can be changed: point there. */
	if (!place.is_written && second.is_written) {
		place = second;
	}
	problems_add(target->reader->problems, is_warning, origin->document->path, place.line,
		     place.column, "scenarios[%zu].%s: %s%s", origin->index, field, sentence,
		     where);
}

static void report_error(void *arg, const char *field, const char *other, const char *sentence)
{
	report_problem(arg, false, field, other, sentence);
}

/* The nodes that selectors are matched with: this one, and the enabled peers of other names. */
static size_t matching_nodes(const struct config *config, const struct selector *selector,
			     const char **ret_one)
{
	const struct daemon_settings *daemon = &config->daemon;
	size_t count = 0;

	if (labels_selector_matches(selector, daemon->node_name, &daemon->labels)) {
		*ret_one = daemon->node_name;
		count++;
	}
	for (size_t i = 0; i < config->peer_count; i++) {
		const struct peer_settings *peer = &config->peers[i];

		if (peer->is_enabled && strcmp(peer->name, daemon->node_name) != 0 &&
		    labels_selector_matches(selector, peer->name, &peer->labels)) {
			*ret_one = peer->name;
			count++;
		}
	}
	return count;
}

static void check_selectors(struct report_target *target, const struct scenario *scenario)
{
	const struct config *config = target->reader->config;
	const char *one_from = "";
	const char *one_to = "";
	size_t from = matching_nodes(config, &scenario->peers.from, &one_from);
	size_t to = matching_nodes(config, &scenario->peers.to, &one_to);
	char sentence[200];

	if (from == 0) {
		report_problem(
			target, true, "peers.from", NULL,
			"no node of this configuration matches; the scenario has nothing to run between");
	}
	if (to == 0) {
		report_problem(
			target, true, "peers.to", NULL,
			"no node of this configuration matches; the scenario has nothing to run between");
	}
	if (from == 1 && to == 1 && strcmp(one_from, one_to) == 0) {
		snprintf(sentence, sizeof(sentence),
			 "both select only \"%s\"; a pair needs two nodes", one_from);
		report_problem(target, true, "peers", NULL, sentence);
	}
}

static void check_scenario(struct reader *reader, size_t index)
{
	struct scenario *scenario = reader->config->scenarios[index];
	struct report_target target = { .reader = reader, .origin = &reader->scenarios[index] };

	if (!reader->is_sound[index]) {
		return; /* what could not be read cannot be compared */
	}
	scenario_check(scenario, report_error, &target);
	if (scenario->is_enabled && reader->config->peer_count > 0) {
		check_selectors(&target, scenario);
	}
}

/* Two of one name are told elsewhere. */
static bool is_named_before(const struct config *config, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (strcmp(config->scenarios[i]->name, config->scenarios[index]->name) == 0) {
			return true;
		}
	}
	return false;
}

/*
 * Said once, of all that leave it out: where nobody chose a class, the traffic measured is seldom
 * in the queue of the traffic that matters.
 */
static void check_traffic_classes(struct reader *reader)
{
	const struct config *config = reader->config;
	_cleanup_text_ struct text names = TEXT_INIT;
	struct report_target target = { .reader = reader };
	_cleanup_text_ struct text sentence = TEXT_INIT;
	size_t count = 0;

	for (size_t i = 0; i < config->scenario_count; i++) {
		const struct scenario *scenario = config->scenarios[i];

		if (!reader->is_sound[i] || !scenario->is_enabled ||
		    scenario->workload.qp.traffic_class != SCHEMA_AUTO ||
		    is_named_before(config, i)) {
			continue;
		}
		target.origin = count == 0 ? &reader->scenarios[i] : target.origin;
		if (count++ < NAMED_SCENARIOS) {
			text_format(&names, "%s\"%s\"", count > 1 ? ", " : "", scenario->name);
		}
	}
	if (count == 0) {
		return;
	}
	if (count > NAMED_SCENARIOS) {
		text_format(&names, " and %zu more", count - NAMED_SCENARIOS);
	}
	text_format(&sentence,
		    "not set in %s: on RoCE that is the port's default class, where production "
		    "traffic seldom runs; write the class of your traffic (DSCP << 2, such as 104 "
		    "for DSCP 26), or 0 for the default class on purpose",
		    names.data);
	report_problem(&target, true, "qp.traffic_class", NULL, sentence.data);
}

void check_scenario_all(struct reader *reader)
{
	for (size_t i = 0; i < reader->config->scenario_count; i++) {
		check_scenario(reader, i);
	}
	check_traffic_classes(reader);
}
