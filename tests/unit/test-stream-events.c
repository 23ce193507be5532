// SPDX-License-Identifier: MIT
/* Streams: what is left at the other end, and completion events. */
#include <poll.h>

#include "traffic-rig.h"

/* What the responder's memory holds shows that they happened there, each once. */
static void atomics_change_the_other_end_as_often_as_they_completed(void **state)
{
	const uint64_t iterations = 1000;
	struct rig rig;
	uint64_t sum = 0;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_ATOMIC_FETCH_AND_ADD, OPERATION_ATOMIC_BYTES);
	rig_set_op(&rig, 1, OPERATION_ATOMIC_CMP_AND_SWP, 1, OPERATION_ATOMIC_BYTES);
	rig_set_op(&rig, 2, OPERATION_WRITE, 1, 64);
	rig_set_op(&rig, 3, OPERATION_READ, 1, 64);
	rig.assignment->workload.qp.num_qps = 4;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = iterations;
	rig_open(&rig);
	rig_run(&rig);
	assert_int_equal(rig.totals[0].operations, iterations);
	for (size_t i = 0; i < rig.resources[1]->qp_count; i++) {
		const struct buffer_layout *layout = &rig.resources[1]->layout;
		uint64_t value;

		memcpy(&value,
		       rig.resources[1]->buffer + i * layout->stride_bytes +
			       layout->atomic_offset_bytes,
		       sizeof(value));
		sum += value;
	}
	assert_int_equal(sum, rig.totals[0].classes[0].completed);
	rig_done(&rig);
}

/* One look in vain ends a burst, and the queues are armed before the next. */
static void a_stream_with_completion_events_counts_the_same(void **state)
{
	static const int kinds[] = { OPERATION_WRITE, OPERATION_SEND, OPERATION_READ };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rig rig;

		rig_init(&rig, PATTERN_STREAM, kinds[i], 64);
		rig.assignment->workload.cq.mode = CQ_MODE_EVENT;
		rig.assignment->workload.qp.num_qps = 2;
		rig.assignment->workload.run.duration_ns = 0;
		rig.assignment->workload.run.iterations = 777;
		rig_open(&rig);
		rig_run(&rig);
		assert_int_equal(rig.totals[0].end, END_ITERATIONS);
		assert_int_equal(rig.totals[0].operations, 777);
		rig_check_sums(&rig.totals[0]);
		rig_done(&rig);
	}
}

/* Who takes the messages asks for events of solicited ones alone: is any of them? */
static bool wakes_receiver(bool is_solicited, int pattern, int kind)
{
	struct rig rig;
	struct ibv_cq *cq;
	bool has_event;
	void *arg;

	rig_init(&rig, pattern, kind, 64);
	rig.assignment->workload.cq.mode = CQ_MODE_EVENT;
	rig.assignment->workload.cq.solicited = is_solicited;
	rig.assignment->workload.workload.signal_interval = pattern == PATTERN_STREAM ? 4 : 1;
	rig.assignment->workload.run.duration_ns = 0;
	rig.assignment->workload.run.iterations = 8;
	rig_open(&rig);
	assert_int_equal(ibv_req_notify_cq(rig.resources[1]->recv_cq, 1), 0);
	rig_start(&rig, 0);
	for (int i = 0; i < 100 && !rig.is_over[0]; i++) {
		rig_step(&rig);
	}
	has_event = ibv_get_cq_event(rig.resources[1]->channel, &cq, &arg) == 0;
	if (has_event) {
		ibv_ack_cq_events(cq, 1);
	}
	rig_start(&rig, 1);
	rig_finish(&rig);
	assert_int_equal(rig.totals[0].operations, 8);
	assert_int_equal(rig.totals[1].receives, 8);
	rig_done(&rig);
	return has_event;
}

