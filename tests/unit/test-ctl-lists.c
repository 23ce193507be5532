// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "ctl/command.h"
#include "ctl/usage.h"

typedef void (*render_fn)(const json_t *record, struct paper *paper);

static void assert_rendered(render_fn render, const char *record, const char *expected)
{
	_cleanup_json_ json_t *json = json_read(record, strlen(record), NULL);
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	assert_non_null(json);
	render(json, &paper);
	if (strcmp(paper.text.data, expected) != 0) {
		fprintf(stderr, "--- got:\n%s--- expected:\n%s", paper.text.data, expected);
	}
	assert_string_equal(paper.text.data, expected);
}

static void peers_that_are_down_come_first_and_say_why(void **state)
{
	assert_rendered(
		command_peers_render,
		"{\"peers\": ["
		"{\"name\": \"node2\", \"address\": \"10.0.0.2\", \"is_enabled\": true, \"state\": \"up\","
		" \"since\": \"2026-09-01T12:00:00.000000000Z\", \"version\": \"0.1.0\", \"ports\":"
		" [{\"device\": \"mlx5_0\", \"state\": \"active\"}, {\"device\": \"mlx5_1\", \"state\":"
		" \"down\"}], \"round_trip_ns\": 210000, \"clock\": {\"offset_ns\": -12000,"
		" \"error_ns\": 105000}, \"error\": null},"
		"{\"name\": \"node4\", \"address\": \"node4.example:18620\", \"is_enabled\": true,"
		" \"state\": \"down\", \"since\": \"2026-09-01T11:00:00.000000000Z\", \"version\": null,"
		" \"ports\": null, \"round_trip_ns\": null, \"clock\": null, \"error\":"
		" \"connect: Connection refused\"}]}",
		"node4: connect: Connection refused\n\n"
		"peer   state  since                 address              round trip  clock offset      version  ports\n"
		"node4  down   2026-09-01 11:00:00Z  node4.example:18620           -  -                 -        -\n"
		"node2  up     2026-09-01 12:00:00Z  10.0.0.2                 210 us  -12 us +- 105 us  0.1.0    1/2\n");
}

static void no_peers_are_said_to_be_none(void **state)
{
	assert_rendered(command_peers_render, "{\"peers\": []}",
			"no peers: the configuration names none under `peers`\n");
	assert_rendered(command_peers_render, "{}",
			"no peers: the configuration names none under `peers`\n");
}

static void ports_show_state_rate_and_address(void **state)
{
	assert_rendered(
		command_devices_render,
		"{\"ports\": ["
		"{\"device\": \"rxe0\", \"port_num\": 1, \"state\": \"active\", \"link_layer\":"
		" \"ethernet\", \"link_rate_bps\": null, \"active_mtu_bytes\": 1024, \"max_mtu_bytes\":"
		" 4096, \"driver\": \"rdma_rxe\", \"firmware\": null, \"gids\": [{\"index\": 0, \"type\":"
		" \"roce_v2\", \"gid\": \"fe80::1\", \"netdev\": \"va\"}, {\"index\": 1, \"type\":"
		" \"roce_v2\", \"gid\": \"::ffff:10.99.0.1\", \"netdev\": \"va\", \"vlan\": null}]},"
		"{\"device\": \"mlx5_0\", \"port_num\": 1, \"state\": \"down\", \"link_layer\":"
		" \"infiniband\", \"link_rate_bps\": 400000000000, \"active_mtu_bytes\": 4096,"
		" \"max_mtu_bytes\": 4096, \"driver\": \"mlx5_core\", \"firmware\": \"28.39.1002\","
		" \"gids\": [{\"index\": 0, \"type\": \"ib\", \"gid\": \"fe80::2\", \"netdev\": null}]}"
		"]}",
		"device  port  state   link            rate  MTU           driver                address\n"
		"mlx5_0  1     down    infiniband  400 Gb/s  4096          mlx5_core 28.39.1002  fe80::2\n"
		"rxe0    1     active  ethernet           -  1024 of 4096  rdma_rxe              10.99.0.1 RoCE v2 on\n"
		"                                                                                va\n");
}

static void no_devices_are_said_to_be_none(void **state)
{
	assert_rendered(command_devices_render, "{\"ports\": []}",
			"no RDMA devices; `rdmatestd --doctor` tells why, and what to do\n");
}

