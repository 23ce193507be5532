// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"
#include "ctl/field.h"
#include "ctl/table.h"

/* A call to its driver does not return. */
static bool is_sick(const json_t *port)
{
	return field_find(port, "sick") != NULL;
}

static bool is_good(const json_t *port)
{
	return !is_sick(port) && strcmp(field_string(port, "state", ""), "active") == 0;
}

/* The first GID that people recognise: RoCE v2 over IPv4, else the first there is. */
static const json_t *telling_gid(const json_t *port)
{
	const json_t *gids = field_array(port, "gids");

	for (size_t i = 0; i < json_array_size(gids); i++) {
		const json_t *gid = json_array_get(gids, i);

		if (text_starts_with(field_string(gid, "gid", ""), "::ffff:") &&
		    strcmp(field_string(gid, "type", ""), "roce_v2") == 0) {
			return gid;
		}
	}
	return json_array_get(gids, 0);
}

static const char *gid_type_word(const json_t *gid)
{
	const char *type = field_string(gid, "type", "");

	if (strcmp(type, "roce_v2") == 0) {
		return " RoCE v2";
	}
	return strcmp(type, "roce_v1") == 0 ? " RoCE v1" : "";
}

static void add_mtu(struct table *table, const json_t *port)
{
	uint64_t active;
	uint64_t max;
	char cell[64] = "-";

	if (field_u64(port, "active_mtu_bytes", &active)) {
		snprintf(cell, sizeof(cell), "%" PRIu64, active);
		if (field_u64(port, "max_mtu_bytes", &max) && max != active) {
			snprintf(cell, sizeof(cell), "%" PRIu64 " of %" PRIu64, active, max);
		}
	}
	table_cell(table, PAPER_PLAIN, cell);
}

static void add_rate(struct table *table, const json_t *port)
{
	uint64_t rate, lanes;
	char cell[UNITS_SIZE + 16], *end;

	/* 0: the driver does not tell. */
	if (!field_u64(port, "link_rate_bps", &rate) || rate == 0) {
		table_cell(table, PAPER_PLAIN, NULL);
		return;
	}
	units_format_rate((double)rate, cell);
	/* What an Ethernet device says of lanes is made up from its speed. */
	if (strcmp(field_string(port, "link_layer", ""), "infiniband") == 0 &&
	    field_u64(port, "link_width", &lanes) && lanes > 0) {
		end = cell + strlen(cell);
		snprintf(end, 16, " (%" PRIu64 "X)", lanes > 99 ? 99 : lanes);
	}
	table_cell(table, PAPER_PLAIN, cell);
}

static void add_port(struct table *table, const json_t *port)
{
	const char *state = is_sick(port) ? "sick" : field_string(port, "state", "-");
	const json_t *gid = telling_gid(port);
	const char *firmware = field_string(port, "firmware", "");
	uint64_t number;
	char cell[256];

	table_cell(table, PAPER_PLAIN, field_string(port, "device", NULL));
	snprintf(cell, sizeof(cell), "%" PRIu64, field_u64(port, "port_num", &number) ? number : 0);
	table_cell(table, PAPER_PLAIN, cell);
	table_cell(table, paper_tone_of(state), state);
	table_cell(table, PAPER_PLAIN, field_string(port, "link_layer", NULL));
	add_rate(table, port);
	add_mtu(table, port);
	snprintf(cell, sizeof(cell), "%s%s%s", field_string(port, "driver", "-"),
		 firmware[0] != '\0' ? " " : "", firmware);
	table_cell(table, PAPER_PLAIN, cell);
	cell[0] = '\0';
	if (gid != NULL) {
		const char *netdev = field_string(gid, "netdev", "");

		snprintf(cell, sizeof(cell), "%s%s%s%s", field_address(gid, "gid"),
			 gid_type_word(gid), netdev[0] != '\0' ? " on " : "", netdev);
	}
	table_cell(table, PAPER_PLAIN, cell);
}

void command_devices_render(const json_t *record, struct paper *paper)
{
	const json_t *ports = field_array(record, "ports");
	_cleanup_table_ struct table *table = table_new();

	if (json_array_size(ports) == 0) {
		paper_wrap(paper, PAPER_PLAIN, 0,
			   "no RDMA devices; `rdmatestd --doctor` tells why, and what to do");
		paper_newline(paper);
		return;
	}
	table_column(table, TABLE_LEFT, "device");
	table_column(table, TABLE_LEFT, "port");
	table_column(table, TABLE_LEFT, "state");
	table_column(table, TABLE_LEFT, "link");
	table_column(table, TABLE_RIGHT, "rate");
	table_column(table, TABLE_LEFT, "MTU");
	table_column(table, TABLE_LEFT, "driver");
	table_column(table, TABLE_LEFT, "address");
	for (int good = 0; good <= 1; good++) {
		for (size_t i = 0; i < json_array_size(ports); i++) {
			if (is_good(json_array_get(ports, i)) == good) {
				add_port(table, json_array_get(ports, i));
			}
		}
	}
	table_print(table, paper, 0);
}

static const struct field_wanted wanted[] = { { "ports", FIELD_ARRAY }, { 0 } };

static int run(const struct command_caller *caller, const struct option_values *values)
{
	(void)values;
	return command_show(caller, "/v1/devices", wanted, command_devices_render);
}

const struct command command_devices = {
	.name = "devices",
	.summary = "the RDMA devices of this host, each port with its state, rate, MTU and address",
	.uses = COMMAND_ASKS_DAEMON | COMMAND_HAS_JSON,
	.run = run,
};
