// SPDX-License-Identifier: MIT
#pragma once

/*
 * Whether this node takes part in a job: a pure function of who asks, what for, our limits and what
 * is in use. Nothing from a peer is trusted: the assignment is checked here as a file would be.
 */

#include "model/assignment.h"
#include "model/port_use.h"
#include "model/topology.h"
#include "util/error.h"

struct permit_usage {
	uint64_t jobs;
	uint64_t qps;
	uint64_t pinned_bytes;
	uint64_t peer_jobs; /* of these, asked for by the coordinator */
	uint64_t peer_traffic_ns; /* of its jobs here in the last hour, all ports together */
	bool is_stopping;
	bool is_endpoint_busy; /* the endpoint runs another job */
	uint64_t disruptive_ns; /* of our disruptive traffic on the endpoint in the last hour */
	const struct port_use *port; /* of others on the endpoint; NULL: nobody looked (yet) */
};

enum permit_answer { PERMIT_YES, PERMIT_BUSY, PERMIT_NO };

/*
 * coordinator: the session's peer name; labels: of that peer if we know it, else NULL. local_node:
 * our name; inventory: ours. BUSY (comes right by waiting) sets *ret_retry_after_ns; its call is
 * "busy" (our own jobs), "in_use" (others) or "duty_cycle". err names the limit, its value and the
 * cure: class RESOURCE (limits), INPUT (bad assignment), DEVICE (not here).
 */
enum permit_answer permit_check(const struct assignment *assignment, const char *coordinator,
				const struct labels *labels, const char *local_node,
				const struct inventory *inventory,
				const struct limit_settings *limits,
				const struct permit_usage *usage, uint64_t *ret_retry_after_ns,
				struct error *err);

/* Whether such a job begins only when its port was looked at (usage.port): others would feel it. */
bool permit_disruptive_needs_look(const struct assignment *assignment,
				  const struct limit_settings *limits);
