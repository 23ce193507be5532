// SPDX-License-Identifier: MIT
#include "control/gate.h"

#include <string.h>

#include "util/bucket.h"
#include "util/memory.h"
#include "util/net.h"
#include "util/random.h"

#define SECOND_NS 1000000000ull
#define WAYS 4
#define STRANGER_SETS 256
#define KNOWN_SETS 512
#define COST_NS (SECOND_NS / GATE_PER_SECOND)
#define BURST_NS (GATE_BURST * COST_NS)
#define STRANGERS_COST_NS (SECOND_NS / GATE_STRANGERS_PER_SECOND)
#define STRANGERS_BURST_NS (GATE_STRANGERS_BURST * STRANGERS_COST_NS)
#define KNOWN_COST_NS (SECOND_NS / GATE_KNOWN_PER_SECOND)
#define KNOWN_BURST_NS (GATE_KNOWN_BURST * KNOWN_COST_NS)

/* All zeroes: free. */
struct entry {
	uint8_t bytes[16];
	struct bucket bucket;
};

struct gate {
	uint64_t seed; /* or a stranger could choose addresses that push each other out */
	struct bucket strangers_bucket;
	struct bucket known_bucket;
	struct entry strangers[STRANGER_SETS][WAYS];
	struct entry known[KNOWN_SETS][WAYS];
};

struct gate *gate_new(void)
{
	struct gate *gate = memory_new(sizeof(*gate));

	random_fill(&gate->seed, sizeof(gate->seed));
	return gate;
}

void gate_free(struct gate *gate)
{
	free(gate);
}

static uint64_t hash_of(const struct gate *gate, const uint8_t bytes[16])
{
	uint64_t halves[2];
	struct prng prng;

	memcpy(halves, bytes, sizeof(halves));
	prng_init(&prng, gate->seed ^ halves[0]);
	prng_init(&prng, prng_next(&prng) ^ halves[1]);
	return prng_next(&prng);
}

static struct entry *find(struct entry set[WAYS], const uint8_t bytes[16])
{
	for (unsigned i = 0; i < WAYS; i++) {
		if (memcmp(set[i].bytes, bytes, sizeof(set[i].bytes)) == 0) {
			return &set[i];
		}
	}
	return NULL;
}

/* Its own, or the one in the set that is full again first: that one loses least by being forgotten.
 */
static struct entry *find_or_make(struct entry set[WAYS], const uint8_t bytes[16])
{
	struct entry *found = find(set, bytes);

	if (found) {
		return found;
	}
	found = &set[0];
	for (unsigned i = 1; i < WAYS; i++) {
		if (set[i].bucket.full_mono_ns < found->bucket.full_mono_ns) {
			found = &set[i];
		}
	}
	*found = (struct entry){ 0 };
	memcpy(found->bytes, bytes, sizeof(found->bytes));
	return found;
}

static struct entry *known_set(const struct gate *gate, const uint8_t bytes[16])
{
	return (struct entry *)gate->known[hash_of(gate, bytes) % KNOWN_SETS];
}

void gate_know(struct gate *gate, const char *address, uint64_t now_mono_ns)
{
	uint8_t bytes[16];

	if (net_address_bytes(address, bytes)) {
		/* Fresh: not the next to be forgotten. */
		bucket_charge(&find_or_make(known_set(gate, bytes), bytes)->bucket, 0, now_mono_ns);
	}
}

static bool is_v4(const uint8_t bytes[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(bytes, prefix, sizeof(prefix)) == 0;
}

void gate_look(const struct gate *gate, const char *address, struct gate_source *ret_source)
{
	struct gate_source source = { 0 };

	if (net_address_bytes(address, source.bytes)) {
		source.is_known = find(known_set(gate, source.bytes), source.bytes) != NULL;
		if (!source.is_known && !is_v4(source.bytes)) {
			memset(source.bytes + 8, 0, 8);
		}
	}
	*ret_source = source;
}

bool gate_is_same(const struct gate_source *a, const struct gate_source *b)
{
	return a->is_known == b->is_known && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool gate_admit(struct gate *gate, const struct gate_source *source, uint64_t now_mono_ns)
{
	struct entry *set = source->is_known
				    ? known_set(gate, source->bytes)
				    : gate->strangers[hash_of(gate, source->bytes) % STRANGER_SETS];
	struct entry *entry = find_or_make(set, source->bytes);

	/* In this order: one source that asks too often takes nothing from the others. */
	if (!bucket_take(&entry->bucket, COST_NS, BURST_NS, now_mono_ns)) {
		return false;
	}
	return source->is_known ? bucket_take(&gate->known_bucket, KNOWN_COST_NS, KNOWN_BURST_NS,
					      now_mono_ns)
				: bucket_take(&gate->strangers_bucket, STRANGERS_COST_NS,
					      STRANGERS_BURST_NS, now_mono_ns);
}
