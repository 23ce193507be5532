// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "run/doctor.h"
#include "unit/doctor-tree.h"
#include "util/json.h"

static void a_host_that_is_well_has_nothing_to_do(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_look(host);
	for (size_t i = 0; i < host->report.count; i++) {
		const struct doctor_line *line = &host->report.lines[i];

		if (line->status != DOCTOR_OK) {
			fail_msg("%s: %s", line->id, line->finding);
		}
		assert_true(line->finding[0] != '\0');
		assert_true(line->source[0] != '\0');
		assert_string_equal(line->cure, "");
	}
	doctor_host_expect(host, "device-library", DOCTOR_OK, "queue pairs", NULL);
	doctor_host_expect(host, "port-mtu", DOCTOR_OK, "4096", NULL);
	doctor_host_expect(host, "port-gid", DOCTOR_OK, "10.0.0.1, index 1", NULL);
	doctor_host_expect(host, "pcie", DOCTOR_OK, "16 GT/s x16", NULL);
	doctor_host_expect(host, "device-numa", DOCTOR_OK, "node 1", NULL);
	doctor_host_expect_summary(host, " ok: this host can run RDMA tests on left port 1");
	assert_int_equal(host->summary.usable_count, 1);
}

/* ---- the kernel */

static void C01_without_modules_the_kernel_gets_the_blame(void **state)
{
	struct doctor_host *host = *state;

	tree_remove(&host->tree, "/sys/module");
	tree_remove(&host->tree, "/sys/class/infiniband");
	doctor_host_look(host);
	doctor_host_expect(host, "kernel-modules", DOCTOR_BAD,
			   "cannot be seen: /lib/modules/6.1.0-test", "modprobe ib_uverbs");
	doctor_host_expect_summary(
		host,
		": this host cannot run RDMA tests, because the kernel's RDMA modules are not loaded");
	/* What comes after that is not said. */
	doctor_host_expect_no(host, "rdma-cm");
	doctor_host_expect_no(host, "device-users");
	tree_write(&host->tree, "/lib/modules/6.1.0-test/modules.dep",
		   "kernel/ib_core.ko:\nkernel/ib_uverbs.ko: kernel/ib_core.ko\n");
	doctor_host_look(host);
	doctor_host_expect(host, "kernel-modules", DOCTOR_BAD,
			   "ib_core and ib_uverbs are not loaded: without them",
			   "modprobe ib_uverbs");
	tree_write(&host->tree, "/lib/modules/6.1.0-test/modules.dep", "kernel/ext4.ko:\n");
	doctor_host_look(host);
	doctor_host_expect(host, "kernel-modules", DOCTOR_BAD,
			   "this kernel (6.1.0-test) has no RDMA", "CONFIG_INFINIBAND");
	doctor_host_expect_summary(host, "because its kernel has no RDMA");
}

static void without_uverbs_the_library_is_not_asked_since_that_would_load_it(void **state)
{
	struct doctor_host *host = *state;

	tree_remove(&host->tree, "/sys/module/ib_uverbs");
	doctor_host_look(host);
	assert_false(host->facts->devices[0].verbs.was_asked);
	doctor_host_expect(host, "kernel-modules", DOCTOR_BAD, "ib_uverbs is not loaded",
			   "modprobe ib_uverbs");
	doctor_host_expect_no(host, "device-library");
	doctor_host_expect(host, "port-mtu", DOCTOR_NOT_SEEN, "may open the device", NULL);
}

static void C01_without_devices_the_way_to_one_is_shown(void **state)
{
	struct doctor_host *host = *state;

	tree_remove(&host->tree, "/sys/class/infiniband");
	doctor_host_look(host);
	doctor_host_expect(host, "kernel-modules", DOCTOR_OK, "are there", NULL);
	doctor_host_expect(host, "devices", DOCTOR_BAD, "no adapter", "modprobe rdma_rxe");
	doctor_host_expect_summary(host, "because it has no RDMA device");
	tree_write(&host->tree, "/sys/bus/pci/devices/0000:3b:00.0/class", "0x020000\n");
	tree_link(&host->tree, "/sys/bus/pci/devices/0000:3b:00.0/driver",
		  "../../drivers/mlx5_core");
	doctor_host_look(host);
	doctor_host_expect(
		host, "devices", DOCTOR_BAD,
		"adapter 0000:3b:00.0 (driver mlx5_core) may do RDMA, but module mlx5_ib",
		"modprobe mlx5_ib");
	host->facts->netlink.is_exclusive = true;
	doctor_host_judge(host);
	doctor_host_expect(host, "devices", DOCTOR_BAD, "network namespace", "rdma dev set");
}

