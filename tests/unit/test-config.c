// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config.h"
#include "config/place.h"
#include "util/memory.h"
#include "util/random.h"

#define WORKLOAD "    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
#define KEY "daemon: { key_file: /etc/rdmatestd/fleet.key }\n"

/* A folder of its own for every test. */
struct fixture {
	char folder[64];
	struct problems problems;
	struct text printed;
	struct config *config;
};

static int make_folder(void **state)
{
	struct fixture *fixture = memory_new(sizeof(*fixture));

	snprintf(fixture->folder, sizeof(fixture->folder), "%.40s/config-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
	assert_non_null(mkdtemp(fixture->folder));
	problems_init(&fixture->problems);
	*state = fixture;
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

static int remove_folder(void **state)
{
	struct fixture *fixture = *state;

	config_unref(fixture->config);
	problems_done(&fixture->problems);
	text_done(&fixture->printed);
	nftw(fixture->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(fixture);
	return 0;
}

static void write_bytes(struct fixture *fixture, const char *name, const char *bytes, size_t count)
{
	char path[400];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	fclose(file);
}

static void write_file(struct fixture *fixture, const char *name, const char *content)
{
	write_bytes(fixture, name, content, strlen(content));
}

static void make_subfolder(struct fixture *fixture, const char *name)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

/* Loads main.yaml of the folder; what was loaded before is dropped, printed and problems are of
 * this time. */
static struct config *load_as(struct fixture *fixture, const char *name, const char *host_name)
{
	char path[400];

	config_unref(fixture->config);
	problems_done(&fixture->problems);
	text_reset(&fixture->printed);
	snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
	fixture->config = config_load(path, host_name, &fixture->problems);
	problems_print(&fixture->problems, 50, &fixture->printed);
	text_add(&fixture->printed, "");
	return fixture->config;
}

static struct config *load(struct fixture *fixture)
{
	return load_as(fixture, "main.yaml", "host1");
}

static void assert_printed(const struct fixture *fixture, const char *part)
{
	if (!strstr(fixture->printed.data, part)) {
		fail_msg("\"%s\" is not in:\n%s", part, fixture->printed.data);
	}
}

static void the_smallest_file_gives_the_defaults(void **state)
{
	struct fixture *fixture = *state;
	struct config *config;

	write_file(fixture, "main.yaml", "version: 1\n");
	config = load(fixture);
	assert_non_null(config);
	assert_int_equal(fixture->problems.errors, 0);
	assert_int_equal(fixture->problems.warnings, 0);
	assert_string_equal(config->daemon.node_name, "host1");
	assert_int_equal(config->daemon.listen_port, 18620);
	assert_string_equal(config->daemon.http_listen, "127.0.0.1:9879");
	assert_string_equal(config->daemon.admin_socket, "/run/rdmatestd/admin.sock");
	assert_int_equal(config->daemon.limits.max_qps, 4096);
	assert_int_equal(config->daemon.limits.max_pinned_bytes, 1ull << 30);
	assert_int_equal(config->daemon.limits.max_concurrent_jobs, 4);
	assert_int_equal(config->scenario_count, 0);
	assert_int_equal(config->peer_count, 0);
	assert_int_equal(config->file_count, 1);
	assert_int_equal(config->generation, 0);
	assert_true(text_starts_with(config->hash, "fnv:"));
	assert_int_equal(strlen(config->hash), 20);
}

static void an_absent_main_file_is_an_error_of_that_file(void **state)
{
	struct fixture *fixture = *state;

	assert_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 1);
	assert_printed(fixture, "/main.yaml: error: ");
	assert_printed(fixture, "No such file");
}

static void a_folder_or_pipe_in_place_of_the_main_file_is_refused_at_once(void **state)
{
	struct fixture *fixture = *state;
	char path[400];

	make_subfolder(fixture, "main.yaml");
	assert_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 1);
	snprintf(path, sizeof(path), "%s/pipe", fixture->folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(load_as(fixture, "pipe", "host1"));
	assert_int_equal(fixture->problems.errors, 1);
}

static void a_path_that_does_not_fit_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char name[300];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_null(load_as(fixture, name, "host1"));
	assert_printed(fixture, "the path is longer than 255 bytes");
}

static void the_host_name_stands_in_for_the_node_name_in_lower_case(void **state)
{
	struct fixture *fixture = *state;
	char long_name[65];

	write_file(fixture, "main.yaml", "version: 1\n");
	assert_non_null(load_as(fixture, "main.yaml", "Node-7.Example.ORG"));
	assert_string_equal(fixture->config->daemon.node_name, "node-7.example.org");
	assert_null(load_as(fixture, "main.yaml", "bad host\n"));
	assert_printed(fixture, "the host name \"bad host\\x0a\" is not a name");
	assert_printed(fixture, "set daemon.node_name");
	assert_null(load_as(fixture, "main.yaml", ""));
	memset(long_name, 'a', 64);
	long_name[64] = '\0';
	assert_null(load_as(fixture, "main.yaml", long_name));
	write_file(fixture, "main.yaml", "version: 1\ndaemon: { node_name: n }\n");
	assert_non_null(load_as(fixture, "main.yaml", "bad host"));
	assert_string_equal(fixture->config->daemon.node_name, "n");
}

static void globs_are_relative_to_the_main_file_sorted_and_read_once(void **state)
{
	struct fixture *fixture = *state;
	struct config *config;

	make_subfolder(fixture, "s.d");
	write_file(fixture, "main.yaml",
		   "version: 1\ninclude: [s.d/20.yaml, 's.d/*.yaml', 's.d/../s.d/1?.yaml']\n" KEY
		   "peers: [{ name: host1, address: 192.0.2.1 }]\n");
	write_file(fixture, "s.d/20.yaml", "version: 1\nscenarios:\n  - name: zebra\n" WORKLOAD);
	write_file(
		fixture, "s.d/10.yaml",
		"version: 1\npeers: [{ name: b, address: 192.0.2.2 }]\nscenarios:\n  - name: ant\n" WORKLOAD);
	write_file(fixture, "s.d/.hidden.yaml", "nonsense");
	write_file(fixture, "s.d/note.txt", "nonsense");
	config = load(fixture);
	assert_non_null(config);
	/* That of the traffic class alone. */
	assert_int_equal(fixture->problems.warnings, 1);
	assert_int_equal(config->file_count, 3);
	assert_string_equal(strrchr(config->files[1], '/'), "/20.yaml");
	assert_string_equal(strrchr(config->files[2], '/'), "/10.yaml");
	assert_int_equal(config->scenario_count, 2);
	assert_string_equal(config->scenarios[0]->name, "ant");
	assert_string_equal(config->scenarios[0]->source, "s.d/10.yaml:4");
	assert_string_equal(config->scenarios[1]->name, "zebra");
	assert_int_equal(config->peer_count, 2);
	assert_ptr_equal(config_scenario(config, "zebra"), config->scenarios[1]);
	assert_null(config_scenario(config, "zebr"));
}

static void a_main_file_that_matches_its_own_glob_is_read_once(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "main.yaml",
		   "version: 1\ninclude: ['*.yaml']\nscenarios:\n  - name: a\n" WORKLOAD);
	assert_non_null(load(fixture));
	assert_int_equal(fixture->config->file_count, 1);
	assert_int_equal(fixture->config->scenario_count, 1);
}

