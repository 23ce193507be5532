// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the host of an end gave the tester and its device around the traffic: CPU time that was
 * withheld, the CPU's frequency, where it is, the bus of the device, what may be pinned. It tells
 * what the host did from what the fabric did. Plain data; part of the totals.
 *
 * Growths are between one reading before the traffic and one after it, never in between, so that
 * the set-up's last and the tear-down's first moments are in them. What cannot be read is
 * HOST_UNKNOWN (null in JSON), never 0.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/json.h"

#define HOST_UNKNOWN UINT64_MAX

struct host_report {
	bool is_read; /* somebody looked: else nothing here is known */
	/* Of the measuring thread, in the window; unknown for an end without one. */
	uint64_t voluntary_switches; /* it waited for something: a polling thread should not */
	uint64_t longest_gap_ns; /* from one look of its loop to the next, since the first post */
	uint64_t cpu; /* on which it ended */
	/* Growths, of all threads of the daemon and of the host. */
	uint64_t span_ns; /* from one reading to the other */
	uint64_t throttled_periods; /* of cpu.max of our control group and those around it */
	uint64_t throttled_ns; /* likewise, summed over CPUs */
	uint64_t stolen_ns; /* by the hypervisor, from the CPUs that it may use, summed */
	uint64_t cpu_pressure_ns; /* in which somebody on the host waited for a CPU (PSI, some) */
	uint64_t memory_pressure_ns; /* in which all waited for memory (PSI, full) */
	/* As found after the traffic. */
	uint64_t frequency_hz; /* of `cpu` */
	uint64_t max_frequency_hz; /* what it can */
	uint64_t cpu_numa_node; /* of `cpu` */
	uint64_t device_numa_node;
	uint64_t pcie_speed_mtps; /* million transfers a second and lane, of the device's link */
	uint64_t pcie_max_speed_mtps; /* what the adapter can */
	uint64_t pcie_width; /* lanes */
	uint64_t pcie_max_width;
	uint64_t netdev_mtu_bytes; /* of the port's network interface */
	uint64_t memlock_bytes; /* that the daemon may pin in all; HOST_UNLIMITED: no limit */
};

/* Larger than any limit that can be given, and still a number in JSON. */
#define HOST_UNLIMITED ((uint64_t)INT64_MAX)

/* Nothing is known. */
void host_report_init(struct host_report *report);
/* The same object travels and stands in the record; null when nobody looked. New reference. */
json_t *host_report_write(const struct host_report *report);
/*
 * From a peer: bounded numbers, unknown where a key lacks or is null; NULL or null: nobody looked.
 * 0, or -EINVAL with err.
 */
int host_report_read(const json_t *json, struct host_report *ret, struct error *err);
/* What a PCI Express link carries one way, less its line code; 0 when either is. */
uint64_t host_report_pcie_bps(uint64_t speed_mtps, uint64_t width);
