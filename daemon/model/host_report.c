// SPDX-License-Identifier: MIT
#include "model/host_report.h"

#include <errno.h>

#include "model/limits.h"

#define MOST_COUNT ((uint64_t)INT64_MAX)
/* A day of traffic, and what is around it, on each of 65,536 CPUs. */
#define MOST_CPUS 65536u
#define MOST_SPAN_NS (2 * LIMIT_RUN_DURATION_NS)
#define MOST_CPU_NS ((uint64_t)MOST_CPUS * 86400 * 1000000000)

static const struct number {
	const char *key;
	size_t offset;
	uint64_t max;
} numbers[] = {
#define NUMBER(member, most)                                        \
	{                                                           \
#member, offsetof(struct host_report, member), most \
	}
	NUMBER(voluntary_switches, MOST_COUNT),
	NUMBER(longest_gap_ns, MOST_SPAN_NS),
	NUMBER(cpu, MOST_CPUS - 1),
	NUMBER(span_ns, MOST_SPAN_NS),
	NUMBER(throttled_periods, MOST_COUNT),
	NUMBER(throttled_ns, MOST_CPU_NS),
	NUMBER(stolen_ns, MOST_CPU_NS),
	NUMBER(cpu_pressure_ns, MOST_SPAN_NS),
	NUMBER(memory_pressure_ns, MOST_SPAN_NS),
	NUMBER(frequency_hz, 100000000000),
	NUMBER(max_frequency_hz, 100000000000),
	NUMBER(cpu_numa_node, MOST_CPUS - 1),
	NUMBER(device_numa_node, MOST_CPUS - 1),
	NUMBER(pcie_speed_mtps, 10000000),
	NUMBER(pcie_max_speed_mtps, 10000000),
	NUMBER(pcie_width, 64),
	NUMBER(pcie_max_width, 64),
	NUMBER(netdev_mtu_bytes, UINT32_MAX),
	NUMBER(memlock_bytes, HOST_UNLIMITED),
#undef NUMBER
};
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static uint64_t *member(const struct host_report *report, const struct number *number)
{
	return (uint64_t *)((char *)report + number->offset);
}

void host_report_init(struct host_report *report)
{
	report->is_read = false;
	for (size_t i = 0; i < NUMBERS; i++) {
		*member(report, &numbers[i]) = HOST_UNKNOWN;
	}
}

json_t *host_report_write(const struct host_report *report)
{
	json_t *object;

	if (!report->is_read) {
		return json_null();
	}
	object = json_object();
	for (size_t i = 0; i < NUMBERS; i++) {
		json_set_u64(object, numbers[i].key, *member(report, &numbers[i]));
	}
	return object;
}

int host_report_read(const json_t *json, struct host_report *ret, struct error *err)
{
	struct host_report report;

	host_report_init(&report);
	if (!json || json_is_null(json)) {
		*ret = report;
		return 0;
	}
	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"host\" must be an object");
	}
	for (size_t i = 0; i < NUMBERS; i++) {
		int r = json_get_u64_or(json, numbers[i].key, 0, numbers[i].max,
					member(&report, &numbers[i]), err);

		if (r < 0) {
			error_prefix(err, "host");
			return r;
		}
	}
	report.is_read = true;
	*ret = report;
	return 0;
}

/* From 8 GT/s on 128 of 130 bits are data, below 8 of 10. */
#define FIRST_128_130_MTPS 8000

uint64_t host_report_pcie_bps(uint64_t speed_mtps, uint64_t width)
{
	uint64_t raw_bps = speed_mtps * 1000000 * width;

	return speed_mtps >= FIRST_128_130_MTPS ? raw_bps / 130 * 128 : raw_bps / 10 * 8;
}