static void a_folder_with_glob_characters_in_its_name_is_taken_literally(void **state)
{
	struct fixture *fixture = *state;

	make_subfolder(fixture, "a[b]*");
	write_file(fixture, "a[b]*/main.yaml", "version: 1\ninclude: ['s*.part']\n");
	write_file(fixture, "a[b]*/s1.part", "version: 1\nscenarios:\n  - name: a\n" WORKLOAD);
	assert_non_null(load_as(fixture, "a[b]*/main.yaml", "host1"));
	assert_int_equal(fixture->config->file_count, 2);
}

static void a_glob_without_a_match_is_a_warning_and_a_missing_path_an_error(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "main.yaml", "version: 1\ninclude: ['none.d/*.yaml']\n");
	assert_non_null(load(fixture));
	assert_int_equal(fixture->problems.warnings, 1);
	assert_printed(fixture,
		       "main.yaml:2:11: warning: include[0]: \"none.d/*.yaml\" matches no file");
	write_file(fixture, "main.yaml", "version: 1\ninclude: [none.yaml]\n");
	assert_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 1);
	assert_printed(fixture, "include[0]: \"none.yaml\": No such file or directory");
}

static void errors_of_all_files_are_told_at_once(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "main.yaml",
		   "version: 1\ninclude: [a.part, b.part]\ndaemon: { log_level: loud }\n");
	write_file(fixture, "a.part", "version: 1\nscenarios: [ {\n");
	write_file(fixture, "b.part", "version: 1\nscenarios:\n  - name: B\n" WORKLOAD);
	assert_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 3);
	assert_printed(fixture, "main.yaml:3:22: error: daemon.log_level");
	assert_printed(fixture, "a.part:3:1: error: YAML: ");
	assert_printed(fixture, "b.part:3:11: error: scenarios[0].name");
}

