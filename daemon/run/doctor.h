// SPDX-License-Identifier: MIT
#pragma once

/*
 * `rdmatestd --doctor`: looks at this host as a stranger to RDMA would have to, and says what keeps
 * tests from running and what to do. Needs no configuration and no root; changes nothing. For a
 * process of one thread with no device open.
 */

#include <stdbool.h>
#include <stdio.h>

enum doctor_exit {
	DOCTOR_EXIT_WELL = 0, /* nothing is bad */
	DOCTOR_EXIT_BAD = 1, /* something is, or nothing can be tested */
	DOCTOR_EXIT_FAILED = 3, /* the report could not be written */
};

/*
 * root: "" or a directory with a /sys, /proc and /dev for tests. Takes some seconds at most.
 * Returns an enum doctor_exit.
 */
int doctor_run(const char *root, bool is_json, FILE *out);
