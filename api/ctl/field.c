// SPDX-License-Identifier: MIT
#include "ctl/field.h"

#include <stdio.h>
#include <string.h>

#include "util/text.h"

const json_t *field_find(const json_t *json, const char *place)
{
	while (json != NULL) {
		size_t length = strcspn(place, ".");
		char key[64];

		if (length >= sizeof(key)) {
			return NULL;
		}
		memcpy(key, place, length);
		key[length] = '\0';
		json = json_object_get(json, key);
		if (place[length] == '\0') {
			break;
		}
		place += length + 1;
	}
	return json_is_null(json) ? NULL : json;
}

static bool is_kind(const json_t *value, enum field_kind kind)
{
	switch (kind) {
	case FIELD_STRING:
		return json_is_string(value);
	case FIELD_NUMBER:
		return json_is_number(value);
	case FIELD_BOOL:
		return json_is_boolean(value);
	case FIELD_OBJECT:
		return json_is_object(value);
	case FIELD_ARRAY:
		return json_is_array(value);
	}
	return false;
}

const struct field_wanted *field_missing(const json_t *json, const struct field_wanted *wanted)
{
	for (; wanted->place != NULL; wanted++) {
		if (!is_kind(field_find(json, wanted->place), wanted->kind)) {
			return wanted;
		}
	}
	return NULL;
}

const char *field_kind_name(enum field_kind kind)
{
	static const char *const names[] = { "a string", "a number", "true or false", "an object",
					     "an array" };

	return names[kind];
}

const char *field_string(const json_t *json, const char *place, const char *fallback)
{
	const char *string = json_string_value(field_find(json, place));

	return string != NULL ? string : fallback;
}

bool field_u64(const json_t *json, const char *place, uint64_t *ret)
{
	const json_t *value = field_find(json, place);

	if (!json_is_integer(value) || json_integer_value(value) < 0) {
		return false;
	}
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

bool field_real(const json_t *json, const char *place, double *ret)
{
	const json_t *value = field_find(json, place);

	if (!json_is_number(value)) {
		return false;
	}
	*ret = json_number_value(value);
	return true;
}

bool field_is_true(const json_t *json, const char *place)
{
	return json_is_true(field_find(json, place));
}

bool field_is_false(const json_t *json, const char *place)
{
	return json_is_false(field_find(json, place));
}

const json_t *field_array(const json_t *json, const char *place)
{
	const json_t *value = field_find(json, place);

	return json_is_array(value) ? value : NULL;
}

static const char *show_nothing(char *buf)
{
	snprintf(buf, UNITS_SIZE, "-");
	return buf;
}

const char *field_show_duration(const json_t *json, const char *place, char *buf)
{
	double value;

	/* Means are fractions; what is negative or beyond centuries is no duration. */
	if (!field_real(json, place, &value) || !(value >= 0 && value < 1e19)) {
		return show_nothing(buf);
	}
	return units_format_duration((uint64_t)value, buf);
}

const char *field_show_size(const json_t *json, const char *place, char *buf)
{
	uint64_t value;

	return field_u64(json, place, &value) ? units_format_size(value, buf) : show_nothing(buf);
}

const char *field_show_rate(const json_t *json, const char *place, char *buf)
{
	double value;

	return field_real(json, place, &value) ? units_format_rate(value, buf) : show_nothing(buf);
}

const char *field_show_ops_rate(const json_t *json, const char *place, char *buf)
{
	double value;

	return field_real(json, place, &value) ? units_format_ops_rate(value, buf)
					       : show_nothing(buf);
}

const char *field_show_count(const json_t *json, const char *place, char *buf)
{
	uint64_t value;

	return field_u64(json, place, &value) ? units_format_count(value, buf) : show_nothing(buf);
}

const char *field_show_time(const json_t *json, const char *place, char *buf)
{
	const char *string = field_string(json, place, NULL);

	if (string == NULL || strlen(string) < 19 || string[10] != 'T') {
		return show_nothing(buf);
	}
	snprintf(buf, UNITS_SIZE, "%.10s %.8sZ", string, string + 11);
	return buf;
}

const char *field_address(const json_t *json, const char *place)
{
	static const char mapped[] = "::ffff:";
	const char *gid = field_string(json, place, "-");

	return text_starts_with(gid, mapped) && strchr(gid, '.') ? gid + sizeof(mapped) - 1 : gid;
}