static void a_file_over_a_mebibyte_is_refused(void **state)
{
	struct fixture *fixture = *state;
	size_t count = DOCUMENT_MAX_BYTES + 1;
	_cleanup_free_ char *bytes = memory_new(count);

	memset(bytes, '#', count);
	write_bytes(fixture, "main.yaml", bytes, count);
	assert_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 1);
	assert_printed(fixture, "larger than 1048576 bytes");
}

static void a_file_of_too_many_nodes_is_refused(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add(&text, "version: 1\npeers:\n");
	for (unsigned i = 0; i < DOCUMENT_MAX_NODES; i++) {
		text_add(&text, "  - x\n");
	}
	write_file(fixture, "main.yaml", text.data);
	assert_null(load(fixture));
	assert_printed(fixture, "more than 20000 keys and values");
}

static void more_scenarios_and_peers_than_the_limit_are_one_error_each(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text text = TEXT_INIT;

	text_add(&text, "version: 1\n" KEY "peers:\n");
	for (unsigned i = 0; i < LIMIT_PEERS + 5; i++) {
		text_format(&text, "  - { name: p%u, address: node%u.example }\n", i, i);
	}
	text_add(&text, "scenarios:\n");
	for (unsigned i = 0; i < LIMIT_SCENARIOS + 5; i++) {
		text_format(&text, "  - name: s%u\n" WORKLOAD, i);
	}
	write_file(fixture, "main.yaml", text.data);
	assert_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 2);
	assert_printed(fixture, "peers[1024]: is beyond the 1024 that this daemon takes");
	assert_printed(fixture, "scenarios[256]: is beyond the 256 that this daemon takes");
}

static void the_hash_tells_what_scenarios_say_and_not_how(void **state)
{
	struct fixture *fixture = *state;
	char hash[24];

	write_file(fixture, "main.yaml",
		   "version: 1\nscenarios:\n  - name: a\n" WORKLOAD "  - name: b\n" WORKLOAD
		   "    run: { duration: 1500ms }\n    expect: [errors == 0]\n");
	assert_non_null(load(fixture));
	text_copy(hash, sizeof(hash), fixture->config->hash);
	write_file(
		fixture, "main.yaml",
		"# the other way round, in another file, with other spelling\nversion: 1\ninclude: [b.part]\nscenarios:\n"
		"  - workload:\n      pattern: pingpong\n      ops:\n        - { size: '8', op: write, weight: 1 }\n"
		"    name: a\n    enabled: true\n");
	write_file(fixture, "b.part",
		   "version: 1\n\n\n\nscenarios:\n  - name: b\n" WORKLOAD
		   "    run: { duration: 1500000us }\n    expect: [\"errors  ==  0\"]\n");
	assert_non_null(load(fixture));
	assert_string_equal(fixture->config->hash, hash);
	write_file(fixture, "b.part",
		   "version: 1\nscenarios:\n  - name: b\n" WORKLOAD
		   "    run: { duration: 1501ms }\n    expect: [errors == 0]\n");
	assert_non_null(load(fixture));
	assert_string_not_equal(fixture->config->hash, hash);
}

