// SPDX-License-Identifier: MIT
#include "util/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/schema_json.h"
#include "util/schema_place.h"
#include "util/schema_reference.h"
#include "util/schema_value.h"

#define NAMED_KEYS 4 /* of a map, to who did not write one */

/* What stays the same on the way down a file. */
struct walk {
	const struct schema_field *root;
	struct schema_context *context;
};

static void *member_of(const struct schema_field *field, void *object)
{
	return (char *)object + field->offset;
}

static size_t *count_of(const struct schema_field *field, void *object)
{
	return (size_t *)((char *)object + field->count_offset);
}

__attribute__((format(printf, 4, 5))) static void complain(struct schema_context *context,
							   const struct document_node *node,
							   const char *place, const char *format,
							   ...)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	va_list arguments;

	va_start(arguments, format);
	text_format_list(&text, format, arguments);
	va_end(arguments);
	problems_add(context->problems, false, context->path, node->line, node->column, "%s%s%s",
		     place, *place ? ": " : "", text.data);
}

/* A short word for what stands in the file instead. */
static void describe_node(const struct document_node *node, struct text *out)
{
	char quoted[TEXT_QUOTED_SIZE];

	switch (node->kind) {
	case DOCUMENT_MAP:
		text_add(out, "a map");
		break;
	case DOCUMENT_LIST:
		text_add(out, "a list");
		break;
	case DOCUMENT_SCALAR:
		text_format(out, "\"%s\"", text_quote(quoted, node->scalar));
		break;
	}
}

/* The keys that may be written here: the later ones may not, nor those of JSON alone. */
static bool is_written(const struct schema_field *field)
{
	return field->type != SCHEMA_LATER && (field->type != SCHEMA_CUSTOM || field->parse);
}

/* "a map", and what would be in it: whoever wrote one value seldom knows. */
static void describe_map(const struct schema_field *fields, struct text *out)
{
	size_t count = 0;

	text_add(out, schema_value_hint(SCHEMA_MAP));
	for (; fields && fields->key; fields++) {
		if (is_written(fields) && count++ < NAMED_KEYS) {
			text_format(out, "%s%s", count == 1 ? " with keys such as " : ", ",
				    fields->key);
		}
	}
}

/* Whether the node can be looked into at all; says so if not. */
static bool check_kind(const struct document_node *node, const char *place, enum document_kind kind,
		       const char *wanted, struct schema_context *context)
{
	_cleanup_text_ struct text found = TEXT_INIT;

	if (node->is_reported) {
		return false;
	}
	if (node->kind == DOCUMENT_SCALAR && !node->has_value) {
		complain(context, node, place, "has no value; expected %s", wanted);
		return false;
	}
	if (node->kind != kind) {
		describe_node(node, &found);
		complain(context, node, place, "expected %s, found %s", wanted, found.data);
		return false;
	}
	return true;
}

bool schema_parse_scalar(const struct schema_field *field, const struct document_node *node,
			 const char *place, void *member, struct schema_context *context)
{
	_cleanup_text_ struct text why = TEXT_INIT;

	if (!check_kind(node, place, DOCUMENT_SCALAR, schema_value_hint(field->type), context)) {
		return false;
	}
	if (!schema_value_parse(field, node->scalar, node->is_quoted, member, &why)) {
		complain(context, node, place, "%s", why.data);
		return false;
	}
	return true;
}

static bool check_count(const struct schema_field *field, const struct document_node *node,
			const char *place, struct schema_context *context)
{
	if (field->type != SCHEMA_FLAGS && node->count > field->max_items) {
		complain(context, node, place, "has %zu items; at most %zu", node->count,
			 field->max_items);
		return false;
	}
	if (node->count < field->min_items) {
		complain(context, node, place, "has %zu items; at least %zu", node->count,
			 field->min_items);
		return false;
	}
	return true;
}

static bool parse_map(const struct schema_field *fields, const struct document_node *map,
		      const char *place, void *object, const struct walk *walk);

static void parse_maps(const struct schema_field *field, const struct document_node *node,
		       const char *place, void *object, const struct walk *walk)
{
	size_t count = node->count < field->max_items ? node->count : field->max_items;

	for (size_t i = 0; i < count; i++) {
		void *item = (char *)member_of(field, object) + i * field->item_size;
		char here[SCHEMA_PLACE_SIZE];

		schema_place_item(here, place, i);
		memset(item, 0, field->item_size);
		schema_defaults(field->fields, item);
		parse_map(field->fields, node->values[i], here, item, walk);
	}
	*count_of(field, object) = count;
}

/* FLAGS and STRINGS. What is written replaces the default whole. */
static void parse_words(const struct schema_field *field, const struct document_node *node,
			const char *place, void *object, const struct walk *walk)
{
	char *member = member_of(field, object);
	bool is_flags = field->type == SCHEMA_FLAGS;
	size_t count = is_flags || node->count < field->max_items ? node->count : field->max_items;

	memset(member, 0, is_flags ? sizeof(uint64_t) : field->max_items * field->size);
	for (size_t i = 0; i < count; i++) {
		char here[SCHEMA_PLACE_SIZE];

		schema_place_item(here, place, i);
		schema_parse_scalar(field, node->values[i], here,
				    is_flags ? member : member + i * field->size, walk->context);
	}
	if (!is_flags) {
		*count_of(field, object) = count;
	}
}

