// SPDX-License-Identifier: MIT
#pragma once

/*
 * The `operations` of a measurement's record: every size, every operation that has several sizes,
 * and all together, one after the other. Pure.
 */

#include "model/run.h"

/* One entry; large, for the heap. */
struct run_operation {
	const char *scope; /* "size", "operation", "all" */
	const char *op;
	const char *definition; /* of latency */
	bool has_size;
	uint64_t size_bytes;
	uint64_t classes;
	uint64_t posted;
	uint64_t completed;
	uint64_t bytes;
	struct histogram latency;
	bool has_service; /* of an open load: latency counts from what was intended, this from the
			     post */
	struct histogram service;
};

/* The entry with this index, from 0, of what an end saw. False: there are not so many. */
bool run_operations_get(const struct participant *end, size_t index, struct run_operation *ret);
/* New reference. The last member of the last member is the latency's buckets: `buckets` (taken),
 * null for NULL. */
json_t *run_operations_write(const struct run_operation *operation, uint64_t window_ns,
			     json_t *buckets);