static void a_second_adapter_without_its_rdma_half_is_a_warning(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/sys/bus/pci/devices/0000:3b:00.0/class", "0x020000\n");
	tree_link(&host->tree, "/sys/bus/pci/devices/0000:3b:00.0/driver",
		  "../../drivers/mlx5_core");
	tree_write(&host->tree, "/sys/bus/pci/devices/0000:3b:00.0/infiniband/left/x", "");
	/* Not every card of this driver can. */
	tree_write(&host->tree, "/sys/bus/pci/devices/0000:3d:00.0/class", "0x020000\n");
	tree_link(&host->tree, "/sys/bus/pci/devices/0000:3d:00.0/driver", "../../drivers/i40e");
	doctor_host_look(host);
	doctor_host_expect_no(host, "adapter");
	tree_write(&host->tree, "/sys/bus/pci/devices/0000:3c:00.0/class", "0x020000\n");
	tree_link(&host->tree, "/sys/bus/pci/devices/0000:3c:00.0/driver",
		  "../../drivers/mlx5_core");
	doctor_host_look(host);
	doctor_host_expect(host, "adapter", DOCTOR_WARN, "mlx5_ib", "modprobe mlx5_ib");
}

static void without_sysfs_nothing_is_guessed(void **state)
{
	struct doctor_host *host = *state;

	tree_remove(&host->tree, "/sys");
	doctor_host_look(host);
	doctor_host_expect(host, "kernel-modules", DOCTOR_NOT_SEEN, "/sys/class", NULL);
	doctor_host_expect(host, "devices", DOCTOR_NOT_SEEN, "/sys/class/infiniband", NULL);
	doctor_host_expect(host, "clock-source", DOCTOR_NOT_SEEN, "clocksource", NULL);
	doctor_host_expect(host, "numa", DOCTOR_NOT_SEEN, "does not tell", NULL);
	doctor_host_expect(host, "cgroup", DOCTOR_NOT_SEEN, "/sys/fs/cgroup", NULL);
	doctor_host_expect_summary(host,
				   ": whether this host can run RDMA tests could not be seen");
	assert_int_equal(host->summary.counts[DOCTOR_BAD], 0);
	assert_int_equal(host->summary.usable_count, 0);
}

static void without_procfs_what_it_tells_is_not_seen(void **state)
{
	static const char *const ids[] = { "memory-lock", "sandbox", "huge-pages", "cgroup" };
	struct doctor_host *host = *state;

	tree_remove(&host->tree, "/proc");
	doctor_host_look(host);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_int_equal(doctor_host_line(host, ids[i])->status, DOCTOR_NOT_SEEN);
	}
	doctor_host_expect_summary(host, ": this host can run RDMA tests on left port 1");
}

static void what_only_root_may_read_names_root_as_the_cure(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_collect(host);
	host->facts->limits_error = -EACCES;
	doctor_host_judge(host);
	doctor_host_expect(host, "memory-lock", DOCTOR_NOT_SEEN, "may not read", "as root");
}

static void rdma_cm_is_wanted_not_needed(void **state)
{
	struct doctor_host *host = *state;

	tree_remove(&host->tree, "/dev/infiniband/rdma_cm");
	doctor_host_look(host);
	doctor_host_expect(host, "rdma-cm", DOCTOR_WARN, "is not here", "DeviceAllow=");
	tree_remove(&host->tree, "/sys/module/rdma_ucm");
	doctor_host_look(host);
	doctor_host_expect(host, "rdma-cm", DOCTOR_WARN, "rdma_ucm is not loaded",
			   "modprobe rdma_ucm");
	doctor_host_expect_summary(host, ": this host can run RDMA tests on left port 1");
	host->facts->rdma_cm.error = 0;
	host->facts->rdma_cm.open_error = -EPERM;
	doctor_host_judge(host);
	doctor_host_expect(host, "rdma-cm", DOCTOR_WARN, "may not be opened", "DeviceAllow=");
}

