// SPDX-License-Identifier: MIT
#include "status_line.h"

#include <inttypes.h>
#include <string.h>

#include "util/clock.h"
#include "util/text.h"
#include "util/units.h"

#define HOUR_NS (3600ll * 1000000000)

static size_t count_up(const struct parts *parts)
{
	size_t count = 0;

	for (size_t i = 0; i < peers_count(parts->peers); i++) {
		struct peer_status status;

		peers_status(parts->peers, i, &status);
		count += status.state == PEER_UP;
	}
	return count;
}

static bool has_active_port(const struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->port_count; i++) {
		if (inventory->ports[i].state == PORT_STATE_ACTIVE) {
			return true;
		}
	}
	return false;
}

static void add_peers_line(const struct parts *parts, struct text *line)
{
	size_t up = count_up(parts);
	size_t down = peers_count(parts->peers) - up;

	text_format(line, "%zu peer%s up", up, up == 1 ? "" : "s");
	if (down == 0) {
		return;
	}
	text_format(line, ", %zu down", down);
	for (size_t i = 0; i < peers_count(parts->peers); i++) {
		struct peer_status status;

		peers_status(parts->peers, i, &status);
		if (status.state != PEER_UP) {
			text_format(line, " (%s%s)", status.settings->name,
				    down > 1 ? ", ..." : "");
			return;
		}
	}
}

static void add_runs_line(const struct parts *parts, struct text *line)
{
	uint64_t counts[VERDICT_COUNT] = { 0 };
	const struct run *worst = NULL;
	int64_t since = clock_real_ns() - HOUR_NS;
	uint64_t total = 0;
	bool is_first = true;

	for (size_t i = 0; i < history_count(parts->history); i++) {
		const struct run *run = history_at(parts->history, i);

		if (run->state != RUN_DONE || run->ended_real_ns < since) {
			continue;
		}
		total++;
		counts[run->verdict]++;
		if (run->verdict != VERDICT_PASS && worst == NULL) {
			worst = run;
		}
	}
	text_format(line, "; %" PRIu64 " run%s in 1 h", total, total == 1 ? "" : "s");
	for (int verdict = VERDICT_PASS; verdict < VERDICT_COUNT; verdict++) {
		if (counts[verdict] > 0) {
			text_format(line, "%s %" PRIu64 " %s", is_first ? ":" : ",",
				    counts[verdict], verdict_names[verdict]);
			is_first = false;
		}
	}
	if (worst != NULL) {
		const struct measurement *measurement;
		const struct finding *finding = run_main_finding(worst, &measurement);

		text_format(line, " (last: %s", worst->scenario->name);
		if (measurement != NULL) {
			text_format(line, " %s->%s", measurement->assignment.initiator.node,
				    measurement->assignment.responder.node);
		}
		if (finding != NULL) {
			text_format(line, ", RDT-%04u", finding_info(finding->code)->number);
		}
		text_add(line, ")");
	}
}

static void add_next_line(const struct parts *parts, struct text *line)
{
	const char *name = NULL;
	uint64_t soonest = CLOCK_NEVER;
	char duration[UNITS_SIZE];

	for (size_t i = 0; i < parts->config->scenario_count; i++) {
		uint64_t missed;
		uint64_t in_ns = schedule_next_ns(parts->schedule,
						  parts->config->scenarios[i]->name, &missed);

		if (in_ns < soonest) {
			soonest = in_ns;
			name = parts->config->scenarios[i]->name;
		}
	}
	if (name != NULL) {
		text_format(line, "; next: %s in %s", name,
			    units_format_duration(soonest, duration));
	}
}

void status_line_write(const struct parts *parts, char *ret, size_t size)
{
	const struct run *active = coordinator_active(parts->coordinator);
	const struct error *scan_error = engine_scan_error(parts->engine);
	const char *in_use;
	struct hang hangs[HANGS_MAX];
	size_t hang_count = engine_hangs(parts->engine, hangs, HANGS_MAX);
	_cleanup_text_ struct text line = TEXT_INIT;

	add_peers_line(parts, &line);
	if (!has_active_port(engine_inventory(parts->engine))) {
		text_add(&line, "; no active RDMA port");
	}
	for (size_t i = 0; i < hang_count; i++) {
		text_format(&line, "; device %s is sick (%s)", hangs[i].device, hangs[i].call);
	}
	add_runs_line(parts, &line);
	if (coordinator_waiting(parts->coordinator) > 0) {
		text_format(&line, "; waiting for a port: %s",
			    coordinator_waiting_at(parts->coordinator, 0, &in_use)->scenario->name);
	}
	if (active != NULL) {
		text_format(&line, "; running: %s", active->scenario->name);
	} else {
		add_next_line(parts, &line);
	}
	if (!parts->is_last_reload_ok) {
		text_add(&line, "; the last reload was refused");
	}
	if (error_is_set(scan_error)) {
		text_format(&line, "; devices: %s", scan_error->text); /* the longest: cut first */
	}
	text_escape(ret, size, line.data);
}
