// SPDX-License-Identifier: MIT
#include "host/cgroup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PPM 1000000u
#define MAX_DEPTH 64

/* "max" or a number, alone or with a period behind (cpu.max: quota and period in us). */
static uint64_t read_limit(const char *line, bool is_quota)
{
	char *end;
	uint64_t value;
	uint64_t period;

	if (*line < '0' || *line > '9') {
		return CGROUP_NONE;
	}
	value = strtoull(line, &end, 10);
	if (!is_quota) {
		return value;
	}
	period = strtoull(end, NULL, 10);
	if (period == 0 || __builtin_mul_overflow(value, PPM, &value)) {
		return CGROUP_NONE;
	}
	return value / period;
}

static void lower(const char *root, const char *group, const char *file, uint64_t *limit,
		  char *limiting, size_t size)
{
	char line[64];
	uint64_t value;

	if (fact_line(line, sizeof(line), "%s/sys/fs/cgroup%s/%s", root, group, file) < 0) {
		return;
	}
	value = read_limit(line, strcmp(file, "cpu.max") == 0);
	if (value < *limit) {
		*limit = value;
		text_copy(limiting, size, group[0] != '\0' ? group : "/");
	}
}

/* Lines "DEVICE hca_handle=N hca_object=N", with "max" for what is not limited. */
static void find_rdma(const char *root, const char *group, char *ret, size_t size)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	if (ret[0] != '\0' || fact_text(&text, "%s/sys/fs/cgroup%s/rdma.max", root, group) < 0) {
		return;
	}
	for (char *line = text.data; *line != '\0';) {
		char *end = line + strcspn(line, "\n");
		bool is_last = *end == '\0';

		*end = '\0';
		for (const char *at = strchr(line, '='); at; at = strchr(at + 1, '=')) {
			if (at[1] >= '0' && at[1] <= '9') {
				text_copy(ret, size, line);
				return;
			}
		}
		line = is_last ? end : end + 1;
	}
}

/* The path of version 2 ("0::/system.slice/x.service"), and whether version 1 has the memory. */
static int find_group(const char *root, char *ret, size_t size)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	int error = fact_text(&text, "%s/proc/self/cgroup", root);
	const char *path;

	if (error < 0) {
		return error;
	}
	path = fact_find(text.data, "0::");
	if (!path || strstr(text.data, ":memory:") || strstr(text.data, "memory,")) {
		return -EOPNOTSUPP;
	}
	size_t length = strcspn(path, "\n");
	if (length >= size || memmem(path, length, "/../", 4)) {
		return -ENAMETOOLONG;
	}
	memcpy(ret, path, length);
	ret[length] = '\0';
	return 0;
}

/* Our group ("" for the root), where version 2 has it. */
static int begin(const char *root, char *group, size_t size)
{
	int error = find_group(root, group, size);

	if (error < 0) {
		return error;
	}
	error = fact_exists("%s/sys/fs/cgroup/cgroup.controllers", root);
	if (error < 0) {
		return error;
	}
	if (strcmp(group, "/") == 0) {
		group[0] = '\0';
	}
	return 0;
}

/* To the group around it. False: there is none. */
static bool go_up(char *group)
{
	char *slash = strrchr(group, '/');

	if (!slash) {
		return false;
	}
	*slash = '\0';
	return true;
}

int cgroup_read(const char *root, struct cgroup *ret)
{
	struct cgroup cgroup = { .memory_bytes = CGROUP_NONE,
				 .cpu_ppm = CGROUP_NONE,
				 .processes = CGROUP_NONE };
	char group[1024];
	int error = begin(root, group, sizeof(group));
	unsigned depth = 0;

	if (error < 0) {
		return error;
	}
	do {
		lower(root, group, "memory.max", &cgroup.memory_bytes, cgroup.memory_group,
		      sizeof(cgroup.memory_group));
		lower(root, group, "cpu.max", &cgroup.cpu_ppm, cgroup.cpu_group,
		      sizeof(cgroup.cpu_group));
		lower(root, group, "pids.max", &cgroup.processes, cgroup.processes_group,
		      sizeof(cgroup.processes_group));
		find_rdma(root, group, cgroup.rdma, sizeof(cgroup.rdma));
	} while (++depth < MAX_DEPTH && go_up(group));
	*ret = cgroup;
	return 0;
}

static uint64_t number_of(const char *text, const char *key)
{
	const char *at = fact_find(text, key);

	return at ? strtoull(at, NULL, 10) : 0;
}

int cgroup_throttled(const char *root, struct cgroup_throttling *ret)
{
	struct cgroup_throttling sum = { 0 };
	char group[1024];
	int error = begin(root, group, sizeof(group));
	unsigned depth = 0;

	if (error < 0) {
		return error;
	}
	do {
		_cleanup_text_ struct text text = TEXT_INIT;

		if (fact_text(&text, "%s/sys/fs/cgroup%s/cpu.stat", root, group) == 0) {
			sum.periods += number_of(text.data, "nr_throttled");
			sum.duration_ns += number_of(text.data, "throttled_usec") * 1000;
		}
	} while (++depth < MAX_DEPTH && go_up(group));
	*ret = sum;
	return 0;
}
