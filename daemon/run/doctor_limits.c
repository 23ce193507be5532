// SPDX-License-Identifier: MIT
#include "run/doctor_limits.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "util/memory.h"
#include "util/text.h"
#include "util/units.h"

/* One buffer of an ordinary test, and what the daemon takes by default (limits.max_pinned_memory).
 */
#define NEEDED_LOCK_BYTES (64ull << 20)
#define WANTED_LOCK_BYTES (1ull << 30)
/* With less not even small tests run. */
#define LEAST_LOCK_BYTES (1ull << 20)
#define WANTED_FILES 1024
#define NEEDED_FILES 128
#define WANTED_PROCESSES 64
#define ONE_CPU_PPM 1000000
/* A latency has two readings in it. Where the CPU's own counter is slow, a machine is emulated. */
#define SLOW_CLOCK_NS 200
#define SLOW_TSC_NS 1000

static const char *format_limit(uint64_t bytes, char *buf)
{
	if (bytes == RLIMITS_NONE) {
		snprintf(buf, UNITS_SIZE, "none");
		return buf;
	}
	return units_format_size(bytes, buf);
}

static enum doctor_status judge_lock(uint64_t bytes)
{
	return bytes < NEEDED_LOCK_BYTES   ? DOCTOR_BAD
	       : bytes < WANTED_LOCK_BYTES ? DOCTOR_WARN
					   : DOCTOR_OK;
}

/* In a user namespace the capability is one of that namespace, which does not count here. */
static bool is_exempt(const struct doctor_facts *facts)
{
	return facts->sandbox_error == 0 && !facts->sandbox.is_in_user_namespace &&
	       facts->sandbox.capabilities >> CAP_IPC_LOCK & 1;
}

static void say_consequence(struct doctor_line *line, uint64_t bytes, const char *who)
{
	char size[UNITS_SIZE];

	if (line->status != DOCTOR_BAD) {
		return;
	}
	if (bytes < LEAST_LOCK_BYTES) {
		doctor_line_block(line, NULL, 0, "%s may lock only %s of memory", who,
				  format_limit(bytes, size));
	} else {
		doctor_line_reason(line, "%s may lock only %s of memory", who,
				   format_limit(bytes, size));
	}
}

static void say_small_lock(const struct doctor_facts *facts, struct doctor_line *line)
{
	const struct rlimits_pair *lock = &facts->limits.locked_bytes;
	char soft[UNITS_SIZE];
	char hard[UNITS_SIZE];

	format_limit(lock->soft, soft);
	format_limit(lock->hard, hard);
	doctor_line_finding(
		line,
		"a process started from here may lock %s of memory; RDMA locks its buffers, so %s (the service has the limit of its unit)",
		soft,
		line->status == DOCTOR_BAD ? "one of 64 MiB fails"
					   : "the 1 GiB that rdmatestd may take would fail");
	if (lock->hard >= WANTED_LOCK_BYTES) {
		doctor_line_cure(
			line,
			"in this shell: ulimit -l %s (up to %s is allowed); for the service, in its unit: LimitMEMLOCK=4G",
			lock->hard == RLIMITS_NONE ? "unlimited" : "1048576", hard);
	} else {
		doctor_line_cure(
			line,
			"for the service, in its unit (systemctl edit rdmatestd): LimitMEMLOCK=4G; for logins, a line in "
			"/etc/security/limits.d/rdma.conf: * - memlock unlimited (then log in anew); "
			"with docker: --ulimit memlock=-1");
	}
}

void doctor_limits_memory_lock(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct rlimits_pair *lock = &facts->limits.locked_bytes;
	struct doctor_line *line;
	char soft[UNITS_SIZE];

	if (facts->limits_error < 0) {
		doctor_line_not_seen(report, "memory-lock", "memory lock", "/proc/self/limits",
				     facts->limits_error);
		return;
	}
	line = doctor_line_add(report, "memory-lock", judge_lock(lock->soft), "memory lock");
	doctor_line_source(line, "/proc/self/limits (Max locked memory), /proc/self/status");
	format_limit(lock->soft, soft);
	if (is_exempt(facts)) {
		line->status = DOCTOR_OK;
		doctor_line_finding(
			line,
			"the limit does not count for this process (CAP_IPC_LOCK, as root has)");
		return;
	}
	if (line->status == DOCTOR_OK) {
		doctor_line_finding(
			line, "a process started from here may lock %s (RDMA locks its buffers)",
			lock->soft == RLIMITS_NONE ? "as much memory as it likes" : soft);
		return;
	}
	if (facts->service[0] != '\0') {
		line->status = DOCTOR_OK;
		doctor_line_finding(
			line,
			"%s for what is started from here; the rdmatestd that runs has a limit of its own",
			soft);
		return;
	}
	say_small_lock(facts, line);
	say_consequence(line, lock->soft, "a process started from here");
}

