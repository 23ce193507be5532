// SPDX-License-Identifier: MIT
#include "model/operation.h"

#include <errno.h>
#include <stdio.h>

#include "model/divisor.h"
#include "util/memory.h"
#include "util/random.h"

const char *const operation_names[] = {
	[OPERATION_SEND] = "send",
	[OPERATION_WRITE] = "write",
	[OPERATION_READ] = "read",
	[OPERATION_SEND_WITH_IMM] = "send_with_imm",
	[OPERATION_WRITE_WITH_IMM] = "write_with_imm",
	[OPERATION_ATOMIC_CMP_AND_SWP] = "atomic_cmp_and_swp",
	[OPERATION_ATOMIC_FETCH_AND_ADD] = "atomic_fetch_and_add",
	NULL,
};

unsigned operation_traits(int kind)
{
	static const unsigned traits[OPERATION_KINDS] = {
		[OPERATION_SEND] = OPERATION_TAKES_RECEIVE,
		[OPERATION_WRITE] = OPERATION_IS_ONE_SIDED | OPERATION_PLACES,
		[OPERATION_READ] = OPERATION_IS_ONE_SIDED | OPERATION_FETCHES | OPERATION_READS,
		[OPERATION_SEND_WITH_IMM] = OPERATION_TAKES_RECEIVE,
		[OPERATION_WRITE_WITH_IMM] = OPERATION_TAKES_RECEIVE | OPERATION_IS_ONE_SIDED |
					     OPERATION_PLACES,
		[OPERATION_ATOMIC_CMP_AND_SWP] = OPERATION_IS_ONE_SIDED | OPERATION_FETCHES |
						 OPERATION_IS_ATOMIC,
		[OPERATION_ATOMIC_FETCH_AND_ADD] = OPERATION_IS_ONE_SIDED | OPERATION_FETCHES |
						   OPERATION_IS_ATOMIC,
	};

	return kind >= 0 && kind < OPERATION_KINDS ? traits[kind] : 0;
}

bool operation_any(const struct operation *ops, size_t op_count, unsigned traits)
{
	for (size_t i = 0; i < op_count && i < LIMIT_OPS; i++) {
		if (operation_traits(ops[i].kind) & traits) {
			return true;
		}
	}
	return false;
}

bool operation_has(const struct operation *ops, size_t op_count, int kind)
{
	for (size_t i = 0; i < op_count && i < LIMIT_OPS; i++) {
		if (ops[i].kind == kind) {
			return true;
		}
	}
	return false;
}

uint64_t operation_largest_bytes(const struct operation *ops, size_t op_count)
{
	uint64_t largest_bytes = 0;

	for (size_t i = 0; i < op_count && i < LIMIT_OPS; i++) {
		for (size_t j = 0; j < ops[i].size_count && j < LIMIT_SIZES; j++) {
			uint64_t size_bytes = ops[i].sizes[j].size_bytes;

			largest_bytes = size_bytes > largest_bytes ? size_bytes : largest_bytes;
		}
		largest_bytes = ops[i].response_bytes > largest_bytes ? ops[i].response_bytes
								      : largest_bytes;
	}
	return largest_bytes;
}

uint64_t operation_response_bytes(const struct operation *ops, size_t op_count, int kind,
				  uint64_t size_bytes)
{
	for (size_t i = 0; i < op_count && i < LIMIT_OPS; i++) {
		for (size_t j = 0; j < ops[i].size_count && j < LIMIT_SIZES; j++) {
			if (ops[i].kind == kind && ops[i].sizes[j].size_bytes == size_bytes &&
			    ops[i].response_bytes > 0) {
				return ops[i].response_bytes;
			}
		}
	}
	return size_bytes;
}

/* Of one entry of workload.ops. */
static double mean_size_bytes(const struct operation *op)
{
	double bytes = 0;
	double weights = 0;

	for (size_t i = 0; i < op->size_count && i < LIMIT_SIZES; i++) {
		bytes += (double)op->sizes[i].size_bytes * (double)op->sizes[i].weight;
		weights += (double)op->sizes[i].weight;
	}
	return weights > 0 ? bytes / weights : 0;
}

double operation_mean_bytes(const struct operation *ops, size_t op_count)
{
	double bytes = 0;
	double weights = 0;

	for (size_t i = 0; i < op_count && i < LIMIT_OPS; i++) {
		bytes += mean_size_bytes(&ops[i]) * (double)ops[i].weight;
		weights += (double)ops[i].weight;
	}
	return weights > 0 ? bytes / weights : 0;
}

