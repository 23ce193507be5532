// SPDX-License-Identifier: MIT
#pragma once

/*
 * Which processes hold files of /dev/infiniband open, and where an rdmatestd runs. Below a root
 * path as host/sysfs.h. Sees what /proc shows this user: without root, no open files of others.
 * Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/fact.h"

#define HOLDERS_MAX 64

struct holder {
	char process[16]; /* its number */
	char program[FACT_NAME]; /* the first 15 characters of its name */
	char node[FACT_NAME]; /* "uverbs0", "rdma_cm" */
};

struct holders {
	size_t count; /* of items; a process once for each node */
	struct holder items[HOLDERS_MAX];
	bool is_cut; /* there are more, or time was over */
	size_t refused; /* processes whose open files this user may not see */
	size_t processes; /* all that were seen */
	char daemon[16]; /* number of a process of the given name; "" = none */
};

/*
 * Without the process `self` (a number). Gives up at the deadline. 0, or -errno when /proc cannot
 * be read.
 */
int holders_read(const char *root, const char *self, const char *daemon, uint64_t deadline_mono_ns,
		 struct holders *ret);
/* The name of a process' program; "" when it is gone or out of sight. */
void holders_program(const char *root, const char *process, char *ret, size_t size);
