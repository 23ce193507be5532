// SPDX-License-Identifier: MIT
#include "ctl/hosts.h"

#include <inttypes.h>
#include <stdio.h>

#include "ctl/field.h"
#include "util/text.h"

/* Of the time between both readings; less is the noise of every host. */
#define WITHHELD_SHARE 0.01
/* A tick or two of a kernel that had to do something else. */
#define LONG_GAP_NS 20000000u
#define SLOW_SHARE 0.75

static uint64_t number(const json_t *host, const char *key)
{
	uint64_t value;

	return field_u64(host, key, &value) ? value : 0;
}

static void add(struct text *line, const char *words)
{
	text_format(line, "%s%s", line->length ? ", " : "", words);
}

static void add_withheld(const json_t *host, const char *key, const char *format, struct text *line)
{
	char duration[UNITS_SIZE];
	char words[128];

	if ((double)number(host, key) > WITHHELD_SHARE * (double)number(host, "span_ns") &&
	    number(host, key) > 0) {
		snprintf(words, sizeof(words), format, field_show_duration(host, key, duration));
		add(line, words);
	}
}

static void add_cpu(const json_t *host, struct text *line)
{
	uint64_t now_hz = number(host, "frequency_hz");
	uint64_t max_hz = number(host, "max_frequency_hz");
	uint64_t cpu_node, device_node;
	char words[128];

	if (now_hz > 0 && (double)now_hz < SLOW_SHARE * (double)max_hz) {
		snprintf(words, sizeof(words), "CPU at %.3g of %.3g GHz", (double)now_hz / 1e9,
			 (double)max_hz / 1e9);
		add(line, words);
	}
	if (field_u64(host, "cpu_numa_node", &cpu_node) &&
	    field_u64(host, "device_numa_node", &device_node) && cpu_node != device_node) {
		snprintf(words, sizeof(words), "CPU on NUMA node %" PRIu64 ", device on %" PRIu64,
			 cpu_node, device_node);
		add(line, words);
	}
}

static void add_bus(const json_t *host, struct text *line)
{
	uint64_t speed = number(host, "pcie_speed_mtps");
	uint64_t width = number(host, "pcie_width");
	uint64_t max_speed = number(host, "pcie_max_speed_mtps");
	uint64_t max_width = number(host, "pcie_max_width");
	char words[128];

	if (speed > 0 && width > 0 && (speed < max_speed || width < max_width)) {
		snprintf(words, sizeof(words),
			 "PCI Express x%" PRIu64 " at %.3g GT/s of x%" PRIu64 " at %.3g", width,
			 (double)speed / 1e3, max_width, (double)max_speed / 1e3);
		add(line, words);
	}
}

static void print_end(const json_t *end, struct paper *paper, unsigned indent)
{
	const json_t *host = field_find(end, "host");
	_cleanup_text_ struct text said = TEXT_INIT;
	_cleanup_text_ struct text line = TEXT_INIT;

	if (host == NULL) {
		return;
	}
	add_withheld(host, "throttled_ns", "its CPU limit held it back for %s", &said);
	add_withheld(host, "stolen_ns", "its hypervisor took %s", &said);
	if (number(host, "longest_gap_ns") >= LONG_GAP_NS) {
		char duration[UNITS_SIZE], words[128];

		snprintf(words, sizeof(words), "the worker was away for up to %s",
			 field_show_duration(host, "longest_gap_ns", duration));
		add(&said, words);
	}
	add_cpu(host, &said);
	add_bus(host, &said);
	if (said.length == 0) {
		return;
	}
	text_format(&line, "host %s: %s", field_string(end, "node", "-"), said.data);
	paper_paragraph(paper, PAPER_DIM, indent, line.data);
}

void hosts_print(const json_t *measurement, struct paper *paper, unsigned indent)
{
	const json_t *initiator = field_find(measurement, "initiator");
	const json_t *responder = field_find(measurement, "responder");

	if (initiator != NULL) {
		print_end(initiator, paper, indent);
	}
	if (responder != NULL) {
		print_end(responder, paper, indent);
	}
}