double operation_mean_response_bytes(const struct operation *ops, size_t op_count)
{
	double bytes = 0;
	double weights = 0;

	for (size_t i = 0; i < op_count && i < LIMIT_OPS; i++) {
		double mean = ops[i].response_bytes > 0 ? (double)ops[i].response_bytes
							: mean_size_bytes(&ops[i]);

		bytes += mean * (double)ops[i].weight;
		weights += (double)ops[i].weight;
	}
	return weights > 0 ? bytes / weights : 0;
}

static const char *const inline_names[] = { "auto", "false", "true", NULL };

/* --- size: a scalar, or a list of {size, weight} --- */

#define MAX_WEIGHT 1000000

static const struct schema_field size_fields[] = {
	{ .key = "size",
	  .json_key = "size_bytes",
	  .type = SCHEMA_SIZE,
	  .is_required = true,
	  .offset = offsetof(struct operation_size, size_bytes),
	  .max = LIMIT_BUFFER_BYTES,
	  .doc = "Payload of one operation." },
	{ .key = "weight",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct operation_size, weight),
	  .min = 1,
	  .max = MAX_WEIGHT,
	  .fallback = "1",
	  .doc = "Share of this entry's operations that have this size." },
	{ 0 },
};

/* The custom field's member is operation.sizes; the count lies beside it. */
static size_t *size_count(const struct schema_field *field, const void *member)
{
	return (size_t *)((char *)member - field->offset + field->count_offset);
}

static void parse_sizes(const struct document_node *node, const struct schema_field *field,
			const char *place, void *member, struct schema_context *context)
{
	struct operation_size *sizes = member;

	if (node->kind != DOCUMENT_LIST) {
		sizes[0].weight = 1;
		if (schema_parse_scalar(&size_fields[0], node, place, &sizes[0].size_bytes,
					context)) {
			*size_count(field, member) = 1;
		}
		return;
	}
	if (node->count == 0 || node->count > LIMIT_SIZES) {
		problems_add(context->problems, false, context->path, node->line, node->column,
			     "%s: %zu sizes; write 1 to %d of them", place, node->count,
			     LIMIT_SIZES);
		return;
	}
	*size_count(field, member) = node->count;
	for (size_t i = 0; i < node->count; i++) {
		const struct document_node *item = node->values[i];
		char item_place[256];

		snprintf(item_place, sizeof(item_place), "%s[%zu]", place, i);
		if (item->kind == DOCUMENT_MAP) {
			schema_parse(size_fields, item, item_place, &sizes[i], size_fields,
				     context);
		} else {
			sizes[i].weight = 1;
			schema_parse_scalar(&size_fields[0], item, item_place, &sizes[i].size_bytes,
					    context);
		}
	}
}

static json_t *write_sizes(const struct schema_field *field, const void *member)
{
	const struct operation_size *sizes = member;
	json_t *array = json_array();

	for (size_t i = 0; i < *size_count(field, member); i++) {
		json_array_append_new(array, schema_write(size_fields, &sizes[i]));
	}
	return array;
}

static int read_sizes(const struct schema_field *field, const json_t *value, void *member,
		      struct error *err)
{
	struct operation_size *sizes = member;
	size_t count = json_array_size(value);

	if (!json_is_array(value) || count == 0 || count > LIMIT_SIZES) {
		return error_set(err, -EINVAL, ERROR_INPUT, "a list of 1 to %d sizes is expected",
				 LIMIT_SIZES);
	}
	for (size_t i = 0; i < count; i++) {
		int r = schema_read(size_fields, json_array_get(value, i), &sizes[i], err);

		if (r < 0) {
			error_prefix(err, "[%zu]", i);
			return r;
		}
	}
	*size_count(field, member) = count;
	return 0;
}