void doctor_limits_service(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_line *line;
	char soft[UNITS_SIZE];
	char source[64];

	if (facts->service[0] == '\0') {
		return;
	}
	snprintf(source, sizeof(source), "/proc/%s/limits", facts->service);
	if (facts->service_error < 0) {
		doctor_line_not_seen(report, "service-memory-lock", "rdmatestd", source,
				     facts->service_error);
		return;
	}
	format_limit(facts->service_limits.locked_bytes.soft, soft);
	line = doctor_line_add(report, "service-memory-lock",
			       judge_lock(facts->service_limits.locked_bytes.soft), "rdmatestd");
	doctor_line_source(line, "%s", source);
	if (facts->is_service_exempt || line->status == DOCTOR_OK) {
		line->status = DOCTOR_OK;
		doctor_line_finding(line, "runs (process %s); its limit on locked memory: %s",
				    facts->service,
				    facts->is_service_exempt ? "none (CAP_IPC_LOCK)" : soft);
		return;
	}
	doctor_line_finding(
		line, "runs (process %s) and may lock %s of memory; RDMA locks its buffers, so %s",
		facts->service, soft,
		line->status == DOCTOR_BAD ? "one of 64 MiB fails"
					   : "the 1 GiB that it may take would fail");
	doctor_line_cure(
		line,
		"systemctl edit rdmatestd: [Service] LimitMEMLOCK=4G; systemctl restart "
		"rdmatestd (in a container the outer limit counts: docker --ulimit memlock=-1)");
	say_consequence(line, facts->service_limits.locked_bytes.soft, "the rdmatestd that runs");
}

void doctor_limits_open_files(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct rlimits_pair *files = &facts->limits.open_files;
	struct doctor_line *line;

	if (facts->limits_error < 0) {
		return; /* said of the memory lock */
	}
	line = doctor_line_add(report, "open-files",
			       files->soft < NEEDED_FILES   ? DOCTOR_BAD
			       : files->soft < WANTED_FILES ? DOCTOR_WARN
							    : DOCTOR_OK,
			       "open files");
	doctor_line_source(line, "/proc/self/limits (Max open files)");
	if (files->soft == RLIMITS_NONE) {
		doctor_line_finding(line, "no limit");
		return;
	}
	doctor_line_finding(line, "a process of this user may have %llu open",
			    (unsigned long long)files->soft);
	if (line->status != DOCTOR_OK) {
		doctor_line_finding(
			line,
			"a process of this user may have %llu open: rdmatestd needs some for each peer, "
			"device and client, 1024 or more in all",
			(unsigned long long)files->soft);
		doctor_line_cure(line, "in a unit: LimitNOFILE=16384; in a shell: ulimit -n 16384");
	}
	if (line->status == DOCTOR_BAD) {
		doctor_line_block(line, NULL, 0,
				  "a process of this user may have only %llu files open",
				  (unsigned long long)files->soft);
	}
}

static void add_cgroup_limits(const struct cgroup *cgroup, struct doctor_line *line,
			      struct text *text)
{
	char size[UNITS_SIZE];

	if (cgroup->memory_bytes < 2 * WANTED_LOCK_BYTES) {
		text_format(text, "memory %s (by %s): past it the kernel kills; ",
			    units_format_size(cgroup->memory_bytes, size), cgroup->memory_group);
	}
	if (cgroup->cpu_ppm < ONE_CPU_PPM) {
		text_format(
			text,
			"%.3g %% of one CPU (by %s): the measuring thread, which polls, is put aside and "
			"latencies are wrong; ",
			(double)cgroup->cpu_ppm / 10000, cgroup->cpu_group);
	}
	if (cgroup->processes < WANTED_PROCESSES) {
		text_format(text, "%llu processes and threads (by %s); ",
			    (unsigned long long)cgroup->processes, cgroup->processes_group);
	}
	if (cgroup->rdma[0] != '\0') {
		text_format(text, "RDMA objects: %s; ", cgroup->rdma);
	}
	if (text->length > 0) {
		line->status = DOCTOR_WARN;
		text->data[text->length - 2] = '\0';
	}
}

void doctor_limits_cgroup(const struct doctor_facts *facts, struct doctor_report *report)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct doctor_line *line;

	if (facts->cgroup_error == -EOPNOTSUPP) {
		line = doctor_line_add(report, "cgroup", DOCTOR_NOT_SEEN, "control group");
		doctor_line_finding(
			line,
			"limits on memory and CPU are in version 1 of control groups, which is "
			"not read");
		doctor_line_cure(
			line,
			"on the host, boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line; or look yourself: cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/cpu/cpu.cfs_quota_us");
		doctor_line_source(line, "/proc/self/cgroup");
		return;
	}
	if (facts->cgroup_error < 0) {
		doctor_line_not_seen(report, "cgroup", "control group", "/sys/fs/cgroup",
				     facts->cgroup_error);
		return;
	}
	line = doctor_line_add(report, "cgroup", DOCTOR_OK, "control group");
	doctor_line_source(line, "/sys/fs/cgroup: memory.max, cpu.max, pids.max, rdma.max");
	add_cgroup_limits(&facts->cgroup, line, &text);
	if (line->status == DOCTOR_OK) {
		doctor_line_finding(line, "leaves this process enough memory, CPU and threads");
		return;
	}
	doctor_line_finding(line, "leaves this process: %s", text.data);
	doctor_line_cure(
		line,
		"MemoryMax=, CPUQuota=, TasksMax= of the unit or slice, or the container's limits: "
		"raise them for rdmatestd");
}

