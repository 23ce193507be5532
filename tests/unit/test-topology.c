// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/topology.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

static unsigned read_table(const struct schema_field *fields, const char *yaml, void *object,
			   struct text *out)
{
	struct problems problems;
	struct schema_context context = { "d.yaml", &problems };
	struct document *document;
	unsigned errors;

	problems_init(&problems);
	document = document_read("d.yaml", yaml, strlen(yaml), &problems);
	text_reset(out);
	text_add(out, "");
	if (document) {
		schema_parse(fields, document->root, "", object, fields, &context);
	}
	problems_print(&problems, 50, out);
	errors = problems.errors;
	document_free(document);
	problems_done(&problems);
	return errors;
}

static void the_empty_daemon_has_the_defaults(void **state)
{
	struct daemon_settings *d = memory_new(sizeof(*d));
	struct text out = TEXT_INIT;

	assert_int_equal(read_table(daemon_fields, "", d, &out), 0);
	assert_string_equal(d->node_name, "");
	assert_string_equal(d->listen_address, "::");
	assert_int_equal(d->listen_port, 18620);
	assert_string_equal(d->http_listen, "127.0.0.1:9879");
	assert_string_equal(d->admin_socket, "/run/rdmatestd/admin.sock");
	assert_string_equal(d->key_file, "");
	assert_int_equal(d->device_count, 0);
	assert_int_equal(d->limits.max_qps, 4096);
	assert_int_equal(d->limits.max_pinned_bytes, 1 << 30);
	assert_int_equal(d->limits.max_concurrent_jobs, 4);
	assert_int_equal(d->limits.allow_disruptive, ALLOW_DISRUPTIVE_WHEN_IDLE);
	assert_int_equal(d->limits.duty_cycle_ppm, 50000);
	assert_true(d->limits.max_duration_ns == 3600000000000);
	assert_int_equal(d->limits.max_jobs_per_peer, 2);
	assert_true(d->limits.max_peer_time_ns == 24 * 3600000000000);
	assert_true(labels_selector_matches(&d->limits.accept_from, "anyone", NULL));
	assert_int_equal(d->keep_runs, 256);
	assert_int_equal(d->log_level, LOG_LEVEL_INFO);
	text_done(&out);
	free(d);
}

static void a_whole_daemon_is_read(void **state)
{
	struct daemon_settings *d = memory_new(sizeof(*d));
	struct text out = TEXT_INIT;

	if (read_table(
		    daemon_fields,
		    "node_name: node1\nlabels: {role: compute}\nlisten: {address: 10.0.0.1, port: 7}\n"
		    "http: {listen: \"[::]:9879\"}\nadmin_socket: /tmp/a.sock\nkey_file: /etc/key\n"
		    "devices: [{name: mlx5_0}, {name: rxe0, port_num: 2, gid_index: 3, rail: 1}]\n"
		    "limits: {max_qps: 8, max_pinned_memory: 64MiB, max_concurrent_jobs: 1, max_duration: 1m, accept_from: \"role=a\", allow_disruptive: never}\n"
		    "results: {keep_runs: 10}\nlog_level: debug\n",
		    d, &out)) {
		fail_msg("%s", out.data);
	}
	assert_string_equal(d->node_name, "node1");
	assert_string_equal(d->listen_address, "10.0.0.1");
	assert_int_equal(d->listen_port, 7);
	assert_int_equal(d->device_count, 2);
	assert_string_equal(d->devices[0].name, "mlx5_0");
	assert_int_equal(d->devices[0].port_num, 1);
	assert_true(d->devices[0].gid_index == SCHEMA_AUTO);
	assert_true(d->devices[0].rail == SCHEMA_AUTO);
	assert_int_equal(d->devices[1].gid_index, 3);
	assert_int_equal(d->limits.max_pinned_bytes, 64 << 20);
	assert_int_equal(d->limits.accept_from.count, 1);
	assert_int_equal(d->limits.allow_disruptive, ALLOW_DISRUPTIVE_NEVER);
	assert_false(labels_selector_matches(&d->limits.accept_from, "x", NULL));
	assert_int_equal(d->keep_runs, 10);
	assert_int_equal(d->log_level, LOG_LEVEL_DEBUG);
	text_done(&out);
	free(d);
}

static void expect_problem(const char *yaml, const char *part)
{
	struct daemon_settings *d = memory_new(sizeof(*d));
	struct text out = TEXT_INIT;
	unsigned errors = read_table(daemon_fields, yaml, d, &out);

	if (errors != 1 || !strstr(out.data, part)) {
		fail_msg("%u problems instead of one with \"%s\": %s", errors, part, out.data);
	}
	text_done(&out);
	free(d);
}

static void wrong_settings_are_refused(void **state)
{
	expect_problem("listen: {port: 0}\n", "below 1");
	expect_problem("listen: {port: 65536}\n", "above 65535");
	expect_problem("node_name: Node 1\n", "is not a name");
	expect_problem("devices: [{port_num: 1}]\n", "missing required key \"name\"");
	expect_problem("limits: {max_pinned_memory: 64MB}\n", "ambiguous");
	expect_problem("limits: {max_concurrent_runs: 3}\n", "use max_concurrent_jobs");
	expect_problem("results: {keep_runs: 0}\n", "below 1");
	expect_problem("log_level: loud\n", "not one of error, warning, info, debug");
	expect_problem("state_dir: /var/lib/x\n", "not in this version");
	expect_problem("http: {token_file: /x}\n", "not in this version");
	expect_problem("key_fil: /x\n", "did you mean \"key_file\"?");
}

static void peers_need_name_and_address(void **state)
{
	struct peer_settings peer;
	struct text out = TEXT_INIT;

	assert_int_equal(read_table(peer_fields,
				    "{name: b, address: 10.99.0.2, labels: {rack: r1}}\n", &peer,
				    &out),
			 0);
	assert_true(peer.is_enabled);
	assert_string_equal(labels_get(&peer.labels, "rack"), "r1");
	assert_int_equal(read_table(peer_fields, "{enabled: false}\n", &peer, &out), 2);
	assert_int_equal(read_table(peer_fields, "{name: b, address: x, rails: []}\n", &peer, &out),
			 1);
	text_done(&out);
}

static void expect_documented(const struct schema_field *fields, const char *place)
{
	for (; fields->key; fields++) {
		char here[256];

		snprintf(here, sizeof(here), "%s.%s", place, fields->key);
		if (!fields->doc || strlen(fields->doc) < 8 || strchr(fields->doc, '\n')) {
			fail_msg("%s has no line of documentation", here);
		}
		if (fields->fields) {
			expect_documented(fields->fields, here);
		}
	}
}

static void every_key_is_documented(void **state)
{
	expect_documented(daemon_fields, "daemon");
	expect_documented(peer_fields, "peers");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_empty_daemon_has_the_defaults),
		cmocka_unit_test(a_whole_daemon_is_read),
		cmocka_unit_test(wrong_settings_are_refused),
		cmocka_unit_test(peers_need_name_and_address),
		cmocka_unit_test(every_key_is_documented),
	};

	return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
