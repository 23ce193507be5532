// SPDX-License-Identifier: MIT
#include "model/labels.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"

static bool is_value(const char *string)
{
	size_t length = strlen(string);

	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)string[i];

		if (c < 0x21 || c == 0x7f || strchr("*,=!\"", c)) {
			return false;
		}
	}
	return length > 0 && length < LIMIT_NAME && text_is_utf8(string, length);
}

const char *labels_get(const struct labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->count; i++) {
		if (!strcmp(labels->items[i].key, key)) {
			return labels->items[i].value;
		}
	}
	return NULL;
}

/* --- selectors --- */

/* One "key=value" or "key!=value"; `term` is cut in place. */
static const char *parse_term(char *term, struct selector_term *ret)
{
	char *equals = strchr(term, '=');
	bool is_negated;

	if (!equals || equals == term) {
		return "must be \"*\", key=value or key!=value (of one node: name=NODE); a comma between terms means and, a list means or";
	}
	is_negated = equals[-1] == '!';
	equals[is_negated ? -1 : 0] = '\0';
	if (!text_is_name(term)) {
		return "has a key that is no name (a-z, 0-9, '.', '_', '-', at most 63)";
	}
	if (!is_value(equals + 1)) {
		return "has a value that is empty, over 63 bytes, or holds one of * , = ! \" or white space";
	}
	ret->is_negated = is_negated;
	text_copy(ret->label.key, sizeof(ret->label.key), term);
	text_copy(ret->label.value, sizeof(ret->label.value), equals + 1);
	return NULL;
}

/* Cuts white space at both ends, in place. */
static char *trimmed(char *string)
{
	size_t length;

	string += strspn(string, " \t");
	length = strlen(string);
	while (length > 0 && strchr(" \t", string[length - 1])) {
		string[--length] = '\0';
	}
	return string;
}

static const char *parse_terms(char *rest, struct selector_all *all)
{
	char *term;

	while ((term = strsep(&rest, ","))) {
		const char *reason;

		if (all->count == SELECTOR_TERMS) {
			return "has more than 8 terms; use a list of selectors";
		}
		reason = parse_term(trimmed(term), &all->terms[all->count]);
		if (reason) {
			return reason;
		}
		all->count++;
	}
	return NULL;
}

const char *labels_selector_parse(const char *string, struct selector *selector)
{
	struct selector_all all = { 0 };
	char copy[SELECTOR_TERMS * (2 * LIMIT_NAME + 4)];
	const char *reason = NULL;

	if (selector->count == SELECTOR_ALTERNATIVES) {
		return "is one selector too many; a list holds at most 8";
	}
	if (!text_copy(copy, sizeof(copy), string)) {
		return "is too long for a selector";
	}
	if (strcmp(trimmed(copy), "*") != 0) {
		reason = parse_terms(trimmed(copy), &all);
	}
	if (!reason) {
		selector->alternatives[selector->count++] = all;
	}
	return reason;
}

static bool term_matches(const struct selector_term *term, const char *node_name,
			 const struct labels *labels)
{
	const char *value = !strcmp(term->label.key, "name") ? node_name
			    : labels			     ? labels_get(labels, term->label.key)
							     : NULL;
	bool is_equal = value && !strcmp(value, term->label.value);

	return is_equal != term->is_negated;
}

static bool all_match(const struct selector_all *all, const char *node_name,
		      const struct labels *labels)
{
	for (size_t i = 0; i < all->count; i++) {
		if (!term_matches(&all->terms[i], node_name, labels)) {
			return false;
		}
	}
	return true;
}

bool labels_selector_matches(const struct selector *selector, const char *node_name,
			     const struct labels *labels)
{
	for (size_t i = 0; i < selector->count; i++) {
		if (all_match(&selector->alternatives[i], node_name, labels)) {
			return true;
		}
	}
	return selector->count == 0;
}

/* --- schema functions --- */

/* NULL, or why key and value cannot be a label. */
static const char *label_reason(const struct labels *labels, const char *key, const char *value)
{
	if (!text_is_name(key)) {
		return "is no name for a label (a-z, 0-9, '.', '_', '-', at most 63)";
	}
	if (!strcmp(key, "name")) {
		return "is the implicit label with the node's name; choose another key";
	}
	if (!is_value(value)) {
		return "has a value that is empty, over 63 bytes, or holds one of * , = ! \" or white space";
	}
	if (labels_get(labels, key)) {
		return "is there twice";
	}
	return labels->count == LIMIT_LABELS ? "is one label too many; there may be 16" : NULL;
}

static void add_label(struct labels *labels, const char *key, const char *value)
{
	struct label *label = &labels->items[labels->count++];

	text_copy(label->key, sizeof(label->key), key);
	text_copy(label->value, sizeof(label->value), value);
}

