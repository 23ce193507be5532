// SPDX-License-Identifier: MIT
#include "unit/metrics-fixture.h"

static void everything_is_there_from_zero(void **state)
{
	struct fixture *fixture = *state;

	add_scenario(fixture, "smoke");
	metrics_configure(fixture->metrics, &fixture->config);
	scrape(fixture);
	for (int verdict = VERDICT_PASS; verdict < VERDICT_COUNT; verdict++) {
		_cleanup_text_ struct text line = TEXT_INIT;

		text_format(&line, LINE("runs_total{scenario=\"smoke\",verdict=\"%s\"} 0"),
			    verdict_names[verdict]);
		assert_line(fixture, line.data);
	}
	assert_line(fixture, LINE("operation_errors_total{scenario=\"smoke\"} 0"));
	assert_line(fixture, LINE("build_info{version=\"1.2.3\"} 1"));
	assert_line(fixture, LINE("peers{state=\"down\"} 0"));
	assert_line(fixture, LINE("metrics_series_dropped_total 0"));
	assert_null(strstr(fixture->out.data, "verdict=\"none\""));
}

static void gauges_of_the_daemon_are_told_in_base_units(void **state)
{
	struct fixture *fixture = *state;

	fixture->gauges = (struct metrics_gauges){
		.config_generation = 4,
		.is_reload_successful = true,
		.reload_success_real_ns = 1700000000000000001,
		.runs_active = 1,
		.runs_queued = 2,
		.runs_waiting = 12,
		.schedule_missed = 3,
		.peers_up = 5,
		.peers_connecting = 6,
		.peers_down = 7,
		.control_sessions = 8,
		.control_refused_count = 2,
		.control_refused = { { "rate_limited", 0 }, { "wrong_key", 11 } },
		.jobs_active = 9,
		.pinned_bytes = 10,
		.device_count = 2,
		.devices = { { "mlx5_0", true }, { "rxe0", false } },
		.port_count = 2,
		.ports = { { "mlx5_0", 1, PORT_STATE_ACTIVE, 100000000000, 12500000000 },
			   { "rxe0", 2, PORT_STATE_DOWN, 0, 0 } },
	};
	scrape(fixture);
	assert_line(fixture, LINE("build_info{version=\"\"} 1"));
	assert_line(fixture, LINE("config_generation 4"));
	assert_line(fixture, LINE("config_last_reload_successful 1"));
	assert_line(fixture,
		    LINE("config_last_reload_success_timestamp_seconds 1700000000.000000001"));
	assert_line(fixture, LINE("runs_active 1"));
	assert_line(fixture, LINE("run_queue_length 2"));
	assert_line(fixture, LINE("runs_waiting 12"));
	assert_line(fixture,
		    LINE("port_disruptive_seconds{device=\"mlx5_0\",port=\"1\"} 12.500000000"));
	assert_line(fixture, LINE("schedule_missed_total 3"));
	assert_line(
		fixture,
		LINE("peers{state=\"up\"} 5\nrdmatestd_peers{state=\"connecting\"} 6\nrdmatestd_peers{state=\"down\"} 7"));
	assert_line(fixture, LINE("control_sessions 8"));
	assert_line(fixture, LINE("control_refused_total{reason=\"rate_limited\"} 0"));
	assert_line(fixture, LINE("control_refused_total{reason=\"wrong_key\"} 11"));
	assert_line(fixture, LINE("jobs_active 9"));
	assert_line(fixture, LINE("pinned_bytes 10"));
	assert_line(fixture, LINE("device_sick{device=\"mlx5_0\"} 1"));
	assert_line(fixture, LINE("device_sick{device=\"rxe0\"} 0"));
	assert_line(
		fixture,
		LINE("port_state{device=\"mlx5_0\",port=\"1\"} 4\nrdmatestd_port_state{device=\"rxe0\",port=\"2\"} 1"));
	assert_line(fixture,
		    LINE("port_link_bytes_per_second{device=\"mlx5_0\",port=\"1\"} 1.25e+10"));
	assert_null(strstr(fixture->out.data, "port_link_bytes_per_second{device=\"rxe0\""));
}

