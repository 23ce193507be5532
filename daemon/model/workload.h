// SPDX-License-Identifier: MIT
#pragma once

/*
 * What runs between two endpoints, as the scenario wishes it: queue pairs, completion queue,
 * operations, load, run length. Plain data without pointers; tables describe how it is written.
 * Where a field may be `auto`, the planner resolves it (run/plan) and the resolved value stands in
 * the result.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/cq_settings.h"
#include "model/operation.h"

enum qp_type { QP_TYPE_RC, QP_TYPE_UC, QP_TYPE_UD, QP_TYPE_XRC };
enum qp_cm { QP_CM_EXCHANGE, QP_CM_RDMA_CM };
enum workload_pattern {
	PATTERN_PINGPONG,
	PATTERN_STREAM,
	PATTERN_REQUEST_RESPONSE,
	PATTERN_CONNECT, /* connections, set up and taken down again and again */
};
enum workload_direction { DIRECTION_FORWARD, DIRECTION_REVERSE, DIRECTION_BOTH };
enum load_model { LOAD_CLOSED, LOAD_OPEN };
enum load_arrival { ARRIVAL_CONSTANT, ARRIVAL_POISSON };
enum load_on_full { ON_FULL_DELAY, ON_FULL_DROP };
enum verify_method { VERIFY_NONE, VERIFY_SEQUENCE, VERIFY_CRC32C };
enum memory_kind { MEMORY_HOST, MEMORY_HUGEPAGE, MEMORY_DMABUF };

extern const char *const qp_type_names[];
extern const char *const qp_cm_names[];
extern const char *const workload_pattern_names[];
extern const char *const workload_direction_names[];
extern const char *const load_model_names[];
extern const char *const memory_kind_names[];
extern const char *const verify_method_names[];

/* Of a P_Key (IBTA volume 1, 10.9): the partition, and whether its holder is a full member. */
#define PKEY_PARTITION 0x7fffu
#define PKEY_FULL 0x8000u

struct qp_settings {
	int qp_type;
	uint64_t qkey; /* UD */
	int cm;
	char device[LIMIT_NAME]; /* empty: the endpoint decides */
	uint64_t port_num; /* SCHEMA_AUTO: any */
	uint64_t num_qps;
	uint64_t path_mtu; /* bytes; auto = the smaller active_mtu of both ends */
	uint64_t gid_index; /* auto = by content */
	uint64_t traffic_class; /* auto = unset */
	uint64_t flow_label;
	uint64_t hop_limit;
	uint64_t service_level;
	uint64_t pkey; /* the partition by value; auto = pkey_index says it */
	uint64_t pkey_index;
	uint64_t local_ack_timeout; /* 4.096 us * 2^n; 0 = infinite */
	uint64_t retry_cnt;
	uint64_t rnr_retry; /* 7 = infinite */
	uint64_t min_rnr_timer;
	uint64_t max_rd_atomic; /* auto = smaller of our initiator and the peer's responder limit */
	uint64_t max_inline_data; /* bytes; auto = 220 or the largest inlined size, within the
				     device's limit */
	uint64_t max_send_wr;
	uint64_t max_recv_wr; /* of each queue pair, or of the one that they share */
	uint64_t max_send_sge; /* pieces that each send work request gathers */
	uint64_t max_recv_sge; /* pieces that each receive is scattered to */
	bool srq; /* one shared receive queue for all queue pairs of an end */
};

struct load_settings {
	int model;
	uint64_t outstanding; /* operations in flight over all queue pairs; of an open load
				 max_outstanding (workload_complete) */
	/* Open loads: model/load.h. */
	uint64_t rate_bps; /* payload; 0: ops_rate says it */
	uint64_t ops_rate; /* operations/s; 0: rate_bps says it */
	int arrival;
	uint64_t max_outstanding; /* auto: what the queues of every queue pair hold */
	int on_full; /* with that many in flight */
};

/* Of streams: whether payload is looked at where it arrives (engine/payload.h). */
struct verify_settings {
	int method; /* enum verify_method */
	uint64_t sample; /* every n-th payload of a queue pair is compared; 1: all of them */
};

struct workload_settings {
	int pattern;
	int direction;
	size_t op_count;
	struct operation ops[LIMIT_OPS];
	struct load_settings load;
	uint64_t signal_interval; /* every n-th work request is signalled */
	uint64_t post_list; /* work requests per ibv_post_send */
	uint64_t recv_post_list; /* receives per ibv_post_recv; auto: workload_queue_recv_batch */
	struct verify_settings verify;
	uint64_t seed; /* 0 = from the run id, recorded; below 2^63 (JSON) */
};

