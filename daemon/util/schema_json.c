// SPDX-License-Identifier: MIT
#include "util/schema_json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/memory.h"
#include "util/schema_place.h"
#include "util/schema_value.h"

static const char *key_of(const struct schema_field *field)
{
	return field->json_key ? field->json_key : field->key;
}

/* Neither what is only written by people nor what is still to come. */
static bool is_exchanged(const struct schema_field *field)
{
	return field->type != SCHEMA_LATER &&
	       (field->type != SCHEMA_CUSTOM || (field->write && field->read));
}

static size_t count_of(const struct schema_field *field, const void *object)
{
	return *(const size_t *)((const char *)object + field->count_offset);
}

static json_t *write_items(const struct schema_field *field, const void *object)
{
	const char *item = (const char *)object + field->offset;
	json_t *array = json_array();

	for (size_t i = 0; i < count_of(field, object); i++) {
		int ret;

		if (field->type == SCHEMA_LIST) {
			ret = json_array_append_new(array, schema_json_write(field->fields, item));
			item += field->item_size;
		} else {
			ret = json_array_append_new(array, json_text(item));
			item += field->size;
		}
		assert(ret == 0); /* checked text, bounded counts */
		(void)ret;
	}
	return array;
}

static json_t *write_flags(const struct schema_field *field, uint64_t flags)
{
	json_t *array = json_array();

	for (unsigned i = 0; field->names[i]; i++) {
		if (flags & 1ull << i) {
			json_array_append_new(array, json_text(field->names[i]));
		}
	}
	return array;
}

static void write_field(const struct schema_field *field, const void *object, json_t *json)
{
	const void *member = (const char *)object + field->offset;
	const char *key = key_of(field);

	switch (field->type) {
	case SCHEMA_BOOL:
		json_set_bool(json, key, *(const bool *)member);
		break;
	case SCHEMA_ENUM:
		json_set_string(json, key, field->names[*(const int *)member]);
		break;
	case SCHEMA_FLAGS:
		json_set_take(json, key, write_flags(field, *(const uint64_t *)member));
		break;
	case SCHEMA_NAME:
	case SCHEMA_STRING:
		json_set_string(json, key, member);
		break;
	case SCHEMA_STRINGS:
	case SCHEMA_LIST:
		json_set_take(json, key, write_items(field, object));
		break;
	case SCHEMA_MAP:
		json_set_take(json, key, schema_json_write(field->fields, member));
		break;
	case SCHEMA_CUSTOM:
		json_set_take(json, key, field->write(field, member));
		break;
	case SCHEMA_LATER:
		break;
	default:
		json_set_u64(json, key, *(const uint64_t *)member); /* SCHEMA_AUTO becomes null */
		break;
	}
}

json_t *schema_json_write(const struct schema_field *fields, const void *object)
{
	json_t *json = json_object();

	for (const struct schema_field *field = fields; field->key; field++) {
		if (is_exchanged(field)) {
			write_field(field, object, json);
		}
	}
	return json;
}

static int wrong_kind(const char *place, const char *wanted, const json_t *value, struct error *err)
{
	return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": %s is expected, not %s", place, wanted,
			 json_kind_name(value));
}

static int read_number(const struct schema_field *field, const json_t *value, const char *place,
		       uint64_t *member, struct error *err)
{
	_cleanup_text_ struct text why = TEXT_INIT;
	struct schema_field plain = *field;
	json_int_t number;
	char quoted[32];

	if (json_is_null(value) && field->has_auto) {
		*member = SCHEMA_AUTO;
		return 0;
	}
	if (!json_is_integer(value)) {
		return wrong_kind(place,
				  field->has_auto ? "a whole number or null" : "a whole number",
				  value, err);
	}
	number = json_integer_value(value);
	if (number < 0) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"%s\": %" JSON_INTEGER_FORMAT " is below 0", place, number);
	}
	if (number == 0 && field->is_optional) {
		*member = 0;
		return 0;
	}
	snprintf(quoted, sizeof(quoted), "%" JSON_INTEGER_FORMAT, number);
	plain.type = SCHEMA_INTEGER; /* limits in the base unit, as the value is */
	plain.has_auto = false;
	if (!schema_value_check_range(&plain, (uint64_t)number, quoted, &why)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": %s", place, why.data);
	}
	*member = (uint64_t)number;
	return 0;
}