static void what_unreliable_transports_lose_is_counted_beside_what_they_sent(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = new_run("lossy", VERDICT_DEGRADED);
	struct measurement *measurement = add_measurement(run, "n1", "n2", VERDICT_DEGRADED);
	struct workload *workload = &measurement->assignment.workload;

	workload->qp.qp_type = QP_TYPE_UD;
	workload->workload.pattern = PATTERN_STREAM;
	measurement->first_error = FAILURE_INIT;
	add_class(measurement, OPERATION_SEND, 1024, 1000, 4000);
	measurement->initiator.totals.end = END_ITERATIONS;
	measurement->initiator.totals.traffic_operations = 1000;
	measurement->responder.has_totals = true;
	measurement->responder.totals.end = END_STOPPED;
	measurement->responder.totals.receives = 990;
	metrics_observe(fixture->metrics, run);
	metrics_observe(fixture->metrics, run);
	scrape(fixture);
	assert_line(fixture, LINE("messages_sent_total{scenario=\"lossy\"} 2000"));
	assert_line(fixture, LINE("messages_lost_total{scenario=\"lossy\"} 20"));
	/* RC says nothing of messages: it delivers, or fails. */
	workload->qp.qp_type = QP_TYPE_RC;
	metrics_observe(fixture->metrics, run);
	scrape(fixture);
	assert_line(fixture, LINE("messages_sent_total{scenario=\"lossy\"} 2000"));
	run_free(run);
}

static void a_run_is_counted_and_its_last_values_are_told(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = new_run("mixed", VERDICT_PASS);
	struct measurement *measurement = add_measurement(run, "n1", "n2", VERDICT_PASS);

	add_class(measurement, OPERATION_WRITE, 4096, 1000, 4000);
	add_class(measurement, OPERATION_WRITE, 8192, 1000, 40000);
	add_class(measurement, OPERATION_READ, 100, 15, 2000000000);
	measurement->initiator.totals.errors = 2;
	metrics_observe(fixture->metrics, run);
	scrape(fixture);
	assert_line(fixture, LINE("runs_total{scenario=\"mixed\",verdict=\"pass\"} 1"));
	assert_line(fixture, LINE("operation_errors_total{scenario=\"mixed\"} 2"));
	assert_line(fixture, LINE("operations_total{scenario=\"mixed\",operation=\"write\"} 2000"));
	assert_line(fixture,
		    LINE("operation_bytes_total{scenario=\"mixed\",operation=\"write\"} 12288000"));
	assert_line(
		fixture,
		LINE("latency_seconds_bucket{scenario=\"mixed\",operation=\"write\",le=\"3e-06\"} 0"));
	assert_line(
		fixture,
		LINE("latency_seconds_bucket{scenario=\"mixed\",operation=\"write\",le=\"5e-06\"} 1000"));
	assert_line(
		fixture,
		LINE("latency_seconds_bucket{scenario=\"mixed\",operation=\"write\",le=\"3e-05\"} 1000"));
	assert_line(
		fixture,
		LINE("latency_seconds_bucket{scenario=\"mixed\",operation=\"write\",le=\"1\"} 2000"));
	assert_line(
		fixture,
		LINE("latency_seconds_bucket{scenario=\"mixed\",operation=\"write\",le=\"+Inf\"} 2000"));
	assert_line(fixture,
		    LINE("latency_seconds_sum{scenario=\"mixed\",operation=\"write\"} 0.044"));
	assert_line(fixture,
		    LINE("latency_seconds_count{scenario=\"mixed\",operation=\"write\"} 2000"));
	assert_line(
		fixture,
		LINE("latency_seconds_bucket{scenario=\"mixed\",operation=\"read\",le=\"1\"} 0"));
	assert_line(
		fixture,
		LINE("latency_seconds_bucket{scenario=\"mixed\",operation=\"read\",le=\"+Inf\"} 15"));
	assert_line(fixture, LINE("run_last_verdict{scenario=\"mixed\",peer=\"n2\"} 1"));
	assert_line(
		fixture,
		LINE("run_last_timestamp_seconds{scenario=\"mixed\",peer=\"n2\"} 1700000000.250000000"));
	assert_line(
		fixture,
		LINE("bandwidth_bytes_per_second{scenario=\"mixed\",peer=\"n2\",operation=\"write\"} 12288000"));
	assert_line(
		fixture,
		LINE("operations_per_second{scenario=\"mixed\",peer=\"n2\",operation=\"write\"} 2000"));
	assert_non_null(strstr(
		fixture->out.data,
		"latency_percentile_seconds{scenario=\"mixed\",peer=\"n2\",operation=\"write\",percentile=\"99\"} 0.00004"));
	/* 2,000 samples are not enough for p99.9, 15 not for any. */
	assert_null(strstr(fixture->out.data, "operation=\"write\",percentile=\"99.9\""));
	assert_null(strstr(fixture->out.data, "operation=\"read\",percentile"));
	assert_null(strstr(fixture->out.data, "operation=\"send\""));
	/* A label of summaries alone: promtool would complain. */
	assert_null(strstr(fixture->out.data, "quantile="));
	run_free(run);
}

