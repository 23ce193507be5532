// SPDX-License-Identifier: MIT
#include "util/schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/schema_value.h"

static void *member_of(const struct schema_field *field, void *object)
{
	return (char *)object + field->offset;
}

static size_t *count_of(const struct schema_field *field, void *object)
{
	return (size_t *)((char *)object + field->count_offset);
}

/* A fallback is ours: that it parses is a matter of the table, not of input. */
static void apply_fallback(const struct schema_field *field, const char *word, void *member)
{
	_cleanup_text_ struct text why = TEXT_INIT;
	bool is_fine = schema_value_parse(field, word, false, member, &why);

	assert(is_fine);
	(void)is_fine;
}

/* "[a, b]" or "a, b" or "a". */
static void apply_list_fallback(const struct schema_field *field, void *object)
{
	_cleanup_free_ char *copy = memory_copy_string(field->fallback);
	char *rest = NULL;
	size_t count = 0;

	for (char *word = strtok_r(copy, "[], ", &rest); word;
	     word = strtok_r(NULL, "[], ", &rest)) {
		if (field->type == SCHEMA_FLAGS) {
			apply_fallback(field, word, member_of(field, object));
		} else {
			assert(count < field->max_items);
			apply_fallback(field, word,
				       (char *)member_of(field, object) + count * field->size);
			*count_of(field, object) = ++count;
		}
	}
}

static void apply_custom_fallback(const struct schema_field *field, void *member)
{
	_cleanup_free_ char *written = memory_copy_string(field->fallback);
	struct document_node node = { .kind = DOCUMENT_SCALAR,
				      .line = 1,
				      .column = 1,
				      .scalar = written,
				      .has_value = true };
	struct problems problems;
	struct schema_context context = { .path = "default", .problems = &problems };

	problems_init(&problems);
	field->parse(&node, field, field->key, member, &context);
	assert(problems.errors == 0);
	problems_done(&problems);
}

static void default_field(const struct schema_field *field, void *object)
{
	void *member = member_of(field, object);

	switch (field->type) {
	case SCHEMA_MAP:
		schema_defaults(field->fields, member);
		break;
	case SCHEMA_LIST:
		memset(member, 0, field->max_items * field->item_size);
		*count_of(field, object) = 0;
		break;
	case SCHEMA_STRINGS:
		memset(member, 0, field->max_items * field->size);
		*count_of(field, object) = 0;
		if (field->fallback) {
			apply_list_fallback(field, object);
		}
		break;
	case SCHEMA_FLAGS:
		*(uint64_t *)member = 0;
		if (field->fallback) {
			apply_list_fallback(field, object);
		}
		break;
	case SCHEMA_CUSTOM:
		memset(member, 0, field->size);
		if (field->fallback && field->parse) {
			apply_custom_fallback(field, member);
		}
		break;
	case SCHEMA_LATER:
		break;
	case SCHEMA_BOOL:
		*(bool *)member = false;
		break;
	case SCHEMA_ENUM:
		*(int *)member = 0;
		break;
	case SCHEMA_NAME:
	case SCHEMA_STRING:
		memset(member, 0, field->size);
		break;
	default:
		*(uint64_t *)member = 0;
		break;
	}
	if (schema_value_is_scalar(field->type) && field->fallback) {
		apply_fallback(field, field->fallback, member);
	}
}

void schema_defaults(const struct schema_field *fields, void *object)
{
	for (const struct schema_field *field = fields; field->key; field++) {
		default_field(field, object);
	}
}
