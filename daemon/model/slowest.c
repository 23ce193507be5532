// SPDX-License-Identifier: MIT
#include "model/slowest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROW_NUMBERS 5

static size_t least_slow(const struct slowest *slowest)
{
	size_t least = 0;

	for (size_t i = 1; i < slowest->count; i++) {
		/* Of equals the last that came in goes first. */
		least = slowest->items[i].latency_ns <= slowest->items[least].latency_ns ? i
											 : least;
	}
	return least;
}

void slowest_add(struct slowest *slowest, const struct slow_operation *operation)
{
	if (slowest->count < SLOWEST_MAX) {
		slowest->items[slowest->count++] = *operation;
	} else {
		size_t least = least_slow(slowest);

		/* The order of arrival is kept among those that stay. */
		memmove(&slowest->items[least], &slowest->items[least + 1],
			(SLOWEST_MAX - 1 - least) * sizeof(slowest->items[0]));
		slowest->items[SLOWEST_MAX - 1] = *operation;
	}
	if (slowest->count == SLOWEST_MAX) {
		slowest->floor_ns = slowest->items[least_slow(slowest)].latency_ns;
	}
}

static int compare(const void *left, const void *right)
{
	const struct slow_operation *a = left;
	const struct slow_operation *b = right;

	if (a->latency_ns != b->latency_ns) {
		return a->latency_ns < b->latency_ns ? 1 : -1;
	}
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

void slowest_sort(struct slowest *slowest)
{
	qsort(slowest->items, slowest->count, sizeof(slowest->items[0]), compare);
}

json_t *slowest_write(const struct slowest *slowest)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < slowest->count; i++) {
		const struct slow_operation *item = &slowest->items[i];
		const uint64_t numbers[ROW_NUMBERS] = { item->latency_ns, item->end_ns,
							item->qp_index, item->qp_num,
							item->class_index };
		json_t *row = json_array();

		for (size_t k = 0; k < ROW_NUMBERS; k++) {
			json_array_append_new(row, json_integer((json_int_t)numbers[k]));
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

static int read_row(const json_t *row, struct slow_operation *ret, struct error *err)
{
	uint64_t *const numbers[ROW_NUMBERS] = { &ret->latency_ns, &ret->end_ns, &ret->qp_index,
						 &ret->qp_num, &ret->class_index };

	if (!json_is_array(row) || json_array_size(row) != ROW_NUMBERS) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "an item of \"slowest\" must be a list of %d numbers",
				 ROW_NUMBERS);
	}
	for (size_t k = 0; k < ROW_NUMBERS; k++) {
		const json_t *value = json_array_get(row, k);

		if (!json_is_integer(value) || json_integer_value(value) < 0) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "an item of \"slowest\" has numbers from 0 on");
		}
		*numbers[k] = (uint64_t)json_integer_value(value);
	}
	return 0;
}

int slowest_read(const json_t *json, struct slowest *ret, struct error *err)
{
	size_t count = json_array_size(json);

	*ret = (struct slowest){ 0 };
	if (!json || json_is_null(json)) {
		return 0;
	}
	if (!json_is_array(json) || count > SLOWEST_MAX) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"slowest\" must be a list of at most %d items", SLOWEST_MAX);
	}
	for (size_t i = 0; i < count; i++) {
		if (read_row(json_array_get(json, i), &ret->items[i], err) < 0) {
			return -EINVAL;
		}
	}
	ret->count = count;
	return 0;
}