#define LAST_FAIL                                                                                     \
	"{\"scenario\": \"mixed\","                                                                   \
	" \"id\": \"01K3V9Q7W0E5R2T8Y4U6J1M3N5\","                                                    \
	" \"verdict\": \"fail\", \"state\": \"done\","                                                \
	" \"ended_at\": \"2026-09-01T12:00:00.5Z\", \"started_at\": \"2026-09-01T11:59:50.5Z\","      \
	" \"measurements\": 3, \"counts\": {\"pass\": 2, \"fail\": 1}, \"first_finding\": {\"code\":" \
	" \"RDT-0107\", \"text\": \"nothing that node1 sends reaches node4\"}}"
#define LAST_PASS                                                                                \
	"{\"scenario\": \"heartbeat\","                                                          \
	" \"id\": \"01K3V9Q7X0E5R2T8Y4U6J1M3N5\","                                               \
	" \"verdict\": \"pass\", \"state\": \"done\","                                           \
	" \"ended_at\": \"2026-09-01T12:01:00.5Z\", \"started_at\": \"2026-09-01T12:00:50.5Z\"," \
	" \"measurements\": 1, \"counts\": {\"pass\": 1}, \"first_finding\": null}"
#define SCENARIOS                                                                                          \
	"[{\"name\": \"heartbeat\", \"description\": \"small RC ping-pong every 10 s\", \"is_enabled\":"   \
	" true, \"schedule\": {\"is_manual\": true, \"is_at_startup\": true, \"every_ns\": 10000000000,"   \
	" \"next_in_ns\": 4000000000, \"missed\": 0}, \"last\": " LAST_PASS "},"                           \
	"{\"name\": \"mixed\", \"description\": null, \"is_enabled\": true, \"schedule\": {\"is_manual\":" \
	" true, \"is_at_startup\": false, \"every_ns\": null}, \"last\": " LAST_FAIL "},"                  \
	"{\"name\": \"off\", \"is_enabled\": false, \"schedule\": {\"is_manual\": true}, \"last\":"        \
	" null}]"

static void scenarios_show_when_they_run_and_how_they_ended(void **state)
{
	assert_rendered(
		command_scenarios_render, "{\"scenarios\": " SCENARIOS "}",
		"scenario   last  ended                 runs                            next      description\n"
		"heartbeat  PASS  2026-09-01 12:01:00Z  every 10s, at startup, by hand  in 4.0 s  small RC ping-pong\n"
		"                                                                                 every 10 s\n"
		"mixed      FAIL  2026-09-01 12:00:00Z  by hand                         -         -\n"
		"off        -     -                     disabled                        -         -\n");
}

static void results_are_a_table_and_say_when_there_are_more(void **state)
{
	assert_rendered(
		command_results_render,
		"{\"next\": \"/v1/runs?limit=3&cursor=x\", \"runs\": [{\"id\":"
		" \"01K3V9Q7Y0E5R2T8Y4U6J1M3N5\", \"scenario\": \"heartbeat\", \"state\":"
		" \"running\", \"verdict\": null, \"started_at\": null, \"queued_at\":"
		" \"2026-09-01T12:02:00Z\", \"measurements\": 0, \"first_finding\": null},"
		" " LAST_PASS ", " LAST_FAIL "]}",
		"verdict  scenario   started               run         pairs        found\n"
		"RUNNING  heartbeat  2026-09-01 12:02:00Z  01K3V9Q7Y0  0            -\n"
		"PASS     heartbeat  2026-09-01 12:00:50Z  01K3V9Q7X0  1            -\n"
		"FAIL     mixed      2026-09-01 11:59:50Z  01K3V9Q7W0  2 of 3 pass  RDT-0107 nothing that node1 sends\n"
		"                                                                   reaches node4\n"
		"there are older ones; --limit=N shows more\n");
	assert_rendered(command_results_render, "{\"runs\": []}",
			"no such results; rdmatestctl run SCENARIO makes one\n");
}

