// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a queue pair is asked to do: operations, sizes, weights, and the deck that decides their
 * order. The order is drawn once from a seed, outside the measured loop, and is the same on both
 * ends.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/limits.h"
#include "util/schema.h"

/* IBTA names; the first three are measured by this version, the others are refused. */
enum operation_kind {
	OPERATION_SEND,
	OPERATION_WRITE,
	OPERATION_READ,
	OPERATION_SEND_WITH_IMM,
	OPERATION_WRITE_WITH_IMM,
	OPERATION_ATOMIC_CMP_AND_SWP,
	OPERATION_ATOMIC_FETCH_AND_ADD,
	OPERATION_KINDS,
};
#define OPERATION_SUPPORTED 3 /* kinds below this one */
extern const char *const operation_names[]; /* NULL-terminated */

enum inline_mode { INLINE_AUTO, INLINE_NO, INLINE_YES };

struct operation_size {
	uint64_t size_bytes;
	uint64_t weight;
};

/* One entry of workload.ops. */
struct operation {
	int kind; /* enum operation_kind */
	int inline_mode;
	uint64_t weight; /* share of operations, not bytes */
	size_t size_count;
	struct operation_size sizes[LIMIT_SIZES];
};
extern const struct schema_field operation_fields[];

/* One (operation, size): what statistics are kept by. */
struct operation_class {
	int kind;
	bool is_inline;
	uint64_t size_bytes;
	uint64_t weight; /* entry weight x size weight, over a common denominator: sums to what
			    operation_classes returns */
};

/*
 * Expands entries into classes, in order. inline auto: when size <= max_inline_bytes and not a
 * read. Returns how many, or 0 when they are more than LIMIT_CLASSES. *ret_total: sum of weights.
 */
size_t operation_classes(const struct operation *ops, size_t op_count, uint64_t max_inline_bytes,
			 struct operation_class *ret, uint64_t *ret_total);

/*
 * Fills deck[length] with class indexes in exact proportion (largest remainder; every class at
 * least once), shuffled by seed. Where `signal_interval` > 1, the signalled positions (every
 * signal_interval-th) hold the classes in proportion too, so that each gets latency samples:
 * signalling is independent of the mix. Pure: same arguments, same deck. length is a multiple of
 * signal_interval and at least operation_deck_length's answer.
 */
void operation_deck(const struct operation_class *classes, size_t class_count,
		    uint64_t signal_interval, uint64_t seed, uint16_t *deck, size_t length);
/* A length that is a multiple of `multiple`, at least `min`, and long enough for the proportions
 * (error under 0.1 %). */
size_t operation_deck_length(const struct operation_class *classes, size_t class_count,
			     uint64_t signal_interval, size_t multiple, size_t min);
