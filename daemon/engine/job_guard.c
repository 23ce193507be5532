// SPDX-License-Identifier: MIT
/* A disruptive job of a host that is short of CPU or memory ends early: engine/guard.h. */
#include "engine/job.h"
#include "host/supply.h"
#include "util/clock.h"

static struct guard_look look(const struct job *job)
{
	return (struct guard_look){
		.mono_ns = clock_mono_ns(),
		/* One that sleeps until completions come uses less than it could. */
		.worker_cpu_ns = job->worker && !traffic_may_sleep(job->traffic)
					 ? worker_cpu_ns(job->worker)
					 : UINT64_MAX,
		.memory_pressure_ns = supply_memory_pressure_ns(job->pool->sys_root),
	};
}

static void arm(struct job *job)
{
	sd_event_source_set_time(job->guard_timer, (clock_mono_ns() + GUARD_INTERVAL_NS) / 1000);
	sd_event_source_set_enabled(job->guard_timer, SD_EVENT_ONESHOT);
}

static int on_guard(sd_event_source *source, uint64_t usec, void *arg)
{
	struct job *job = arg;
	struct guard_look now = look(job);
	struct error err = ERROR_INIT;

	if (guard_check(&job->guard, &now, &err) == 0) {
		arm(job);
		return 0;
	}
	job_set_failure(job, &err);
	job_end_traffic(job);
	return 0;
}

void job_guard_begin(struct job *job)
{
	struct guard_look now;

	if (!job->assignment.is_disruptive ||
	    sd_event_add_time(job->pool->event, &job->guard_timer, CLOCK_MONOTONIC, 0, 10000,
			      on_guard, job) < 0) {
		return;
	}
	now = look(job);
	guard_init(&job->guard, &now);
	arm(job);
}

void job_guard_end(struct job *job)
{
	job->guard_timer = sd_event_source_disable_unref(job->guard_timer);
}