#define STATUS(reload, pending)                                                                       \
	"{\"node\": \"node1\", \"version\": \"0.1.0\", \"state\": \"running\", \"started_at\":"       \
	" \"2026-09-01T08:00:00Z\", \"config\": {\"path\": \"/etc/rdmatestd/rdmatestd.yaml\","        \
	" \"generation\": 3, \"loaded_at\": \"2026-09-01T09:00:00Z\", \"is_last_reload_ok\": " reload \
	", \"pending_restart\": " pending                                                             \
	"}, \"peers\": {\"up\": 3, \"connecting\": 0, \"down\": 1},"                                  \
	" \"ports\": {\"active\": 2, \"other\": 1}, \"runs\": {\"active\": 1, \"current\": "          \
	"{\"id\": \"01K3V9Q7Z0E5R2T8Y4U6J1M3N5\", "                                                   \
	"\"scenario\": \"mixed\"}, \"queued\": 2, \"kept\": 12,"                                      \
	" \"verdicts\": {\"pass\": 11, \"fail\": 1, \"error\": 0}}, \"next\": {\"scenario\":"         \
	" \"heartbeat\", \"in_ns\": 4000000000}}"

static void the_status_of_a_good_daemon_is_short(void **state)
{
	assert_rendered(
		command_status_render,
		"{\"status\": " STATUS("true", "[]") ", \"readiness\": {\"is_ready\": true,"
						     " \"checks\": []}, \"scenarios\": " SCENARIOS
						     "}",
		"node1  ready  running since 2026-09-01 08:00:00Z, version 0.1.0\n"
		"  devices   2 of 3 ports active\n"
		"  peers     3 up, 1 down (rdmatestctl peers tells why)\n"
		"  runs      mixed goes on (01K3V9Q7Z0), 2 wait; 12 kept: 1 fail, 11 pass\n"
		"  next      heartbeat in 4.0 s\n"
		"  config    /etc/rdmatestd/rdmatestd.yaml, generation 3, loaded 2026-09-01 09:00:00Z\n"
		"\n"
		"  last  scenario   ended                 run         found\n"
		"  FAIL  mixed      2026-09-01 12:00:00Z  01K3V9Q7W0  RDT-0107 nothing that node1 sends reaches node4\n"
		"  PASS  heartbeat  2026-09-01 12:01:00Z  01K3V9Q7X0  -\n");
}

static void the_status_of_a_daemon_in_trouble_says_what_is_wrong(void **state)
{
	assert_rendered(
		command_status_render,
		"{\"status\": " STATUS(
			"false",
			"[\"listen\", \"http.listen\"]") ", \"readiness\": {\"is_ready\": false, \"checks\": [{\"name\": \"running\","
							 " \"is_ok\": true, \"detail\": \"running\"}, {\"name\": \"driver\", \"is_ok\":"
							 " false, \"detail\": \"a call to the driver hangs on mlx5_0\"}]}, \"scenarios\":"
							 " []}",
		"node1  NOT READY  running since 2026-09-01 08:00:00Z, version 0.1.0\n"
		"  not ready driver: a call to the driver hangs on mlx5_0\n"
		"  devices   2 of 3 ports active\n"
		"  peers     3 up, 1 down (rdmatestctl peers tells why)\n"
		"  runs      mixed goes on (01K3V9Q7Z0), 2 wait; 12 kept: 1 fail, 11 pass\n"
		"  next      heartbeat in 4.0 s\n"
		"  config    /etc/rdmatestd/rdmatestd.yaml, generation 3, loaded 2026-09-01 09:00:00Z\n"
		"            the last reload was refused: rdmatestctl check --config=/etc/rdmatestd/rdmatestd.yaml tells why\n"
		"            changed, but needs a restart: listen, http.listen\n");
}

static void devices_that_could_not_be_asked_are_told_with_the_reason(void **state)
{
	assert_rendered(
		command_status_render,
		"{\"status\": {\"node\": \"a\", \"ports\": {\"active\": 0, \"other\": 1, \"error\":"
		" \"ibv_open_device: mlx5_0: Permission denied\"}}}",
		"a  NOT READY  - since -, version -\n"
		"  devices   0 of 1 port active\n"
		"            ibv_open_device: mlx5_0: Permission denied\n"
		"  peers     0 up\n"
		"  runs      none goes on; 0 kept\n"
		"  config    -, generation 0, loaded -\n");
}