static void parse_value(const struct schema_field *field, const struct document_node *node,
			const char *place, void *object, const struct walk *walk)
{
	void *member = member_of(field, object);

	switch (field->type) {
	case SCHEMA_MAP:
		parse_map(field->fields, node, place, member, walk);
		break;
	case SCHEMA_LIST:
	case SCHEMA_FLAGS:
	case SCHEMA_STRINGS:
		if (!check_kind(node, place, DOCUMENT_LIST, schema_value_hint(field->type),
				walk->context)) {
			break;
		}
		check_count(field, node, place, walk->context);
		if (field->type == SCHEMA_LIST) {
			parse_maps(field, node, place, object, walk);
		} else {
			parse_words(field, node, place, object, walk);
		}
		break;
	case SCHEMA_CUSTOM:
		if (node->kind == DOCUMENT_SCALAR && !node->has_value && !node->is_reported) {
			complain(walk->context, node, place, "has no value");
		} else if (!node->is_reported) {
			field->parse(node, field, place, member, walk->context);
		}
		break;
	default:
		schema_parse_scalar(field, node, place, member, walk->context);
		break;
	}
}

/* The path of the first other map below `fields` that has the key; false if none has. */
static bool find_elsewhere(const struct schema_field *fields, const struct schema_field *current,
			   const char *key, const char *path, char *ret_path)
{
	for (const struct schema_field *field = fields; field->key && fields != current; field++) {
		if (strcmp(field->key, key) == 0) {
			snprintf(ret_path, SCHEMA_PLACE_SIZE, "%s", path);
			return true;
		}
	}
	for (const struct schema_field *field = fields; field->key; field++) {
		char below[SCHEMA_PLACE_SIZE];

		if (field->fields) {
			schema_place_key(below, path, field->key);
			if (find_elsewhere(field->fields, current, key, below, ret_path)) {
				return true;
			}
		}
	}
	return false;
}

static void complain_unknown(const struct schema_field *fields, const struct document_node *key,
			     const char *place, const struct walk *walk)
{
	_cleanup_text_ struct text hint = TEXT_INIT;
	char quoted[TEXT_QUOTED_SIZE];
	char path[SCHEMA_PLACE_SIZE] = "";
	const char **keys;
	const char *closest;
	size_t count = 0;

	while (fields[count].key) {
		count++;
	}
	keys = memory_new_array(count, sizeof(*keys));
	for (size_t i = 0; i < count; i++) {
		keys[i] = is_written(&fields[i]) ? fields[i].key : NULL;
	}
	closest = text_closest(key->scalar, keys, count);
	if (walk->root && find_elsewhere(walk->root, fields, key->scalar, "", path)) {
		text_format(&hint, *path ? "it belongs under \"%s\"" : "it belongs beside \"%s\"",
			    *path ? path : walk->root->key);
	} else if (closest) {
		text_format(&hint, "did you mean \"%s\"?", closest);
	} else {
		text_add(&hint, "known here:");
		for (size_t i = 0; i < count; i++) {
			if (keys[i]) {
				text_format(&hint, "%s %s",
					    hint.data[hint.length - 1] == ':' ? "" : ",", keys[i]);
			}
		}
	}
	free(keys);
	complain(walk->context, key, place, "unknown key \"%s\"; %s",
		 text_quote(quoted, key->scalar), hint.data);
}

static const struct schema_field *find_field(const struct schema_field *fields, const char *key)
{
	for (; fields->key; fields++) {
		if (strcmp(fields->key, key) == 0) {
			return fields->type == SCHEMA_LATER || is_written(fields) ? fields : NULL;
		}
	}
	return NULL;
}

static bool parse_map(const struct schema_field *fields, const struct document_node *map,
		      const char *place, void *object, const struct walk *walk)
{
	unsigned errors_before = walk->context->problems->errors;
	_cleanup_text_ struct text wanted = TEXT_INIT;

	describe_map(fields, &wanted);
	if (!check_kind(map, place, DOCUMENT_MAP, wanted.data, walk->context)) {
		return false;
	}
	for (size_t i = 0; i < map->count; i++) {
		const struct document_node *key = map->keys[i];
		const struct schema_field *field = find_field(fields, key->scalar);
		char here[SCHEMA_PLACE_SIZE];

		if (key->is_reported) {
			continue;
		}
		if (!field) {
			complain_unknown(fields, key, place, walk);
			continue;
		}
		schema_place_key(here, place, field->key);
		if (field->type == SCHEMA_LATER) {
			complain(walk->context, key, here, "is not in this version; %s",
				 field->doc);
			continue;
		}
		parse_value(field, map->values[i], here, object, walk);
	}
	for (const struct schema_field *field = fields; field->key; field++) {
		if (field->is_required && !document_get(map, field->key)) {
			complain(walk->context, map, place, "missing required key \"%s\"%s%s",
				 field->key, field->example ? ", such as " : "",
				 field->example ? field->example : "");
		}
	}
	return walk->context->problems->errors == errors_before;
}

bool schema_parse(const struct schema_field *fields, const struct document_node *map,
		  const char *place, void *object, const struct schema_field *root,
		  struct schema_context *context)
{
	struct walk walk = { .root = root, .context = context };

	schema_defaults(fields, object);
	return parse_map(fields, map, place, object, &walk);
}

json_t *schema_write(const struct schema_field *fields, const void *object)
{
	return schema_json_write(fields, object);
}

int schema_read(const struct schema_field *fields, const json_t *json, void *object,
		struct error *err)
{
	schema_defaults(fields, object);
	return schema_json_read(fields, json, "", object, err);
}

void schema_print_reference(const struct schema_field *fields, const char *title, struct text *out)
{
	schema_reference_print(fields, title, out);
}
