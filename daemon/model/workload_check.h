// SPDX-License-Identifier: MIT
#pragma once

/* Inside of workload_check (declared in model/workload.h), for its files alone. */

#include "model/workload.h"

struct workload_check {
	const struct workload *workload;
	workload_report_fn report;
	void *arg;
	unsigned count;
};

/* Counts and reports a problem; see workload_report_fn. */
void workload_check_complain(struct workload_check *check, const char *field, const char *other,
			     const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Of any operation: enum operation_trait. */
bool workload_check_has(const struct workload *workload, unsigned traits);

/* Operations that a transport has not. */
void workload_check_transport(struct workload_check *check);
/* How much, and when. */
void workload_check_load(struct workload_check *check);
/* What payload can be verified (workload.verify). */
void workload_check_verify(struct workload_check *check);
/* Queue pairs, their queues and what may be in them. */
void workload_check_queues(struct workload_check *check);
/* Pattern connect: what makes no sense there. */
void workload_check_connect(struct workload_check *check);
/* Last: only where nothing else is wrong. */
void workload_check_queues_ring(struct workload_check *check);