static void counters_grow_and_gauges_are_replaced_by_the_next_run(void **state)
{
	struct fixture *fixture = *state;
	struct run *good = new_run("mixed", VERDICT_PASS);
	struct run *bad = new_run("mixed", VERDICT_FAIL);

	add_class(add_measurement(good, "n1", "n2", VERDICT_PASS), OPERATION_SEND, 64, 100, 1500);
	add_measurement(bad, "n1", "n2", VERDICT_FAIL);
	bad->ended_real_ns += 5;
	metrics_observe(fixture->metrics, good);
	metrics_observe(fixture->metrics, good);
	scrape(fixture);
	assert_line(fixture, LINE("runs_total{scenario=\"mixed\",verdict=\"pass\"} 2"));
	assert_line(fixture, LINE("operations_total{scenario=\"mixed\",operation=\"send\"} 200"));
	assert_line(
		fixture,
		LINE("latency_seconds_bucket{scenario=\"mixed\",operation=\"send\",le=\"2e-06\"} 200"));
	assert_line(
		fixture,
		LINE("operations_per_second{scenario=\"mixed\",peer=\"n2\",operation=\"send\"} 100"));
	metrics_observe(fixture->metrics, bad);
	scrape(fixture);
	assert_line(fixture, LINE("runs_total{scenario=\"mixed\",verdict=\"fail\"} 1"));
	assert_line(fixture, LINE("run_last_verdict{scenario=\"mixed\",peer=\"n2\"} 6"));
	assert_line(
		fixture,
		LINE("run_last_timestamp_seconds{scenario=\"mixed\",peer=\"n2\"} 1700000000.250000005"));
	/* What was not measured this time is not shown as if it were. */
	assert_null(strstr(fixture->out.data, "operations_per_second{scenario=\"mixed\""));
	assert_line(fixture, LINE("operations_total{scenario=\"mixed\",operation=\"send\"} 200"));
	run_free(good);
	run_free(bad);
}

/* A run of a second that ended so many seconds after the first one. */
static void observe_at(struct fixture *fixture, uint64_t second, int verdict)
{
	struct run *run = new_run("mixed", verdict);

	run->ended_real_ns += (int64_t)(second * 1000000000);
	run->started_real_ns = run->ended_real_ns - 1000000000;
	run->started_mono_ns = 5000000000 + second * 1000000000;
	add_measurement(run, "n1", "n2", verdict);
	metrics_observe(fixture->metrics, run);
	run_free(run);
}

static void C59_the_time_from_the_first_failing_run_to_the_next_good_one_is_told(void **state)
{
	struct fixture *fixture = *state;

	observe_at(fixture, 0, VERDICT_PASS);
	observe_at(fixture, 10, VERDICT_FAIL);
	observe_at(fixture, 20, VERDICT_ERROR);
	scrape(fixture);
	assert_null(strstr(fixture->out.data, "\nrdmatestd_time_to_recover_seconds{"));
	/* That says nothing of the path. */
	observe_at(fixture, 30, VERDICT_UNSUPPORTED);
	observe_at(fixture, 40, VERDICT_INCONCLUSIVE);
	observe_at(fixture, 52, VERDICT_DEGRADED);
	scrape(fixture);
	assert_line(fixture,
		    LINE("time_to_recover_seconds{scenario=\"mixed\",peer=\"n2\"} 42.000000000"));
	observe_at(fixture, 60, VERDICT_PASS);
	observe_at(fixture, 70, VERDICT_INCONCLUSIVE);
	scrape(fixture);
	assert_line(fixture,
		    LINE("time_to_recover_seconds{scenario=\"mixed\",peer=\"n2\"} 42.000000000"));
	observe_at(fixture, 80, VERDICT_PASS);
	scrape(fixture);
	assert_line(fixture,
		    LINE("time_to_recover_seconds{scenario=\"mixed\",peer=\"n2\"} 10.000000000"));
}

