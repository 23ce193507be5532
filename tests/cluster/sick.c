// SPDX-License-Identifier: MIT

/* A call to one device's driver that does not return for a minute: that device is out of use, and
 * nothing else is held up. Each node has two devices, a rail each; a run measures both. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "face.h"
#include "parts.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define MINUTE_NS (60 * SECOND_NS)

static const char scenarios[] =
	"scenarios:\n"
	"  - name: short\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, iterations: 50 }\n"
	"    expect: [errors == 0]\n"
	"  - name: steady\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, duration: 30s }\n"
	"    expect: [errors == 0]\n";

static void add_spare(struct cluster *cluster, size_t index)
{
	char name[32];
	char host[32];
	char address[32];
	struct fabric_device_config config = { .name = name, .host = host, .address = address };

	snprintf(name, sizeof(name), "spare%zu", index);
	snprintf(host, sizeof(host), "node%02zu", index + 1);
	snprintf(address, sizeof(address), "10.0.1.%zu", index + 1);
	fabric_add_device(world_fabric(cluster_world(cluster)), &config);
}

static struct cluster *new_pair(void)
{
	struct cluster *cluster = cluster_new(17, 2, scenarios);

	add_spare(cluster, 0);
	add_spare(cluster, 1);
	return cluster;
}

/* The next calls of a verb of node01's first device take that long. */
static void hang(struct cluster *cluster, enum fabric_verb verb, uint64_t cost_ns, uint32_t count)
{
	fabric_set_verb(world_fabric(cluster_world(cluster)), "fake0", verb,
			&(struct fabric_verb_fault){ .cost_ns = cost_ns, .count = count });
}

static size_t hangs_of(struct cluster *cluster, size_t index, struct hang *ret)
{
	struct node *before = world_enter(cluster_node(cluster, index));
	size_t count =
		engine_hangs(daemon_parts(cluster_daemon(cluster, index))->engine, ret, HANGS_MAX);

	world_enter(before);
	return count;
}

static bool is_well(void *arg)
{
	struct hang hangs[HANGS_MAX];

	return hangs_of(arg, 0, hangs) == 0;
}

static void assert_sick(struct cluster *cluster, const char *device, const char *call)
{
	struct hang hangs[HANGS_MAX];

	assert_int_equal(hangs_of(cluster, 0, hangs), 1);
	assert_string_equal(hangs[0].device, device);
	assert_string_equal(hangs[0].call, call);
	assert_int_equal(hangs_of(cluster, 1, hangs), 0);
}

static const struct run *run_both(struct cluster *cluster, size_t index)
{
	const struct run *run =
		cluster_wait_run(cluster, index, cluster_run(cluster, index, "short"));

	assert_int_equal(run->measurement_count, 2);
	assert_string_equal(run->measurements[0]->assignment.initiator.device, "fake0");
	assert_string_equal(run->measurements[1]->assignment.initiator.device, "spare0");
	if (run->measurements[1]->verdict != VERDICT_PASS) {
		fail_msg("%s", cluster_record(run));
	}
	return run;
}

/* Refused at once: in less time than anything hangs. */
static void expect_refused(struct cluster *cluster, size_t index, const char *call)
{
	const struct run *run = run_both(cluster, index);

	cluster_expect(run, VERDICT_ERROR, ERROR_RESOURCE, STAGE_RESOURCE, "sick", "RDT-0135");
	assert_string_equal(run->measurements[0]->first_error.node, "node01");
	assert_string_equal(run->measurements[0]->first_error.device, "fake0");
	assert_non_null(strstr(run->measurements[0]->first_error.error.text, call));
	assert_true(run->ended_real_ns - run->started_real_ns < (int64_t)SECOND_NS);
}

/* What people, Prometheus and systemd are told. */
static void assert_told(struct cluster *cluster, bool is_sick)
{
	struct node *before = world_enter(cluster_node(cluster, 0));
	const struct parts *parts = daemon_parts(cluster_daemon(cluster, 0));
	struct view view = { .arg = (void *)parts };
	struct metrics_gauges gauges;
	_cleanup_json_ json_t *status = NULL;
	_cleanup_json_ json_t *sick_port = NULL;
	_cleanup_json_ json_t *well_port = NULL;
	_cleanup_json_ json_t *checks = NULL;

	face_fill_view(&view);
	status = view.status(view.arg);
	assert_int_equal(json_array_size(json_object_get(status, "sick")), is_sick);
	sick_port = view.device(view.arg, 0);
	well_port = view.device(view.arg, 1);
	assert_int_equal(json_is_object(json_object_get(sick_port, "sick")), is_sick);
	assert_true(json_is_null(json_object_get(well_port, "sick")));
	view.gauges(view.arg, &gauges);
	assert_int_equal(gauges.device_count, 2);
	assert_string_equal(gauges.devices[0].device, "fake0");
	assert_int_equal(gauges.devices[0].is_sick, is_sick);
	assert_false(gauges.devices[1].is_sick);
	/* The other device can still work, and no restart would help. */
	assert_true(view.is_ready(view.arg, &checks));
	assert_true(view.is_alive(view.arg));
	world_enter(before);
}

