// SPDX-License-Identifier: MIT
#include "model/step.h"

#include <errno.h>
#include <string.h>

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void step_add(struct steps *steps, const char *name, uint64_t duration_ns, uint64_t bytes)
{
	struct step *step = NULL;

	for (size_t i = 0; i < steps->count; i++) {
		if (!strcmp(steps->items[i].name, name)) {
			step = &steps->items[i];
		}
	}
	if (!step) {
		/* The names are ours and few; should the table ever be full, the last row takes the
		 * rest. */
		if (steps->count == LIMIT_STEPS) {
			step = &steps->items[LIMIT_STEPS - 1];
			text_copy(step->name, sizeof(step->name), "other");
		} else {
			step = &steps->items[steps->count++];
			*step = (struct step){ 0 };
			text_copy(step->name, sizeof(step->name), name);
		}
	}
	step->count++;
	step->duration_ns = add(step->duration_ns, duration_ns);
	step->max_ns = duration_ns > step->max_ns ? duration_ns : step->max_ns;
	step->bytes = add(step->bytes, bytes);
}

json_t *step_write(const struct steps *steps)
{
	json_t *array = json_array();

	for (size_t i = 0; i < steps->count; i++) {
		const struct step *step = &steps->items[i];
		json_t *object = json_object();

		json_set_string(object, "name", step->name);
		json_set_u64(object, "count", step->count);
		json_set_u64(object, "duration_ns", step->duration_ns);
		json_set_u64(object, "max_ns", step->max_ns);
		json_set_u64(object, "bytes", step->bytes);
		json_array_append_new(array, object);
	}
	return array;
}

static int read_step(const json_t *json, struct step *step, struct error *err)
{
	int r;

	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "a step must be an object");
	}
	if ((r = json_get_string(json, "name", step->name, sizeof(step->name), err)) < 0 ||
	    (r = json_get_u64(json, "count", 1, INT64_MAX, &step->count, err)) < 0 ||
	    (r = json_get_u64(json, "duration_ns", 0, INT64_MAX, &step->duration_ns, err)) < 0 ||
	    (r = json_get_u64(json, "max_ns", 0, INT64_MAX, &step->max_ns, err)) < 0 ||
	    (r = json_get_u64_or(json, "bytes", 0, INT64_MAX, &step->bytes, err)) < 0) {
		return r;
	}
	if (!text_is_name(step->name)) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"name\": a step's name must be like modify_rtr");
	}
	return 0;
}

int step_read(const json_t *json, struct steps *ret, struct error *err)
{
	struct steps steps = { 0 };

	if (!json_is_array(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "steps must be a list");
	}
	if (json_array_size(json) > LIMIT_STEPS) {
		return error_set(err, -EINVAL, ERROR_INPUT, "%zu steps are more than %d",
				 json_array_size(json), LIMIT_STEPS);
	}
	for (size_t i = 0; i < json_array_size(json); i++) {
		int r = read_step(json_array_get(json, i), &steps.items[i], err);

		if (r < 0) {
			return r;
		}
		steps.count++;
	}
	*ret = steps;
	return 0;
}