static void of_several_ports_the_worst_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = new_run("mixed", VERDICT_DEGRADED);

	add_class(add_measurement(run, "n1", "n2", VERDICT_PASS), OPERATION_SEND, 64, 1000, 1500);
	add_class(add_measurement(run, "n1", "n2", VERDICT_DEGRADED), OPERATION_SEND, 64, 500,
		  9000);
	add_class(add_measurement(run, "n2", "n1", VERDICT_PASS), OPERATION_SEND, 64, 2000, 1000);
	metrics_observe(fixture->metrics, run);
	scrape(fixture);
	assert_line(fixture, LINE("run_last_verdict{scenario=\"mixed\",peer=\"n2\"} 2"));
	assert_line(
		fixture,
		LINE("operations_per_second{scenario=\"mixed\",peer=\"n2\",operation=\"send\"} 500"));
	assert_line(
		fixture,
		LINE("bandwidth_bytes_per_second{scenario=\"mixed\",peer=\"n2\",operation=\"send\"} 32000"));
	assert_non_null(strstr(fixture->out.data,
			       "peer=\"n2\",operation=\"send\",percentile=\"50\"} 0.000009"));
	run_free(run);
}

static void the_peer_is_the_other_node_or_both(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = new_run("a", VERDICT_PASS);

	add_measurement(run, "n1", "n2", VERDICT_PASS);
	add_measurement(run, "n3", "n1", VERDICT_PASS);
	add_measurement(run, "n4", "n5", VERDICT_INCONCLUSIVE);
	metrics_observe(fixture->metrics, run);
	scrape(fixture);
	assert_line(fixture, LINE("run_last_verdict{scenario=\"a\",peer=\"n2\"} 1"));
	assert_line(fixture, LINE("run_last_verdict{scenario=\"a\",peer=\"n3\"} 1"));
	assert_line(fixture, LINE("run_last_verdict{scenario=\"a\",peer=\"n4->n5\"} 4"));
	run_free(run);
}

static void a_run_without_measurements_is_counted_alone(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = new_run("a", VERDICT_ERROR);

	metrics_observe(fixture->metrics, run);
	scrape(fixture);
	assert_line(fixture, LINE("runs_total{scenario=\"a\",verdict=\"error\"} 1"));
	assert_null(strstr(fixture->out.data, "\nrdmatestd_run_last_verdict{"));
	run_free(run);
}

static void a_measurement_without_a_window_gives_no_rates(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = new_run("a", VERDICT_FAIL);
	struct measurement *measurement = add_measurement(run, "n1", "n2", VERDICT_FAIL);

	add_class(measurement, OPERATION_READ, 8, 3, 100);
	measurement->initiator.totals.window_ns = 0;
	metrics_observe(fixture->metrics, run);
	scrape(fixture);
	assert_line(fixture, LINE("operations_total{scenario=\"a\",operation=\"read\"} 3"));
	assert_null(strstr(fixture->out.data, "\nrdmatestd_bandwidth_bytes_per_second{"));
	assert_null(strstr(fixture->out.data, " inf"));
	assert_null(strstr(fixture->out.data, "nan\n"));
	run_free(run);
}

