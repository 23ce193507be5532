// SPDX-License-Identifier: MIT
#include "http/process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static int64_t timeval_ns(const struct timeval *time)
{
	return (int64_t)time->tv_sec * 1000000000 + (int64_t)time->tv_usec * 1000;
}

static void write_cpu(struct exposition *exposition)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) == 0) {
		exposition_family(exposition, "process_cpu_seconds_total", EXPOSITION_COUNTER,
				  "User and system CPU time of all threads.");
		exposition_seconds(exposition, "",
				   timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime), NULL);
	}
}

static void write_memory(struct exposition *exposition)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long page_bytes = (unsigned long long)sysconf(_SC_PAGESIZE);
	unsigned long long pages;
	unsigned long long resident;
	char line[128];
	char *rest;

	if (!file) {
		return;
	}
	if (fgets(line, sizeof(line), file)) {
		pages = strtoull(line, &rest, 10);
		resident = strtoull(rest, NULL, 10);
		exposition_family(exposition, "process_virtual_memory_bytes", EXPOSITION_GAUGE,
				  "Virtual memory.");
		exposition_u64(exposition, "", pages * page_bytes, NULL);
		exposition_family(exposition, "process_resident_memory_bytes", EXPOSITION_GAUGE,
				  "Resident memory.");
		exposition_u64(exposition, "", resident * page_bytes, NULL);
	}
	fclose(file);
}

static void write_descriptors(struct exposition *exposition)
{
	DIR *folder = opendir("/proc/self/fd");
	struct rlimit limit;
	uint64_t count = 0;

	if (folder) {
		while (readdir(folder)) {
			count++;
		}
		closedir(folder);
		exposition_family(exposition, "process_open_fds", EXPOSITION_GAUGE,
				  "Open file descriptors.");
		exposition_u64(exposition, "", count - 3, NULL); /* ".", ".." and the folder's own
								  */
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		exposition_family(exposition, "process_max_fds", EXPOSITION_GAUGE,
				  "File descriptors that may be open.");
		exposition_u64(exposition, "", limit.rlim_cur, NULL);
	}
}

void process_write(struct exposition *exposition, int64_t started_real_ns)
{
	write_cpu(exposition);
	write_memory(exposition);
	write_descriptors(exposition);
	exposition_family(exposition, "process_start_time_seconds", EXPOSITION_GAUGE,
			  "When the daemon started, since 1970.");
	exposition_seconds(exposition, "", started_real_ns, NULL);
}