/* C43: what was measured is not worse for that; the device of node01 is told to be sick. */
static void expect_teardown(const struct measurement *m)
{
	assert_int_equal(m->verdict, VERDICT_PASS);
	assert_false(error_is_set(&m->first_error.error));
	assert_int_equal(m->teardown.error.class, ERROR_RESOURCE);
	assert_int_equal(m->teardown.error.stage, STAGE_TEARDOWN);
	assert_string_equal(m->teardown.error.call, "sick");
	assert_string_equal(m->teardown.node, "node01");
	assert_int_equal(m->findings.items[0].code, FINDING_DEVICE_SICK);
	assert_int_equal(m->findings.items[0].confidence, CONFIDENCE_CERTAIN);
	assert_non_null(strstr(m->findings.items[0].evidence, "after the traffic"));
}

static void destroy_qp_that_hangs_takes_its_device_out_of_use_and_no_other(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;

	cluster_start_all(cluster);
	assert_int_equal(run_both(cluster, 0)->verdict, VERDICT_PASS);
	hang(cluster, FABRIC_DESTROY_QP, MINUTE_NS, 1);
	run = run_both(cluster, 0);
	assert_int_equal(run->measurements[0]->initiator.totals.end, END_ITERATIONS);
	/* Told with the call's name as soon as the device is sick, not when patience with the end
	 * is over. */
	expect_teardown(run->measurements[0]);
	assert_int_equal(run->verdict, VERDICT_PASS);
	assert_non_null(strstr(run->measurements[0]->teardown.error.text, "ibv_destroy_qp"));
	assert_true(run->ended_real_ns - run->started_real_ns < (int64_t)(12 * SECOND_NS));
	assert_sick(cluster, "fake0", "ibv_destroy_qp");
	assert_told(cluster, true);
	expect_refused(cluster, 0, "ibv_destroy_qp has not returned for ");
	/* And whoever else asks: the node does not say that it is busy. */
	expect_refused(cluster, 1, "\"fake0\"");
	assert_true(world_run_until(cluster_world(cluster), is_well, cluster, 2 * MINUTE_NS));
	assert_told(cluster, false);
	assert_int_equal(run_both(cluster, 0)->verdict, VERDICT_PASS);
	cluster_free(cluster);
}

/* A scan hangs while its traffic goes on, and then its own release: the device is sick already, and
 * nothing tells that again. */
static void a_release_that_hangs_on_a_device_that_was_sick_before_is_told_as_such(void **state)
{
	struct cluster *cluster = new_pair();
	struct fabric_link link = { .latency_ns = 500000 };
	const struct measurement *m;
	char id[32];

	fabric_set_link(world_fabric(cluster_world(cluster)), NULL, NULL, &link);
	cluster_start_all(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 1, "steady"));
	cluster_wait_phase(cluster, 1, id, "measuring");
	hang(cluster, FABRIC_QUERY_PORT, MINUTE_NS, 1);
	world_run(cluster_world(cluster), 15 * SECOND_NS);
	assert_sick(cluster, "fake0", "ibv_query_port");
	hang(cluster, FABRIC_DESTROY_QP, MINUTE_NS, 1);
	m = cluster_wait_run(cluster, 1, id)->measurements[0];
	expect_teardown(m);
	assert_int_equal(m->initiator.totals.end, END_DURATION);
	assert_true(m->ended_real_ns - m->started_real_ns < (int64_t)(35 * SECOND_NS));
	assert_true(world_run_until(cluster_world(cluster), is_well, cluster, 2 * MINUTE_NS));
	assert_int_equal(run_both(cluster, 0)->verdict, VERDICT_PASS);
	cluster_free(cluster);
}

static void a_setup_call_that_hangs_fails_its_run_as_soon_as_the_device_is_sick(void **state)
{
	static const struct {
		enum fabric_verb verb;
		const char *call;
	} calls[] = {
		{ FABRIC_REG_MR, "ibv_reg_mr" },
		{ FABRIC_MODIFY_RTR, "ibv_modify_qp" },
	};
	struct cluster *cluster = new_pair();

	cluster_start_all(cluster);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct run *run;

		hang(cluster, calls[i].verb, MINUTE_NS, 1);
		run = run_both(cluster, 0);
		cluster_expect(run, VERDICT_ERROR, ERROR_RESOURCE, STAGE_RESOURCE, "sick",
			       "RDT-0135");
		assert_sick(cluster, "fake0", calls[i].call);
		expect_refused(cluster, 0, calls[i].call);
		assert_true(
			world_run_until(cluster_world(cluster), is_well, cluster, 2 * MINUTE_NS));
		assert_int_equal(run_both(cluster, 0)->verdict, VERDICT_PASS);
	}
	cluster_free(cluster);
}

