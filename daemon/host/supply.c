// SPDX-License-Identifier: MIT
#include "host/supply.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/cgroup.h"
#include "host/fact.h"
#include "util/clock.h"
#include "util/thread.h"

#define NS_PER_S 1000000000ull
#define NS_PER_US 1000ull
#define HZ_PER_KHZ 1000ull
#define MAX_CPUS 4096
/* In a line of /proc/stat, behind the name of the CPU. */
#define STEAL_PLACE 8

static bool contains(const int *cpus, unsigned count, uint64_t cpu)
{
	for (unsigned i = 0; i < count; i++) {
		if ((uint64_t)cpus[i] == cpu) {
			return true;
		}
	}
	return false;
}

/* "cpu7 1 2 3 ...": the eighth number; UINT64_MAX when there are fewer. */
static uint64_t steal_of(const char *line)
{
	char *at = (char *)line + strcspn(line, " \n");
	uint64_t value = UINT64_MAX;

	for (int i = 0; i < STEAL_PLACE; i++) {
		if (*at != ' ') {
			return UINT64_MAX;
		}
		value = strtoull(at, &at, 10);
	}
	return value;
}

static uint64_t read_stolen_ns(const char *root, const int *cpus, unsigned count)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	uint64_t ticks = 0;
	bool is_known = false;

	if (ticks_per_s <= 0 || fact_text(&text, "%s/proc/stat", root) < 0) {
		return UINT64_MAX;
	}
	for (const char *line = text.data; line && *line; line = strchr(line, '\n')) {
		uint64_t steal;

		line += *line == '\n';
		if (strncmp(line, "cpu", 3) != 0 || !isdigit((unsigned char)line[3]) ||
		    !contains(cpus, count, strtoull(line + 3, NULL, 10))) {
			continue;
		}
		steal = steal_of(line);
		if (steal == UINT64_MAX) {
			return UINT64_MAX;
		}
		ticks += steal;
		is_known = true;
	}
	return is_known ? ticks * (NS_PER_S / (uint64_t)ticks_per_s) : UINT64_MAX;
}

/* "some avg10=0.00 ... total=123": us. */
static uint64_t read_pressure_ns(const char *root, const char *of, const char *kind)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const char *line;
	const char *total;

	if (fact_text(&text, "%s/proc/pressure/%s", root, of) < 0) {
		return UINT64_MAX;
	}
	line = fact_find(text.data, kind);
	total = line ? strstr(line, "total=") : NULL;
	if (!total || memchr(line, '\n', (size_t)(total - line))) {
		return UINT64_MAX;
	}
	return strtoull(total + strlen("total="), NULL, 10) * NS_PER_US;
}

uint64_t supply_memory_pressure_ns(const char *root)
{
	return read_pressure_ns(root, "memory", "full");
}

void supply_read(const char *root, const int *cpus, unsigned cpu_count, struct supply *ret)
{
	struct cgroup_throttling throttling;
	_cleanup_free_ int *own = NULL;

	if (!cpus) {
		own = memory_new_array(MAX_CPUS, sizeof(*own));
		cpu_count = thread_cpus(own, MAX_CPUS);
		cpu_count = cpu_count < MAX_CPUS ? cpu_count : MAX_CPUS;
		cpus = own;
	}
	*ret = (struct supply){ .mono_ns = clock_mono_ns(),
				.throttled_periods = UINT64_MAX,
				.throttled_ns = UINT64_MAX };
	if (cgroup_throttled(root, &throttling) == 0) {
		ret->throttled_periods = throttling.periods;
		ret->throttled_ns = throttling.duration_ns;
	}
	ret->stolen_ns = read_stolen_ns(root, cpus, cpu_count);
	ret->cpu_pressure_ns = read_pressure_ns(root, "cpu", "some");
	ret->memory_pressure_ns = supply_memory_pressure_ns(root);
}

static uint64_t read_khz(const char *root, uint64_t cpu, const char *file)
{
	int64_t khz;

	return fact_integer(&khz, "%s/sys/devices/system/cpu/cpu%" PRIu64 "/cpufreq/%s", root, cpu,
			    file) == 0 &&
			       khz > 0 && khz < INT64_MAX / (int64_t)HZ_PER_KHZ
		       ? (uint64_t)khz * HZ_PER_KHZ
		       : UINT64_MAX;
}

/* A link "node0" in the directory of the CPU. */
static uint64_t read_node(const char *root, uint64_t cpu)
{
	_cleanup_fact_names_ struct fact_names names = { 0 };

	if (fact_names(&names, "%s/sys/devices/system/cpu/cpu%" PRIu64, root, cpu) < 0) {
		return UINT64_MAX;
	}
	for (size_t i = 0; i < names.count; i++) {
		const char *name = names.names[i];

		if (text_starts_with(name, "node") && isdigit((unsigned char)name[4])) {
			return strtoull(name + 4, NULL, 10);
		}
	}
	return UINT64_MAX;
}

void supply_cpu(const char *root, uint64_t cpu, struct supply_cpu *ret)
{
	ret->frequency_hz = read_khz(root, cpu, "scaling_cur_freq");
	ret->max_frequency_hz = read_khz(root, cpu, "cpuinfo_max_freq");
	ret->numa_node = read_node(root, cpu);
}
