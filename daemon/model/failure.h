// SPDX-License-Identifier: MIT
#pragma once

/*
 * The error record of a measurement: what failed first, where and when, on which end; what followed
 * is counted.
 */

#include <stdint.h>

#include "model/limits.h"
#include "util/error.h"
#include "util/json.h"

struct failure {
	struct error error;
	char node[LIMIT_NAME]; /* who saw it */
	char device[LIMIT_NAME];
	uint64_t qp_num; /* 0: none */
	uint64_t vendor_err;
	int operation; /* enum operation_kind or -1 */
	uint64_t size_bytes; /* payload of the request that failed; FAILURE_UNKNOWN */
	uint64_t completed_bytes; /* the largest payload that had completed by then, since traffic
				     began; FAILURE_UNKNOWN: none, or not known */
	uint64_t at_ns; /* since the job's traffic started; 0 before */
	uint64_t flushed; /* completions flushed behind it */
};

#define FAILURE_UNKNOWN UINT64_MAX
#define FAILURE_INIT                                      \
	((struct failure){ .operation = -1,               \
			   .size_bytes = FAILURE_UNKNOWN, \
			   .completed_bytes = FAILURE_UNKNOWN })

json_t *failure_write(const struct failure *failure); /* JSON null when no error is set */
int failure_read(const json_t *json, struct failure *ret, struct error *err);
/* IBV_WC_RETRY_EXC_ERR for 12 and so on, names of the specification; "unknown" otherwise. */
const char *failure_wc_status_name(int status);
