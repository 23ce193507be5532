// SPDX-License-Identifier: MIT
#include "engine/worker.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "util/clock.h"
#include "util/memory.h"
#include "util/ring.h"
#include "util/thread.h"

#define SPARE_REPORTS 8
#define PROGRESS_LEAST_NS 100000000ull
#define SLEEP_MOST_NS 100000000ull

enum command_kind { COMMAND_START, COMMAND_STOP, COMMAND_QUIT };

struct command {
	struct message message; /* first */
	enum command_kind kind;
	struct traffic *traffic;
};

struct worker {
	struct thread *thread;
	struct mailbox commands;
	struct mailbox *reports;
	void *owner;
	atomic_uint_fast64_t steps;

	/* The control thread's: commands are not allocated when somebody wants to stop. */
	struct command start;
	struct command stop;
	struct command quit;
	bool is_stopping;
	bool is_quitting;

	/* The worker thread's. */
	struct traffic *traffic;
	bool has_told_start;
	uint64_t told_mono_ns; /* the last progress */
	struct worker_report *started; /* reserved: sent whatever happens */
	struct worker_report *finished;
	struct ring spares; /* of worker_report: control thread puts, worker takes */
};

static struct worker_report *report_new(void)
{
	return memory_new(sizeof(struct worker_report));
}

static void report(struct worker *worker, struct worker_report *report,
		   enum worker_report_kind kind)
{
	report->kind = kind;
	report->owner = worker->owner;
	mailbox_post(worker->reports, &report->message);
}

/* Without a spare buffer, or too soon: the next interval tells it. */
static void tell_progress(struct worker *worker)
{
	struct progress progress;
	struct worker_report *spare;
	uint64_t now_ns;
	bool is_last;

	if (!traffic_progress(worker->traffic, &progress)) {
		return;
	}
	now_ns = clock_mono_ns();
	/* The last one tells that this end is done: somebody waits for it. */
	is_last = progress.phase == PHASE_DRAINING;
	if (!is_last && now_ns - worker->told_mono_ns < PROGRESS_LEAST_NS) {
		return;
	}
	spare = ring_get(&worker->spares);
	if (spare) {
		worker->told_mono_ns = now_ns;
		spare->progress = progress;
		report(worker, spare, WORKER_PROGRESS);
	} else if (is_last) {
		traffic_progress_again(worker->traffic);
	}
}

static void finish(struct worker *worker)
{
	struct worker_report *last = take(worker->finished);

	if (!worker->has_told_start) {
		report(worker, take(worker->started), WORKER_STARTED);
	}
	traffic_totals(worker->traffic, &last->totals);
	worker->traffic = NULL;
	report(worker, last, WORKER_FINISHED);
}

/* False when the thread is to end. */
static bool obey(struct worker *worker)
{
	struct message *message;

	while ((message = mailbox_get(&worker->commands))) {
		const struct command *command = (const struct command *)message;

		switch (command->kind) {
		case COMMAND_START:
			worker->traffic = command->traffic;
			traffic_start(worker->traffic);
			break;
		case COMMAND_STOP:
			if (worker->traffic) {
				traffic_stop(worker->traffic);
			}
			break;
		case COMMAND_QUIT:
			return false;
		}
	}
	return true;
}

/* Nothing was found. A sleeper makes steps, too: the watchdog looks whether it does. */
static struct thread_next next_look(struct worker *worker)
{
	int fd = traffic_sleep_fd(worker->traffic);
	uint64_t left_ns;

	if (fd < 0) {
		return (struct thread_next){
			.want = THREAD_POLL, .until_mono_ns = traffic_next_mono_ns(worker->traffic)
		};
	}
	/* From now on: since the start the two clocks have parted by more than latencies are. */
	left_ns = traffic_left_ns(worker->traffic);
	left_ns = left_ns < SLEEP_MOST_NS ? left_ns : SLEEP_MOST_NS;
	return (struct thread_next){ .want = THREAD_WAIT_FD,
				     .until_mono_ns = clock_mono_ns() + left_ns,
				     .fd = fd };
}

static struct thread_next worker_step(void *arg)
{
	struct worker *worker = arg;
	bool has_found = false;

