// SPDX-License-Identifier: MIT
#pragma once

/*
 * How long traffic went on in the last hour, for each port of a device, or for each peer (number
 * 0): what limits.duty_cycle and limits.max_peer_time are compared with. Kept by the minute: what
 * is older than an hour is forgotten a minute late at most. Loop thread.
 */

#include <stddef.h>
#include <stdint.h>

struct ledger;

/* max: how many of them; the one that had least makes room for another. */
struct ledger *ledger_new(size_t max);
void ledger_free(struct ledger *ledger); /* NULL too */
/* Traffic that ended now. */
void ledger_add(struct ledger *ledger, const char *name, uint64_t number, uint64_t now_mono_ns,
		uint64_t duration_ns);
uint64_t ledger_used_ns(const struct ledger *ledger, const char *name, uint64_t number,
			uint64_t now_mono_ns);
