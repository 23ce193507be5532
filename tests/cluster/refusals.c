// SPDX-License-Identifier: MIT

/* What keeps a run from beginning: another key or version, devices, limits. Its exact record, then
 * proof that the next run passes. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "face.h"
#include "parts.h"
#include "status_line.h"
#include "unit/log-capture.h"
#include "util/memory.h"

#define SECOND_NS 1000000000ull

static const char scenarios[] =
	"scenarios:\n"
	"  - name: short\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: deep\n"
	"    disruptive: true\n"
	"    qp: { max_send_wr: 32000 }\n"
	"    workload: { pattern: stream, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"  - name: wide\n"
	"    disruptive: true\n"
	"    qp: { num_qps: 64 }\n"
	"    workload: { pattern: stream, load: { outstanding: 64 }, ops: [{ op: write, size: 4KiB }] }\n"
	"    run: { warmup: 0s, iterations: 128 }\n";

static struct cluster *new_pair(void)
{
	return cluster_new(11, 2, scenarios);
}

static void another_fleet_key_is_named_as_such(void **state)
{
	struct cluster *cluster = new_pair();
	char path[] = "/tmp/rdmatestd-key-XXXXXX";
	int fd = mkstemp(path);

	assert_int_equal(write(fd, "ffeeddccbbaa99887766554433221100\n", 33), 33);
	close(fd);
	cluster_set(cluster, 1, "key_file", path);
	cluster_start(cluster, 0);
	cluster_start(cluster, 1);
	world_run(cluster_world(cluster), 10 * SECOND_NS);
	cluster_expect(cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short")),
		       VERDICT_ERROR, ERROR_PEER, STAGE_DISCOVER, "tls", "RDT-0103");
	/* Neither of them takes part in anything of the other's. */
	assert_int_equal(guest_count(daemon_parts(cluster_daemon(cluster, 0))->guests), 0);
	assert_int_equal(guest_count(daemon_parts(cluster_daemon(cluster, 1))->guests), 0);
	cluster_free(cluster);
	unlink(path);
}

static bool has_port(void *arg)
{
	return engine_inventory(daemon_parts(arg)->engine)->port_count > 0;
}

static bool peer_has_port(void *arg)
{
	struct peer_status status;

	peers_status(daemon_parts(arg)->peers, 0, &status);
	return status.inventory != NULL && status.inventory->port_count > 0;
}

/* "error" of the ports in /v1/status; caller frees the text. */
static char *ports_error(struct cluster *cluster, size_t index)
{
	struct view view = { .arg = (void *)daemon_parts(cluster_daemon(cluster, index)) };
	struct node *before = world_enter(cluster_node(cluster, index));
	_cleanup_json_ json_t *status = NULL;
	const char *error;

	face_fill_view(&view);
	status = view.status(view.arg);
	error = json_string_value(json_object_get(json_object_get(status, "ports"), "error"));
	world_enter(before);
	return error != NULL ? memory_copy_string(error) : NULL;
}

