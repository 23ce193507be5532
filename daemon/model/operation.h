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

/* IBTA names. */
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
extern const char *const operation_names[]; /* NULL-terminated */

/* What a kind of operation is: bits, as operation_traits gives them. */
enum operation_trait {
	OPERATION_TAKES_RECEIVE = 1 << 0, /* uses up a receive of the other end */
	OPERATION_IS_ONE_SIDED = 1 << 1, /* names memory of the other end */
	OPERATION_PLACES = 1 << 2, /* puts its payload there: REMOTE_WRITE */
	OPERATION_FETCHES = 1 << 3, /* brings its payload back: is its own answer, is never inlined,
				       and counts against max_rd_atomic */
	OPERATION_READS = 1 << 4, /* takes it from there as it is: REMOTE_READ */
	OPERATION_IS_ATOMIC = 1 << 5, /* changes OPERATION_ATOMIC_BYTES there: REMOTE_ATOMIC */
};
#define OPERATION_ATOMIC_BYTES 8 /* no other size exists */

/* 0 for what is no kind. */
unsigned operation_traits(int kind);

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
	uint64_t response_bytes; /* request_response: of what comes back; 0: as much as was sent */
};
extern const struct schema_field operation_fields[];

/* One (operation, size): what statistics are kept by. */
struct operation_class {
	int kind;
	bool is_inline;
	uint64_t size_bytes;
	uint64_t weight; /* entry weight x size weight, over a common denominator: sums to what
			    operation_classes returns */
	uint64_t response_bytes; /* of the answer, where one is sent: size_bytes, unless the entry
				    says else */
	bool is_response_inline;
};

/* Whether any of these operations has any of the traits. */
bool operation_any(const struct operation *ops, size_t op_count, unsigned traits);
/* Whether one of them is of that kind. */
bool operation_has(const struct operation *ops, size_t op_count, int kind);
/* Payload of one operation of all of them, on average by their weights. */
double operation_mean_bytes(const struct operation *ops, size_t op_count);
/* The same of what is sent back, where the pattern has answers of their own size. */
double operation_mean_response_bytes(const struct operation *ops, size_t op_count);
/* Of one operation of that kind and size. */
uint64_t operation_response_bytes(const struct operation *ops, size_t op_count, int kind,
				  uint64_t size_bytes);
/* The largest size of all, there or back; counts beyond the limits are cut to them. */
uint64_t operation_largest_bytes(const struct operation *ops, size_t op_count);

/*
 * Expands entries into classes, in order. inline auto: when size <= max_inline_bytes and nothing is
 * fetched; of answers likewise. Returns how many, or 0 when they are more than LIMIT_CLASSES.
 * *ret_total: sum of weights.
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
