// SPDX-License-Identifier: MIT
#pragma once

/*
 * What one end saw of connections that were set up and taken down again and again
 * (workload.pattern: connect): each in phases, each phase with a histogram. A connection counts,
 * with all its phases, when it was taken down while the window was open; one that failed counts
 * apart, in the phase in which it did.
 */

#include "model/histogram.h"
#include "model/limits.h"
#include "util/error.h"
#include "util/json.h"

enum connection_phase {
	CONNECTION_SETUP, /* initiator: from creating the queue pair to `established`; responder:
			     from the request to that */
	CONNECTION_CREATE_QP, /* and to INIT */
	CONNECTION_RESOLVE_ADDR,
	CONNECTION_RESOLVE_ROUTE,
	CONNECTION_CONNECT, /* from the request to the answer */
	CONNECTION_ACCEPT, /* responder: to RTS, and the answer sent */
	CONNECTION_ESTABLISHED, /* initiator: to RTS, and the confirmation sent; responder: from its
				   answer to the confirmation */
	CONNECTION_DISCONNECT, /* initiator: until the other end answered */
	CONNECTION_DESTROY, /* identifier and queue pair */
	CONNECTION_PHASES,
};
extern const char *const connection_phase_names[]; /* NULL-terminated */

struct connection_phase_totals {
	uint64_t failed; /* connections that ended in it */
	struct histogram latency;
};

struct connections {
	uint64_t retried; /* requests that passed over: a full queue, a stale number */
	uint64_t refused; /* requests that this end rejected: of nobody it knows */
	struct connection_phase_totals phases[CONNECTION_PHASES];
};

void connections_init(struct connections *connections);
/* Whether an end of that kind has that phase. */
bool connections_has_phase(bool is_initiator, int phase);
/* Over all phases; each connection fails in one. */
uint64_t connections_failed(const struct connections *connections);
/* Exchange form, histograms compact; new reference. NULL: JSON null. */
json_t *connections_write(const struct connections *connections);
/* JSON null or missing: *ret is NULL. Hostile input. *ret: owned (free), also after an error. */
int connections_read(const json_t *json, struct connections **ret, struct error *err);