static void a_device_that_appears_later_is_used_without_a_restart(void **state)
{
	struct cluster *cluster = new_pair();
	_cleanup_free_ char *error = NULL;

	cluster_set(cluster, 1, "devices", "[{ name: fake1 }]");
	cluster_set_device(cluster, 1, false);
	cluster_start(cluster, 0);
	cluster_start(cluster, 1);
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	cluster_expect(cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short")),
		       VERDICT_ERROR, ERROR_DEVICE, STAGE_DISCOVER, "device", "RDT-0106");
	error = ports_error(cluster, 1);
	assert_non_null(error);
	assert_non_null(strstr(error, "daemon.devices names \"fake1\", which is not there"));
	cluster_set_device(cluster, 1, true);
	assert_true(world_run_until(cluster_world(cluster), has_port, cluster_daemon(cluster, 1),
				    10 * SECOND_NS));
	assert_null(ports_error(cluster, 1));
	assert_true(world_run_until(cluster_world(cluster), peer_has_port,
				    cluster_daemon(cluster, 0), 10 * SECOND_NS));
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void devices_that_cannot_be_asked_are_told_until_they_can(void **state)
{
	struct cluster *cluster = new_pair();
	struct fabric *fabric = world_fabric(cluster_world(cluster));
	struct fabric_verb_fault refused = { .error = EACCES };
	struct log_capture capture;
	_cleanup_free_ char *error = NULL;
	const struct run *run;
	const char *told;
	char line[512];

	fabric_set_verb(fabric, cluster_device(cluster, 0), FABRIC_OPEN_DEVICE, &refused);
	log_capture_begin(&capture);
	cluster_start(cluster, 0);
	world_run(cluster_world(cluster), 60 * SECOND_NS);
	log_capture_end(&capture);
	told = strstr(capture.lines, "looking for RDMA devices: ");
	assert_non_null(told);
	assert_null(strstr(told + 1, "looking for RDMA devices: "));
	assert_non_null(strstr(capture.lines, cluster_device(cluster, 0)));
	error = ports_error(cluster, 0);
	assert_non_null(error);
	assert_non_null(strstr(error, cluster_device(cluster, 0)));
	status_line_write(daemon_parts(cluster_daemon(cluster, 0)), line, sizeof(line));
	assert_non_null(strstr(line, error));

	/* Who plans with it says the same: it is there, and may not be used. */
	cluster_start(cluster, 1);
	cluster_wait_peer(cluster, 0, PEER_UP);
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	for (size_t i = 0; i < 2; i++) {
		run = cluster_wait_run(cluster, i, cluster_run(cluster, i, "short"));
		cluster_expect(run, VERDICT_ERROR, ERROR_RESOURCE, STAGE_DISCOVER,
			       "ibv_open_device", "RDT-0136");
		assert_string_equal(run->measurements[0]->first_error.node, "node01");
		assert_non_null(strstr(run->measurements[0]->first_error.error.text,
				       cluster_device(cluster, 0)));
	}

	fabric_set_verb(fabric, cluster_device(cluster, 0), FABRIC_OPEN_DEVICE, NULL);
	world_run(cluster_world(cluster), 5 * SECOND_NS);
	assert_null(ports_error(cluster, 0));
	status_line_write(daemon_parts(cluster_daemon(cluster, 0)), line, sizeof(line));
	assert_null(strstr(line, "; devices: "));
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void C23_above_a_device_limit_is_refused_before_anything_is_made(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;

	cluster_start_all(cluster);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "deep"));
	cluster_expect(run, VERDICT_ERROR, ERROR_INPUT, STAGE_RESOURCE, "limit", "RDT-0110");
	assert_non_null(strstr(run->measurements[0]->first_error.error.text,
			       "32000 is above max_qp_wr 16384"));
	assert_int_equal(run->measurements[0]->initiator.steps.count, 0);
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

static void above_a_configured_limit_of_the_responder_is_refused_by_name(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;

	cluster_set(cluster, 1, "limits", "{ max_qps: 10 }");
	cluster_start_all(cluster);
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "wide"));
	cluster_expect(run, VERDICT_ERROR, ERROR_RESOURCE, STAGE_RESOURCE, "permit", "RDT-0105");
	assert_string_equal(run->measurements[0]->first_error.node, "node02");
	assert_non_null(strstr(run->measurements[0]->first_error.error.text, "max_qps"));
	cluster_expect_pass(cluster, 0, "short");
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_fleet_key_is_named_as_such),
		cmocka_unit_test(a_device_that_appears_later_is_used_without_a_restart),
		cmocka_unit_test(devices_that_cannot_be_asked_are_told_until_they_can),
		cmocka_unit_test(C23_above_a_device_limit_is_refused_before_anything_is_made),
		cmocka_unit_test(above_a_configured_limit_of_the_responder_is_refused_by_name),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
