// SPDX-License-Identifier: MIT
#pragma once

/*
 * Work that may hang in the kernel, in child processes: whatever becomes of one, the caller goes on
 * (a thread stuck in a driver would keep the whole process from ending). For a process of one
 * thread that has no device open.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Runs in the child; writes its answer, a part at a time, with doctor_child_tell. */
typedef void (*doctor_child_fn)(void *arg, int fd);

struct doctor_child {
	doctor_child_fn run;
	void *arg; /* the child's copy */
	void *answer; /* gets what it tells, answer_bytes at most */
	size_t answer_bytes;
	size_t got_bytes; /* out */
	bool is_late; /* out: it did not come to its end in time */
	int error; /* out: -errno when it could not be started */
	/* ours */
	int fd;
	int process;
	uint64_t progress;
	unsigned idle_looks; /* in a row */
};

/*
 * Runs all at once and waits for what they tell: for all of them patience_ns; then for those that
 * get on, since a slow host is no broken device, up to limit_ns. Late ones are killed and left
 * alone. One that dies has told less than it should.
 */
void doctor_child_run(struct doctor_child *children, size_t count, uint64_t patience_ns,
		      uint64_t limit_ns);
/* In the child. */
void doctor_child_tell(int fd, const void *bytes, size_t count);
