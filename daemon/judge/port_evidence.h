// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the counters of both ports tell of a measurement. They are of the whole port: where it
 * carried more than this measurement can have sent, they prove nothing about it. Pure; one thread
 * at a time.
 */

#include "model/run.h"

/*
 * Adds findings: retransmissions, checksum and link errors, a port shared with others. The latter
 * makes all others `possible`, and so does a tester that was starved of CPU: call after the finding
 * about that.
 */
void port_evidence_find(struct measurement *measurement);

/* Whether one of them, at least `likely`, says that the path works but not well. */
bool port_evidence_is_degraded(const struct measurement *measurement);

/* Where packets went, for an error of silence: "a/rxe0 sent 120 packets, b/rxe1 received 0"; ""
 * when either is not known. */
void port_evidence_path(const struct measurement *measurement, char *out, size_t size);

/* What both ports counted against a path that is said to be lost: packets that did arrive. */
void port_evidence_doubt_path(const struct measurement *measurement, struct findings *findings);

/* What kept a port from sending, or made it drop, for a rate that was missed or a stall: pauses,
 * congestion, discards of both ports; "" when nothing of it was counted. */
void port_evidence_pauses(const struct measurement *measurement, char *out, size_t size);