static void warnings_leave_the_configuration_usable(void **state)
{
	struct fixture *fixture = *state;

	write_file(
		fixture, "main.yaml",
		"version: 1\npeers:\n  - { name: b, address: 192.0.2.2, labels: { role: storage } }\nscenarios:\n"
		"  - name: nobody\n    peers: { from: \"role=compute\" }\n" WORKLOAD
		"  - name: alone\n    peers: { from: \"name=b\", to: \"role=storage\" }\n" WORKLOAD
		"  - name: disabled\n    enabled: false\n    peers: { to: \"x=y\" }\n" WORKLOAD);
	assert_non_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 0);
	assert_int_equal(fixture->problems.warnings, 4);
	assert_printed(fixture, "warning: daemon.key_file: not set");
	assert_printed(fixture,
		       "warning: scenarios[0].qp.traffic_class: not set in \"nobody\", \"alone\":");
	assert_printed(fixture,
		       "warning: scenarios[0].peers.from: no node of this configuration matches");
	assert_printed(fixture, "warning: scenarios[1].peers: both select only \"b\"");
}

static void an_unset_traffic_class_is_warned_of_once_for_all_scenarios(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "main.yaml",
		   "version: 1\n" KEY "include: [more.part]\nscenarios:\n"
		   "  - name: chosen\n    qp: { traffic_class: 104 }\n" WORKLOAD
		   "  - name: default\n    qp: { traffic_class: 0 }\n" WORKLOAD
		   "  - name: off\n    enabled: false\n" WORKLOAD
		   "  - name: a\n    qp: { num_qps: 1 }\n" WORKLOAD
		   "  - name: b\n    qp: { traffic_class: auto }\n" WORKLOAD);
	write_file(fixture, "more.part",
		   "version: 1\nscenarios:\n  - name: c\n" WORKLOAD "  - name: d\n" WORKLOAD
		   "  - name: e\n" WORKLOAD "  - name: f\n" WORKLOAD);
	assert_non_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 0);
	assert_int_equal(fixture->problems.warnings, 2); /* and that there are no peers */
	assert_printed(
		fixture,
		"main.yaml:15:9: warning: scenarios[3].qp.traffic_class: not set in \"a\", \"b\", \"c\", "
		"\"d\" and 2 more: on RoCE that is the port's default class");
	assert_printed(fixture, "write the class of your traffic (DSCP << 2, such as 104 for DSCP "
				"26), or 0 for the default class on purpose");
	/* Nothing to say where all chose. */
	write_file(fixture, "main.yaml",
		   "version: 1\n" KEY
		   "scenarios:\n  - name: a\n    qp: { traffic_class: 0 }\n" WORKLOAD);
	assert_non_null(load(fixture));
	assert_int_equal(fixture->problems.warnings, 1);
	assert_null(strstr(fixture->printed.data, "traffic_class"));
}

static void a_scenario_that_is_there_twice_is_named_once_by_warnings(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "main.yaml",
		   "version: 1\n" KEY "scenarios:\n  - name: a\n" WORKLOAD
		   "  - name: a\n" WORKLOAD);
	assert_null(load(fixture));
	assert_printed(fixture, "traffic_class: not set in \"a\": on RoCE");
}

