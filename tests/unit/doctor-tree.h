// SPDX-License-Identifier: MIT
#pragma once

/*
 * A host that is well, as the doctor's tests begin: one RoCE card "left" with one port, in a tree
 * of files and on the fake NIC.
 */

#include <cmocka.h>

#include "fake/fabric.h"
#include "run/doctor_check.h"
#include "run/doctor_collect.h"
#include "run/doctor_summary.h"
#include "unit/tree.h"

#define DOCTOR_DEVICE "/sys/class/infiniband/left"
#define DOCTOR_NODE "/sys/class/infiniband_verbs/uverbs0"
#define DOCTOR_CARD "/sys/devices/pci0000:3a/0000:3b:00.0"
#define DOCTOR_GID_LOCAL "fe80:0000:0000:0000:0000:00ff:fe00:0001"
#define DOCTOR_GID_IPV4 "0000:0000:0000:0000:0000:ffff:0a00:0001"
#define DOCTOR_LIMITS(locked, files)                                                       \
	"Limit                     Soft Limit           Hard Limit           Units     \n" \
	"Max open files            " files "   files     \n"                               \
	"Max locked memory         " locked "   bytes     \n"
#define DOCTOR_STATUS(user, capabilities)                                                        \
	"Name:\trdmatestd\nUid:\t" user "\t" user "\t" user "\t" user "\nCapEff:\t" capabilities \
	"\nSeccomp:\t0\n"

struct doctor_host {
	struct tree tree;
	struct fabric *fabric;
	struct doctor_facts *facts;
	struct doctor_report report;
	struct doctor_summary summary;
	struct text text; /* what a person would read */
};

