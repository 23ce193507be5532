// SPDX-License-Identifier: MIT
#include "util/json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/units.h"

#define MAX_DEPTH 32
#define REAL_DIGITS \
	15 /* all of a decimal that a double keeps; 17 would print 0.1 as 0.10000000000000001 */

const char *json_kind_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "a whole number";
	case JSON_REAL:
		return "a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		return "null";
	}
	return "of an unknown kind";
}

/* What the parser would have to do; brackets and commas inside strings do not count. */
struct shape {
	unsigned depth;
	size_t values; /* at most */
};

static struct shape shape_of(const char *bytes, size_t count)
{
	struct shape shape = { .values = 1 };
	unsigned depth = 0;
	bool in_string = false;

	for (size_t i = 0; i < count; i++) {
		char c = bytes[i];

		if (in_string) {
			i += c == '\\';
			in_string = c != '"';
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			shape.values++;
			shape.depth = ++depth > shape.depth ? depth : shape.depth;
		} else if (c == ',') {
			shape.values++;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return shape;
}

json_t *json_read(const char *bytes, size_t count, struct error *err)
{
	return json_read_limited(bytes, count, SIZE_MAX, err);
}

json_t *json_read_limited(const char *bytes, size_t count, size_t max_values, struct error *err)
{
	struct shape shape = shape_of(bytes, count); /* before the parser, which recurses */
	json_error_t failure;
	json_t *value;

	if (shape.values > max_values) {
		error_set(err, -EINVAL, ERROR_INPUT, "JSON has up to %zu values; at most %zu",
			  shape.values, max_values);
		return NULL;
	}
	if (shape.depth > MAX_DEPTH) {
		error_set(err, -EINVAL, ERROR_INPUT, "JSON is nested deeper than %d levels",
			  MAX_DEPTH);
		return NULL;
	}
	value = json_loadb(bytes, count, JSON_REJECT_DUPLICATES, &failure);
	if (!value) {
		error_set(err, -EINVAL, ERROR_INPUT, "JSON, line %d, column %d: %s", failure.line,
			  failure.column, failure.text);
		return NULL;
	}
	if (!json_is_object(value)) {
		error_set(err, -EINVAL, ERROR_INPUT, "JSON is %s; an object { } is expected",
			  json_kind_name(value));
		json_decref(value);
		return NULL;
	}
	return value;
}

static int add_to_text(const char *bytes, size_t count, void *out)
{
	text_escape_json(out, bytes, count);
	return 0;
}

static void write_with(const json_t *value, size_t flags, struct text *out)
{
	int ret = json_dump_callback(value, add_to_text, out,
				     flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(REAL_DIGITS));

	assert(ret == 0); /* else a value was NULL or holds itself */
	(void)ret;
}

void json_write(const json_t *value, struct text *out)
{
	write_with(value, JSON_COMPACT, out);
}

void json_write_pretty(const json_t *value, struct text *out)
{
	write_with(value, JSON_INDENT(2), out);
}

/* Only memory can be missing here. */
static json_t *checked(json_t *value)
{
	if (!value) {
		fputs("fatal: out of memory\n", stderr);
		abort();
	}
	return value;
}

json_t *json_number(double value)
{
	return checked(isfinite(value) ? json_real(value) : json_null());
}

void json_set_take(json_t *object, const char *key, json_t *value)
{
	int ret = json_object_set_new_nocheck(object, key, value ? value : json_null());

	assert(ret == 0);
	(void)ret;
}

json_t *json_text(const char *value)
{
	_cleanup_free_ char *escaped = NULL;
	size_t size;

	if (!value) {
		return json_null();
	}
	if (text_is_utf8(value, strlen(value))) {
		return checked(json_string_nocheck(value));
	}
	/* Bytes of a device or a file that are no text. */
	size = 4 * strlen(value) + 1;
	escaped = memory_new(size);
	text_escape(escaped, size, value);
	return checked(json_string_nocheck(escaped));
}

void json_set_string(json_t *object, const char *key, const char *value)
{
	json_set_take(object, key, json_text(value));
}

void json_set_u64(json_t *object, const char *key, uint64_t value)
{
	json_set_take(object, key,
		      value > INT64_MAX ? NULL : checked(json_integer((json_int_t)value)));
}

void json_set_i64(json_t *object, const char *key, int64_t value)
{
	json_set_take(object, key, checked(json_integer(value)));
}

void json_set_real(json_t *object, const char *key, double value)
{
	json_set_take(object, key, json_number(value));
}

void json_set_bool(json_t *object, const char *key, bool value)
{
	json_set_take(object, key, json_boolean(value));
}

void json_set_time(json_t *object, const char *key, int64_t real_ns)
{
	char buf[UNITS_SIZE];

	json_set_string(object, key, real_ns ? units_format_time(real_ns, buf) : NULL);
}

static int wrong_kind(const char *key, const char *wanted, const json_t *value, struct error *err)
{
	return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": %s is expected, not %s", key, wanted,
			 json_kind_name(value));
}

static int get_member(const json_t *object, const char *key, json_t **ret, struct error *err)
{
	json_t *value = json_object_get(object, key);

	if (!value) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": missing", key);
	}
	*ret = value;
	return 0;
}

