// SPDX-License-Identifier: MIT
#include "traffic-rig.h"

#include <poll.h>
#include <unistd.h>

#include "engine/worker.h"

#define DEADLINE_NS 20000000000ull

/* Real threads, real time: the fabric's events run beside the workers. */
static void threaded_init(struct rig *rig, int pattern, int kind, int cq_mode, uint64_t duration_ns)
{
	rig_init(rig, pattern, kind, 64);
	fake_clock_stop();
	fabric_set_threaded(rig->fabric, true);
	fabric_pump_start(rig->fabric);
	/* This machine may be busy: a late answer is no loss here. */
	rig->assignment->workload.qp.local_ack_timeout = 20;
	rig->assignment->workload.qp.rnr_retry = 7;
	rig->assignment->workload.run.stall_timeout_ns = 10000000000;
	rig->assignment->workload.run.timeout_ns = DEADLINE_NS;
	rig->assignment->workload.run.duration_ns = duration_ns;
	rig->assignment->workload.cq.mode = cq_mode;
	rig->assignment->workload.run.interval_ns = 10000000;
	rig->assignment->workload.workload.load.outstanding = pattern == PATTERN_STREAM ? 16 : 1;
	rig_open(rig);
}

static void threaded_done(struct rig *rig)
{
	fabric_pump_stop(rig->fabric);
	rig_done(rig);
}

struct seen {
	unsigned started;
	unsigned progress;
	unsigned finished;
	bool is_in_order; /* started first, finished last */
	uint64_t first_progress_ns;
	uint64_t last_progress_ns;
};

static void take_report(struct rig *rig, struct worker *const *workers, struct seen *seen,
			struct worker_report *report)
{
	int end = report->owner == &rig->traffic[0] ? 0 : 1;
	struct seen *own = &seen[end];
	uint64_t now_ns = clock_mono_ns();

	assert_ptr_equal(report->owner, &rig->traffic[end]);
	own->is_in_order &= own->finished == 0 &&
			    (own->started > 0 || report->kind == WORKER_STARTED);
	switch (report->kind) {
	case WORKER_STARTED:
		own->started++;
		break;
	case WORKER_PROGRESS:
		own->first_progress_ns = own->progress == 0 ? now_ns : own->first_progress_ns;
		own->last_progress_ns = now_ns;
		own->progress++;
		break;
	case WORKER_FINISHED:
		own->finished++;
		rig->totals[end] = report->totals;
		rig->has_totals[end] = true;
		break;
	}
	worker_report_free(workers[end], report);
}

static void read_reports(struct rig *rig, struct mailbox *reports, struct worker *const *workers,
			 struct seen *seen, int until_finished)
{
	uint64_t deadline_ns = clock_mono_ns() + DEADLINE_NS;

	while (seen[until_finished].finished == 0) {
		struct pollfd wait = { .fd = reports->fd, .events = POLLIN };
		struct message *message;

		assert_true(clock_mono_ns() < deadline_ns);
		poll(&wait, 1, 100);
		while ((message = mailbox_get(reports))) {
			take_report(rig, workers, seen, (struct worker_report *)message);
		}
	}
}

static void start_workers(struct rig *rig, struct mailbox *reports, struct worker **workers,
			  struct seen *seen)
{
	struct error err = ERROR_INIT;

	assert_int_equal(mailbox_init_fd(reports, NULL), 0);
	for (int i = 1; i >= 0; i--) {
		seen[i] = (struct seen){ .is_in_order = true };
		rig_need(worker_new(&workers[i], i == 0 ? "left" : "right", NULL,
				    rig->assignment->workload.cq.mode == CQ_MODE_EVENT, reports,
				    &rig->traffic[i], &err),
			 &err);
		assert_int_equal(worker_progress(workers[i]), 0);
		worker_start(workers[i], rig->traffic[i]);
	}
}

static void end_workers(struct mailbox *reports, struct worker **workers)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(worker_free(workers[i], clock_mono_ns() + DEADLINE_NS), 0);
	}
	assert_null(mailbox_get(reports));
	mailbox_done(reports);
}

static void check_order(const struct seen *seen)
{
	assert_int_equal(seen->started, 1);
	assert_int_equal(seen->finished, 1);
	assert_true(seen->is_in_order);
}

static void run_both(int pattern, int kind, int cq_mode)
{
	struct rig rig;
	struct mailbox reports;
	struct worker *workers[2];
	struct seen seen[2];

	threaded_init(&rig, pattern, kind, cq_mode, 300000000);
	start_workers(&rig, &reports, workers, seen);
	read_reports(&rig, &reports, workers, seen, 0);
	worker_stop(workers[1]);
	worker_stop(workers[1]);
	read_reports(&rig, &reports, workers, seen, 1);
	assert_true(worker_progress(workers[0]) > 0);
	end_workers(&reports, workers);
	check_order(&seen[0]);
	check_order(&seen[1]);
	/* 30 intervals in 300 ms, but at most ten reports in a second. */
	assert_in_range(seen[0].progress, 1, rig.totals[0].window_ns / 100000000 + 2);
	assert_int_equal(rig.totals[0].end, END_DURATION);
	assert_int_equal(rig.totals[1].end, END_STOPPED);
	assert_true(rig.totals[0].operations > 0);
	assert_true(rig.totals[0].window_ns >= 300000000);
	assert_true(rig.totals[0].worker_cpu_ns > 0);
	assert_true(rig.totals[0].polls > 0);
	if (kind == OPERATION_SEND) {
		assert_true(rig.totals[1].receives >= rig.totals[0].operations);
	}
	threaded_done(&rig);
}

