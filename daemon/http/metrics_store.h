// SPDX-License-Identifier: MIT
#pragma once

/*
 * What metrics.c keeps and metrics_write.c writes; private to these two.
 */

#include "http/metrics.h"

#define METRICS_STORE_PEER_SIZE (2 * LIMIT_NAME + 4)
#define METRICS_STORE_BUCKETS 22
#define METRICS_STORE_PERCENTILES 3

/* One operation of a scenario, over all runs. */
#define METRICS_STORE_VERIFY_ERRORS 4

struct operation_series {
	bool is_kept;
	uint64_t operations;
	uint64_t bytes;
	uint64_t count;
	uint64_t sum_ns;
	uint64_t buckets[METRICS_STORE_BUCKETS];
};

/* A phase of connections, of a scenario over all runs. */
struct phase_series {
	bool is_kept;
	uint64_t failed;
	uint64_t count;
	uint64_t sum_ns;
	uint64_t buckets[METRICS_STORE_BUCKETS];
};

struct scenario_series {
	char name[LIMIT_NAME];
	uint64_t verdicts[VERDICT_COUNT];
	uint64_t errors;
	uint64_t verify_errors[METRICS_STORE_VERIFY_ERRORS]; /* corrupted, lost, duplicated,
								reordered */
	uint64_t messages_sent; /* over UC and UD, of which it is known what arrived */
	uint64_t messages_lost;
	uint64_t connections; /* that were set up and taken down */
	struct operation_series operations[OPERATION_KINDS];
	struct phase_series phases[CONNECTION_PHASES]; /* of the initiator */
};

/* One operation between this node and a peer, of the last run. */
struct last_series {
	bool is_kept;
	bool has_rates; /* the last run measured it */
	double bandwidth_bytes_per_s;
	double operations_per_s;
	uint64_t percentile_ns[METRICS_STORE_PERCENTILES]; /* 0: too few samples */
};

struct pair_series {
	char scenario[LIMIT_NAME];
	char peer[METRICS_STORE_PEER_SIZE];
	uint64_t run; /* number of the run that it tells of */
	int verdict;
	int64_t ended_real_ns;
	uint64_t failing_mono_ns; /* the first of the failing runs ended; 0: the last one failed not
				   */
	uint64_t recovery_ns; /* from then to the end of the first that did not fail; 0: none yet */
	struct last_series operations[OPERATION_KINDS];
	struct last_series connections; /* rate and set-up */
};

struct request_series {
	const char *route; /* of the table: static */
	unsigned status;
	uint64_t count;
};

struct metrics {
	const char *node_name;
	int64_t started_real_ns;
	uint64_t runs; /* numbers them */
	size_t used; /* of the budget */
	uint64_t dropped;
	size_t written;
	size_t scenario_count;
	struct scenario_series *scenarios;
	size_t pair_count;
	struct pair_series *pairs;
	size_t request_count;
	struct request_series *requests;
};

/* From a good NIC's fastest to a retransmission on soft-RoCE. */
struct metrics_store_bucket {
	uint64_t le_ns;
	const char *le; /* seconds */
};
extern const struct metrics_store_bucket metrics_store_buckets[METRICS_STORE_BUCKETS];

struct metrics_store_percentile {
	uint64_t ppm;
	const char *percentile;
};
extern const struct metrics_store_percentile metrics_store_percentiles[METRICS_STORE_PERCENTILES];