/* ---- limits */

static void C21_a_small_memory_lock_is_told_with_its_size_and_cure(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("65536  65536", "16384  524288"));
	doctor_host_look(host);
	doctor_host_expect(host, "memory-lock", DOCTOR_BAD, "64 KiB", "LimitMEMLOCK=4G");
	doctor_host_expect_summary(
		host,
		"cannot run RDMA tests, because a process started from here may lock only 64 KiB of memory");
	/* Enough for small tests. */
	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("8388608  unlimited", "16384  524288"));
	doctor_host_look(host);
	doctor_host_expect(host, "memory-lock", DOCTOR_BAD, "8 MiB", "ulimit -l unlimited");
	doctor_host_expect_summary(
		host,
		"can run RDMA tests on left port 1, but a process started from here may lock only 8 MiB of memory");
	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("134217728  134217728", "16384  524288"));
	doctor_host_look(host);
	doctor_host_expect(host, "memory-lock", DOCTOR_WARN, "128 MiB", "LimitMEMLOCK=4G");
}

static void C21_the_capability_lifts_the_memory_lock(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("65536  65536", "16384  524288"));
	tree_write(&host->tree, "/proc/self/status", DOCTOR_STATUS("0", "0000000000004000"));
	doctor_host_look(host);
	doctor_host_expect(host, "memory-lock", DOCTOR_OK, "CAP_IPC_LOCK", NULL);
	/* That of a user namespace is not the host's. */
	host->facts->sandbox.is_in_user_namespace = true;
	doctor_host_judge(host);
	doctor_host_expect(host, "memory-lock", DOCTOR_BAD, "64 KiB", "LimitMEMLOCK=");
}

static void a_running_daemon_is_judged_by_its_own_limit(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("8388608  8388608", "16384  524288"));
	tree_write(&host->tree, "/proc/812/comm", "rdmatestd\n");
	tree_write(&host->tree, "/proc/812/status", DOCTOR_STATUS("998", "0000000000000000"));
	tree_write(&host->tree, "/proc/812/limits",
		   DOCTOR_LIMITS("4294967296  4294967296", "16384  524288"));
	doctor_host_look(host);
	doctor_host_expect(host, "memory-lock", DOCTOR_OK, "8 MiB", NULL);
	doctor_host_expect(host, "service-memory-lock", DOCTOR_OK, "process 812", NULL);
	/* As a manager without CAP_SYS_RESOURCE cuts it, silently. */
	tree_write(&host->tree, "/proc/812/limits",
		   DOCTOR_LIMITS("8388608  8388608", "16384  524288"));
	doctor_host_look(host);
	doctor_host_expect(host, "service-memory-lock", DOCTOR_BAD, "8 MiB", "LimitMEMLOCK=4G");
	doctor_host_expect_summary(host,
				   "but the rdmatestd that runs may lock only 8 MiB of memory");
	tree_write(&host->tree, "/proc/812/status", DOCTOR_STATUS("0", "0000000000004000"));
	doctor_host_look(host);
	doctor_host_expect(host, "service-memory-lock", DOCTOR_OK, "CAP_IPC_LOCK", NULL);
	tree_remove(&host->tree, "/proc/812/limits");
	doctor_host_look(host);
	doctor_host_expect(host, "service-memory-lock", DOCTOR_NOT_SEEN, "/proc/812/limits", NULL);
}

static void C26_few_open_files_are_told(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("unlimited  unlimited", "256  524288"));
	doctor_host_look(host);
	doctor_host_expect(host, "open-files", DOCTOR_WARN, "256", "LimitNOFILE=");
	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("unlimited  unlimited", "48  48"));
	doctor_host_look(host);
	doctor_host_expect(host, "open-files", DOCTOR_BAD, "48", "LimitNOFILE=");
	doctor_host_expect_summary(host,
				   "because a process of this user may have only 48 files open");
}