const struct schema_field operation_fields[] = {
	{ .key = "op",
	  .type = SCHEMA_ENUM,
	  .is_required = true,
	  .example = "op: write",
	  .offset = offsetof(struct operation, kind),
	  .names = operation_names,
	  .doc = "Work request opcode (IBV_WR_*). An atomic adds 1, or compares with 0 and swaps with 0." },
	{ .key = "weight",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct operation, weight),
	  .min = 1,
	  .max = MAX_WEIGHT,
	  .fallback = "1",
	  .doc = "Share of the operations (not bytes) among all entries." },
	{ .key = "size",
	  .json_key = "sizes",
	  .type = SCHEMA_CUSTOM,
	  .is_required = true,
	  .example = "size: 64B",
	  .offset = offsetof(struct operation, sizes),
	  .size = sizeof(((struct operation *)0)->sizes),
	  .count_offset = offsetof(struct operation, size_count),
	  .parse = parse_sizes,
	  .write = write_sizes,
	  .read = read_sizes,
	  .doc = "Payload: one size, or a list of sizes or {size, weight}; of atomics 8B." },
	{ .key = "inline",
	  .type = SCHEMA_ENUM,
	  .offset = offsetof(struct operation, inline_mode),
	  .names = inline_names,
	  .fallback = "auto",
	  .doc = "IBV_SEND_INLINE; auto: when the size fits qp.max_inline_data. Not for read and atomics." },
	{ .key = "response",
	  .json_key = "response_bytes",
	  .type = SCHEMA_SIZE,
	  .is_optional = true,
	  .offset = offsetof(struct operation, response_bytes),
	  .min = 1,
	  .max = LIMIT_BUFFER_BYTES,
	  .doc = "pattern: request_response: payload of the response, of the same kind as the request; left out: as much as that." },
	{ 0 },
};

/* --- classes --- */

static uint64_t weight_of_sizes(const struct operation *op)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < op->size_count; i++) {
		sum += op->sizes[i].weight;
	}
	return sum ? sum : 1;
}

/* The least common multiple of the entries' size weights; 0 when weights over it would not fit. */
static uint64_t common_denominator(const struct operation *ops, size_t op_count)
{
	uint64_t common = 1;

	for (size_t i = 0; i < op_count; i++) {
		uint64_t sum = weight_of_sizes(&ops[i]);

		if (__builtin_mul_overflow(common / divisor_greatest(common, sum), sum, &common) ||
		    common > 1ull << 36) {
			return 0;
		}
	}
	return common;
}

/* Weights by the common denominator, or, where that is out of bounds, in millionths of what one
 * entry has. */
static uint64_t class_weight(const struct operation *op, const struct operation_size *size,
			     uint64_t common)
{
	uint64_t sum = weight_of_sizes(op);
	uint64_t weight;

	if (common) {
		return op->weight * size->weight * (common / sum);
	}
	weight = (uint64_t)((unsigned __int128)op->weight * size->weight * 1000000 / sum);
	return weight ? weight : 1;
}

size_t operation_classes(const struct operation *ops, size_t op_count, uint64_t max_inline_bytes,
			 struct operation_class *ret, uint64_t *ret_total)
{
	uint64_t common = common_denominator(ops, op_count);
	uint64_t divisor = 0, total = 0;
	size_t count = 0;

	for (size_t i = 0; i < op_count; i++) {
		const struct operation *op = &ops[i];

		for (size_t j = 0; j < op->size_count; j++) {
			uint64_t size_bytes = op->sizes[j].size_bytes;
			uint64_t response_bytes = op->response_bytes > 0 ? op->response_bytes
									 : size_bytes;
			bool may_inline = !(operation_traits(op->kind) & OPERATION_FETCHES) &&
					  op->inline_mode == INLINE_AUTO;
			bool must_inline = op->inline_mode == INLINE_YES;

			if (count == LIMIT_CLASSES) {
				return 0;
			}
			ret[count] = (struct operation_class){
				.kind = op->kind,
				.is_inline = must_inline ||
					     (may_inline && size_bytes <= max_inline_bytes),
				.size_bytes = size_bytes,
				.weight = class_weight(op, &op->sizes[j], common),
				.response_bytes = response_bytes,
				.is_response_inline =
					must_inline ||
					(may_inline && response_bytes <= max_inline_bytes),
			};
			divisor = divisor_greatest(divisor, ret[count].weight);
			count++;
		}
	}
	for (size_t i = 0; i < count; i++) {
		ret[i].weight /= divisor ? divisor : 1;
		total += ret[i].weight;
	}
	*ret_total = total;
	return count;
}

/* --- the deck --- */

/* Decks up to this length hold mixed weights exactly; otherwise they have at least as many cards as
 * bound the error. */
#define EXACT_DECK 8192u
#define CARDS_FOR_0_1_PERCENT 1024u

static uint64_t total_weight(const struct operation_class *classes, size_t count)
{
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++) {
		total += classes[i].weight;
	}
	return total ? total : 1;
}

