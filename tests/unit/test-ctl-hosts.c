// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "ctl/hosts.h"
#include "model/host_report.h"

static json_t *end_of(const char *node, const struct host_report *host)
{
	json_t *end = json_object();

	json_set_string(end, "node", node);
	json_set_take(end, "host", host_report_write(host));
	return end;
}

static void assert_printed(const struct host_report *initiator, const struct host_report *responder,
			   const char *expected)
{
	_cleanup_json_ json_t *measurement = json_object();
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	json_set_take(measurement, "initiator", end_of("node1", initiator));
	json_set_take(measurement, "responder", end_of("node2", responder));
	hosts_print(measurement, &paper, 2);
	assert_string_equal(paper.text.length ? paper.text.data : "", expected);
}

static struct host_report quiet(void)
{
	struct host_report host;

	host_report_init(&host);
	host.is_read = true;
	host.span_ns = 2000000000;
	host.longest_gap_ns = 700000;
	host.throttled_ns = 0;
	host.stolen_ns = 10000000;
	host.frequency_hz = 3500000000;
	host.max_frequency_hz = 3600000000;
	host.cpu_numa_node = 0;
	host.device_numa_node = 0;
	return host;
}

static void quiet_hosts_and_those_that_nobody_looked_at_take_no_line(void **state)
{
	struct host_report host = quiet(), none;

	host_report_init(&none);
	assert_printed(&host, &none, "");
}

static void what_a_host_withheld_is_told_for_each_end(void **state)
{
	struct host_report first = quiet(), second = quiet();

	first.stolen_ns = 300000000;
	second.throttled_ns = 1700000000;
	second.longest_gap_ns = 92000000;
	assert_printed(
		&first, &second,
		"  host node1: its hypervisor took 300 ms\n"
		"  host node2: its CPU limit held it back for 1.7 s, the worker was away for up to 92 ms\n");
}

static void slow_far_and_narrow_is_told(void **state)
{
	struct host_report first = quiet(), second = quiet();

	first.frequency_hz = 800000000;
	first.cpu_numa_node = 1;
	second.pcie_speed_mtps = 8000;
	second.pcie_max_speed_mtps = 16000;
	second.pcie_width = 8;
	second.pcie_max_width = 16;
	assert_printed(&first, &second,
		       "  host node1: CPU at 0.8 of 3.6 GHz, CPU on NUMA node 1, device on 0\n"
		       "  host node2: PCI Express x8 at 8 GT/s of x16 at 16\n");
}

static void records_without_ends_do_no_harm(void **state)
{
	_cleanup_json_ json_t *measurement =
		json_pack("{s:i, s:{s:[]}}", "initiator", 1, "responder", "host");
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	hosts_print(measurement, &paper, 2);
	assert_int_equal(paper.text.length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_hosts_and_those_that_nobody_looked_at_take_no_line),
		cmocka_unit_test(what_a_host_withheld_is_told_for_each_end),
		cmocka_unit_test(slow_far_and_narrow_is_told),
		cmocka_unit_test(records_without_ends_do_no_harm),
	};

	return cmocka_run_group_tests_name("ctl-hosts", tests, NULL, NULL);
}
