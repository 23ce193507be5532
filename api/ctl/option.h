// SPDX-License-Identifier: MIT
#pragma once

/*
 * Arguments of a command, read against a table: --name, --name=VALUE, --name VALUE; everything else
 * is a positional argument; "--" ends the options. What is not in the table is refused, with the
 * closest one that is. Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

#define OPTION_MAX 16
#define OPTION_POSITIONALS 8

struct option_row {
	const char *name; /* without dashes; NULL ends a table */
	const char *value; /* what it is called in the help: "PATH"; NULL: a switch */
	const char *help; /* one sentence */
};

/* Strings are borrowed from argv. */
struct option_values {
	size_t count;
	struct {
		const struct option_row *row;
		const char *value; /* "" for a switch */
	} items[OPTION_MAX];
	size_t positional_count;
	const char *positionals[OPTION_POSITIONALS];
};

/*
 * Adds to *values what argv[0..argc) says, by the rows of up to two tables (either may be NULL).
 * only_first: stops behind the first positional argument. How many were used, or -EINVAL with err.
 */
int option_parse(const struct option_row *table, const struct option_row *more, int argc,
		 const char *const *argv, bool only_first, struct option_values *values,
		 struct error *err);

/* The value of an option, "" for a switch, NULL when it was not given. */
const char *option_get(const struct option_values *values, const char *name);