/* Answers of something else, or of another version. */
static void strange_records_are_shown_without_harm(void **state)
{
	static const render_fn renders[] = { command_devices_render, command_peers_render,
					     command_results_render, command_scenarios_render,
					     command_status_render };
	static const char *const records[] = {
		"{}",
		"{\"ports\": [null, 3, {}, {\"gids\": [null], \"port_num\": -1, \"link_rate_bps\": \"x\"}],"
		" \"peers\": [[], {\"state\": 4, \"ports\": [1]}, {\"clock\": {\"offset_ns\": 1e300}}],"
		" \"runs\": [{}, {\"verdict\": []}, {\"id\": \"\\u001b[31m\"}], \"scenarios\": [{}, 1,"
		" {\"schedule\": []}, {\"last\": 5}], \"status\": 5, \"readiness\": \"no\"}",
	};

	for (size_t i = 0; i < sizeof(renders) / sizeof(renders[0]); i++) {
		for (size_t k = 0; k < sizeof(records) / sizeof(records[0]); k++) {
			_cleanup_json_ json_t *json =
				json_read(records[k], strlen(records[k]), NULL);
			_cleanup_paper_ struct paper paper = PAPER_INIT;

			assert_non_null(json);
			renders[i](json, &paper);
			assert_true(paper.text.length > 0);
			assert_null(strchr(paper.text.data, '\033'));
		}
	}
}

static void every_command_has_a_summary_and_a_help(void **state)
{
	for (size_t i = 0; command_table[i] != NULL; i++) {
		const struct command *command = command_table[i];
		_cleanup_paper_ struct paper paper = PAPER_INIT;

		usage_of_command(command, &paper);
		assert_non_null(strstr(paper.text.data, command->name));
		assert_non_null(strstr(paper.text.data, "--help"));
		assert_int_equal(strstr(paper.text.data, "--socket=PATH") != NULL,
				 (command->uses & COMMAND_ASKS_DAEMON) != 0);
		assert_int_equal(strstr(paper.text.data, "--json") != NULL,
				 (command->uses & COMMAND_HAS_JSON) != 0);
		for (const struct option_row *row = command->options; row && row->name; row++) {
			assert_non_null(strstr(paper.text.data, row->name));
		}
	}
}

static void a_device_that_hangs_is_told_in_both_lists(void **state)
{
	assert_rendered(
		command_status_render,
		"{\"status\": {\"node\": \"a\", \"ports\": {\"active\": 2, \"other\": 0, \"error\": null}, \"sick\":"
		" [{\"device\": \"mlx5_0\", \"call\": \"ibv_destroy_qp\", \"since\": null, \"for_ns\":"
		" 37412345678}]}}",
		"a  NOT READY  - since -, version -\n"
		"  devices   2 of 2 ports active\n"
		"            mlx5_0 is sick: ibv_destroy_qp has not returned for 37.0 s\n"
		"  peers     0 up\n"
		"  runs      none goes on; 0 kept\n"
		"  config    -, generation 0, loaded -\n");
	assert_rendered(
		command_devices_render,
		"{\"ports\": [{\"device\": \"a\", \"port_num\": 1, \"state\": \"active\", \"sick\": null},"
		" {\"device\": \"b\", \"port_num\": 1, \"state\": \"active\", \"sick\": {\"call\":"
		" \"ibv_reg_mr\"}}]}",
		"device  port  state   link  rate  MTU  driver  address\n"
		"b       1     sick    -        -  -    -       -\n"
		"a       1     active  -        -  -    -       -\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peers_that_are_down_come_first_and_say_why),
		cmocka_unit_test(no_peers_are_said_to_be_none),
		cmocka_unit_test(ports_show_state_rate_and_address),
		cmocka_unit_test(no_devices_are_said_to_be_none),
		cmocka_unit_test(scenarios_show_when_they_run_and_how_they_ended),
		cmocka_unit_test(results_are_a_table_and_say_when_there_are_more),
		cmocka_unit_test(the_status_of_a_good_daemon_is_short),
		cmocka_unit_test(the_status_of_a_daemon_in_trouble_says_what_is_wrong),
		cmocka_unit_test(devices_that_could_not_be_asked_are_told_with_the_reason),
		cmocka_unit_test(a_device_that_hangs_is_told_in_both_lists),
		cmocka_unit_test(strange_records_are_shown_without_harm),
		cmocka_unit_test(every_command_has_a_summary_and_a_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