void doctor_limits_sandbox(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct sandbox *sandbox = &facts->sandbox;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct doctor_line *line;

	if (facts->sandbox_error < 0) {
		doctor_line_not_seen(report, "sandbox", "this process", "/proc/self/status",
				     facts->sandbox_error);
		return;
	}
	text_format(&text, "user %u%s", sandbox->user_id, sandbox->user_id == 0 ? " (root)" : "");
	if (sandbox->container[0] != '\0') {
		text_format(&text, ", in a container (%s)", sandbox->container);
	}
	if (sandbox->is_dev_private) {
		text_add(&text, ", with a /dev of its own");
	}
	if (sandbox->is_in_user_namespace) {
		text_add(&text, ", in a user namespace (its root is not the host's)");
	}
	if (sandbox->is_in_pid_namespace) {
		text_add(&text, ", with the host's processes out of sight");
	}
	if (sandbox->seccomp > 0) {
		text_add(&text, ", with a filter on system calls");
	}
	if (text.length < sizeof("user 4294967295 (root)") && !strchr(text.data, ',')) {
		text_add(&text, ", no container or sandbox seen");
	}
	line = doctor_line_add(report, "sandbox", DOCTOR_OK, "this process");
	doctor_line_finding(line, "%s", text.data);
	doctor_line_source(line, "/proc/self/status, /proc/self/ns, /proc/self/mountinfo");
}

void doctor_limits_huge_pages(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct hugepages *pages = &facts->hugepages;
	char size[UNITS_SIZE];
	struct doctor_line *line;

	if (facts->hugepages_error < 0) {
		doctor_line_not_seen(report, "huge-pages", "huge pages", "/proc/meminfo",
				     facts->hugepages_error);
		return;
	}
	line = doctor_line_add(report, "huge-pages", DOCTOR_OK, "huge pages");
	doctor_line_source(line, "/proc/meminfo");
	if (pages->total == 0) {
		doctor_line_finding(line, "none are set aside; none are needed but by a scenario "
					  "with memory.kind: hugepage, which says how to get them");
	} else {
		doctor_line_finding(line,
				    "%llu of %llu of %s are free, for scenarios with "
				    "memory.kind: hugepage",
				    (unsigned long long)pages->free,
				    (unsigned long long)pages->total,
				    units_format_size(pages->size_bytes, size));
	}
}

void doctor_limits_clock(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct clocksource *clock = &facts->clocksource;
	bool is_tsc = strcmp(clock->current, "tsc") == 0;
	bool is_slow = facts->clock_read_ns > (is_tsc ? SLOW_TSC_NS : SLOW_CLOCK_NS);
	struct doctor_line *line;

	if (facts->clocksource_error < 0) {
		doctor_line_not_seen(report, "clock-source", "clock source",
				     "/sys/devices/system/clocksource", facts->clocksource_error);
		return;
	}
	line = doctor_line_add(report, "clock-source", is_slow ? DOCTOR_WARN : DOCTOR_OK,
			       "clock source");
	doctor_line_source(line, "/sys/devices/system/clocksource/clocksource0, measured");
	if (facts->clock_read_ns > 0) {
		doctor_line_finding(line, "%s; reading the time takes %u ns%s", clock->current,
				    facts->clock_read_ns,
				    is_slow ? ": two readings are in each latency that is measured"
					    : "");
	} else {
		doctor_line_finding(line, "%s", clock->current);
	}
	if (is_slow && is_tsc) {
		doctor_line_cure(line, "measure latency on a machine that is not emulated");
	} else if (is_slow && clock->is_tsc_available) {
		doctor_line_cure(line, "echo tsc >/sys/devices/system/clocksource/clocksource0/"
				       "current_clocksource");
	} else if (is_slow) {
		doctor_line_cure(
			line,
			"dmesg | grep -i tsc tells why the kernel does not use the CPU's own counter; a "
			"virtual machine needs an invariant one (host CPU model, +invtsc)");
	}
}

void doctor_limits_numa(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_line *line;

	if (facts->numa_nodes > 1) {
		return;
	}
	line = doctor_line_add(report, "numa", facts->numa_nodes == 1 ? DOCTOR_OK : DOCTOR_NOT_SEEN,
			       "NUMA");
	doctor_line_source(line, "/sys/devices/system/node/online");
	doctor_line_finding(line, "%s",
			    facts->numa_nodes == 1
				    ? "one node: every CPU is near every device"
				    : "this kernel does not tell which CPUs are near which device");
}