static void limits_of_the_control_group_are_told_with_who_sets_them(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/sys/fs/cgroup/user.slice/memory.max", "209715200\n");
	tree_write(&host->tree, "/sys/fs/cgroup/user.slice/cpu.max", "10000 100000\n");
	tree_write(&host->tree, "/sys/fs/cgroup/user.slice/pids.max", "20\n");
	tree_write(&host->tree, "/sys/fs/cgroup/user.slice/rdma.max",
		   "left hca_handle=2 hca_object=20\n");
	doctor_host_look(host);
	doctor_host_expect(host, "cgroup", DOCTOR_WARN, "memory 200 MiB (by /user.slice)",
			   "MemoryMax=");
	doctor_host_expect(host, "cgroup", DOCTOR_WARN, "10 % of one CPU", "CPUQuota=");
	doctor_host_expect(host, "cgroup", DOCTOR_WARN, "20 processes", "TasksMax=");
	doctor_host_expect(host, "cgroup", DOCTOR_WARN, "hca_object=20", "TasksMax=");
	tree_write(&host->tree, "/proc/self/cgroup", "4:memory:/x\n");
	doctor_host_look(host);
	doctor_host_expect(host, "cgroup", DOCTOR_NOT_SEEN, "version 1",
			   "unified_cgroup_hierarchy");
}

static void C27_huge_pages_are_counted_though_not_needed(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_look(host);
	doctor_host_expect(host, "huge-pages", DOCTOR_OK, "none", NULL);
	tree_write(
		&host->tree, "/proc/meminfo",
		"HugePages_Total:      10\nHugePages_Free:        4\nHugepagesize:       2048 kB\n");
	doctor_host_look(host);
	doctor_host_expect(host, "huge-pages", DOCTOR_OK, "4 of 10 of 2 MiB", NULL);
}

static void a_slow_clock_is_told_with_what_to_do(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		   "hpet\n");
	doctor_host_collect(host);
	host->facts->clock_read_ns = 1100;
	doctor_host_judge(host);
	doctor_host_expect(host, "clock-source", DOCTOR_WARN,
			   "hpet; reading the time takes 1100 ns", "dmesg | grep -i tsc");
	host->facts->clocksource.is_tsc_available = true;
	doctor_host_judge(host);
	doctor_host_expect(host, "clock-source", DOCTOR_WARN, "hpet", "echo tsc >");
	host->facts->clock_read_ns = 30;
	doctor_host_judge(host);
	doctor_host_expect(host, "clock-source", DOCTOR_OK, "hpet", NULL);
}

static void what_holds_the_process_in_is_told(void **state)
{
	struct doctor_host *host = *state;

	doctor_host_look(host);
	doctor_host_expect(host, "sandbox", DOCTOR_OK, "user 1000, no container or sandbox seen",
			   NULL);
	host->facts->sandbox = (struct sandbox){ .is_in_pid_namespace = true,
						 .is_in_user_namespace = true,
						 .is_dev_private = true,
						 .seccomp = 2,
						 .container = "docker" };
	doctor_host_judge(host);
	doctor_host_expect(
		host, "sandbox", DOCTOR_OK,
		"user 0 (root), in a container (docker), with a /dev of its own, in a user "
		"namespace (its root is not the host's), with the host's processes out of sight, "
		"with a filter on system calls",
		NULL);
}

/* ---- other users */