static void signalled_requests_are_solicited_where_that_is_asked_for(void **state)
{
	static const int kinds[] = { OPERATION_SEND, OPERATION_SEND_WITH_IMM,
				     OPERATION_WRITE_WITH_IMM };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_true(wakes_receiver(true, PATTERN_STREAM, kinds[i]));
		assert_false(wakes_receiver(false, PATTERN_STREAM, kinds[i]));
		assert_true(wakes_receiver(true, PATTERN_PINGPONG, kinds[i]));
		assert_false(wakes_receiver(false, PATTERN_PINGPONG, kinds[i]));
	}
}

/* An end as its worker has it: it sleeps until an event, or its own time, comes. */
struct sleeper {
	bool is_awake;
	unsigned woken; /* by an event */
};

/* False: it sleeps. */
static bool step_asleep(struct rig *rig, int end, struct sleeper *sleeper)
{
	struct pollfd wait = { .events = POLLIN };
	bool has_event;

	if (!rig_is_running(rig, end)) {
		return false;
	}
	if (!sleeper->is_awake) {
		wait.fd = traffic_sleep_fd(rig->traffic[end]);
		assert_true(wait.fd >= 0);
		has_event = poll(&wait, 1, 0) > 0;
		sleeper->woken += has_event;
		sleeper->is_awake = has_event ||
				    traffic_next_mono_ns(rig->traffic[end]) <= fake_clock_now_ns();
	}
	if (sleeper->is_awake) {
		rig->is_over[end] = !traffic_step(rig->traffic[end], &sleeper->is_awake);
		return true;
	}
	return false;
}

/* Those of both ends that were started. */
static void run_asleep(struct rig *rig, struct sleeper sleepers[2])
{
	rig_start(rig, 0);
	sleepers[0] = sleepers[1] = (struct sleeper){ .is_awake = true };
	while (!rig->is_over[0]) {
		bool is_awake;
		uint64_t next_ns;

		fabric_run(rig->fabric);
		is_awake = step_asleep(rig, 0, &sleepers[0]);
		is_awake |= step_asleep(rig, 1, &sleepers[1]);
		if (is_awake) {
			continue;
		}
		next_ns = fabric_next_ns(rig->fabric);
		for (int i = 0; i < 2; i++) {
			uint64_t own_ns = rig_is_running(rig, i)
						  ? traffic_next_mono_ns(rig->traffic[i])
						  : UINT64_MAX;

			next_ns = own_ns < next_ns ? own_ns : next_ns;
		}
		assert_int_not_equal(next_ns, UINT64_MAX);
		if (next_ns > fake_clock_now_ns()) {
			fake_clock_set(next_ns);
		}
	}
}

enum { MESSAGES = 1001 };

/* How often the receiver is woken for them. */
static unsigned wakes_of(bool is_solicited, uint64_t signal_interval)
{
	struct sleeper sleepers[2];
	struct fabric_counters counters;
	struct workload *workload;
	struct rig rig;

	rig_init(&rig, PATTERN_STREAM, OPERATION_SEND, 4096);
	workload = &rig.assignment->workload;
	workload->cq.mode = CQ_MODE_EVENT;
	workload->cq.solicited = is_solicited;
	workload->workload.signal_interval = signal_interval;
	workload->workload.load.outstanding = 2 * signal_interval;
	workload->run.duration_ns = 0;
	workload->run.iterations = MESSAGES;
	rig_open(&rig);
	rig_start(&rig, 1);
	run_asleep(&rig, sleepers);
	rig_finish(&rig);
	assert_int_equal(rig.totals[0].end, END_ITERATIONS);
	assert_int_equal(rig.totals[0].operations, MESSAGES);
	/* The last ones, fewer than an interval, are told of, too. */
	assert_int_equal(rig.totals[1].receives, MESSAGES);
	fabric_counters(rig.fabric, "right", &counters);
	assert_int_equal(counters.rnr_naks, 0);
	rig_done(&rig);
	return sleepers[1].woken;
}

static void a_receiver_of_solicited_messages_sleeps_through_the_others(void **state)
{
	(void)state;
	assert_in_range(wakes_of(false, 4), MESSAGES / 2, MESSAGES);
	assert_in_range(wakes_of(true, 4), MESSAGES / 8, MESSAGES / 4 + 1);
	assert_in_range(wakes_of(true, 16), MESSAGES / 32, MESSAGES / 16 + 1);
}

