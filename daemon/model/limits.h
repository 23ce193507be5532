// SPDX-License-Identifier: MIT
#pragma once

/*
 * Compiled maxima of every resource that a file, a peer or a client can ask for. Configuration may
 * lower them.
 */

#define LIMIT_NAME 64 /* bytes of a name with its NUL: nodes, scenarios, devices, labels */
#define LIMIT_TEXT 512 /* a sentence */
#define LIMIT_LABELS 16 /* labels of a node or scenario */
#define LIMIT_OPS 16 /* entries of workload.ops */
#define LIMIT_REPEATED 1000 /* measurements of a run that measures each pair several times */
#define LIMIT_SIZES 32 /* sizes of one entry */
#define LIMIT_CLASSES 64 /* (operation, size) pairs of a scenario: each has a histogram */
#define LIMIT_QPS 1024 /* queue pairs of one measurement */
#define LIMIT_SEND_WR 32768
#define LIMIT_SGE 32 /* entries of a scatter/gather list */
#define LIMIT_RECV_SGES (1 << 22) /* of all receives of a job, where one has several */
#define LIMIT_RING_WRS 65536 /* prepared work requests of one job */
#define LIMIT_QUEUE_WRS \
	(1u << 20) /* places in the send and receive queues of one job: pinned by drivers */
#define LIMIT_INTERVALS 2048 /* intervals of one measurement */
#define LIMIT_EXPECTATIONS 32
#define LIMIT_PAIRS 4096 /* measurements of one run */
#define LIMIT_PEERS 1024
#define LIMIT_PORTS 32 /* ports of one node */
#define LIMIT_GIDS 64 /* GID table entries told of one port */
#define LIMIT_FINDINGS 16 /* of one measurement */
#define LIMIT_STEPS 48 /* timed set-up steps of one end */
#define LIMIT_EVENTS 16 /* asynchronous events of one end, told one by one */
#define LIMIT_SCENARIOS 256
#define LIMIT_RUN_DURATION_NS (24ull * 3600 * 1000000000)
#define LIMIT_BUFFER_BYTES (1ull << 30) /* of one job; also bounded by limits.max_pinned_memory */
/* Of the control protocol, after authentication. Usually: the largest inventory has 382 KB, an
 * assignment 22 KB. While totals are waited for: LIMIT_CLASSES full histograms (of an open load two
 * of half as many) and LIMIT_INTERVALS intervals, 1.3 MB and 23,000 values. */
#define LIMIT_FRAME_USUAL_BYTES (512u << 10)
#define LIMIT_FRAME_BYTES (2u << 20)
#define LIMIT_FRAME_VALUES 65536u /* of its JSON */
#define LIMIT_FRAME_UNAUTHENTICATED_BYTES 4096u
