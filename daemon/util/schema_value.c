// SPDX-License-Identifier: MIT
#include "util/schema_value.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/units.h"

static const struct {
	const char *hint;
	const char *(*parse)(const char *token, uint64_t *ret);
	const char *(*write)(uint64_t value, char *buf);
} types[] = {
	[SCHEMA_BOOL] = { "true or false", NULL, NULL },
	[SCHEMA_INTEGER] = { "a whole number", units_parse_integer, NULL },
	[SCHEMA_HEX] = { "a number such as 0x1f or 31", units_parse_hex, NULL },
	[SCHEMA_SIZE] = { "a size such as 64KiB", units_parse_size, units_write_size },
	[SCHEMA_DURATION] = { "a duration such as 10s", units_parse_duration,
			      units_write_duration },
	[SCHEMA_RATE] = { "a bit rate such as 10Gbps", units_parse_rate, units_write_rate },
	[SCHEMA_OPS_RATE] = { "an operation rate such as 200k/s", units_parse_ops_rate,
			      units_write_ops_rate },
	[SCHEMA_RATIO] = { "a ratio such as 90%", units_parse_ratio, units_write_ratio },
	[SCHEMA_ENUM] = { "a word", NULL, NULL },
	[SCHEMA_FLAGS] = { "a list of words", NULL, NULL },
	[SCHEMA_NAME] = { "a name", NULL, NULL },
	[SCHEMA_STRING] = { "text", NULL, NULL },
	[SCHEMA_STRINGS] = { "a list of texts", NULL, NULL },
	[SCHEMA_MAP] = { "a map", NULL, NULL },
	[SCHEMA_LIST] = { "a list of maps", NULL, NULL },
	[SCHEMA_CUSTOM] = { "a value", NULL, NULL },
	[SCHEMA_LATER] = { "nothing", NULL, NULL },
};

bool schema_value_is_number(enum schema_type type)
{
	return types[type].parse != NULL;
}

bool schema_value_is_scalar(enum schema_type type)
{
	return schema_value_is_number(type) || type == SCHEMA_BOOL || type == SCHEMA_ENUM ||
	       type == SCHEMA_NAME || type == SCHEMA_STRING;
}

const char *schema_value_hint(enum schema_type type)
{
	return types[type].hint;
}

const char *schema_value_write(const struct schema_field *field, uint64_t value, char *buf)
{
	if (types[field->type].write) {
		return types[field->type].write(value, buf);
	}
	snprintf(buf, UNITS_SIZE, field->type == SCHEMA_HEX ? "0x%" PRIx64 : "%" PRIu64, value);
	return buf;
}

bool schema_value_check_range(const struct schema_field *field, uint64_t value, const char *quoted,
			      struct text *why)
{
	bool is_limited = field->min || field->max;
	uint64_t min = field->min;
	/* JSON carries no more, and SCHEMA_AUTO lies above. */
	uint64_t max = is_limited && field->max < INT64_MAX ? field->max : INT64_MAX;
	char low[UNITS_SIZE];
	char high[UNITS_SIZE];

	if (value >= min && value <= max) {
		return true;
	}
	schema_value_write(field, min, low);
	schema_value_write(field, max, high);
	if (value < min) {
		text_format(why, "%s is below %s", quoted, low);
	} else {
		text_format(why, "%s is above %s", quoted, high);
	}
	if (is_limited && max < INT64_MAX) {
		text_format(why, " (allowed: %s to %s%s)", low, high,
			    field->has_auto	 ? ", auto"
			    : field->is_optional ? "; or leave it out"
						 : "");
	}
	return false;
}

bool schema_value_check_string(const struct schema_field *field, const char *string,
			       struct text *why)
{
	char quoted[TEXT_QUOTED_SIZE];
	size_t length = strlen(string);