static void other_users_of_the_devices_are_named(void **state)
{
	struct doctor_host *host = *state;
	struct rdma_netlink *netlink;

	doctor_host_collect(host);
	netlink = &host->facts->netlink;
	netlink->user_count = 3;
	netlink->users[0] =
		(struct rdma_netlink_user){ .device = "left", .process = 812, .qp_count = 3 };
	netlink->users[1] =
		(struct rdma_netlink_user){ .device = "left", .process = 813, .qp_count = 1 };
	netlink->users[2] =
		(struct rdma_netlink_user){ .device = "left", .part = "ib_ipoib", .qp_count = 1 };
	text_copy(host->facts->user_programs[0], FACT_NAME, "rdmatestd");
	text_copy(host->facts->user_programs[1], FACT_NAME, "rdmatestd");
	doctor_host_judge(host);
	doctor_host_expect(host, "device-users", DOCTOR_OK, "no other program", NULL);
	text_copy(host->facts->user_programs[0], FACT_NAME, "ib_write_bw");
	text_copy(netlink->users[2].part, FACT_NAME, "nvme_rdma");
	doctor_host_judge(host);
	doctor_host_expect(
		host, "device-users", DOCTOR_WARN,
		"ib_write_bw (process 812): 3 on left, nvme_rdma of the kernel: 1 on left",
		"rdma resource show qp");
}

static void where_the_kernel_does_not_tell_open_nodes_do(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/proc/99/comm", "rping\n");
	tree_link(&host->tree, "/proc/99/fd/3", "/dev/infiniband/uverbs0");
	doctor_host_collect(host);
	host->facts->netlink_error = -EAFNOSUPPORT;
	doctor_host_judge(host);
	doctor_host_expect(host, "device-users", DOCTOR_WARN, "rping (process 99) uverbs0", "idle");
	host->facts->holders.count = 0;
	doctor_host_judge(host);
	doctor_host_expect(host, "device-users", DOCTOR_NOT_SEEN, "Address family not supported",
			   "AF_NETLINK");
	host->facts->netlink_error = -EPERM;
	host->facts->holders.refused = 7;
	doctor_host_judge(host);
	doctor_host_expect(host, "device-users", DOCTOR_NOT_SEEN, "may not see", "as root");
}

/* ---- the report */

static void lines_come_in_the_order_bad_warn_not_seen_ok(void **state)
{
	struct doctor_host *host = *state;
	enum doctor_status before = DOCTOR_BAD;

	tree_write(&host->tree, DOCTOR_CARD "/current_link_width", "8\n");
	tree_write(&host->tree, "/proc/self/cgroup", "4:memory:/x\n");
	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("65536  65536", "16384  524288"));
	doctor_host_look(host);
	for (size_t i = 0; i < host->report.count; i++) {
		assert_true(host->report.lines[i].status >= before);
		before = host->report.lines[i].status;
	}
	assert_int_equal(host->summary.counts[DOCTOR_BAD], 1);
	assert_int_equal(host->summary.counts[DOCTOR_WARN], 1);
	assert_int_equal(host->summary.counts[DOCTOR_NOT_SEEN], 1);
	assert_true(text_starts_with(host->text.data, "1 bad, 1 warn, 1 not seen, 1"));
}

static void the_text_is_a_hundred_columns_wide_with_cures_below(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("65536  65536", "16384  524288"));
	doctor_host_look(host);
	for (const char *line = host->text.data; *line != '\0';) {
		size_t length = strcspn(line, "\n");

		assert_in_range(length, 0, 100);
		line += length + (line[length] == '\n');
	}
	assert_non_null(strstr(host->text.data, "\nbad       memory lock"));
	assert_non_null(strstr(host->text.data, "\n                          do: "));
	assert_non_null(strstr(host->text.data, "\nok        left port 1     active, 100 Gb/s"));
}

static void names_from_outside_cannot_leave_their_line(void **state)
{
	struct doctor_host *host = *state;

	tree_write(&host->tree, "/proc/99/comm", "evil\033[2J\n");
	tree_link(&host->tree, "/proc/99/fd/3", "/dev/infiniband/uverbs0");
	doctor_host_collect(host);
	host->facts->netlink_error = -EPERM;
	doctor_host_judge(host);
	doctor_host_expect(host, "device-users", DOCTOR_WARN, "evil\\x1b[2J", "idle");
	assert_null(strchr(host->text.data, '\033'));
}

static json_t *run_as_json(const struct doctor_host *host, int *ret_status)
{
	char *bytes = NULL;
	size_t count = 0;
	FILE *out = open_memstream(&bytes, &count);
	struct error err = ERROR_INIT;
	json_t *record;

	*ret_status = doctor_run(host->tree.root, true, out);
	fclose(out);
	record = json_read(bytes, count, &err);
	assert_non_null(record);
	free(bytes);
	return record;
}

