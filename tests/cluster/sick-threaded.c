// SPDX-License-Identifier: MIT

/*
 * The same as sick.c for real: two daemons with real threads and time, a destroy_qp of node0's
 * first device that does not return until it is told to. Its other device measures on, and /healthz
 * says yes all the time.
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

#define DAEMONS 2
#define MS_NS 1000000ull
/* Only so that a hang of the test ends. */
#define PATIENCE_NS (180000 * MS_NS)

static const char scenarios[] =
	"version: 1\n"
	"scenarios:\n"
	"  - name: ping\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 60, stall_timeout: 60s }\n"
	"    expect: [errors == 0]\n";

enum stage { WAIT_PEERS, RUN_WELL, RUN_HANGS, RUN_SICK, WAIT_WELL, RUN_AGAIN, STOPPED };

struct member {
	size_t index;
	uint16_t port; /* of the control channel */
	int http_fd;
	uint16_t http_port;
	char path[128];
	char socket[128];
	pthread_t thread;
	sd_event *event;
	struct daemon *daemon;
	sd_event_source *timer;
	uint64_t deadline_mono_ns;
	enum stage stage;
	char id[32];
	/* Read after the thread has ended. */
	int status;
	int verdicts[STOPPED][2]; /* of the pairs of each run */
	unsigned sick_number; /* of the finding of the pair that was refused */
	bool was_alive; /* all the time */
};

static char directory[64];
static struct member members[DAEMONS];
static struct fabric *fabric;
static atomic_bool is_over; /* node0 saw all it was to see */
static atomic_int stage_now;

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
		"  devices: [{ name: fake%zu }, { name: spare%zu }]\npeers:\n",
		member->index, member->port, member->socket, directory, member->index,
		member->index);
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

static bool is_ready(const struct parts *parts)
{
	struct peer_status status;

	peers_status(parts->peers, 0, &status);
	return status.state == PEER_UP && status.inventory != NULL &&
	       status.inventory->port_count == 2 && engine_has_scanned(parts->engine) &&
	       engine_inventory(parts->engine)->port_count == 2;
}

static void begin_run(struct member *member, enum stage stage)
{
	member->stage = stage;
	atomic_store(&stage_now, (int)stage);
	assert_int_equal(daemon_run(member->daemon, "ping", member->id, NULL), 0);
}

/* True when the run of this stage is over; its verdicts are kept. */
static bool is_run_done(struct member *member)
{
	const struct run *run = history_find(daemon_parts(member->daemon)->history, member->id);

	if (run == NULL || run->state != RUN_DONE) {
		return false;
	}
	for (size_t i = 0; i < run->measurement_count && i < 2; i++) {
		member->verdicts[member->stage][i] = run->measurements[i]->verdict;
	}
	if (member->stage == RUN_SICK && run->measurements[0]->findings.count > 0) {
		member->sick_number =
			finding_info(run->measurements[0]->findings.items[0].code)->number;
	}
	return true;
}

