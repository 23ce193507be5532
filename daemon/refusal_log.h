// SPDX-License-Identifier: MIT
#pragma once

/*
 * A log line when somebody who connected to the control port did not get in: with the address of
 * the last one, why, and how many there were; one a minute at most, whatever strangers do. Who only
 * looked whether the port is open is counted in the metrics alone. Loop thread.
 */

#include <stdint.h>

#include "control/session.h"

struct refusal_log;

struct refusal_log *refusal_log_new(void);
void refusal_log_free(struct refusal_log *log);
/* To be called now and then, with what the listener says now. */
void refusal_log_tell(struct refusal_log *log, const struct session_listener_status *status,
		      uint64_t now_mono_ns);
