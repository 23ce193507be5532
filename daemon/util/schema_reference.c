// SPDX-License-Identifier: MIT
#include "util/schema_reference.h"

#include <stdio.h>
#include <string.h>

#include "util/schema_value.h"
#include "util/units.h"

#define PATH_SIZE 256

static const char *const type_words[] = {
	[SCHEMA_BOOL] = "true or false",
	[SCHEMA_INTEGER] = "integer",
	[SCHEMA_HEX] = "hexadecimal or integer",
	[SCHEMA_SIZE] = "size",
	[SCHEMA_DURATION] = "duration",
	[SCHEMA_RATE] = "bit rate",
	[SCHEMA_OPS_RATE] = "operation rate",
	[SCHEMA_RATIO] = "ratio",
	[SCHEMA_ENUM] = "one of",
	[SCHEMA_FLAGS] = "list of",
	[SCHEMA_NAME] = "name",
	[SCHEMA_STRING] = "text",
	[SCHEMA_STRINGS] = "list of texts",
	[SCHEMA_MAP] = "map, below",
	[SCHEMA_LIST] = "list of maps, below",
	[SCHEMA_CUSTOM] = "see meaning",
	[SCHEMA_LATER] = "not in this version",
};

/* A bar would end the table's cell. */
static void print_cell(const char *string, struct text *out)
{
	for (const char *c = string; *c; c++) {
		if (*c == '|') {
			text_add(out, "\\");
		}
		text_add_bytes(out, c, 1);
	}
}

static void print_number_limits(const struct schema_field *field, struct text *out)
{
	char low[UNITS_SIZE];
	char high[UNITS_SIZE];

	if (field->min || field->max) {
		schema_value_write(field, field->min, low);
		schema_value_write(field, field->max, high);
		if (field->max < INT64_MAX) {
			text_format(out, ", %s to %s", low, high);
		} else {
			text_format(out, ", at least %s", low);
		}
	}
	if (field->has_auto) {
		text_add(out, ", or `auto`");
	}
}

static void print_type(const struct schema_field *field, struct text *out)
{
	text_add(out, type_words[field->type]);
	switch (field->type) {
	case SCHEMA_ENUM:
	case SCHEMA_FLAGS:
		for (unsigned i = 0; field->names[i]; i++) {
			text_format(out, "%s `%s`", i ? "," : "", field->names[i]);
		}
		break;
	case SCHEMA_STRING:
		text_format(out, ", at most %zu bytes", field->size - 1);
		break;
	case SCHEMA_STRINGS:
	case SCHEMA_LIST:
		text_format(out, ", %zu to %zu", field->min_items, field->max_items);
		break;
	default:
		if (schema_value_is_number(field->type)) {
			print_number_limits(field, out);
		}
		break;
	}
}

static void print_default(const struct schema_field *field, struct text *out)
{
	char buf[UNITS_SIZE];

	if (field->is_required) {
		text_add(out, "required");
	} else if (field->type == SCHEMA_LATER || field->type == SCHEMA_MAP ||
		   field->type == SCHEMA_LIST) {
		text_add(out, "-");
	} else if (field->fallback) {
		text_format(out, "`%s`", field->fallback);
	} else if (field->is_optional) {
		text_add(out, "none");
	} else if (field->type == SCHEMA_BOOL) {
		text_add(out, "`false`");
	} else if (field->type == SCHEMA_ENUM) {
		text_format(out, "`%s`", field->names[0]);
	} else if (schema_value_is_number(field->type)) {
		text_format(out, "`%s`", schema_value_write(field, 0, buf));
	} else {
		text_add(out, "none");
	}
}

static void print_table(const struct schema_field *fields, struct text *out)
{
	text_add(out, "| key | value | default | meaning |\n|---|---|---|---|\n");
	for (const struct schema_field *field = fields; field->key; field++) {
		if (field->type == SCHEMA_CUSTOM && !field->parse) {
			continue;
		}
		text_format(out, "| `%s` | ", field->key);
		print_type(field, out);
		text_add(out, " | ");
		print_default(field, out);
		text_add(out, " | ");
		print_cell(field->doc ? field->doc : "", out);
		text_add(out, " |\n");
	}
}

static void print_nested(const struct schema_field *fields, const char *path, struct text *out)
{
	for (const struct schema_field *field = fields; field->key; field++) {
		char below[PATH_SIZE];

		if (!field->fields) {
			continue;
		}
		snprintf(below, sizeof(below), "%s%s%s%s", path, *path ? "." : "", field->key,
			 field->type == SCHEMA_LIST ? "[]" : "");
		text_format(out, "\n### `%s`\n\n", below);
		print_table(field->fields, out);
		print_nested(field->fields, below, out);
	}
}

void schema_reference_print(const struct schema_field *fields, const char *title, struct text *out)
{
	text_format(out, "## %s\n\n", title);
	print_table(fields, out);
	print_nested(fields, "", out);
}
