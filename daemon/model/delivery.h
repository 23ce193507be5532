// SPDX-License-Identifier: MIT
#pragma once

/*
 * What arrived of what was sent, where the transport itself does not see to it (UC, UD): a
 * completion there says that a message left, and only the other end knows more. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/run.h"

/* Of all traffic: warm-up and what was drained counted. */
struct delivery {
	uint64_t sent; /* messages that completed at the initiator */
	uint64_t received; /* that completed a receive of the responder */
	uint64_t lost; /* the difference; 0 if more was received than completed */
};

/*
 * False where nothing can be said: a transport that delivers or fails (RC), a ping-pong (its answer
 * says it), an end that sent no totals, or traffic that did not come to its own end.
 */
bool delivery_of(const struct measurement *measurement, struct delivery *ret);
/*
 * With direction: both delivery_of is the sum of both ways, and this is one of them; is_reverse:
 * what the responder sent and the initiator received (else the other way, as without both).
 */
bool delivery_way(const struct measurement *measurement, bool is_reverse, struct delivery *ret);
/*
 * What became of verified payload, as both ends saw it (workload.verify); lost: those that did not
 * arrive, too. False where nothing was verified, or an end sent no totals.
 */
bool delivery_verified(const struct measurement *measurement, struct verification *ret);
/* Of what was sent that way, 1 where delivery_way says nothing: what rates of its sender are
 * multiplied with to be those of its receiver. */
double delivery_share(const struct measurement *measurement, bool is_reverse);