struct run_settings {
	uint64_t warmup_ns;
	uint64_t duration_ns; /* 0 when iterations are given */
	uint64_t iterations; /* operations after the warm-up, over all queue pairs; 0 when a
				duration is given */
	uint64_t interval_ns;
	uint64_t stall_timeout_ns;
	uint64_t timeout_ns; /* of the traffic, from its start; auto = 2 * expected + 30 s */
	uint64_t repeat; /* times that each pair is measured, each with queue pairs of its own */
};

struct cpu_settings {
	uint64_t affinity; /* CPU number; auto = the device's NUMA node */
};

/* Of the one registered buffer of each end. */
struct memory_settings {
	int kind; /* enum memory_kind */
	uint64_t hugepage_bytes; /* of one huge page */
	uint64_t numa_node; /* SCHEMA_AUTO: where the kernel places it */
	bool relaxed_ordering;
	bool odp; /* on-demand paging */
	uint64_t buffers; /* of a queue pair in each direction, taken in turn */
};

/* Everything a job needs to know of the scenario. */
struct workload {
	struct qp_settings qp;
	struct cq_settings cq;
	struct workload_settings workload;
	struct run_settings run;
	struct cpu_settings cpu;
	struct memory_settings memory;
};

extern const struct schema_field qp_fields[];
extern const struct schema_field workload_fields[]; /* of struct workload_settings */
extern const struct schema_field run_fields[];
extern const struct schema_field cpu_fields[];
extern const struct schema_field memory_fields[];
/* The six maps as fields of struct workload: qp, cq, workload, run, cpu, memory. */
extern const struct schema_field workload_section_fields[];

/*
 * Defaults that the tables cannot say: run.duration is 10 s when neither it nor run.iterations is
 * given; of an open load max_outstanding, and outstanding is the same; of pattern connect
 * outstanding is qp.num_qps. scenario_check does it.
 */
void workload_complete(struct workload *workload);

/* Sets connections up, and moves nothing. */
bool workload_is_connecting(const struct workload *workload);
/* One operation at a time, which the other end answers: pingpong, request_response. */
bool workload_is_answered(const struct workload *workload);
/*
 * How a write is seen by who answers it, and by who asked. Its last byte in memory tells only of
 * one packet: what takes more, there or back, than qp.path_mtu (resolved) goes as write_with_imm
 * both ways, and is seen by a receive. size_bytes, response_bytes: of the operation and its answer.
 */
bool workload_is_seen_by_receive(const struct workload *workload, uint64_t size_bytes,
				 uint64_t response_bytes);
/* Whether any write of an answered workload is. */
bool workload_has_writes_with_immediate(const struct workload *workload);

/* Whether payload is looked at where it arrives. */
bool workload_is_verified(const struct workload *workload);
/* Whether an end that answers takes receives: of its own operations, or of the markers that name
 * verified writes. */
bool workload_takes_receives(const struct workload *workload);

/* Whether what completed may be lost all the same: the transport has no acknowledgements. */
bool workload_is_lossy(const struct workload *workload);

/*
 * What the tables cannot say: combinations. Calls report(arg, field, other, sentence) for each
 * problem, where field and other are dotted places below the scenario ("workload.signal_interval",
 * "qp.max_send_wr"; other may be NULL). Returns how many. Pure. Used by config/ (which knows lines)
 * and by permit on the responder (a peer is not trusted to have checked).
 */
typedef void (*workload_report_fn)(void *arg, const char *field, const char *other,
				   const char *sentence);
unsigned workload_check(const struct workload *workload, workload_report_fn report, void *arg);

/* Longest time the traffic itself may take by its own settings; iterations without end use stall
 * rules: UINT64_MAX (CLOCK_NEVER). */
uint64_t workload_expected_ns(const struct workload *workload);
/*
 * Each end keeps run.timeout of its traffic itself, and the initiator says most about it: the
 * responder waits one grace more, the coordinator two.
 */
#define WORKLOAD_GRACE_NS 2000000000ull
/* run.timeout resolved; LIMIT_RUN_DURATION_NS where the end is not known beforehand. */
uint64_t workload_timeout_ns(const struct workload *workload);