static size_t round_up(size_t value, size_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

size_t operation_deck_length(const struct operation_class *classes, size_t class_count,
			     uint64_t signal_interval, size_t multiple, size_t min)
{
	uint64_t interval = signal_interval ? signal_interval : 1;
	size_t step = multiple ? multiple : 1;
	uint64_t total = total_weight(classes, class_count);
	size_t length, exact;

	step = step / divisor_greatest(step, interval) * interval;
	length = round_up(min > step ? min : step, step);
	if (class_count <= 1) {
		return length;
	}
	/* Every class needs a signalled card. */
	if (length < class_count * interval) {
		length = round_up(class_count * interval, step);
	}
	if (total <= EXACT_DECK) {
		exact = step / divisor_greatest(step, total) * total;
		if (exact <= EXACT_DECK) {
			return round_up(length, exact);
		}
	}
	return length < CARDS_FOR_0_1_PERCENT ? round_up(CARDS_FOR_0_1_PERCENT, step) : length;
}

static size_t largest_count(const size_t *counts, const size_t *floors, size_t class_count)
{
	size_t best = 0;

	for (size_t i = 1; i < class_count; i++) {
		if (counts[i] - floors[i] > counts[best] - floors[best]) {
			best = i;
		}
	}
	return best;
}

/* Largest remainder, but at least floors[i] each (their sum is at most `cards`). */
static void apportion(const struct operation_class *classes, size_t class_count, size_t cards,
		      const size_t *floors, size_t *counts)
{
	uint64_t total = total_weight(classes, class_count);
	uint64_t rests[LIMIT_CLASSES];
	size_t dealt = 0;

	for (size_t i = 0; i < class_count; i++) {
		unsigned __int128 share = (unsigned __int128)cards * classes[i].weight;

		counts[i] = (size_t)(share / total);
		rests[i] = (uint64_t)(share % total);
		dealt += counts[i];
	}
	while (dealt < cards) {
		size_t best = 0;

		for (size_t i = 1; i < class_count; i++) {
			best = rests[i] > rests[best] ? i : best;
		}
		counts[best]++;
		rests[best] = 0;
		dealt++;
	}
	for (size_t i = 0; i < class_count; i++) {
		if (counts[i] < floors[i]) {
			dealt += floors[i] - counts[i];
			counts[i] = floors[i];
		}
	}
	while (dealt > cards) {
		counts[largest_count(counts, floors, class_count)]--;
		dealt--;
	}
}

static void shuffle(uint16_t *cards, size_t count, struct prng *prng)
{
	for (size_t i = count; i > 1; i--) {
		size_t j = prng_below(prng, i);
		uint16_t card = cards[i - 1];

		cards[i - 1] = cards[j];
		cards[j] = card;
	}
}

void operation_deck(const struct operation_class *classes, size_t class_count,
		    uint64_t signal_interval, uint64_t seed, uint16_t *deck, size_t length)
{
	uint64_t interval = signal_interval ? signal_interval : 1;
	size_t signalled_cards = length / interval;
	size_t floors[LIMIT_CLASSES] = { 0 };
	size_t signalled[LIMIT_CLASSES], all[LIMIT_CLASSES];
	_cleanup_free_ uint16_t *pile = memory_new_array(length ? length : 1, sizeof(*pile));
	size_t top = 0, next_signalled, next_other;
	struct prng prng;

	for (size_t i = 0; i < class_count && signalled_cards >= class_count; i++) {
		floors[i] = 1;
	}
	apportion(classes, class_count, signalled_cards, floors, signalled);
	/* No class has more signalled cards than cards. */
	apportion(classes, class_count, length, signalled, all);

	/* The signalled cards lie below, the others above; each pile is shuffled by itself. */
	for (size_t i = 0; i < class_count; i++) {
		for (size_t j = 0; j < signalled[i]; j++) {
			pile[top++] = (uint16_t)i;
		}
	}
	next_signalled = 0;
	next_other = top;
	for (size_t i = 0; i < class_count; i++) {
		for (size_t j = signalled[i]; j < all[i]; j++) {
			pile[top++] = (uint16_t)i;
		}
	}
	prng_init(&prng, seed);
	shuffle(pile, next_other, &prng);
	shuffle(pile + next_other, length - next_other, &prng);
	for (size_t i = 0; i < length; i++) {
		deck[i] = (i + 1) % interval == 0 ? pile[next_signalled++] : pile[next_other++];
	}
}
