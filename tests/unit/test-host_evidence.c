// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "judge/diagnose.h"
#include "judge/host_evidence.h"
#include "judge/judgement.h"
#include "util/memory.h"
#include "util/text.h"

#define S 1000000000ull
#define MS 1000000ull
#define RNR 13

static void set_end(struct participant *end, uint64_t cpu_ns)
{
	end->has_totals = true;
	sample_totals_init(&end->totals);
	end->totals.end = END_DURATION;
	end->totals.operations = 1000;
	end->totals.window_ns = 2 * S;
	end->totals.worker_cpu_ns = cpu_ns;
	end->totals.host.is_read = true;
	end->totals.host.span_ns = 2 * S;
	end->totals.host.throttled_ns = 0;
	end->totals.host.throttled_periods = 0;
	end->totals.host.stolen_ns = 0;
}

/* Two quiet hosts, and an expectation about the rate that was missed. */
static struct measurement *new_measurement(void)
{
	struct measurement *m = memory_new(sizeof(*m));
	struct expectation_result *result = &m->expectations[m->expectation_count++];

	m->first_error = FAILURE_INIT;
	m->initiator.endpoint = (struct endpoint){ "a", "mlx5_0", 1, 1 };
	m->responder.endpoint = (struct endpoint){ "b", "mlx5_1", 1, 1 };
	m->assignment.workload.run.stall_timeout_ns = 3 * S;
	set_end(&m->initiator, 1999 * MS);
	set_end(&m->responder, 1998 * MS);
	*result = (struct expectation_result){
		.expectation = { .metric = METRIC_BANDWIDTH, .severity = SEVERITY_FAIL },
		.outcome = OUTCOME_MISSED,
		.has_actual = true,
		.actual = 50e9,
		.limit = 90e9,
	};
	text_copy(result->expectation.text, sizeof(result->expectation.text),
		  "bandwidth.mean >= 90Gbps");
	return m;
}

static void fail_with(struct measurement *m, const char *call, enum error_kind kind, int number)
{
	error_set(&m->first_error.error, -1, ERROR_DEVICE, "what was seen");
	m->first_error.error.stage = STAGE_RUN;
	m->first_error.error.kind = kind;
	m->first_error.error.number = number;
	text_copy(m->first_error.error.call, sizeof(m->first_error.error.call), call);
	text_copy(m->first_error.node, sizeof(m->first_error.node), "a");
	m->expectation_count = 0;
}

static void throttle(struct participant *end)
{
	end->totals.worker_cpu_ns = 200 * MS;
	end->totals.host.throttled_periods = 20;
	end->totals.host.throttled_ns = 1700 * MS;
	end->totals.host.longest_gap_ns = 92 * MS;
}

static void judge(struct measurement *m)
{
	diagnose_measurement(m);
	judgement_measurement(m);
}

static const struct finding *find(const struct measurement *m, enum finding_code code)
{
	for (size_t i = 0; i < m->findings.count; i++) {
		if (m->findings.items[i].code == code) {
			return &m->findings.items[i];
		}
	}
	fail_msg("no finding of code %d", (int)code);
	return NULL;
}

static void assert_first(const struct measurement *m, enum finding_code code,
			 enum confidence confidence)
{
	assert_true(m->findings.count > 0);
	assert_int_equal(m->findings.items[0].code, code);
	assert_int_equal(m->findings.items[0].confidence, confidence);
}

static void assert_has(const char *text, const char *words)
{
	if (!strstr(text, words)) {
		fail_msg("\"%s\" does not say \"%s\"", text, words);
	}
}

static void a_miss_on_a_throttled_host_is_the_hosts(void **state)
{
	struct measurement *m = new_measurement();
	const struct finding *missed;

	throttle(&m->responder);
	judge(m);
	assert_first(m, FINDING_HOST_STARVED, CONFIDENCE_CERTAIN);
	assert_has(m->findings.items[0].text, "b did not give the tester enough CPU: the limit of "
					      "its control group (cpu.max)");
	assert_has(m->findings.items[0].evidence, "10.0 % of a CPU");
	assert_has(m->findings.items[0].evidence, "held threads of the daemon 20 times, for 1.7 s");
	assert_has(m->findings.items[0].evidence, "from one look to the next at most 92 ms");
	missed = find(m, FINDING_EXPECTATION_MISSED);
	assert_int_equal(missed->confidence, CONFIDENCE_POSSIBLE);
	assert_has(missed->against, "short of CPU");
	assert_int_equal(m->verdict, VERDICT_INCONCLUSIVE);
	free(m);
}