static inline void doctor_host_add_process(const struct tree *tree)
{
	tree_write(tree, "/proc/sys/kernel/osrelease", "6.1.0-test\n");
	tree_write(tree, "/proc/self/status", DOCTOR_STATUS("1000", "0000000000000000"));
	tree_write(tree, "/proc/self/limits",
		   DOCTOR_LIMITS("unlimited  unlimited", "16384  524288"));
	tree_write(tree, "/proc/self/cgroup", "0::/user.slice\n");
	tree_write(tree, "/proc/self/mountinfo", "24 27 0:6 / /dev rw - devtmpfs udev rw\n");
	tree_link(tree, "/proc/self/ns/user", "user:[4026531837]");
	tree_link(tree, "/proc/self/ns/pid", "pid:[4026531836]");
	tree_write(
		tree, "/proc/meminfo",
		"HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n");
	tree_write(tree, "/sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
	tree_write(tree, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		   "tsc\n");
	tree_write(tree, "/sys/devices/system/node/online", "0-1\n");
	tree_write(tree, "/sys/devices/system/node/node1/cpulist", "0-4095\n");
}

static inline void doctor_host_add_device(const struct tree *tree)
{
	tree_write(tree, "/sys/module/ib_core/initstate", "live\n");
	tree_write(tree, "/sys/module/ib_uverbs/initstate", "live\n");
	tree_write(tree, "/sys/module/rdma_ucm/initstate", "live\n");
	tree_add_roce(tree, "left", "eth2", DOCTOR_GID_LOCAL);
	tree_write(tree, DOCTOR_DEVICE "/node_type", "1: CA\n");
	tree_write(tree, DOCTOR_DEVICE "/ports/1/phys_state", "5: LinkUp\n");
	tree_write(tree, DOCTOR_DEVICE "/ports/1/gids/1", DOCTOR_GID_IPV4 "\n");
	tree_write(tree, DOCTOR_DEVICE "/ports/1/gid_attrs/types/1", "RoCE v2\n");
	tree_write(tree, DOCTOR_DEVICE "/ports/1/gid_attrs/ndevs/1", "eth2\n");
	tree_link(tree, DOCTOR_DEVICE "/device", "../../../devices/pci0000:3a/0000:3b:00.0");
	tree_link(tree, DOCTOR_CARD "/driver", "../../../bus/pci/drivers/mlx5_core");
	tree_link(tree, DOCTOR_CARD "/subsystem", "../../../bus/pci");
	tree_write(tree, DOCTOR_CARD "/numa_node", "1\n");
	tree_write(tree, DOCTOR_CARD "/current_link_speed", "16.0 GT/s PCIe\n");
	tree_write(tree, DOCTOR_CARD "/max_link_speed", "16.0 GT/s PCIe\n");
	tree_write(tree, DOCTOR_CARD "/current_link_width", "16\n");
	tree_write(tree, DOCTOR_CARD "/max_link_width", "16\n");
	tree_write(tree, DOCTOR_NODE "/ibdev", "left\n");
	tree_write(tree, DOCTOR_NODE "/dev", "231:192\n");
	tree_write(tree, DOCTOR_NODE "/abi_version", "1\n");
	tree_write(tree, "/dev/infiniband/uverbs0", "");
	tree_write(tree, "/dev/infiniband/rdma_cm", "");
	tree_write(tree, "/sys/class/net/eth2/flags", "0x1003\n");
	tree_write(tree, "/sys/class/net/eth2/carrier", "1\n");
	tree_write(tree, "/sys/class/net/eth2/mtu", "9000\n");
}

static inline int doctor_host_set_up(void **state)
{
	struct doctor_host *host = calloc(1, sizeof(*host));

	host->fabric = fabric_new(1);
	fabric_add_device(host->fabric,
			  &(struct fabric_device_config){ .name = "left", .address = "10.0.0.1" });
	fabric_use(host->fabric);
	tree_init(&host->tree);
	doctor_host_add_process(&host->tree);
	doctor_host_add_device(&host->tree);
	host->facts = calloc(1, sizeof(*host->facts));
	*state = host;
	return 0;
}

static inline void doctor_host_forget(struct doctor_host *host)
{
	doctor_summary_done(&host->summary);
	doctor_line_free_all(&host->report);
	text_done(&host->text);
	host->text = TEXT_INIT;
}

static inline int doctor_host_tear_down(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_forget(host);
	doctor_collect_done(host->facts);
	free(host->facts);
	fabric_use(NULL);
	fabric_free(host->fabric);
	tree_done(&host->tree);
	free(host);
	return 0;
}

/* Reads the tree; facts that only a kernel tells are those of a host that is well. */
static inline void doctor_host_collect(struct doctor_host *host)
{
	doctor_collect_done(host->facts);
	doctor_collect(host->tree.root, host->facts);
	host->facts->netlink_error = 0;
	host->facts->clock_read_ns = 20;
}

/* Judges the facts as they are. */
static inline void doctor_host_judge(struct doctor_host *host)
{
	doctor_host_forget(host);
	doctor_check_all(host->facts, &host->report);
	doctor_summary_init(&host->summary, host->facts, &host->report);
	doctor_summary_print(&host->summary, &host->report, 100, &host->text);
}

static inline void doctor_host_look(struct doctor_host *host)
{
	doctor_host_collect(host);
	doctor_host_judge(host);
}

/* The only line of that id; fails when there is another or none. */
static inline const struct doctor_line *doctor_host_line(const struct doctor_host *host,
							 const char *id)
{
	const struct doctor_line *found = NULL;

	for (size_t i = 0; i < host->report.count; i++) {
		if (strcmp(host->report.lines[i].id, id) == 0) {
			assert_null(found);
			found = &host->report.lines[i];
		}
	}
	if (!found) {
		fail_msg("no line \"%s\" in:\n%s", id, host->text.data);
	}
	return found;
}

/* The line of that id has this status, names `finding` and `cure` (NULL: has none). */
static inline void doctor_host_expect(const struct doctor_host *host, const char *id,
				      enum doctor_status status, const char *finding,
				      const char *cure)
{
	const struct doctor_line *line = doctor_host_line(host, id);

	if (line->status != status || !strstr(line->finding, finding) ||
	    (cure ? !strstr(line->cure, cure) : line->cure[0] != '\0') || line->source[0] == '\0') {
		fail_msg(
			"\"%s\": expected %s, \"%s\", cure \"%s\"; got %s, \"%s\", cure \"%s\", source \"%s\"",
			id, doctor_line_status_name(status), finding, cure ? cure : "",
			doctor_line_status_name(line->status), line->finding, line->cure,
			line->source);
	}
}

static inline void doctor_host_expect_no(const struct doctor_host *host, const char *id)
{
	for (size_t i = 0; i < host->report.count; i++) {
		assert_string_not_equal(host->report.lines[i].id, id);
	}
}

/* How the first line ends. */
static inline void doctor_host_expect_summary(const struct doctor_host *host, const char *end)
{
	const char *text = host->summary.text.data;
	size_t length = strlen(text);

	if (length < strlen(end) || strcmp(text + length - strlen(end), end) != 0) {
		fail_msg("expected a summary that ends with \"%s\", got \"%s\"", end, text);
	}
}