static void advance(struct member *member)
{
	const struct parts *parts = daemon_parts(member->daemon);
	struct fabric_verb_fault hangs = { .cost_ns = UINT64_MAX, .count = 1 };
	struct hang hang;

	member->was_alive = member->was_alive && parts->is_progressing;
	switch (member->stage) {
	case WAIT_PEERS:
		if (is_ready(parts)) {
			begin_run(member, RUN_WELL);
		}
		break;
	case RUN_WELL:
		if (is_run_done(member)) {
			fabric_set_verb(fabric, "fake0", FABRIC_DESTROY_QP, &hangs);
			begin_run(member, RUN_HANGS);
		}
		break;
	case RUN_HANGS:
		if (is_run_done(member) && engine_is_sick(parts->engine, "fake0", &hang)) {
			begin_run(member, RUN_SICK);
		}
		break;
	case RUN_SICK:
		if (is_run_done(member)) {
			fabric_set_verb(fabric, "fake0", FABRIC_DESTROY_QP, NULL);
			member->stage = WAIT_WELL;
		}
		break;
	case WAIT_WELL:
		if (engine_hangs(parts->engine, &hang, 1) == 0) {
			begin_run(member, RUN_AGAIN);
		}
		break;
	case RUN_AGAIN:
		if (is_run_done(member)) {
			member->stage = STOPPED;
			atomic_store(&is_over, true);
		}
		break;
	case STOPPED:
		break;
	}
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct member *member = arg;

	if (member->index == 0) {
		advance(member);
	}
	if (atomic_load(&is_over) || clock_mono_ns() > member->deadline_mono_ns) {
		atomic_store(&is_over, true);
		fabric_set_verb(fabric, "fake0", FABRIC_DESTROY_QP, NULL);
		daemon_stop(member->daemon, "all is done");
		return 0;
	}
	sd_event_source_set_time(source, (clock_mono_ns() + 20 * MS_NS) / 1000);
	sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

static void *run_member(void *arg)
{
	struct member *member = arg;
	struct problems problems;
	struct daemon_options options = {
		.host_name = "node",
		.sys_root = directory,
		.http_fd = member->http_fd,
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
	member->was_alive = true;
	member->deadline_mono_ns = clock_mono_ns() + PATIENCE_NS;
	assert_true(sd_event_add_time(member->event, &member->timer, CLOCK_MONOTONIC, 0, 1000,
				      on_timer, member) >= 0);
	assert_true(sd_event_loop(member->event) >= 0);
	sd_event_source_disable_unref(member->timer);
	daemon_free(member->daemon);
	sd_event_unref(member->event);
	return NULL;
}

/* Whether /healthz says 200. */
static bool is_healthy(uint16_t port)
{
	static const char request[] =
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval patience = { .tv_sec = 30 };
	char answer[512] = "";
	bool ret;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	ret = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	      write(fd, request, sizeof(request) - 1) == (ssize_t)sizeof(request) - 1 &&
	      read(fd, answer, sizeof(answer) - 1) > 12 &&
	      text_starts_with(answer, "HTTP/1.1 200 ");
	close(fd);
	return ret;
}

static void add_device(const char *prefix, size_t index, unsigned net)
{
	char name[32];
	char address[32];
	struct fabric_device_config config = { .name = name, .address = address };

	snprintf(name, sizeof(name), "%s%zu", prefix, index);
	snprintf(address, sizeof(address), "10.0.%u.%zu", net, index + 1);
	fabric_add_device(fabric, &config);
}

static void set_up(void)
{
	char path[128];

	log_set_level(LOG_LEVEL_ERROR);
	fabric = fabric_new(1);
	fabric_set_threaded(fabric, true);
	fabric_use(fabric);
	fabric_pump_start(fabric);
	text_copy(directory, sizeof(directory), "/tmp/rdmatestd-sick-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fleet.key", directory);
	write_file(path, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
	chmod(path, 0600);
	snprintf(path, sizeof(path), "%s/scenarios.yaml", directory);
	write_file(path, scenarios);
	for (size_t i = 0; i < DAEMONS; i++) {
		struct member *member = &members[i];

		add_device("fake", i, 0);
		add_device("spare", i, 1);
		member->index = i;
		member->port = free_port();
		member->http_fd = free_port_socket(&member->http_port);
		snprintf(member->path, sizeof(member->path), "%s/node%zu.yaml", directory, i);
		snprintf(member->socket, sizeof(member->socket), "%s/node%zu.sock", directory, i);
	}
	for (size_t i = 0; i < DAEMONS; i++) {
		write_config(&members[i]);
	}
}

static void tear_down(void)
{
	char path[128];

	fabric_pump_stop(fabric);
	for (size_t i = 0; i < DAEMONS; i++) {
		unlink(members[i].path);
		unlink(members[i].socket);
	}
	snprintf(path, sizeof(path), "%s/fleet.key", directory);
	unlink(path);
	snprintf(path, sizeof(path), "%s/scenarios.yaml", directory);
	unlink(path);
	rmdir(directory);
	if (fabric_objects(fabric) != 0) {
		fabric_print_objects(fabric, stderr);
		fail_msg("verbs objects are left");
	}
	fabric_use(NULL);
	fabric_free(fabric);
}

static void a_destroy_qp_that_hangs_holds_up_no_other_device_and_no_answer(void **state)
{
	const struct member *member = &members[0];
	unsigned asked_while_sick = 0;
	unsigned failed = 0;

	set_up();
	for (size_t i = 0; i < DAEMONS; i++) {
		assert_int_equal(pthread_create(&members[i].thread, NULL, run_member, &members[i]),
				 0);
	}
	while (!atomic_load(&is_over)) {
		int stage = atomic_load(&stage_now);

		if (stage >= RUN_WELL) {
			bool is_good = is_healthy(member->http_port);

			/* At the end it may not be there to answer. */
			failed += !is_good && !atomic_load(&is_over);
			asked_while_sick += stage == RUN_HANGS || stage == RUN_SICK;
		}
		usleep(50000);
	}
	for (size_t i = 0; i < DAEMONS; i++) {
		assert_int_equal(pthread_join(members[i].thread, NULL), 0);
		assert_int_equal(members[i].status, 0);
	}
	tear_down();
	assert_int_equal(member->stage, STOPPED);
	assert_true(member->was_alive);
	assert_int_equal(failed, 0);
	assert_true(asked_while_sick > 10);
	for (size_t pair = 0; pair < 2; pair++) {
		assert_int_equal(member->verdicts[RUN_WELL][pair], VERDICT_PASS);
		assert_int_equal(member->verdicts[RUN_AGAIN][pair], VERDICT_PASS);
	}
	assert_int_equal(member->verdicts[RUN_HANGS][1], VERDICT_PASS);
	assert_int_equal(member->verdicts[RUN_SICK][0], VERDICT_ERROR);
	assert_int_equal(member->verdicts[RUN_SICK][1], VERDICT_PASS);
	assert_int_equal(member->sick_number, 135);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_destroy_qp_that_hangs_holds_up_no_other_device_and_no_answer),
	};

	clock_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