static void keys_that_need_a_restart_are_named(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_text_ struct text out = TEXT_INIT;
	struct config *old;

	write_file(fixture, "main.yaml", "version: 1\n");
	old = config_ref(load(fixture));
	write_file(fixture, "main.yaml",
		   "version: 1\ndaemon: { log_level: debug, limits: { max_qps: 1 } }\n");
	assert_false(config_needs_restart(old, load(fixture), &out));
	assert_int_equal(out.length, 0);
	write_file(
		fixture, "main.yaml",
		"version: 1\ndaemon:\n  node_name: other\n  listen: { port: 1 }\n  http: { listen: \"[::]:1\" }\n"
		"  admin_socket: /a\n  key_file: /k\n  control_cpus: 0-1\n");
	assert_true(config_needs_restart(old, load(fixture), &out));
	assert_string_equal(out.data,
			    "node_name, listen, http.listen, admin_socket, key_file, control_cpus");
	text_reset(&out);
	write_file(fixture, "main.yaml",
		   "version: 1\ndaemon: { listen: { address: 192.0.2.1 } }\n");
	assert_true(config_needs_restart(old, load(fixture), &out));
	assert_string_equal(out.data, "listen");
	config_unref(old);
}

static void a_snapshot_lives_as_long_as_someone_holds_it(void **state)
{
	struct fixture *fixture = *state;
	struct config *held;

	write_file(fixture, "main.yaml", "version: 1\nscenarios:\n  - name: a\n" WORKLOAD);
	held = config_ref(load(fixture));
	write_file(fixture, "main.yaml", "version: 2\n");
	assert_null(load(fixture));
	assert_string_equal(held->scenarios[0]->name, "a");
	config_unref(held);
	config_unref(NULL);
}

static void combinations_are_judged_beside_errors_elsewhere_in_the_scenario(void **state)
{
	struct fixture *fixture = *state;

	write_file(fixture, "main.yaml",
		   "version: 1\nscenarios:\n  - name: a\n    enabled: maybe\n" WORKLOAD
		   "    qp: { max_rd_atomic: 0 }\n    run: { duration: 1s, iterations: 5 }\n");
	assert_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 2);
	assert_printed(fixture, "enabled: \"maybe\"");
	assert_printed(fixture, "both end the run");
	/* Not where it would be told of a value that was not read. */
	write_file(fixture, "main.yaml",
		   "version: 1\nscenarios:\n  - name: a\n" WORKLOAD
		   "    run: { duration: 1sec, iterations: 5, interval: 1us }\n");
	assert_null(load(fixture));
	assert_int_equal(fixture->problems.errors, 2);
}

static void places_are_found_in_a_document_or_the_nearest_map_is(void **state)
{
	static const char yaml[] = "a:\n  b:\n    - { c: 1 }\n    - x\n";
	struct fixture *fixture = *state;
	struct document *document = document_read("x", yaml, strlen(yaml), &fixture->problems);
	struct place place;

	assert_non_null(document);
	place = place_find(document->root, "a.b[0].c");
	assert_true(place.is_written && place.line == 3 && place.column == 12);
	place = place_find(document->root, "a.b[1]");
	assert_true(place.is_written && place.line == 4);
	place = place_find(document->root, "a.b[2]");
	assert_true(!place.is_written && place.line == 3 && place.column == 5);
	place = place_find(document->root, "a.b[18446744073709551616]");
	assert_false(place.is_written);
	place = place_find(document->root, "a.b[1].c");
	assert_true(!place.is_written && place.line == 4);
	place = place_find(document->root, "a.q.r");
	assert_true(!place.is_written && place.line == 2 && place.column == 3);
	place = place_find(document->root, "");
	assert_true(place.is_written && place.line == 1);
	place = place_key(document->root, "a");
	assert_true(place.is_written && place.line == 1 && place.column == 1);
	place = place_key(document->root, "z");
	assert_false(place.is_written);
	document_free(document);
}