static void the_record_for_programs_has_stable_keys(void **state)
{
	static const char *const keys[] = { "id", "status", "subject", "finding", "cure", "source" };
	struct doctor_host *host = *state;
	json_t *summary;
	json_t *lines;
	size_t index;
	json_t *line;
	int status;
	json_t *record = run_as_json(host, &status);

	assert_int_equal(status, DOCTOR_EXIT_WELL);
	assert_int_equal(json_integer_value(json_object_get(record, "schema_version")), 1);
	summary = json_object_get(record, "summary");
	assert_non_null(
		strstr(json_string_value(json_object_get(summary, "text")), "can run RDMA tests"));
	assert_int_equal(json_integer_value(json_object_get(summary, "ports")), 1);
	assert_int_equal(json_integer_value(json_object_get(summary, "usable_ports")), 1);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(summary, "counts"), "bad")), 0);
	lines = json_object_get(record, "lines");
	assert_true(json_array_size(lines) > 10);
	json_array_foreach(lines, index, line) {
		assert_int_equal(json_object_size(line), sizeof(keys) / sizeof(keys[0]));
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			assert_non_null(json_object_get(line, keys[i]));
		}
	}
	json_decref(record);
}

static void the_exit_status_tells_bad_from_well_and_from_failure(void **state)
{
	struct doctor_host *host = *state;
	FILE *out = fopen("/dev/null", "we");
	FILE *full = fopen("/dev/full", "we");

	assert_int_equal(doctor_run(host->tree.root, false, out), DOCTOR_EXIT_WELL);
	assert_int_equal(doctor_run(host->tree.root, false, full), DOCTOR_EXIT_FAILED);
	assert_int_equal(doctor_run(host->tree.root, true, full), DOCTOR_EXIT_FAILED);
	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("65536  65536", "16384  524288"));
	assert_int_equal(doctor_run(host->tree.root, false, out), DOCTOR_EXIT_BAD);
	/* Nothing is bad, but nothing can be tested as far as one sees. */
	tree_remove(&host->tree, "/sys");
	tree_write(&host->tree, "/proc/self/limits",
		   DOCTOR_LIMITS("unlimited  unlimited", "16384  524288"));
	assert_int_equal(doctor_run(host->tree.root, false, out), DOCTOR_EXIT_BAD);
	fclose(out);
	fclose(full);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, doctor_host_set_up, doctor_host_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_host_that_is_well_has_nothing_to_do),
		TEST(C01_without_modules_the_kernel_gets_the_blame),
		TEST(without_uverbs_the_library_is_not_asked_since_that_would_load_it),
		TEST(C01_without_devices_the_way_to_one_is_shown),
		TEST(a_second_adapter_without_its_rdma_half_is_a_warning),
		TEST(without_sysfs_nothing_is_guessed),
		TEST(without_procfs_what_it_tells_is_not_seen),
		TEST(what_only_root_may_read_names_root_as_the_cure),
		TEST(rdma_cm_is_wanted_not_needed),
		TEST(C21_a_small_memory_lock_is_told_with_its_size_and_cure),
		TEST(C21_the_capability_lifts_the_memory_lock),
		TEST(a_running_daemon_is_judged_by_its_own_limit),
		TEST(C26_few_open_files_are_told),
		TEST(limits_of_the_control_group_are_told_with_who_sets_them),
		TEST(C27_huge_pages_are_counted_though_not_needed),
		TEST(a_slow_clock_is_told_with_what_to_do),
		TEST(what_holds_the_process_in_is_told),
		TEST(other_users_of_the_devices_are_named),
		TEST(where_the_kernel_does_not_tell_open_nodes_do),
		TEST(lines_come_in_the_order_bad_warn_not_seen_ok),
		TEST(the_text_is_a_hundred_columns_wide_with_cures_below),
		TEST(names_from_outside_cannot_leave_their_line),
		TEST(the_record_for_programs_has_stable_keys),
		TEST(the_exit_status_tells_bad_from_well_and_from_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
