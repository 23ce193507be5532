// SPDX-License-Identifier: MIT
#pragma once

/*
 * How long disruptive jobs of ours, of whatever coordinator, had traffic on each port in the last
 * hour: what limits.duty_cycle is compared with. Kept by the minute: what is older than an hour is
 * forgotten a minute late at most. Loop thread.
 */

#include <stdint.h>

struct ledger;

struct ledger *ledger_new(void);
void ledger_free(struct ledger *ledger); /* NULL too */
/* Traffic on a port that ended now. */
void ledger_add(struct ledger *ledger, const char *device, uint64_t port_num, uint64_t now_mono_ns,
		uint64_t duration_ns);
uint64_t ledger_used_ns(const struct ledger *ledger, const char *device, uint64_t port_num,
			uint64_t now_mono_ns);