static bool has_ports(void *arg)
{
	struct cluster *cluster = arg;

	return engine_inventory(daemon_parts(cluster_daemon(cluster, 0))->engine)->port_count == 2;
}

static bool has_a_port(void *arg)
{
	struct cluster *cluster = arg;

	return engine_inventory(daemon_parts(cluster_daemon(cluster, 0))->engine)->port_count > 0;
}

/* The scan itself hangs: what it has not asked yet is found all the same. */
static void a_device_that_cannot_be_opened_at_the_start_does_not_hide_the_others(void **state)
{
	struct cluster *cluster = new_pair();
	const struct run *run;

	hang(cluster, FABRIC_OPEN_DEVICE, MINUTE_NS, 1);
	cluster_start_all(cluster);
	assert_true(has_a_port(cluster));
	world_run(cluster_world(cluster), 11 * SECOND_NS);
	assert_sick(cluster, "fake0", "ibv_open_device");
	run = cluster_wait_run(cluster, 0, cluster_run(cluster, 0, "short"));
	assert_int_equal(run->measurements[run->measurement_count - 1]->verdict, VERDICT_PASS);
	/* Its own scan goes on: a device that goes is noticed. */
	fabric_lose_device(world_fabric(cluster_world(cluster)), "spare0");
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	assert_int_equal(
		engine_inventory(daemon_parts(cluster_daemon(cluster, 0))->engine)->port_count, 0);
	add_spare(cluster, 0);
	assert_true(world_run_until(cluster_world(cluster), has_ports, cluster, 2 * MINUTE_NS));
	assert_true(is_well(cluster));
	world_run(cluster_world(cluster), 3 * SECOND_NS);
	assert_int_equal(run_both(cluster, 0)->verdict, VERDICT_PASS);
	cluster_free(cluster);
}

static void a_device_that_is_slow_to_open_does_not_hold_up_that_others_are_found(void **state)
{
	struct cluster *cluster = new_pair();
	const struct inventory *inventory;

	hang(cluster, FABRIC_OPEN_DEVICE, 4 * SECOND_NS, 0);
	cluster_start(cluster, 0);
	assert_true(world_run_until(cluster_world(cluster), has_a_port, cluster, 2 * SECOND_NS));
	inventory = engine_inventory(daemon_parts(cluster_daemon(cluster, 0))->engine);
	assert_int_equal(inventory->port_count, 1);
	assert_string_equal(inventory->ports[0].device, "spare0");
	assert_true(world_run_until(cluster_world(cluster), has_ports, cluster, 4 * SECOND_NS));
	/* It is asked again and again, and others that come and go are seen. */
	fabric_lose_device(world_fabric(cluster_world(cluster)), "spare0");
	world_run(cluster_world(cluster), 5 * SECOND_NS);
	inventory = engine_inventory(daemon_parts(cluster_daemon(cluster, 0))->engine);
	assert_int_equal(inventory->port_count, 1);
	assert_string_equal(inventory->ports[0].device, "fake0");
	assert_true(is_well(cluster));
	fabric_set_verb(world_fabric(cluster_world(cluster)), "fake0", FABRIC_OPEN_DEVICE, NULL);
	world_run(cluster_world(cluster), 5 * SECOND_NS);
	cluster_free(cluster);
}

static void on_reloaded(void *arg, bool is_ok, const char *problems)
{
	*(bool *)arg = is_ok;
}

static bool is_true(void *arg)
{
	return *(bool *)arg;
}

static void a_sick_device_does_not_hold_up_a_reload_or_an_end_in_time(void **state)
{
	struct cluster *cluster = new_pair();
	bool is_reloaded = false;
	struct node *before;

	cluster_start_all(cluster);
	hang(cluster, FABRIC_DESTROY_QP, 17 * SECOND_NS, 1);
	run_both(cluster, 0);
	assert_sick(cluster, "fake0", "ibv_destroy_qp");
	before = world_enter(cluster_node(cluster, 0));
	daemon_reload(cluster_daemon(cluster, 0), on_reloaded, &is_reloaded);
	world_enter(before);
	assert_true(world_run_until(cluster_world(cluster), is_true, &is_reloaded, SECOND_NS));
	/* It returns before the end's own deadline: all is freed, and the status is 0. */
	cluster_stop(cluster, 0);
	cluster_wait_stopped(cluster, 0);
	cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destroy_qp_that_hangs_takes_its_device_out_of_use_and_no_other),
		cmocka_unit_test(
			a_release_that_hangs_on_a_device_that_was_sick_before_is_told_as_such),
		cmocka_unit_test(
			a_setup_call_that_hangs_fails_its_run_as_soon_as_the_device_is_sick),
		cmocka_unit_test(
			a_device_that_cannot_be_opened_at_the_start_does_not_hide_the_others),
		cmocka_unit_test(
			a_device_that_is_slow_to_open_does_not_hold_up_that_others_are_found),
		cmocka_unit_test(a_sick_device_does_not_hold_up_a_reload_or_an_end_in_time),
	};

	cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
