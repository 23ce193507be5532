// SPDX-License-Identifier: MIT
#pragma once

/*
 * The `operations` of a measurement's record: every size, every operation that has several sizes,
 * and all together, one after the other; of pattern connect every phase instead. Pure.
 */

#include "model/run.h"

/* One entry; large, for the heap. */
struct run_operation {
	const char *scope; /* "size", "operation", "all", "phase" (of connections; then op is its
			      name) */
	const char *op;
	const char *definition; /* of latency */
	bool has_size;
	uint64_t size_bytes;
	uint64_t classes;
	uint64_t posted;
	uint64_t completed;
	uint64_t failed; /* phases: connections that ended in it */
	uint64_t bytes;
	struct histogram latency;
	bool has_service; /* of an open load: latency counts from what was intended, this from the
			     post */
	struct histogram service;
};

/* The entry with this index, from 0, of what an end saw. False: there are not so many. */
bool run_operations_get(const struct participant *end, size_t index, struct run_operation *ret);
/* What the responder of pattern connect saw, phase by phase; empty of other ends. New reference. */
json_t *run_operations_accepted(const struct participant *end);
/* New reference. The last member of the last member is the latency's buckets: `buckets` (taken),
 * null for NULL. */
json_t *run_operations_write(const struct run_operation *operation, uint64_t window_ns,
			     json_t *buckets);
