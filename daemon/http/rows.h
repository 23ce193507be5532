// SPDX-License-Identifier: MIT
#pragma once

/*
 * The rows of one table of the page: those first that someone should look at, and no more than a
 * person reads, however large the fleet is. Records of the API. Loop thread.
 */

#include <stddef.h>

#include "util/json.h"

#define ROWS_SHOWN 100

struct rows {
	json_t *bad; /* arrays, NULL: none yet */
	json_t *good;
	size_t total; /* added, kept or not */
};

void rows_done(struct rows *rows);
/* Takes the row. word: of html_mood, its verdict or state. */
void rows_add(struct rows *rows, json_t *row, const char *word);
/* Those that are shown. */
size_t rows_count(const struct rows *rows);
/* Borrowed; index below rows_count. */
const json_t *rows_at(const struct rows *rows, size_t index);