static bool is_absent(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return !value || json_is_null(value);
}

int json_get_string(const json_t *object, const char *key, char *ret_string, size_t size,
		    struct error *err)
{
	json_t *value = NULL;
	int ret = get_member(object, key, &value, err);

	if (ret < 0) {
		return ret;
	}
	if (!json_is_string(value)) {
		return wrong_kind(key, "a string", value, err);
	}
	if (json_string_length(value) >= size) {
		char quoted[TEXT_QUOTED_SIZE];

		text_quote(quoted, json_string_value(value));
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"%s\": \"%s\" has %zu bytes; at most %zu", key, quoted,
				 json_string_length(value), size - 1);
	}
	memcpy(ret_string, json_string_value(value), json_string_length(value) + 1);
	return 0;
}

int json_get_u64(const json_t *object, const char *key, uint64_t min, uint64_t max,
		 uint64_t *ret_u64, struct error *err)
{
	json_int_t number;
	json_t *value = NULL;
	int ret = get_member(object, key, &value, err);

	if (ret < 0) {
		return ret;
	}
	if (!json_is_integer(value)) {
		return wrong_kind(key, "a whole number", value, err);
	}
	number = json_integer_value(value);
	if (number < 0 || (uint64_t)number < min) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"%s\": %" JSON_INTEGER_FORMAT " is below %" PRIu64, key, number,
				 min);
	}
	if ((uint64_t)number > max) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"%s\": %" JSON_INTEGER_FORMAT " is above %" PRIu64, key, number,
				 max);
	}
	*ret_u64 = (uint64_t)number;
	return 0;
}

int json_get_i64(const json_t *object, const char *key, int64_t *ret_i64, struct error *err)
{
	json_t *value = NULL;
	int ret = get_member(object, key, &value, err);

	if (ret < 0) {
		return ret;
	}
	if (!json_is_integer(value)) {
		return wrong_kind(key, "a whole number", value, err);
	}
	*ret_i64 = json_integer_value(value);
	return 0;
}

int json_get_bool(const json_t *object, const char *key, bool *ret_bool, struct error *err)
{
	json_t *value = NULL;
	int ret = get_member(object, key, &value, err);

	if (ret < 0) {
		return ret;
	}
	if (!json_is_boolean(value)) {
		return wrong_kind(key, "true or false", value, err);
	}
	*ret_bool = json_is_true(value);
	return 0;
}

int json_get_real(const json_t *object, const char *key, double *ret_real, struct error *err)
{
	json_t *value = NULL;
	int ret = get_member(object, key, &value, err);

	if (ret < 0) {
		return ret;
	}
	if (!json_is_number(value)) {
		return wrong_kind(key, "a number", value, err);
	}
	*ret_real = json_number_value(value);
	return 0;
}

int json_get_object(const json_t *object, const char *key, json_t **ret_object, struct error *err)
{
	json_t *value = NULL;
	int ret = get_member(object, key, &value, err);

	if (ret < 0) {
		return ret;
	}
	if (!json_is_object(value)) {
		return wrong_kind(key, "an object", value, err);
	}
	*ret_object = value;
	return 0;
}

int json_get_array(const json_t *object, const char *key, size_t max_length, json_t **ret_array,
		   struct error *err)
{
	json_t *value = NULL;
	int ret = get_member(object, key, &value, err);

	if (ret < 0) {
		return ret;
	}
	if (!json_is_array(value)) {
		return wrong_kind(key, "an array", value, err);
	}
	if (json_array_size(value) > max_length) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": %zu items; at most %zu", key,
				 json_array_size(value), max_length);
	}
	*ret_array = value;
	return 0;
}

int json_get_u64_or(const json_t *object, const char *key, uint64_t min, uint64_t max,
		    uint64_t *ret_u64, struct error *err)
{
	return is_absent(object, key) ? 0 : json_get_u64(object, key, min, max, ret_u64, err);
}

int json_get_string_or(const json_t *object, const char *key, char *ret_string, size_t size,
		       struct error *err)
{
	return is_absent(object, key) ? 0 : json_get_string(object, key, ret_string, size, err);
}
