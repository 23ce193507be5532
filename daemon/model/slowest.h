// SPDX-License-Identifier: MIT
#pragma once

/*
 * The slowest operations of a measured window, one by one: a histogram tells how slow, these tell
 * when, and on which queue pair. One thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/json.h"

#define SLOWEST_MAX 16

struct slow_operation {
	uint64_t latency_ns; /* as the histogram of its class has it */
	uint64_t end_ns; /* when it was found completed, since the window began */
	uint64_t qp_index;
	uint64_t qp_num; /* of the initiator's queue pair */
	uint64_t class_index;
};

struct slowest {
	uint64_t floor_ns; /* an operation must be slower to come in; 0 while there is room */
	size_t count;
	struct slow_operation items[SLOWEST_MAX];
};

/* For an operation above the floor: takes it in, in the place of the least slow one when there is
 * no room. Of equals the first stays. */
void slowest_add(struct slowest *slowest, const struct slow_operation *operation);
/* The slowest first; of equals the earlier. */
void slowest_sort(struct slowest *slowest);

/* Rows of numbers in the order of the struct. */
json_t *slowest_write(const struct slowest *slowest);
/* Nothing when it is not there (NULL or null). 0, or -EINVAL with err. */
int slowest_read(const json_t *json, struct slowest *ret, struct error *err);