	text_quote(quoted, string);
	if (field->type == SCHEMA_NAME && !text_is_name(string)) {
		text_format(
			why,
			"\"%s\" is not a name: 1 to 63 of a-z 0-9 . _ - beginning with a letter or digit",
			quoted);
		return false;
	}
	if (length >= field->size) {
		text_format(why, "\"%s\" has %zu bytes; at most %zu", quoted, length,
			    field->size - 1);
		return false;
	}
	for (const char *c = string; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f ||
		    (*c == '\xc2' && (unsigned char)c[1] < 0xa0)) {
			text_format(
				why,
				"\"%s\" holds a control character; write one line of plain text",
				quoted);
			return false;
		}
	}
	return true;
}

int schema_value_index(const char *const *names, const char *word)
{
	for (int i = 0; names[i]; i++) {
		if (strcmp(names[i], word) == 0) {
			return i;
		}
	}
	return -1;
}

void schema_value_explain_choice(const char *const *names, const char *word, struct text *why)
{
	char quoted[TEXT_QUOTED_SIZE];
	const char *closest;
	size_t count = 0;

	text_format(why, "\"%s\" is not one of ", text_quote(quoted, word));
	for (; names[count]; count++) {
		text_format(why, "%s%s", count ? ", " : "", names[count]);
	}
	closest = text_closest(word, names, count);
	if (closest) {
		text_format(why, "; did you mean \"%s\"?", closest);
	}
}

static bool parse_number(const struct schema_field *field, const char *written, bool is_quoted,
			 void *member, struct text *why)
{
	char quoted[TEXT_QUOTED_SIZE + 2];
	char word[TEXT_QUOTED_SIZE];
	const char *reason;
	uint64_t value;

	if (field->has_auto && !is_quoted && strcmp(written, "auto") == 0) {
		*(uint64_t *)member = SCHEMA_AUTO;
		return true;
	}
	text_quote(word, written);
	reason = types[field->type].parse(written, &value);
	if (reason) {
		text_format(why, "\"%s\" %s", word, reason);
		/* A reason with a semicolon says what to write. */
		if (!strchr(reason, ';')) {
			text_format(why, "; expected %s%s", schema_value_hint(field->type),
				    field->has_auto ? " or auto" : "");
		}
		return false;
	}
	snprintf(quoted, sizeof(quoted), field->type == SCHEMA_INTEGER ? "%s" : "\"%s\"", word);
	if (!schema_value_check_range(field, value, quoted, why)) {
		return false;
	}
	*(uint64_t *)member = value;
	return true;
}

static bool parse_bool(const char *written, bool is_quoted, bool *member, struct text *why)
{
	bool is_true = strcmp(written, "true") == 0;
	char quoted[TEXT_QUOTED_SIZE];

	text_quote(quoted, written);
	if (!is_true && strcmp(written, "false") != 0) {
		text_format(why, "\"%s\" is not true or false", quoted);
		return false;
	}
	if (is_quoted) {
		text_format(why, "\"%s\" is in quotes; write %s without them", quoted, quoted);
		return false;
	}
	*member = is_true;
	return true;
}

static bool parse_flag(const struct schema_field *field, const char *written, uint64_t *member,
		       struct text *why)
{
	int index = schema_value_index(field->names, written);

	if (index < 0) {
		schema_value_explain_choice(field->names, written, why);
		return false;
	}
	if (*member & 1ull << index) {
		text_format(why, "\"%s\" is given twice", written);
		return false;
	}
	*member |= 1ull << index;
	return true;
}

bool schema_value_parse(const struct schema_field *field, const char *written, bool is_quoted,
			void *member, struct text *why)
{
	int index;

	switch (field->type) {
	case SCHEMA_BOOL:
		return parse_bool(written, is_quoted, member, why);
	case SCHEMA_ENUM:
		index = schema_value_index(field->names, written);
		if (index < 0) {
			schema_value_explain_choice(field->names, written, why);
			return false;
		}
		*(int *)member = index;
		return true;
	case SCHEMA_FLAGS:
		return parse_flag(field, written, member, why);
	case SCHEMA_NAME:
	case SCHEMA_STRING:
	case SCHEMA_STRINGS:
		if (!schema_value_check_string(field, written, why)) {
			return false;
		}
		memset(member, 0, field->size);
		memcpy(member, written, strlen(written));
		return true;
	default:
		assert(schema_value_is_number(field->type));
		return parse_number(field, written, is_quoted, member, why);
	}
}
