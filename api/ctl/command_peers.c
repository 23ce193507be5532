// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"
#include "ctl/field.h"
#include "ctl/table.h"

static void add_clock(struct table *table, const json_t *peer)
{
	char offset[UNITS_SIZE];
	char error[UNITS_SIZE];
	char cell[2 * UNITS_SIZE + 8] = "-";
	double offset_ns;

	if (field_real(peer, "clock.offset_ns", &offset_ns)) {
		uint64_t absolute = (uint64_t)(offset_ns < 0 ? -offset_ns : offset_ns);

		snprintf(cell, sizeof(cell), "%s%s +- %s", offset_ns < 0 ? "-" : "+",
			 units_format_duration(absolute, offset),
			 field_show_duration(peer, "clock.error_ns", error));
	}
	table_cell(table, PAPER_PLAIN, cell);
}

static void add_ports(struct table *table, const json_t *peer)
{
	const json_t *ports = field_array(peer, "ports");
	size_t active = 0;
	char cell[64] = "-";

	for (size_t i = 0; i < json_array_size(ports); i++) {
		const char *state = field_string(json_array_get(ports, i), "state", "");

		active += strcmp(state, "active") == 0;
	}
	if (json_array_size(ports) > 0) {
		snprintf(cell, sizeof(cell), "%zu/%zu", active, json_array_size(ports));
	}
	table_cell(table, PAPER_PLAIN, cell);
}

static void add_peer(struct table *table, const json_t *peer)
{
	const char *state = field_string(peer, "state", "-");
	char cell[UNITS_SIZE];

	table_cell(table, PAPER_PLAIN, field_string(peer, "name", NULL));
	table_cell(table, paper_tone_of(state), state);
	table_cell(table, PAPER_PLAIN, field_show_time(peer, "since", cell));
	table_cell(table, PAPER_PLAIN, field_string(peer, "address", NULL));
	table_cell(table, PAPER_PLAIN, field_show_duration(peer, "round_trip_ns", cell));
	add_clock(table, peer);
	table_cell(table, PAPER_PLAIN, field_string(peer, "version", NULL));
	add_ports(table, peer);
}

static bool is_up(const json_t *peer)
{
	return strcmp(field_string(peer, "state", ""), "up") == 0;
}

/* Why a peer is not there is too long for a table. */
static void write_errors(const json_t *peers, struct paper *paper)
{
	bool has_some = false;

	for (size_t i = 0; i < json_array_size(peers); i++) {
		const json_t *peer = json_array_get(peers, i);
		const char *error = field_string(peer, "error", NULL);

		if (error == NULL || is_up(peer)) {
			continue;
		}
		paper_add(paper, PAPER_STRONG, field_string(peer, "name", "-"));
		paper_add(paper, PAPER_PLAIN, ": ");
		paper_wrap(paper, PAPER_PLAIN, 4, error);
		paper_newline(paper);
		has_some = true;
	}
	if (has_some) {
		paper_newline(paper);
	}
}

void command_peers_render(const json_t *record, struct paper *paper)
{
	const json_t *peers = field_array(record, "peers");
	_cleanup_table_ struct table *table = table_new();

	if (json_array_size(peers) == 0) {
		paper_wrap(paper, PAPER_PLAIN, 0,
			   "no peers: the configuration names none under `peers`");
		paper_newline(paper);
		return;
	}
	table_column(table, TABLE_LEFT, "peer");
	table_column(table, TABLE_LEFT, "state");
	table_column(table, TABLE_LEFT, "since");
	table_column(table, TABLE_LEFT, "address");
	table_column(table, TABLE_RIGHT, "round trip");
	table_column(table, TABLE_LEFT, "clock offset");
	table_column(table, TABLE_LEFT, "version");
	table_column(table, TABLE_LEFT, "ports");
	for (int up = 0; up <= 1; up++) {
		for (size_t i = 0; i < json_array_size(peers); i++) {
			if (is_up(json_array_get(peers, i)) == up) {
				add_peer(table, json_array_get(peers, i));
			}
		}
	}
	write_errors(peers, paper);
	table_print(table, paper, 0);
}

static const struct field_wanted wanted[] = { { "peers", FIELD_ARRAY }, { 0 } };

static int run(const struct command_caller *caller, const struct option_values *values)
{
	(void)values;
	return command_show(caller, "/v1/peers", wanted, command_peers_render);
}

const struct command command_peers = {
	.name = "peers",
	.summary = "the other daemons: reachable or why not, round trip, clock offset",
	.uses = COMMAND_ASKS_DAEMON | COMMAND_HAS_JSON,
	.run = run,
};
