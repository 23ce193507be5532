// SPDX-License-Identifier: MIT
#pragma once

/*
 * One line of `expect`, parsed and unit-checked when the file is read:
 *
 *   expr   := [op "." | phase "."] metric cmp value ["of link_rate"]
 *   metric := ("latency" | "service_latency") "." ("p" NUM | max | min | mean)
 *           | ("bandwidth" | "ops_rate") "." (mean | min | max)
 *           | "late_ops.ratio" | "dropped_ops" | "lost_ops.ratio" | "lost_ops" | "errors"
 *           | "verify_errors" ["." (corrupted | lost | duplicated | reordered)]
 *   cmp    := <= | < | >= | > | == | !=
 *
 * latency is half the round trip for a ping-pong of write or send, and post to completion
 * otherwise; of an open load from the moment that an operation was meant to begin. service_latency,
 * late_ops and dropped_ops are of open loads alone, lost_ops of transports that may lose what
 * completed, verify_errors of verified payload (workload.verify). There bandwidth and ops_rate are
 * of what arrived, and have means alone.
 * With pattern connect ops_rate is of connections, latency of their whole set-up or of the phase
 * that is named (model/connections), and there is no bandwidth.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/limits.h"
#include "model/operation.h"
#include "util/schema.h"

enum expectation_metric {
	METRIC_LATENCY,
	METRIC_BANDWIDTH,
	METRIC_OPS_RATE,
	METRIC_ERRORS,
	METRIC_SERVICE_LATENCY,
	METRIC_LATE_OPS,
	METRIC_DROPPED_OPS,
	METRIC_LOST_OPS,
	METRIC_VERIFY_ERRORS,
	METRICS,
};
enum expectation_statistic {
	STATISTIC_NONE,
	STATISTIC_PERCENTILE,
	STATISTIC_MAX,
	STATISTIC_MIN,
	STATISTIC_MEAN,
	STATISTIC_RATIO,
	STATISTIC_CORRUPTED, /* of METRIC_VERIFY_ERRORS; NONE: all of them */
	STATISTIC_LOST,
	STATISTIC_DUPLICATED,
	STATISTIC_REORDERED,
};
enum expectation_compare { COMPARE_LE, COMPARE_LT, COMPARE_GE, COMPARE_GT, COMPARE_EQ, COMPARE_NE };
enum expectation_severity { SEVERITY_FAIL, SEVERITY_WARN };

struct expectation {
	int metric;
	int statistic;
	int compare;
	int severity; /* warn: not met makes the run `degraded` */
	int kind; /* enum operation_kind, or -1: all operations together */
	int phase; /* enum connection_phase, or -1; of pattern connect, where -1 is the whole set-up
		    */
	uint64_t percentile_ppm; /* p99.9 = 999000 */
	bool is_of_link_rate; /* then `limit` is a fraction */
	double limit; /* ns, bit/s, operations/s, count or fraction (also of *.ratio) */
	char text[128]; /* as written, white space collapsed */
	char source[192]; /* "scenarios.d/ring.yaml:25" */
};

/* NULL and *ret filled, or a reason that continues `"latency.p99 < 5" ...`, with the cure. */
const char *expectation_parse(const char *text, struct expectation *ret);

/* An item of a list field: a string, or {expr, severity}. Custom functions for the schema table. */
struct expectations {
	size_t count;
	struct expectation items[LIMIT_EXPECTATIONS];
};
void expectation_parse_list(const struct document_node *node, const struct schema_field *field,
			    const char *place, void *member, struct schema_context *context);
json_t *expectation_write_list(const struct schema_field *field, const void *member);
int expectation_read_list(const struct schema_field *field, const json_t *value, void *member,
			  struct error *err);

const char *expectation_compare_name(int compare);

/* Of durations, with percentiles. */
bool expectation_is_latency(const struct expectation *expectation);
/* Only an open load has it. */
bool expectation_is_of_open_load(const struct expectation *expectation);
