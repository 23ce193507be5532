// SPDX-License-Identifier: MIT
#include "engine/guard.h"

#include <errno.h>

#include "util/text.h"
#include "util/units.h"

void guard_init(struct guard *guard, const struct guard_look *now)
{
	*guard = (struct guard){ .last = *now };
}

/* What a counter grew by, in percent of the time; UINT64_MAX when it is not known. */
static uint64_t share_percent(uint64_t before, uint64_t now, uint64_t elapsed_ns)
{
	if (before == UINT64_MAX || now == UINT64_MAX || now < before || elapsed_ns == 0) {
		return UINT64_MAX;
	}
	return (uint64_t)((unsigned __int128)(now - before) * 100 / elapsed_ns);
}

static uint64_t cpu_percent(const struct guard_look *before, const struct guard_look *now)
{
	return share_percent(before->worker_cpu_ns, now->worker_cpu_ns,
			     now->mono_ns - before->mono_ns);
}

static uint64_t memory_percent(const struct guard_look *before, const struct guard_look *now)
{
	return share_percent(before->memory_pressure_ns, now->memory_pressure_ns,
			     now->mono_ns - before->mono_ns);
}

static bool is_short_of_memory(const struct guard_look *before, const struct guard_look *now)
{
	uint64_t percent = memory_percent(before, now);

	return percent != UINT64_MAX && percent >= GUARD_MOST_MEMORY_PERCENT;
}

static bool is_bad(const struct guard_look *before, const struct guard_look *now)
{
	return cpu_percent(before, now) < GUARD_LEAST_CPU_PERCENT ||
	       is_short_of_memory(before, now) || now->mono_ns - before->mono_ns >= GUARD_LATE_NS;
}

static int tell(const struct guard *guard, const struct guard_look *now, struct error *err)
{
	const struct guard_look *before = &guard->before;
	char took[UNITS_SIZE];

	units_format_duration(now->mono_ns - before->mono_ns, took);
	if (is_short_of_memory(before, now)) {
		error_set(
			err, -EBUSY, ERROR_RESOURCE,
			"for %s nothing on this host got on for want of memory for %llu %% of the time, %d %% or more: "
			"a disruptive run ends then; run it when the host has memory to spare",
			took, (unsigned long long)memory_percent(before, now),
			GUARD_MOST_MEMORY_PERCENT);
	} else if (cpu_percent(before, now) < GUARD_LEAST_CPU_PERCENT) {
		error_set(
			err, -EBUSY, ERROR_RESOURCE,
			"for %s the measuring thread got %llu %% of a CPU, less than %d %%: a disruptive run "
			"ends then, for the host needs its CPUs; run it when the host is quiet, or raise the "
			"limit of its control group (CPUQuota=, cpu.max)",
			took, (unsigned long long)cpu_percent(before, now),
			GUARD_LEAST_CPU_PERCENT);
	} else {
		error_set(
			err, -EBUSY, ERROR_RESOURCE,
			"for %s this daemon got too little CPU to look after its run in time: a disruptive "
			"run ends then; run it when the host is quiet",
			took);
	}
	err->stage = STAGE_RUN;
	text_copy(err->call, sizeof(err->call), "starved");
	return -EBUSY;
}

int guard_check(struct guard *guard, const struct guard_look *now, struct error *err)
{
	if (!is_bad(&guard->last, now)) {
		guard->bad_looks = 0;
	} else if (guard->bad_looks++ == 0) {
		guard->before = guard->last;
	}
	guard->last = *now;
	return guard->bad_looks < GUARD_LOOKS ? 0 : tell(guard, now, err);
}