static void both_ends_of_a_stream_start_and_finish_once(void **state)
{
	(void)state;
	run_both(PATTERN_STREAM, OPERATION_SEND, CQ_MODE_POLL);
	run_both(PATTERN_STREAM, OPERATION_SEND, CQ_MODE_EVENT);
	run_both(PATTERN_STREAM, OPERATION_WRITE_WITH_IMM, CQ_MODE_EVENT);
}

static void both_ends_of_a_pingpong_start_and_finish_once(void **state)
{
	(void)state;
	run_both(PATTERN_PINGPONG, OPERATION_WRITE, CQ_MODE_POLL);
	run_both(PATTERN_PINGPONG, OPERATION_SEND, CQ_MODE_POLL);
	run_both(PATTERN_PINGPONG, OPERATION_SEND, CQ_MODE_EVENT);
}

static void progress_goes_on_when_reports_come_back(void **state)
{
	struct rig rig;
	struct mailbox reports;
	struct worker *workers[2];
	struct seen seen[2];

	(void)state;
	/* More reports than there are buffers. */
	threaded_init(&rig, PATTERN_STREAM, OPERATION_SEND, CQ_MODE_POLL, 2000000000);
	start_workers(&rig, &reports, workers, seen);
	read_reports(&rig, &reports, workers, seen, 0);
	worker_stop(workers[1]);
	read_reports(&rig, &reports, workers, seen, 1);
	end_workers(&reports, workers);
	assert_true(seen[0].progress > 8);
	assert_true(seen[0].last_progress_ns - seen[0].first_progress_ns > 700000000);
	threaded_done(&rig);
}

static void stopping_ends_a_long_run_soon(void **state)
{
	struct rig rig;
	struct mailbox reports;
	struct worker *workers[2];
	struct seen seen[2];
	uint64_t stopped_ns;

	(void)state;
	threaded_init(&rig, PATTERN_STREAM, OPERATION_SEND, CQ_MODE_POLL, 15000000000);
	start_workers(&rig, &reports, workers, seen);
	poll(NULL, 0, 50);
	stopped_ns = clock_mono_ns();
	worker_stop(workers[0]);
	read_reports(&rig, &reports, workers, seen, 0);
	worker_stop(workers[1]);
	read_reports(&rig, &reports, workers, seen, 1);
	assert_true(clock_mono_ns() - stopped_ns < 3000000000);
	end_workers(&reports, workers);
	check_order(&seen[0]);
	check_order(&seen[1]);
	assert_int_equal(rig.totals[0].end, END_STOPPED);
	assert_false(error_is_set(&rig.totals[0].failure.error));
	threaded_done(&rig);
}

static void a_worker_that_never_started_ends(void **state)
{
	struct mailbox reports;
	struct worker *worker;
	struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(mailbox_init_fd(&reports, NULL), 0);
	rig_need(worker_new(&worker, "idle", NULL, false, &reports, NULL, &err), &err);
	worker_stop(worker); /* nothing to stop, nothing to report */
	assert_int_equal(worker_free(worker, clock_mono_ns() + DEADLINE_NS), 0);
	assert_null(mailbox_get(&reports));
	mailbox_done(&reports);
	assert_int_equal(worker_free(NULL, 0), 0);
}

static void a_cpu_that_is_not_there_is_refused(void **state)
{
	struct mailbox reports;
	struct worker *worker = NULL;
	struct error err = ERROR_INIT;
	int far = 1 << 20;
	struct placement placement = { .cpus = &far, .count = 1 };

	(void)state;
	assert_int_equal(mailbox_init_fd(&reports, NULL), 0);
	assert_true(worker_new(&worker, "far", &placement, false, &reports, NULL, &err) < 0);
	assert_null(worker);
	assert_non_null(strstr(err.text, "1048576"));
	mailbox_done(&reports);
}

static void reports_may_outlive_their_worker(void **state)
{
	(void)state;
	worker_report_free(NULL, calloc(1, sizeof(struct worker_report)));
	worker_report_free(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_of_a_stream_start_and_finish_once),
		cmocka_unit_test(both_ends_of_a_pingpong_start_and_finish_once),
		cmocka_unit_test(progress_goes_on_when_reports_come_back),
		cmocka_unit_test(stopping_ends_a_long_run_soon),
		cmocka_unit_test(a_worker_that_never_started_ends),
		cmocka_unit_test(a_cpu_that_is_not_there_is_refused),
		cmocka_unit_test(reports_may_outlive_their_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