static void the_field_reference_has_every_section(void **state)
{
	static const char *const parts[] = {
		"`version`", "`node_name`",   "`max_pinned_memory`", "`address`",
		"`num_qps`", "`outstanding`", "`stall_timeout`",     "`jitter`",
		"`expect`",  "`affinity`",    "not in this version", "scenarios.workload.ops[]"
	};
	_cleanup_text_ struct text out = TEXT_INIT;

	config_print_fields(&out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!strstr(out.data, parts[i])) {
			fail_msg("%s is not in the reference", parts[i]);
		}
	}
}

/* Whatever bytes come: an error or a configuration, never both or neither, and no memory touched
 * that should not be. */
static void a_file_with_random_damage_is_read_or_refused(void **state)
{
	static const char yaml[] =
		"version: 1\ndaemon: { node_name: n, listen: { port: 1 }, devices: [{ name: d, gid_index: auto }] }\n" KEY
		"peers: [{ name: b, address: \"[::1]:1\", labels: { a: b } }]\nscenarios:\n  - name: a\n"
		"    schedule: { on: [manual], every: 1h, jitter: 1s }\n    qp: { num_qps: 2, path_mtu: auto }\n"
		"    workload:\n      pattern: stream\n      ops: [{ op: read, size: [{ size: 8B, weight: 2 }] }]\n"
		"      load: { outstanding: 8 }\n    run: { duration: 1s }\n    expect: [latency.p99 <= 5ms]\n";
	static const char spice[] = "\0\t\n :,-[]{}&*!|>'\"#%@`\x80\xff"
				    "0129azAZ._~<";
	struct fixture *fixture = *state;
	struct prng prng;
	char damaged[sizeof(yaml)];

	prng_init(&prng, 7);
	for (unsigned round = 0; round < 400; round++) {
		bool is_config;

		memcpy(damaged, yaml, sizeof(yaml));
		for (uint64_t k = prng_below(&prng, 4) + 1; k > 0; k--) {
			damaged[prng_below(&prng, sizeof(yaml) - 1)] =
				spice[prng_below(&prng, sizeof(spice) - 1)];
		}
		write_bytes(fixture, "main.yaml", damaged,
			    prng_below(&prng, 8) ? sizeof(yaml) - 1 : prng_below(&prng, 300));
		is_config = load(fixture);
		assert_int_equal(is_config, fixture->problems.errors == 0);
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_smallest_file_gives_the_defaults),
		TEST(an_absent_main_file_is_an_error_of_that_file),
		TEST(a_folder_or_pipe_in_place_of_the_main_file_is_refused_at_once),
		TEST(a_path_that_does_not_fit_is_refused),
		TEST(the_host_name_stands_in_for_the_node_name_in_lower_case),
		TEST(globs_are_relative_to_the_main_file_sorted_and_read_once),
		TEST(a_main_file_that_matches_its_own_glob_is_read_once),
		TEST(a_folder_with_glob_characters_in_its_name_is_taken_literally),
		TEST(a_glob_without_a_match_is_a_warning_and_a_missing_path_an_error),
		TEST(errors_of_all_files_are_told_at_once),
		TEST(a_file_over_a_mebibyte_is_refused),
		TEST(a_file_of_too_many_nodes_is_refused),
		TEST(more_scenarios_and_peers_than_the_limit_are_one_error_each),
		TEST(the_hash_tells_what_scenarios_say_and_not_how),
		TEST(warnings_leave_the_configuration_usable),
		TEST(an_unset_traffic_class_is_warned_of_once_for_all_scenarios),
		TEST(a_scenario_that_is_there_twice_is_named_once_by_warnings),
		TEST(keys_that_need_a_restart_are_named),
		TEST(a_snapshot_lives_as_long_as_someone_holds_it),
		TEST(combinations_are_judged_beside_errors_elsewhere_in_the_scenario),
		TEST(places_are_found_in_a_document_or_the_nearest_map_is),
		TEST(the_field_reference_has_every_section),
		TEST(a_file_with_random_damage_is_read_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