	if (mailbox_has_mail(&worker->commands) && !obey(worker)) {
		return (struct thread_next){ .want = THREAD_DONE, .until_mono_ns = CLOCK_NEVER };
	}
	if (!worker->traffic) {
		return (struct thread_next){ .want = THREAD_WAIT, .until_mono_ns = CLOCK_NEVER };
	}

	bool goes_on = traffic_step(worker->traffic, &has_found);

	/* One writer: no locked instruction in the way of the next poll. */
	atomic_store_explicit(&worker->steps,
			      atomic_load_explicit(&worker->steps, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (!worker->has_told_start && traffic_has_posted(worker->traffic)) {
		worker->has_told_start = true;
		report(worker, take(worker->started), WORKER_STARTED);
	}
	tell_progress(worker);
	if (!goes_on) {
		finish(worker);
		return (struct thread_next){ .want = THREAD_AGAIN };
	}
	if (has_found) {
		return (struct thread_next){ .want = THREAD_AGAIN };
	}
	return next_look(worker);
}

static void wake(void *arg)
{
	struct worker *worker = arg;

	thread_wake(worker->thread);
}

/* The thread has ended, or never was. */
static void destroy(struct worker *worker)
{
	struct worker_report *spare;

	while (mailbox_get(&worker->commands)) {
	}
	mailbox_done(&worker->commands);
	while ((spare = ring_get(&worker->spares))) {
		free(spare);
	}
	ring_done(&worker->spares);
	free(worker->started);
	free(worker->finished);
	free(worker);
}

int worker_new(struct worker **ret_worker, const char *name, const struct placement *placement,
	       bool has_events, struct mailbox *reports, void *owner, struct error *err)
{
	struct worker *worker = memory_new(sizeof(*worker));
	struct thread_options options = { .name = name,
					  .cpu = -1,
					  .cpus = placement ? placement->cpus : NULL,
					  .cpu_count = placement ? placement->count : 0,
					  .has_descriptor = has_events,
					  .is_measuring = true };
	int ret;

	worker->reports = reports;
	worker->owner = owner;
	worker->started = report_new();
	worker->finished = report_new();
	ring_init(&worker->spares, SPARE_REPORTS);
	for (unsigned i = 0; i < SPARE_REPORTS; i++) {
		ring_put(&worker->spares, report_new());
	}
	mailbox_init(&worker->commands, wake, worker);
	ret = thread_start(&worker->thread, &options, worker_step, worker, err);
	if (ret < 0) {
		destroy(worker);
		return ret;
	}
	*ret_worker = worker;
	return 0;
}

static void command(struct worker *worker, struct command *command, enum command_kind kind)
{
	command->kind = kind;
	mailbox_post(&worker->commands, &command->message);
}

void worker_start(struct worker *worker, struct traffic *traffic)
{
	assert(!worker->start.traffic);
	worker->start.traffic = traffic;
	command(worker, &worker->start, COMMAND_START);
}

void worker_stop(struct worker *worker)
{
	if (!worker->is_stopping) {
		worker->is_stopping = true;
		command(worker, &worker->stop, COMMAND_STOP);
	}
}

uint64_t worker_progress(const struct worker *worker)
{
	return atomic_load_explicit(&((struct worker *)worker)->steps, memory_order_relaxed);
}

uint64_t worker_cpu_ns(const struct worker *worker)
{
	return thread_cpu_ns(worker->thread);
}

uint64_t worker_call_ns(const struct worker *worker, uint64_t now_mono_ns, const char **ret_call)
{
	uint64_t since_mono_ns;

	*ret_call = thread_doing(worker->thread, &since_mono_ns);
	return *ret_call && now_mono_ns > since_mono_ns ? now_mono_ns - since_mono_ns : 0;
}

int worker_free(struct worker *worker, uint64_t deadline_mono_ns)
{
	int ret;

	if (!worker) {
		return 0;
	}
	if (!worker->is_quitting) {
		worker->is_quitting = true;
		command(worker, &worker->quit, COMMAND_QUIT);
	}
	ret = thread_join(&worker->thread, deadline_mono_ns);
	if (ret < 0) {
		return ret;
	}
	destroy(worker);
	return 0;
}

void worker_report_free(struct worker *worker, struct worker_report *report)
{
	if (!worker || !report || !ring_put(&worker->spares, report)) {
		free(report);
	}
}
