// SPDX-License-Identifier: MIT

/*
 * Four daemons in one process with real threads and real time, for the thread sanitizer: each loop
 * on a thread of its own, workers that poll, setup pools, reloads while traffic runs. What they
 * measure is not looked at, only that everything ends well.
 */

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/free-port.h"
#include "daemon.h"
#include "fake/fabric.h"
#include "parts.h"
#include "run/history.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

#define DAEMONS 4
#define RUNS 6
#define MS_NS 1000000ull
/* Far above what it takes under the slowest sanitizer: only so that a hang ends. */
#define PATIENCE_NS (180000 * MS_NS)

static const char scenarios[] =
	"version: 1\n"
	"scenarios:\n"
	"  - name: ping\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }, { op: send, size: 64B }, { op: read, size: 8B }] }\n"
	"    run: { warmup: 5ms, iterations: 60, stall_timeout: 60s }\n"
	"    expect: [errors == 0]\n"
	"  - name: cm\n"
	"    disruptive: true\n"
	"    qp: { cm: rdma_cm, num_qps: 4 }\n"
	"    workload: { pattern: stream, load: { outstanding: 8 }, ops: [{ op: send, size: 64B }] }\n"
	"    run: { warmup: 0s, iterations: 60, stall_timeout: 60s }\n"
	"    expect: [errors == 0]\n"
	"  - name: churn\n"
	"    qp: { cm: rdma_cm, num_qps: 4 }\n"
	"    workload: { pattern: connect }\n"
	"    run: { warmup: 5ms, iterations: 60, stall_timeout: 60s }\n"
	"    expect: [errors == 0]\n"
	"  - name: stream\n"
	"    disruptive: true\n"
	"    qp: { num_qps: 2 }\n"
	"    workload: { pattern: stream, load: { outstanding: 16 }, signal_interval: 4, post_list: 2,\n"
	"                ops: [{ op: write, weight: 2, size: 4KiB }, { op: send, size: 256B }] }\n"
	"    run: { warmup: 0s, iterations: 2000, stall_timeout: 60s }\n"
	"    expect: [errors == 0]\n"
	"  - name: verified\n"
	"    disruptive: true\n"
	"    qp: { num_qps: 2 }\n"
	"    workload: { pattern: stream, verify: { method: crc32c }, load: { outstanding: 16 },\n"
	"                ops: [{ op: write, size: 4KiB }, { op: send, size: 256B }, { op: read, size: 1KiB }] }\n"
	"    run: { warmup: 0s, iterations: 1000, stall_timeout: 60s }\n"
	"    expect: [errors == 0, verify_errors == 0]\n"
	"  - name: both\n"
	"    disruptive: true\n"
	"    qp: { num_qps: 2 }\n"
	"    workload: { pattern: stream, direction: both, load: { outstanding: 16 },\n"
	"                ops: [{ op: write, size: 4KiB }, { op: send, size: 256B }] }\n"
	"    run: { warmup: 0s, iterations: 1000, stall_timeout: 60s }\n"
	"    expect: [errors == 0]\n";

static const char *const names[] = { "ping", "stream", "both", "cm", "verified", "churn" };

struct member {
	size_t index;
	uint16_t port;
	char path[128];
	char socket[128];
	pthread_t thread;
	sd_event *event;
	struct daemon *daemon;
	sd_event_source *timer;
	uint64_t deadline_mono_ns;
	size_t begun;
	bool is_reloading;
	size_t reloads;
	/* Read after the thread has ended. */
	size_t passed;
	size_t done;
	int status;
	char first_bad[8192];
};

static char directory[64];
static struct member members[DAEMONS];

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void write_config(struct member *member)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	text_format(
		&text,
		"version: 1\ninclude: [scenarios.yaml]\ndaemon:\n  node_name: node%zu\n  log_level: error\n"
		"  listen: { address: 127.0.0.1, port: %u }\n  admin_socket: %s\n  key_file: %s/fleet.key\n"
		"  devices: [{ name: fake%zu }]\npeers:\n",
		member->index, member->port, member->socket, directory, member->index);
	for (size_t i = 0; i < DAEMONS; i++) {
		text_format(&text, "  - { name: node%zu, address: \"127.0.0.1:%u\" }\n", i,
			    members[i].port);
	}
	write_file(member->path, text.data);
}

static void on_stopped(void *arg, int status)
{
	struct member *member = arg;

	member->status = status;
	sd_event_exit(member->event, 0);
}

static void count_runs(struct member *member)
{
	const struct history *history = daemon_parts(member->daemon)->history;

	member->passed = 0;
	member->done = 0;
	for (size_t i = 0; i < history_count(history); i++) {
		const struct run *run = history_at(history, i);

		member->done += run->state == RUN_DONE;
		member->passed += run->verdict == VERDICT_PASS;
		if (run->state == RUN_DONE && run->verdict != VERDICT_PASS &&
		    member->first_bad[0] == '\0') {
			_cleanup_text_ struct text text = TEXT_INIT;
			_cleanup_json_ json_t *json = run_write_summary(run);

			json_write(json, &text);
			text_copy(member->first_bad, sizeof(member->first_bad), text.data);
		}
	}
}

static bool peers_are_up(const struct parts *parts)
{
	for (size_t i = 0; i < peers_count(parts->peers); i++) {
		struct peer_status status;

		peers_status(parts->peers, i, &status);
		if (status.state != PEER_UP || status.inventory == NULL ||
		    status.inventory->port_count == 0) {
			return false;
		}
	}
	return engine_has_scanned(parts->engine) && engine_inventory(parts->engine)->port_count > 0;
}

