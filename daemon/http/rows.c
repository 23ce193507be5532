// SPDX-License-Identifier: MIT
#include "http/rows.h"

#include <string.h>

#include "http/html.h"
#include "util/memory.h"

void rows_done(struct rows *rows)
{
	json_decref(take(rows->bad));
	json_decref(take(rows->good));
	rows->total = 0;
}

void rows_add(struct rows *rows, json_t *row, const char *word)
{
	const char *mood = html_mood(word);
	bool is_bad = strcmp(mood, "bad") == 0 || strcmp(mood, "warn") == 0;
	json_t **kept = is_bad ? &rows->bad : &rows->good;

	rows->total++;
	if (json_array_size(*kept) == ROWS_SHOWN) {
		json_decref(row);
		return;
	}
	if (!*kept) {
		*kept = json_array();
	}
	json_array_append_new(*kept, row);
}

size_t rows_count(const struct rows *rows)
{
	size_t kept = json_array_size(rows->bad) + json_array_size(rows->good);

	return kept < ROWS_SHOWN ? kept : ROWS_SHOWN;
}

const json_t *rows_at(const struct rows *rows, size_t index)
{
	size_t bad = json_array_size(rows->bad);

	return index < bad ? json_array_get(rows->bad, index)
			   : json_array_get(rows->good, index - bad);
}