/* As the device is told to: after so many completions, or so long after the first. */
static void a_device_that_moderates_tells_late(void **state)
{
	static const struct {
		uint64_t count;
		uint64_t least_ns;
		uint64_t most_ns;
	} rows[] = { { 0, 2000, 3000 }, { 1, 2000, 3000 }, { 1000, 52000, 53000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sleeper sleepers[2];
		struct workload *workload;
		struct rig rig;

		rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
		fabric_remove_device(rig.fabric, "left");
		fabric_add_device(rig.fabric,
				  &(struct fabric_device_config){ .name = "left",
								  .address = "10.0.0.3",
								  .has_moderation = true });
		fabric_remove_device(rig.fabric, "right");
		fabric_add_device(rig.fabric,
				  &(struct fabric_device_config){ .name = "right",
								  .address = "10.0.0.4",
								  .has_moderation = true });
		workload = &rig.assignment->workload;
		workload->cq.mode = CQ_MODE_EVENT;
		workload->cq.moderation_count = rows[i].count;
		workload->cq.moderation_period_ns = 50000;
		workload->workload.load.outstanding = 1;
		workload->run.warmup_ns = 0;
		workload->run.duration_ns = 0;
		workload->run.iterations = 100;
		rig_open(&rig);
		run_asleep(&rig, sleepers);
		rig_finish(&rig);
		assert_int_equal(rig.totals[0].operations, 100);
		assert_in_range(rig.totals[0].classes[0].latency.min_ns, rows[i].least_ns,
				rows[i].most_ns);
		assert_in_range(rig.totals[0].classes[0].latency.max_ns, rows[i].least_ns,
				rows[i].most_ns);
		rig_done(&rig);
	}
}

static void a_device_that_does_not_moderate_says_so(void **state)
{
	struct steps steps = { 0 };
	struct error err = ERROR_INIT;
	struct resources *resources;
	struct device *device;
	struct rig rig;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig.assignment->workload.cq.mode = CQ_MODE_EVENT;
	rig.assignment->workload.cq.moderation_count = 16;
	rig.assignment->workload.cq.moderation_period_ns = 20000;
	assert_int_equal(device_open(&device, "left", &err), 0);
	assert_int_equal(resources_new(&resources, device, rig.assignment, &steps, &err),
			 -EOPNOTSUPP);
	assert_non_null(strstr(err.text, "cq.moderation: left does not take a count of 16"));
	device_close(device);
	rig_done(&rig);
}

static void completion_events_that_are_refused_end_it_in_words(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, PATTERN_STREAM, OPERATION_WRITE, 64);
	rig.assignment->workload.cq.mode = CQ_MODE_EVENT;
	rig_open(&rig);
	fabric_set_verb(rig.fabric, "left", FABRIC_REQ_NOTIFY,
			&(struct fabric_verb_fault){ .error = EIO, .skip = 20 });
	rig_run(&rig);
	assert_int_equal(rig.totals[0].end, END_ERROR);
	assert_string_equal(rig.totals[0].failure.error.call, "ibv_req_notify_cq");
	assert_int_equal(rig.totals[0].failure.error.number, EIO);
	assert_non_null(strstr(rig.totals[0].failure.error.text, "left refuses to tell"));
	rig_done(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(atomics_change_the_other_end_as_often_as_they_completed),
		cmocka_unit_test(a_stream_with_completion_events_counts_the_same),
		cmocka_unit_test(signalled_requests_are_solicited_where_that_is_asked_for),
		cmocka_unit_test(a_receiver_of_solicited_messages_sleeps_through_the_others),
		cmocka_unit_test(a_device_that_moderates_tells_late),
		cmocka_unit_test(a_device_that_does_not_moderate_says_so),
		cmocka_unit_test(completion_events_that_are_refused_end_it_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
