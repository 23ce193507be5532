// SPDX-License-Identifier: MIT
#include "run/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "model/limits.h"
#include "util/memory.h"
#include "util/text.h"

#define MINUTE_NS (60ull * 1000000000)
/* An hour, and the minute that goes on. */
#define MINUTES 61

struct account {
	char device[LIMIT_NAME];
	uint64_t port_num;
	uint64_t minute[MINUTES]; /* which one each place is about */
	uint64_t used_ns[MINUTES];
};

struct ledger {
	size_t count;
	struct account accounts[LIMIT_PORTS];
};

static struct account *find(const struct ledger *ledger, const char *device, uint64_t port_num)
{
	for (size_t i = 0; i < ledger->count; i++) {
		const struct account *account = &ledger->accounts[i];

		if (account->port_num == port_num && strcmp(account->device, device) == 0) {
			return (struct account *)account;
		}
	}
	return NULL;
}

uint64_t ledger_used_ns(const struct ledger *ledger, const char *device, uint64_t port_num,
			uint64_t now_mono_ns)
{
	const struct account *account = find(ledger, device, port_num);
	uint64_t now = now_mono_ns / MINUTE_NS;
	uint64_t used_ns = 0;

	for (size_t i = 0; account != NULL && i < MINUTES; i++) {
		if (account->minute[i] + MINUTES > now) {
			used_ns += account->used_ns[i];
		}
	}
	return used_ns;
}

/* The port that was quiet for longest makes room for a new one. */
static struct account *add_account(struct ledger *ledger, const char *device, uint64_t port_num,
				   uint64_t now_mono_ns)
{
	struct account *account = &ledger->accounts[0];
	uint64_t least_ns = UINT64_MAX;

	if (ledger->count < LIMIT_PORTS) {
		account = &ledger->accounts[ledger->count++];
	} else {
		for (size_t i = 0; i < ledger->count; i++) {
			struct account *other = &ledger->accounts[i];
			uint64_t used_ns =
				ledger_used_ns(ledger, other->device, other->port_num, now_mono_ns);

			if (used_ns < least_ns) {
				least_ns = used_ns;
				account = other;
			}
		}
	}
	*account = (struct account){ .port_num = port_num };
	text_copy(account->device, sizeof(account->device), device);
	return account;
}

void ledger_add(struct ledger *ledger, const char *device, uint64_t port_num, uint64_t now_mono_ns,
		uint64_t duration_ns)
{
	struct account *account = find(ledger, device, port_num);
	uint64_t now = now_mono_ns / MINUTE_NS;
	size_t place = now % MINUTES;

	if (account == NULL) {
		account = add_account(ledger, device, port_num, now_mono_ns);
	}
	if (account->minute[place] != now) {
		account->minute[place] = now;
		account->used_ns[place] = 0;
	}
	account->used_ns[place] += duration_ns;
}

struct ledger *ledger_new(void)
{
	return memory_new(sizeof(struct ledger));
}

void ledger_free(struct ledger *ledger)
{
	free(ledger);
}