static void who_sleeps_until_completions_come_is_not_starved(void **state)
{
	struct measurement *m = new_measurement();

	(void)state;
	m->assignment.workload.cq.mode = CQ_MODE_EVENT;
	m->initiator.totals.worker_cpu_ns = 100 * MS;
	m->responder.totals.worker_cpu_ns = 50 * MS;
	judge(m);
	for (size_t i = 0; i < m->findings.count; i++) {
		assert_int_not_equal(m->findings.items[i].code, FINDING_HOST_STARVED);
	}
	assert_int_equal(m->verdict, VERDICT_FAIL);
	free(m);
}

static void what_a_hypervisor_takes_is_told_as_such(void **state)
{
	struct measurement *m = new_measurement();

	m->initiator.totals.worker_cpu_ns = 1200 * MS;
	m->initiator.totals.host.stolen_ns = 700 * MS;
	judge(m);
	assert_first(m, FINDING_HOST_STARVED, CONFIDENCE_CERTAIN);
	assert_has(m->findings.items[0].text, "a did not give");
	assert_has(m->findings.items[0].text, "its hypervisor took the time");
	assert_has(m->findings.items[0].evidence, "the hypervisor took 700 ms");
	free(m);
}

static void who_took_the_time_may_not_be_known_and_that_is_said(void **state)
{
	struct measurement *m = new_measurement();

	m->initiator.totals.worker_cpu_ns = 1200 * MS;
	judge(m);
	assert_first(m, FINDING_HOST_STARVED, CONFIDENCE_LIKELY);
	assert_has(m->findings.items[0].against, "neither a limit of its control group nor");
	free(m);
	/* Unread is not zero. */
	m = new_measurement();
	m->initiator.totals.worker_cpu_ns = 1200 * MS;
	m->initiator.totals.host.throttled_ns = HOST_UNKNOWN;
	judge(m);
	assert_first(m, FINDING_HOST_STARVED, CONFIDENCE_LIKELY);
	assert_string_equal(m->findings.items[0].against, "");
	assert_has(m->findings.items[0].evidence, "cannot be read there");
	free(m);
}

static void a_miss_with_quiet_hosts_speaks_against_them(void **state)
{
	struct measurement *m = new_measurement();

	judge(m);
	assert_first(m, FINDING_EXPECTATION_MISSED, CONFIDENCE_CERTAIN);
	assert_int_equal(m->findings.count, 1);
	assert_has(m->findings.items[0].evidence,
		   "a gave its measuring thread 100.0 % of a CPU, which speaks against that host");
	assert_has(m->findings.items[0].evidence, "b gave its measuring thread 99.9 % of a CPU");
	assert_int_equal(m->verdict, VERDICT_FAIL);
	free(m);
}

static void set_counter(struct participant *end, enum counter counter, uint64_t value)
{
	end->totals.has_counters = true;
	end->totals.counters.values[counter] =
		(struct counter_value){ .state = COUNTER_READ, .value = value };
}

static void what_silenced_a_port_is_told_beside_a_miss_and_a_stall(void **state)
{
	struct measurement *m = new_measurement();

	set_counter(&m->initiator, COUNTER_PAUSES_RECEIVED, 1234);
	set_counter(&m->responder, COUNTER_PAUSES_SENT, 0);
	set_counter(&m->responder, COUNTER_RECEIVE_DISCARDS, 7);
	judge(m);
	assert_has(m->findings.items[0].evidence, "a/mlx5_0 was told to pause: +1234");
	assert_has(m->findings.items[0].evidence, "b/mlx5_1 dropped packets that came: +7");
	assert_null(strstr(m->findings.items[0].evidence, "its switch"));
	free(m);
	m = new_measurement();
	fail_with(m, "stall", ERROR_KIND_NONE, 0);
	set_counter(&m->responder, COUNTER_PAUSES_SENT, 99);
	judge(m);
	assert_first(m, FINDING_STALLED, CONFIDENCE_CERTAIN);
	assert_has(m->findings.items[0].evidence, "b/mlx5_1 told its switch to pause: +99");
	free(m);
}