void labels_parse(const struct document_node *node, const struct schema_field *field,
		  const char *place, void *member, struct schema_context *context)
{
	struct labels *labels = member;

	if (node->kind != DOCUMENT_MAP) {
		problems_add(context->problems, false, context->path, node->line, node->column,
			     "%s: must be a map of labels, such as {role: compute}", place);
		return;
	}
	for (size_t i = 0; i < node->count; i++) {
		const struct document_node *key = node->keys[i];
		const struct document_node *value = node->values[i];
		const char *reason = value->kind == DOCUMENT_SCALAR
					     ? label_reason(labels, key->scalar, value->scalar)
					     : "must have a plain value";

		if (reason) {
			char shown[TEXT_QUOTED_SIZE];

			text_quote(shown, key->scalar);
			problems_add(context->problems, false, context->path, key->line,
				     key->column, "%s: \"%s\" %s", place, shown, reason);
			continue;
		}
		add_label(labels, key->scalar, value->scalar);
	}
}

json_t *labels_write(const struct schema_field *field, const void *member)
{
	const struct labels *labels = member;
	json_t *object = json_object();

	for (size_t i = 0; i < labels->count; i++) {
		json_set_string(object, labels->items[i].key, labels->items[i].value);
	}
	return object;
}

int labels_read(const struct schema_field *field, const json_t *value, void *member,
		struct error *err)
{
	struct labels *labels = member;
	const char *key;
	json_t *item;

	labels->count = 0;
	if (!json_is_object(value)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "an object of strings is expected");
	}
	json_object_foreach((json_t *)value, key, item) {
		const char *string = json_string_value(item);
		const char *reason = string ? label_reason(labels, key, string)
					    : "must be a string";

		if (reason) {
			char shown[TEXT_QUOTED_SIZE];

			text_quote(shown, key);
			return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\" %s", shown, reason);
		}
		add_label(labels, key, string);
	}
	return 0;
}

static void parse_selector_item(const struct document_node *node, const char *place,
				struct selector *selector, struct schema_context *context)
{
	const char *reason;
	char shown[TEXT_QUOTED_SIZE];

	if (node->kind != DOCUMENT_SCALAR) {
		problems_add(
			context->problems, false, context->path, node->line, node->column,
			"%s: must be a selector such as \"*\" or \"role=compute\", or a list of such",
			place);
		return;
	}
	reason = labels_selector_parse(node->scalar, selector);
	if (reason) {
		text_quote(shown, node->scalar);
		problems_add(context->problems, false, context->path, node->line, node->column,
			     "%s: \"%s\" %s", place, shown, reason);
	}
}

void labels_parse_selector(const struct document_node *node, const struct schema_field *field,
			   const char *place, void *member, struct schema_context *context)
{
	struct selector *selector = member;

	selector->count = 0; /* what is written replaces the default */
	if (node->kind != DOCUMENT_LIST) {
		parse_selector_item(node, place, selector, context);
		return;
	}
	if (node->count == 0) {
		problems_add(context->problems, false, context->path, node->line, node->column,
			     "%s: an empty list selects nothing; write \"*\" for every node",
			     place);
	}
	for (size_t i = 0; i < node->count; i++) {
		char item_place[256];

		snprintf(item_place, sizeof(item_place), "%s[%zu]", place, i);
		parse_selector_item(node->values[i], item_place, selector, context);
	}
}

static void write_alternative(const struct selector_all *all, struct text *out)
{
	text_reset(out);
	for (size_t i = 0; i < all->count; i++) {
		const struct selector_term *term = &all->terms[i];

		text_format(out, "%s%s%s%s", i ? "," : "", term->label.key,
			    term->is_negated ? "!=" : "=", term->label.value);
	}
	if (all->count == 0) {
		text_add(out, "*");
	}
}

json_t *labels_write_selector(const struct schema_field *field, const void *member)
{
	const struct selector *selector = member;
	json_t *array = json_array();
	struct text out = TEXT_INIT;

	if (selector->count == 0) {
		json_array_append_new(array, json_string("*"));
	}
	for (size_t i = 0; i < selector->count; i++) {
		write_alternative(&selector->alternatives[i], &out);
		json_array_append_new(array, json_string(out.data));
	}
	text_done(&out);
	return array;
}

int labels_read_selector(const struct schema_field *field, const json_t *value, void *member,
			 struct error *err)
{
	struct selector *selector = member;

	selector->count = 0;
	if (!json_is_array(value) || json_array_size(value) == 0) {
		return error_set(err, -EINVAL, ERROR_INPUT, "a list of selectors is expected");
	}
	for (size_t i = 0; i < json_array_size(value); i++) {
		const char *string = json_string_value(json_array_get(value, i));
		const char *reason = string ? labels_selector_parse(string, selector)
					    : "must be a string";

		if (reason) {
			char shown[TEXT_QUOTED_SIZE];

			text_quote(shown, string ? string : "");
			return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\" %s", shown, reason);
		}
	}
	return 0;
}
