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
	char name[LIMIT_NAME];
	uint64_t number;
	uint64_t minute[MINUTES]; /* which one each place is about */
	uint64_t used_ns[MINUTES];
};

struct ledger {
	size_t max;
	size_t count;
	struct account *accounts;
};

static struct account *find(const struct ledger *ledger, const char *name, uint64_t number)
{
	for (size_t i = 0; i < ledger->count; i++) {
		const struct account *account = &ledger->accounts[i];

		if (account->number == number && strcmp(account->name, name) == 0) {
			return (struct account *)account;
		}
	}
	return NULL;
}

uint64_t ledger_used_ns(const struct ledger *ledger, const char *name, uint64_t number,
			uint64_t now_mono_ns)
{
	const struct account *account = find(ledger, name, number);
	uint64_t now = now_mono_ns / MINUTE_NS;
	uint64_t used_ns = 0;

	for (size_t i = 0; account != NULL && i < MINUTES; i++) {
		if (account->minute[i] + MINUTES > now) {
			used_ns += account->used_ns[i];
		}
	}
	return used_ns;
}

/* The one that had least makes room for a new one. */
static struct account *add_account(struct ledger *ledger, const char *name, uint64_t number,
				   uint64_t now_mono_ns)
{
	struct account *account = &ledger->accounts[0];
	uint64_t least_ns = UINT64_MAX;

	if (ledger->count < ledger->max) {
		account = &ledger->accounts[ledger->count++];
	} else {
		for (size_t i = 0; i < ledger->count; i++) {
			struct account *other = &ledger->accounts[i];
			uint64_t used_ns =
				ledger_used_ns(ledger, other->name, other->number, now_mono_ns);

			if (used_ns < least_ns) {
				least_ns = used_ns;
				account = other;
			}
		}
	}
	*account = (struct account){ .number = number };
	text_copy(account->name, sizeof(account->name), name);
	return account;
}

void ledger_add(struct ledger *ledger, const char *name, uint64_t number, uint64_t now_mono_ns,
		uint64_t duration_ns)
{
	struct account *account = find(ledger, name, number);
	uint64_t now = now_mono_ns / MINUTE_NS;
	size_t place = now % MINUTES;

	if (account == NULL) {
		account = add_account(ledger, name, number, now_mono_ns);
	}
	if (account->minute[place] != now) {
		account->minute[place] = now;
		account->used_ns[place] = 0;
	}
	account->used_ns[place] += duration_ns;
}

struct ledger *ledger_new(size_t max)
{
	struct ledger *ledger = memory_new(sizeof(*ledger));

	ledger->max = max;
	ledger->accounts = memory_new_array(max, sizeof(*ledger->accounts));
	return ledger;
}

void ledger_free(struct ledger *ledger)
{
	if (ledger) {
		free(ledger->accounts);
	}
	free(ledger);
}