static void a_slow_cpu_far_from_the_device_is_told_beside_a_miss(void **state)
{
	struct measurement *m = new_measurement();
	struct host_report *host = &m->initiator.totals.host;

	host->cpu = 9;
	host->frequency_hz = 800000000;
	host->max_frequency_hz = 3600000000;
	host->cpu_numa_node = 1;
	host->device_numa_node = 0;
	judge(m);
	assert_has(m->findings.items[0].evidence, "its CPU 9 ran at 0.8 of 3.6 GHz");
	assert_has(m->findings.items[0].evidence, "is on NUMA node 1, the device on 0");
	free(m);
}

static void a_stall_on_a_starved_host_is_the_hosts(void **state)
{
	struct measurement *m = new_measurement();

	fail_with(m, "stall", ERROR_KIND_NONE, 0);
	throttle(&m->responder);
	judge(m);
	assert_first(m, FINDING_HOST_STARVED, CONFIDENCE_CERTAIN);
	assert_int_equal(m->findings.count, 2);
	assert_int_equal(find(m, FINDING_STALLED)->confidence, CONFIDENCE_POSSIBLE);
	assert_has(find(m, FINDING_STALLED)->against, "short of CPU");
	assert_int_equal(m->verdict, VERDICT_INCONCLUSIVE);
	free(m);
	/* Away in one piece, before any window. */
	m = new_measurement();
	fail_with(m, "stall", ERROR_KIND_NONE, 0);
	m->initiator.totals.window_ns = 0;
	m->initiator.totals.worker_cpu_ns = 0;
	m->initiator.totals.host.longest_gap_ns = 2900 * MS;
	judge(m);
	assert_first(m, FINDING_HOST_STARVED, CONFIDENCE_LIKELY);
	assert_int_equal(m->verdict, VERDICT_INCONCLUSIVE);
	free(m);
}

static void a_port_that_went_down_is_the_reason_on_a_starved_host_as_well(void **state)
{
	struct measurement *m = new_measurement();
	struct port_report *report = &m->responder.totals.port_report;

	fail_with(m, "stall", ERROR_KIND_NONE, 0);
	throttle(&m->initiator);
	m->first_error.at_ns = 4 * S;
	report->events[report->event_count++] =
		(struct port_event){ .kind = PORT_EVENT_PORT_ERR, .at_ns = S };
	judge(m);
	assert_first(m, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN);
	assert_int_equal(m->verdict, VERDICT_FAIL);
	free(m);
}

static void a_stall_between_quiet_hosts_is_the_fabrics(void **state)
{
	struct measurement *m = new_measurement();

	fail_with(m, "stall", ERROR_KIND_NONE, 0);
	m->initiator.totals.host.longest_gap_ns = 3 * MS;
	judge(m);
	assert_first(m, FINDING_STALLED, CONFIDENCE_CERTAIN);
	assert_int_equal(m->findings.count, 1);
	assert_int_equal(m->verdict, VERDICT_FAIL);
	free(m);
}

static void a_receiver_is_not_ready_for_want_of_cpu_only_where_it_is_short_itself(void **state)
{
	struct measurement *m = new_measurement();

	fail_with(m, "ibv_poll_cq", ERROR_KIND_WC_STATUS, RNR);
	throttle(&m->responder);
	judge(m);
	assert_first(m, FINDING_HOST_STARVED, CONFIDENCE_CERTAIN);
	assert_has(m->findings.items[0].text, "b did not");
	assert_int_equal(find(m, FINDING_RECEIVER_NOT_READY)->confidence, CONFIDENCE_POSSIBLE);
	assert_int_equal(m->verdict, VERDICT_INCONCLUSIVE);
	free(m);
	/* The sender was. */
	m = new_measurement();
	fail_with(m, "ibv_poll_cq", ERROR_KIND_WC_STATUS, RNR);
	throttle(&m->initiator);
	judge(m);
	assert_first(m, FINDING_RECEIVER_NOT_READY, CONFIDENCE_CERTAIN);
	assert_int_equal(m->verdict, VERDICT_FAIL);
	free(m);
}