static void what_leaves_the_configuration_leaves_the_metrics(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = new_run("old", VERDICT_PASS);
	struct run *other = new_run("new", VERDICT_PASS);

	add_class(add_measurement(run, "n1", "n2", VERDICT_PASS), OPERATION_READ, 8, 100, 100);
	add_class(add_measurement(other, "n1", "n2", VERDICT_PASS), OPERATION_READ, 8, 100, 100);
	add_measurement(other, "n2", "n3", VERDICT_PASS);
	add_scenario(fixture, "new");
	add_scenario(fixture, "old");
	add_peer(fixture, "n2");
	add_peer(fixture, "n3");
	metrics_configure(fixture->metrics, &fixture->config);
	metrics_observe(fixture->metrics, run);
	metrics_observe(fixture->metrics, other);
	clear_config(&fixture->config);
	add_scenario(fixture, "new");
	add_peer(fixture, "n2");
	metrics_configure(fixture->metrics, &fixture->config);
	scrape(fixture);
	assert_null(strstr(fixture->out.data, "\"old\""));
	assert_null(strstr(fixture->out.data, "n3"));
	assert_line(fixture, LINE("runs_total{scenario=\"new\",verdict=\"pass\"} 1"));
	assert_line(fixture, LINE("run_last_verdict{scenario=\"new\",peer=\"n2\"} 1"));
	clear_config(&fixture->config);
	metrics_configure(fixture->metrics, &fixture->config);
	scrape(fixture);
	assert_null(strstr(fixture->out.data, "scenario="));
	run_free(run);
	run_free(other);
}

static size_t count_series(const char *text)
{
	size_t count = 0;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		count += *line != '#' && *line != '\n';
	}
	return count;
}

static void the_series_stay_within_their_budget_and_say_what_is_left_out(void **state)
{
	struct fixture *fixture = *state;
	size_t before;

	for (unsigned i = 0; i < 300; i++) {
		char name[32];
		struct run *run;

		snprintf(name, sizeof(name), "node%u", i);
		run = new_run("mesh", VERDICT_PASS);
		for (int kind = 0; kind < OPERATION_KINDS; kind++) {
			struct measurement *measurement =
				add_measurement(run, "n1", name, VERDICT_PASS);

			add_class(measurement, kind, 64, 20000, 1000);
		}
		metrics_observe(fixture->metrics, run);
		run_free(run);
	}
	before = count_series(scrape(fixture) + 1);
	assert_in_range(before, 1500, METRICS_SERIES_BUDGET);
	assert_int_equal(before, metrics_series(fixture->metrics));
	assert_null(strstr(fixture->out.data, "\nrdmatestd_metrics_series_dropped_total 0\n"));
	assert_line(fixture, LINE("run_last_verdict{scenario=\"mesh\",peer=\"node0\"} 1"));
	assert_null(strstr(fixture->out.data, "node299"));
	assert_line(fixture, LINE("runs_total{scenario=\"mesh\",verdict=\"pass\"} 300"));
	/* Room that is given back can be used again. */
	add_scenario(fixture, "mesh");
	add_peer(fixture, "node299");
	metrics_configure(fixture->metrics, &fixture->config);
	struct run *run = new_run("mesh", VERDICT_PASS);
	add_measurement(run, "n1", "node299", VERDICT_PASS);
	metrics_observe(fixture->metrics, run);
	scrape(fixture);
	assert_line(fixture, LINE("run_last_verdict{scenario=\"mesh\",peer=\"node299\"} 1"));
	run_free(run);
}

static void bucket_bounds_rise_and_are_written_as_they_count(void **state)
{
	for (size_t i = 0; i < METRICS_STORE_BUCKETS; i++) {
		double le_ns = strtod(metrics_store_buckets[i].le, NULL) * 1e9;

		assert_true(le_ns > (double)metrics_store_buckets[i].le_ns - 0.5);
		assert_true(le_ns < (double)metrics_store_buckets[i].le_ns + 0.5);
		assert_true(i == 0 ||
			    metrics_store_buckets[i].le_ns > metrics_store_buckets[i - 1].le_ns);
	}
}

static void label_values_are_escaped(void **state)
{
	struct text out = TEXT_INIT;
	struct exposition exposition = { .out = &out };

	exposition_family(&exposition, "x", EXPOSITION_GAUGE, "Help.");
	exposition_real(&exposition, "", 0.1, EXPOSITION_LABELS("a", "\\\"\n\xc3\xa9", "b", ""));
	exposition_seconds(&exposition, "_y", -1500000000, NULL);
	exposition_u64(&exposition, "", UINT64_MAX, NULL);
	assert_string_equal(
		out.data,
		"# HELP x Help.\n# TYPE x gauge\nx{a=\"\\\\\\\"\\n\xc3\xa9\",b=\"\"} 0.1\nx_y -1.500000000\n"
		"x 18446744073709551615\n");
	assert_int_equal(exposition.series, 3);
	text_done(&out);
}

