// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a workload puts on the ports at both ends of it, estimated from what it says alone. Pure.
 *
 * An open load has its rate, in payload and in operations, of which a port can no more either, as
 * long as what can be in flight at once is little: it comes in one piece after a pause. A
 * closed one has no limit: with several operations under way, or on a transport that answers
 * nothing, the next one is always waiting: the port is filled, whatever it is. With one under way
 * the port lies idle for the rest of the round trip, and nobody waits behind more than that one
 * operation.
 *
 * With direction: both each port bears what both ends ask for: the reads of one go the way of the
 * writes of the other, and each end's acknowledgements beside its requests. It counts twice.
 *
 * The share is of a port of FOOTPRINT_RATE_BPS whatever the ports are, so that a scenario is right
 * on every fleet or on none.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/workload.h"

#define FOOTPRINT_RATE_BPS 100000000000ull
/* Small operations that such a port can do a second. */
#define FOOTPRINT_OPS_RATE 100e6
/* What an open load may have in flight at once without that others wait behind it for long. */
#define FOOTPRINT_BURST_NS 1000000
/* Of a small operation and its answer, hosts and network together. */
#define FOOTPRINT_ROUND_TRIP_NS 4000
/* Of one connection, set up and taken down: three of five management datagrams go one way. */
#define FOOTPRINT_CONNECTION_BYTES 1020
/* More than the connection managers of two hosts do in a second. */
#define FOOTPRINT_CONNECTIONS_RATE 100000
/* With more of them under way those of others wait: a host has one connection manager. */
#define FOOTPRINT_CONNECTIONS 16
/* What puts more than this on a port disturbs others: the scenario has to say `disruptive`. */
#define FOOTPRINT_LIMIT_PERCENT 5

struct footprint {
	uint64_t outstanding; /* operations under way at once */
	uint64_t operation_bytes; /* of one, on average */
	bool is_open;
	bool is_connecting; /* operations are connections */
	bool is_unanswered; /* a completion says only that it left */
	bool is_mutual; /* both ends put that on the ports */
	double payload_bps; /* of an open load */
	uint64_t burst_ns; /* how long all of it that can be in flight takes on the wire */
	uint64_t burst_bytes; /* the largest of its operations */
	double percent; /* of the port's rate, in the direction that is used most */
};

void footprint_of(const struct workload *workload, struct footprint *ret);
bool footprint_is_disruptive(const struct footprint *footprint);
/* "16 operations under way ... fill the port (100 % of its rate)". */
void footprint_say(const struct footprint *footprint, char *ret, size_t size);