/* A word of ENUM or FLAGS, or a whole NAME or STRING. */
static int read_string(const struct schema_field *field, const json_t *value, const char *place,
		       void *member, struct error *err)
{
	_cleanup_text_ struct text why = TEXT_INIT;
	const char *string = json_string_value(value);

	if (!string) {
		return wrong_kind(place, "a string", value, err);
	}
	/*
	 * The empty name of an object that was never filled is written as such; it may come back.
	 */
	if (string[0] == '\0' && field->type == SCHEMA_NAME && !field->is_required) {
		memset(member, 0, field->size);
		return 0;
	}
	if (!schema_value_parse(field, string, false, member, &why)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": %s", place, why.data);
	}
	return 0;
}

/* LIST, STRINGS and FLAGS. */
static int read_items(const struct schema_field *field, const json_t *value, const char *place,
		      void *object, struct error *err)
{
	bool is_flags = field->type == SCHEMA_FLAGS;
	char *member = (char *)object + field->offset;
	size_t count = json_array_size(value);
	int ret = 0;

	if (!json_is_array(value)) {
		return wrong_kind(place, "an array", value, err);
	}
	if ((!is_flags && count > field->max_items) || count < field->min_items) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": %zu items; %s %zu", place,
				 count, count < field->min_items ? "at least" : "at most",
				 count < field->min_items ? field->min_items : field->max_items);
	}
	if (field->type != SCHEMA_LIST) {
		memset(member, 0, is_flags ? sizeof(uint64_t) : field->max_items * field->size);
	}
	for (size_t i = 0; i < count && ret == 0; i++) {
		const json_t *element = json_array_get(value, i);
		char here[SCHEMA_PLACE_SIZE];

		schema_place_item(here, place, i);
		if (field->type == SCHEMA_LIST) {
			void *item = member + i * field->item_size;

			schema_defaults(field->fields, item);
			ret = schema_json_read(field->fields, element, here, item, err);
		} else {
			ret = read_string(field, element, here,
					  is_flags ? member : member + i * field->size, err);
		}
	}
	if (!is_flags) {
		*(size_t *)((char *)object + field->count_offset) = count;
	}
	return ret;
}

static int read_field(const struct schema_field *field, const json_t *value, const char *place,
		      void *object, struct error *err)
{
	void *member = (char *)object + field->offset;
	int ret;

	switch (field->type) {
	case SCHEMA_BOOL:
		if (!json_is_boolean(value)) {
			return wrong_kind(place, "true or false", value, err);
		}
		*(bool *)member = json_is_true(value);
		return 0;
	case SCHEMA_ENUM:
	case SCHEMA_NAME:
	case SCHEMA_STRING:
		return read_string(field, value, place, member, err);
	case SCHEMA_FLAGS:
	case SCHEMA_STRINGS:
	case SCHEMA_LIST:
		return read_items(field, value, place, object, err);
	case SCHEMA_MAP:
		return schema_json_read(field->fields, value, place, member, err);
	case SCHEMA_CUSTOM:
		ret = field->read(field, value, member, err);
		if (ret < 0 && err) {
			error_prefix(err, "\"%s\"", place);
		}
		return ret;
	default:
		return read_number(field, value, place, member, err);
	}
}

int schema_json_read(const struct schema_field *fields, const json_t *json, const char *place,
		     void *object, struct error *err)
{
	if (!json_is_object(json)) {
		return json ? wrong_kind(*place ? place : "message", "an object", json, err)
			    : error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": missing", place);
	}
	for (const struct schema_field *field = fields; field->key; field++) {
		const json_t *value = json_object_get(json, key_of(field));
		char here[SCHEMA_PLACE_SIZE];
		int ret;

		if (!is_exchanged(field) || (!value && !field->is_required)) {
			continue;
		}
		schema_place_key(here, place, key_of(field));
		ret = value ? read_field(field, value, here, object, err)
			    : error_set(err, -EINVAL, ERROR_INPUT, "\"%s\": missing", here);
		if (ret < 0) {
			return ret;
		}
	}
	return 0;
}
