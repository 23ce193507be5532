// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a port counts, under names that do not depend on its driver, and how much each counter grew
 * between two readings. Counters are of the whole port: traffic of others is in them. One that is
 * missing is said to be missing, never zero.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"
#include "util/json.h"

enum counter {
	COUNTER_SENT_BYTES, /* on the wire as far as the device counts, headers included */
	COUNTER_RECEIVED_BYTES,
	COUNTER_SENT_PACKETS,
	COUNTER_RECEIVED_PACKETS,
	COUNTER_RETRANSMISSIONS, /* times that a requester began to send again */
	COUNTER_ACK_TIMEOUTS, /* of these, because no acknowledgement came */
	COUNTER_RETRIES_EXCEEDED, /* requesters that gave up */
	COUNTER_SEQUENCE_NAKS, /* received: the responder missed a packet */
	COUNTER_OUT_OF_SEQUENCE, /* requests that came behind a gap */
	COUNTER_DUPLICATE_REQUESTS, /* that came again */
	COUNTER_RNR_NAKS_SENT, /* receiver not ready: no receive was posted here */
	COUNTER_RNR_NAKS_RECEIVED,
	COUNTER_RNR_RETRIES_EXCEEDED,
	COUNTER_ICRC_ERRORS, /* packets dropped, for their checksum was wrong */
	COUNTER_SEND_DISCARDS,
	COUNTER_RECEIVE_ERRORS,
	COUNTER_LINK_ERRORS, /* symbol errors of the link */
	COUNTER_LINK_RECOVERIES, /* times that it had to find its lanes again, and did */
	COUNTER_LINK_DOWNED,
	COUNTER_SEND_WAIT, /* ticks with data to send and no credits (or paused) */
	COUNTER_ECN_MARKED, /* packets received with congestion marked by a switch */
	COUNTER_CNPS_SENT, /* congestion notification packets */
	COUNTER_CNPS_HANDLED,
	COUNTER_PAUSES_RECEIVED, /* frames that told this port to be silent */
	COUNTER_PAUSES_SENT, /* by which this port silenced the other side */
	COUNTER_RECEIVE_DISCARDS, /* packets that came and were dropped for want of room */
	COUNTER_COUNT,
};
extern const char *const counter_names[]; /* "retransmissions", in JSON and to people */

enum counter_state {
	COUNTER_ABSENT, /* this port does not count it */
	COUNTER_READ,
	COUNTER_UNREADABLE, /* it is there, and refused to be read, or holds no number */
	COUNTER_SATURATED, /* at its largest value, where it stays: the growth is not known */
	COUNTER_RESET, /* of a growth: someone set it back, or its device was replaced; not known */
};
extern const char *const counter_state_names[];

/* One reading, or one growth. value counts with COUNTER_READ only, and is 0 otherwise. */
struct counter_value {
	int state; /* enum counter_state */
	uint64_t value;
};

struct counters {
	struct counter_value values[COUNTER_COUNT];
};

/* How much each grew. What was not read at either time is told by the worse of both states. Pure;
 * any thread. */
void counter_growth(const struct counters *before, const struct counters *after,
		    struct counters *ret);

/* The growth of a device that was replaced meanwhile: of all that was there, COUNTER_RESET. */
void counter_unknown_growth(const struct counters *before, struct counters *ret);

/* Whether this growth is known and above zero. */
bool counter_grew(const struct counters *growth, enum counter counter);

/* An object of all that are not absent: {"retransmissions": 3, "icrc_errors": "saturated"}. New
 * reference. */
json_t *counter_write(const struct counters *counters);
/* The same from a peer; absent where a key lacks, unknown keys are ignored. 0, or -EINVAL with
 * err. */
int counter_read(const json_t *json, struct counters *ret, struct error *err);