static void on_reloaded(void *arg, bool is_ok, const char *problems)
{
	struct member *member = arg;

	member->is_reloading = false;
	member->reloads += is_ok;
}

/* The hand that begins runs and reloads, on the daemon's own thread. */
static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct member *member = arg;
	const struct parts *parts = daemon_parts(member->daemon);
	char id[32];

	count_runs(member);
	if (clock_mono_ns() > member->deadline_mono_ns) {
		daemon_stop(member->daemon, "out of patience");
		return 0;
	}
	if (member->begun < RUNS && peers_are_up(parts)) {
		assert_int_equal(
			daemon_run(member->daemon,
				   names[member->begun++ % (sizeof(names) / sizeof(names[0]))], id,
				   NULL),
			0);
	}
	if (member->begun > 0 && member->reloads < 3 && !member->is_reloading) {
		member->is_reloading = true;
		daemon_reload(member->daemon, on_reloaded, member);
	}
	/* The last to end keeps the others waiting for nothing: each goes on serving until all had
	 * the time. */
	if (member->done == RUNS && member->reloads >= 3) {
		static atomic_uint ended;
		static __thread bool is_counted;

		if (!is_counted) {
			is_counted = true;
			atomic_fetch_add(&ended, 1);
		}
		if (atomic_load(&ended) == DAEMONS) {
			daemon_stop(member->daemon, "all is done");
			return 0;
		}
	}
	sd_event_source_set_time(source, (clock_mono_ns() + 20 * MS_NS) / 1000);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

static void *run_member(void *arg)
{
	struct member *member = arg;
	struct problems problems;
	uint16_t port;
	struct daemon_options options = {
		.host_name = "node",
		.sys_root = directory,
		.http_fd = free_port_socket(&port),
		.admin_fd = -1,
		.protocol = SESSION_PROTOCOL,
		.stopped = on_stopped,
		.arg = member,
	};
	struct error err = ERROR_INIT;

	problems_init(&problems);
	options.config = config_load(member->path, "node", &problems);
	assert_non_null(options.config);
	problems_done(&problems);
	assert_true(sd_event_new(&member->event) >= 0);
	options.event = member->event;
	if (daemon_new(&member->daemon, &options, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	config_unref(options.config);
	member->deadline_mono_ns = clock_mono_ns() + PATIENCE_NS;
	assert_true(sd_event_add_time(member->event, &member->timer, CLOCK_MONOTONIC, 0, 1000,
				      on_timer, member) >= 0);
	assert_true(sd_event_loop(member->event) >= 0);
	sd_event_source_disable_unref(member->timer);
	daemon_free(member->daemon);
	sd_event_unref(member->event);
	return NULL;
}

static void add_devices(struct fabric *fabric)
{
	for (size_t i = 0; i < DAEMONS; i++) {
		char name[32];
		char address[32];
		struct fabric_device_config config = { .name = name, .address = address };

		snprintf(name, sizeof(name), "fake%zu", i);
		snprintf(address, sizeof(address), "10.0.0.%zu", i + 1);
		fabric_add_device(fabric, &config);
	}
}

static void four_daemons_measure_each_other_at_once(void **state)
{
	struct fabric *fabric = fabric_new(1);
	char path[128];

	log_set_level(LOG_LEVEL_ERROR);
	fabric_set_threaded(fabric, true);
	fabric_use(fabric);
	add_devices(fabric);
	fabric_pump_start(fabric);
	text_copy(directory, sizeof(directory), "/tmp/rdmatestd-threaded-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fleet.key", directory);
	write_file(path, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
	chmod(path, 0600);
	snprintf(path, sizeof(path), "%s/scenarios.yaml", directory);
	write_file(path, scenarios);
	for (size_t i = 0; i < DAEMONS; i++) {
		members[i].index = i;
		members[i].port = free_port();
		snprintf(members[i].path, sizeof(members[i].path), "%s/node%zu.yaml", directory, i);
		snprintf(members[i].socket, sizeof(members[i].socket), "%s/node%zu.sock", directory,
			 i);
	}
	for (size_t i = 0; i < DAEMONS; i++) {
		write_config(&members[i]);
	}
	for (size_t i = 0; i < DAEMONS; i++) {
		assert_int_equal(pthread_create(&members[i].thread, NULL, run_member, &members[i]),
				 0);
	}
	for (size_t i = 0; i < DAEMONS; i++) {
		assert_int_equal(pthread_join(members[i].thread, NULL), 0);
	}
	fabric_pump_stop(fabric);
	for (size_t i = 0; i < DAEMONS; i++) {
		unlink(members[i].path);
		unlink(members[i].socket);
		if (members[i].first_bad[0] != '\0') {
			fprintf(stderr, "node%zu: %s\n", i, members[i].first_bad);
		}
	}
	for (size_t i = 0; i < DAEMONS; i++) {
		assert_int_equal(members[i].status, 0);
		assert_int_equal(members[i].done, RUNS);
		assert_int_equal(members[i].passed, RUNS);
		assert_int_equal(members[i].reloads, 3);
	}
	if (fabric_objects(fabric) != 0) {
		fabric_print_objects(fabric, stderr);
		fail_msg("verbs objects are left");
	}
	fabric_use(NULL);
	fabric_free(fabric);
	snprintf(path, sizeof(path), "%s/fleet.key", directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/scenarios.yaml", directory);
	unlink(path);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_daemons_measure_each_other_at_once),
	};

	clock_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