static void every_metric_is_documented_and_every_documented_one_is_there(void **state)
{
	const char *guide = asset_find("metrics.md")->bytes;
	struct fixture *fixture = *state;
	size_t families = 0;
	size_t documented = 0;

	scrape(fixture);
	for (const char *at = fixture->out.data; (at = strstr(at, "# TYPE ")); at++) {
		_cleanup_text_ struct text row = TEXT_INIT;
		const char *name = at + 7;
		size_t length = strcspn(name, " ");
		const char *type = name + length + 1;

		text_add(&row, "| `");
		text_add_bytes(&row, name, length);
		text_add(&row, "` | ");
		text_add_bytes(&row, type, strcspn(type, "\n"));
		text_add(&row, " |");
		if (!strstr(guide, row.data)) {
			fail_msg("%s is not in api/metrics.md", row.data);
		}
		families++;
	}
	for (const char *at = guide; (at = strstr(at, "\n| `")); at++) {
		documented++;
	}
	assert_int_equal(families, documented);
}

static void every_family_is_announced_once_and_before_its_series(void **state)
{
	struct fixture *fixture = *state;
	char family[128] = "";
	const char *line;

	scrape(fixture);
	for (line = fixture->out.data + 1; *line; line += strcspn(line, "\n") + 1) {
		if (text_starts_with(line, "# TYPE ")) {
			snprintf(family, sizeof(family), "%.*s", (int)strcspn(line + 7, " "),
				 line + 7);
		} else if (*line != '#') {
			assert_true(text_starts_with(line, family));
		}
	}
}

static void connections_are_counted_and_each_phase_has_a_histogram(void **state)
{
	struct fixture *fixture = *state;
	struct run *run = new_run("mixed", VERDICT_FAIL);
	struct measurement *m = add_measurement(run, "n1", "n2", VERDICT_FAIL);
	struct connections *connections = memory_new(sizeof(*connections));
	connections_init(connections);
	for (unsigned i = 0; i < 100; i++) {
		histogram_add(&connections->phases[CONNECTION_SETUP].latency, 4000);
	}
	connections->phases[CONNECTION_CONNECT].failed = 1;
	m->initiator.has_totals = true;
	m->initiator.totals = (struct totals){ .window_ns = 2000000000,
					       .operations = 100,
					       .connections = connections };
	metrics_observe(fixture->metrics, run);
	scrape(fixture);
	assert_line(fixture, LINE("connections_total{scenario=\"mixed\"} 100"));
	assert_line(fixture,
		    LINE("connection_failures_total{scenario=\"mixed\",phase=\"connect\"} 1"));
	assert_line(fixture,
		    LINE("connection_phase_seconds_count{scenario=\"mixed\",phase=\"setup\"} 100"));
	assert_line(fixture, LINE("connections_per_second{scenario=\"mixed\",peer=\"n2\"} 50"));
	assert_line(
		fixture,
		LINE("connection_setup_percentile_seconds{scenario=\"mixed\",peer=\"n2\",percentile=\"50\"} 0.000004000"));
	run_free(run);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(everything_is_there_from_zero),
		TEST(gauges_of_the_daemon_are_told_in_base_units),
		TEST(what_unreliable_transports_lose_is_counted_beside_what_they_sent),
		TEST(a_run_is_counted_and_its_last_values_are_told),
		TEST(connections_are_counted_and_each_phase_has_a_histogram),
		TEST(counters_grow_and_gauges_are_replaced_by_the_next_run),
		TEST(of_several_ports_the_worst_is_told),
		TEST(C59_the_time_from_the_first_failing_run_to_the_next_good_one_is_told),
		TEST(the_peer_is_the_other_node_or_both),
		TEST(a_run_without_measurements_is_counted_alone),
		TEST(a_measurement_without_a_window_gives_no_rates),
		TEST(what_leaves_the_configuration_leaves_the_metrics),
		TEST(the_series_stay_within_their_budget_and_say_what_is_left_out),
		TEST(bucket_bounds_rise_and_are_written_as_they_count),
		TEST(label_values_are_escaped),
		TEST(every_metric_is_documented_and_every_documented_one_is_there),
		TEST(every_family_is_announced_once_and_before_its_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
