// SPDX-License-Identifier: MIT
#pragma once

/*
 * A scenario: a wish. Plain data, immutable once its file was read; held by reference-counted
 * snapshots (config/).
 */

#include "model/expectation.h"
#include "model/labels.h"
#include "model/workload.h"

enum { SCHEDULE_MANUAL = 1 << 0, SCHEDULE_STARTUP = 1 << 1 };

struct schedule {
	uint64_t on; /* SCHEDULE_* */
	uint64_t every_ns; /* start to start; 0 = never */
	uint64_t jitter_ns; /* below every; the place within is a stable hash of node and scenario
			     */
	uint64_t start_delay_ns;
};

extern const char *const topology_type_names[];
extern const char *const schedule_on_names[];

struct scenario_peers {
	struct selector from; /* initiators */
	struct selector to; /* responders */
};

enum topology_type {
	TOPOLOGY_PAIRS,
	TOPOLOGY_RING,
	TOPOLOGY_FULL_MESH,
	TOPOLOGY_STAR,
	TOPOLOGY_RAIL,
	TOPOLOGY_SAMPLE,
	TOPOLOGY_LOOPBACK,
};

struct topology_settings {
	int type; /* pairs: every from with every to */
	bool is_directed; /* false: each unordered pair once, initiated by the lexically smaller
			     name */
	uint64_t max_pairs;
};

struct scenario {
	char name[LIMIT_NAME];
	char description[LIMIT_TEXT];
	struct labels labels;
	bool is_enabled;
	bool is_disruptive; /* may disturb others on its ports: model/footprint */
	struct scenario_peers peers;
	struct topology_settings topology;
	struct schedule schedule;
	struct workload workload; /* the sections qp, cq, workload, run, cpu */
	struct expectations expect;
	char source[192]; /* "scenarios.d/ring.yaml:3" */
};

extern const struct schema_field scenario_fields[];

/*
 * After schema_parse: fills in what depends on other keys (workload_complete), then checks
 * combinations: those of workload_check, and topology, schedule and expectations. Reports as
 * workload_check does; returns how many problems. config/ calls it for every scenario.
 */
unsigned scenario_check(struct scenario *scenario, workload_report_fn report, void *arg);
