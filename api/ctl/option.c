// SPDX-License-Identifier: MIT
#include "ctl/option.h"

#include <errno.h>
#include <string.h>

#include "util/memory.h"
#include "util/text.h"

static const struct option_row *find_in(const struct option_row *table, const char *name,
					size_t length)
{
	for (; table != NULL && table->name != NULL; table++) {
		if (strlen(table->name) == length && strncmp(table->name, name, length) == 0) {
			return table;
		}
	}
	return NULL;
}

static size_t list_names(const struct option_row *table, const char **names, size_t count)
{
	for (; table != NULL && table->name != NULL && count < 2 * OPTION_MAX; table++) {
		names[count++] = table->name;
	}
	return count;
}

static int refuse_unknown(const struct option_row *table, const struct option_row *more,
			  const char *argument, size_t length, const char *name, struct error *err)
{
	const char *names[2 * OPTION_MAX];
	size_t count = list_names(more, names, list_names(table, names, 0));
	const char *closest = text_closest(name, names, count);
	_cleanup_text_ struct text given = TEXT_INIT; /* without its value */
	char quoted[TEXT_QUOTED_SIZE];

	text_add_bytes(&given, argument, length);
	return error_set(err, -EINVAL, ERROR_INPUT, "unknown option \"%s\"%s%s%s",
			 text_quote(quoted, given.data), closest ? "; did you mean --" : "",
			 closest ? closest : "", closest ? "?" : "");
}

/* One "--name" or "--name=VALUE"; how many arguments it took. */
static int parse_one(const struct option_row *table, const struct option_row *more, int argc,
		     const char *const *argv, struct option_values *values, struct error *err)
{
	const char *name = argv[0] + 2;
	size_t length = strcspn(name, "=");
	const char *value = name[length] == '=' ? name + length + 1 : NULL;
	const struct option_row *row = find_in(table, name, length);
	char plain[64];
	int used = 1;

	row = row != NULL ? row : find_in(more, name, length);
	if (row == NULL) {
		text_copy(plain, length + 1 < sizeof(plain) ? length + 1 : sizeof(plain), name);
		return refuse_unknown(table, more, argv[0], length + 2, plain, err);
	}
	if (row->value == NULL && value != NULL) {
		return error_set(err, -EINVAL, ERROR_INPUT, "--%s takes no value", row->name);
	}
	if (row->value != NULL && value == NULL) {
		if (argc < 2) {
			return error_set(err, -EINVAL, ERROR_INPUT, "--%s needs a value: --%s=%s",
					 row->name, row->name, row->value);
		}
		value = argv[1];
		used = 2;
	}
	if (option_get(values, row->name) != NULL) {
		return error_set(err, -EINVAL, ERROR_INPUT, "--%s is given twice", row->name);
	}
	if (values->count == OPTION_MAX) {
		return error_set(err, -EINVAL, ERROR_INPUT, "more than %d options", OPTION_MAX);
	}
	values->items[values->count].row = row;
	values->items[values->count++].value = value != NULL ? value : "";
	return used;
}

static int add_positional(struct option_values *values, const char *argument, struct error *err)
{
	if (values->positional_count == OPTION_POSITIONALS) {
		return error_set(err, -EINVAL, ERROR_INPUT, "more than %d arguments",
				 OPTION_POSITIONALS);
	}
	values->positionals[values->positional_count++] = argument;
	return 1;
}

int option_parse(const struct option_row *table, const struct option_row *more, int argc,
		 const char *const *argv, bool only_first, struct option_values *values,
		 struct error *err)
{
	bool is_over = false;
	int at = 0;

	while (at < argc) {
		const char *argument = argv[at];
		int used;

		if (!is_over && strcmp(argument, "--") == 0) {
			is_over = true;
			at++;
			continue;
		}
		if (!is_over && strcmp(argument, "-h") == 0) {
			const char *const one[] = { "--help" };

			used = parse_one(table, more, 1, one, values, err);
		} else if (!is_over && text_starts_with(argument, "--")) {
			used = parse_one(table, more, argc - at, argv + at, values, err);
		} else if (!is_over && argument[0] == '-' && argument[1] != '\0') {
			used = refuse_unknown(table, more, argument, strlen(argument), argument + 1,
					      err);
		} else {
			used = add_positional(values, argument, err);
			if (used > 0 && only_first) {
				return at + used;
			}
		}
		if (used < 0) {
			return used;
		}
		at += used;
	}
	return at;
}

const char *option_get(const struct option_values *values, const char *name)
{
	for (size_t i = 0; i < values->count; i++) {
		if (strcmp(values->items[i].row->name, name) == 0) {
			return values->items[i].value;
		}
	}
	return NULL;
}
