// SPDX-License-Identifier: MIT
#pragma once

/*
 * What this process is given of the host's CPUs and memory, in counters that only grow: two
 * readings tell what was withheld in between. And how fast a CPU is, and where. Below a root path
 * as host/sysfs.h; what cannot be read is UINT64_MAX. A handful of file reads. Any thread.
 */

#include <stdint.h>

struct supply {
	uint64_t mono_ns; /* when it was read */
	uint64_t throttled_periods; /* by cpu.max of our group and of those around it, together */
	uint64_t throttled_ns; /* likewise; of all CPUs */
	uint64_t stolen_ns; /* by the hypervisor from the CPUs that were asked for, together */
	uint64_t cpu_pressure_ns; /* somebody on the host waited for a CPU (PSI, "some") */
	uint64_t memory_pressure_ns; /* all waited for memory (PSI, "full") */
};

/* cpus: whose stolen time counts; NULL: those that this process may use. */
void supply_read(const char *root, const int *cpus, unsigned cpu_count, struct supply *ret);

/* Of these, the last alone. */
uint64_t supply_memory_pressure_ns(const char *root);

struct supply_cpu {
	uint64_t frequency_hz; /* now */
	uint64_t max_frequency_hz; /* that the CPU can */
	uint64_t numa_node;
};
void supply_cpu(const char *root, uint64_t cpu, struct supply_cpu *ret);