static void other_errors_are_errors_on_any_host(void **state)
{
	struct measurement *m = new_measurement();

	fail_with(m, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 12);
	throttle(&m->initiator);
	judge(m);
	assert_first(m, FINDING_PATH_LOST, CONFIDENCE_CERTAIN);
	assert_int_equal(m->verdict, VERDICT_FAIL);
	free(m);
}

static void set_bus(struct participant *end, uint64_t speed_mtps, uint64_t width)
{
	end->port.link_rate_bps = 100000000000;
	end->totals.host.pcie_speed_mtps = speed_mtps;
	end->totals.host.pcie_width = width;
	end->totals.host.pcie_max_speed_mtps = 8000;
	end->totals.host.pcie_max_width = 16;
}

static void a_narrow_bus_explains_a_rate_that_is_near_what_it_carries(void **state)
{
	struct measurement *m = new_measurement();

	set_bus(&m->initiator, 8000, 16);
	set_bus(&m->responder, 8000, 8);
	judge(m); /* 50 of 63 Gbit/s */
	assert_int_equal(find(m, FINDING_PCIE_NARROW)->confidence, CONFIDENCE_LIKELY);
	assert_has(find(m, FINDING_PCIE_NARROW)->text, "mlx5_1 of b");
	assert_has(find(m, FINDING_PCIE_NARROW)->evidence, "8 lanes of 8 GT/s, of 16 of 8");
	free(m);
	m = new_measurement();
	set_bus(&m->responder, 8000, 8);
	m->expectations[0].actual = 10e9;
	judge(m);
	assert_int_equal(find(m, FINDING_PCIE_NARROW)->confidence, CONFIDENCE_POSSIBLE);
	assert_has(find(m, FINDING_PCIE_NARROW)->against, "only 16 % of what it carries");
	free(m);
}

static void a_bus_that_is_wide_enough_or_unknown_explains_nothing(void **state)
{
	struct measurement *m = new_measurement();

	set_bus(&m->initiator, 8000, 16);
	set_bus(&m->responder, 8000, 8);
	m->responder.port.link_rate_bps = 25000000000;
	judge(m);
	assert_false(finding_has(&m->findings, FINDING_PCIE_NARROW, CONFIDENCE_POSSIBLE));
	free(m);
	m = new_measurement();
	judge(m);
	assert_false(finding_has(&m->findings, FINDING_PCIE_NARROW, CONFIDENCE_POSSIBLE));
	free(m);
	/* Narrow, and nothing was missed. */
	m = new_measurement();
	set_bus(&m->responder, 8000, 8);
	m->expectations[0].outcome = OUTCOME_MET;
	judge(m);
	assert_int_equal(m->findings.count, 0);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_miss_on_a_throttled_host_is_the_hosts),
		cmocka_unit_test(who_sleeps_until_completions_come_is_not_starved),
		cmocka_unit_test(what_a_hypervisor_takes_is_told_as_such),
		cmocka_unit_test(who_took_the_time_may_not_be_known_and_that_is_said),
		cmocka_unit_test(a_miss_with_quiet_hosts_speaks_against_them),
		cmocka_unit_test(what_silenced_a_port_is_told_beside_a_miss_and_a_stall),
		cmocka_unit_test(a_slow_cpu_far_from_the_device_is_told_beside_a_miss),
		cmocka_unit_test(a_stall_on_a_starved_host_is_the_hosts),
		cmocka_unit_test(a_port_that_went_down_is_the_reason_on_a_starved_host_as_well),
		cmocka_unit_test(a_stall_between_quiet_hosts_is_the_fabrics),
		cmocka_unit_test(
			a_receiver_is_not_ready_for_want_of_cpu_only_where_it_is_short_itself),
		cmocka_unit_test(other_errors_are_errors_on_any_host),
		cmocka_unit_test(a_narrow_bus_explains_a_rate_that_is_near_what_it_carries),
		cmocka_unit_test(a_bus_that_is_wide_enough_or_unknown_explains_nothing),
	};

	return cmocka_run_group_tests_name("host_evidence", tests, NULL, NULL);
}
