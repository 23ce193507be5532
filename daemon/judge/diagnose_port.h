// SPDX-License-Identifier: MIT
#pragma once

/*
 * What devices told and showed of both ports (model/port_report.h): a port that was down, an
 * address that went away, an MTU that shrank, a device that was removed. Part of diagnose. Pure;
 * one thread at a time.
 */

#include "model/run.h"

/*
 * True when one of them explains the error: its finding is added, `certain` where an event says so
 * in time. measurement: NULL for the error of a whole run. evidence: what is known besides.
 */
bool diagnose_port(const struct failure *failure, const struct measurement *measurement,
		   const char *evidence, struct findings *findings);

/* Of a measurement without an error: a port that was down and came back in time. */
void diagnose_port_flaps(struct measurement *measurement);

/* Of any: a link that is slower after it than it was when the run was planned. */
void diagnose_port_links(struct measurement *measurement);
