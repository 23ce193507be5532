// SPDX-License-Identifier: MIT
#include "util/document.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* Beyond these only the counts go on: a hostile file has a problem in each of its nodes. */
#define MAX_KEPT 1000u

void problems_init(struct problems *problems)
{
	list_init(&problems->list);
	problems->errors = 0;
	problems->warnings = 0;
}

void problems_done(struct problems *problems)
{
	struct problem *problem;

	list_each(problem, &problems->list, link) {
		list_remove(&problem->link);
		free(problem->path);
		free(problem->text);
		free(problem);
	}
	problems_init(problems);
}

static char *escaped_copy(const char *source)
{
	size_t size = 4 * strlen(source) + 1; /* each byte as \xNN at worst */
	char *escaped = memory_new(size);

	text_escape(escaped, size, source);
	return escaped;
}

void problems_add(struct problems *problems, bool is_warning, const char *path, unsigned line,
		  unsigned column, const char *format, ...)
{
	_cleanup_text_ struct text raw = TEXT_INIT;
	struct problem *problem;
	va_list arguments;

	if (is_warning) {
		problems->warnings++;
	} else {
		problems->errors++;
	}
	if (problems->errors + problems->warnings > MAX_KEPT) {
		return;
	}
	va_start(arguments, format);
	text_format_list(&raw, format, arguments);
	va_end(arguments);
	problem = memory_new(sizeof(*problem));
	problem->path = escaped_copy(path);
	problem->line = line;
	problem->column = column;
	problem->is_warning = is_warning;
	problem->text = escaped_copy(raw.data);
	list_append(&problems->list, &problem->link);
}

/*
 * A problem and what it is sorted by: the file's turn, the place, and at last the order of arrival.
 */
struct sorted {
	const struct problem *problem;
	size_t file;
	size_t arrival;
};

static int compare_numbers(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_sorted(const void *left, const void *right)
{
	const struct sorted *a = left;
	const struct sorted *b = right;
	int order = compare_numbers(a->file, b->file);

	if (order == 0) {
		order = compare_numbers(a->problem->line, b->problem->line);
	}
	if (order == 0) {
		order = compare_numbers(a->problem->column, b->problem->column);
	}
	return order ? order : compare_numbers(a->arrival, b->arrival);
}

/* The arrival of the first problem of the same file stands for the file. */
static size_t file_of(const struct sorted *sorted, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(sorted[i].problem->path, path) == 0) {
			return sorted[i].file;
		}
	}
	return count;
}

static void print_one(const struct problem *problem, struct text *out)
{
	text_add(out, problem->path);
	if (problem->line > 0) {
		text_format(out, ":%u:%u", problem->line, problem->column);
	}
	text_format(out, ": %s: %s\n", problem->is_warning ? "warning" : "error", problem->text);
}

static void print(struct problems *problems, bool has_errors, bool has_warnings, unsigned max,
		  struct text *out)
{
	unsigned total =
		(has_errors ? problems->errors : 0) + (has_warnings ? problems->warnings : 0);
	struct sorted *sorted = memory_new_array(MAX_KEPT, sizeof(*sorted));
	struct problem *problem;
	size_t count = 0;
	size_t printed;

	list_each(problem, &problems->list, link) {
		if (problem->is_warning ? !has_warnings : !has_errors) {
			continue;
		}
		sorted[count].problem = problem;
		sorted[count].file = file_of(sorted, count, problem->path);
		sorted[count].arrival = count;
		count++;
	}
	qsort(sorted, count, sizeof(*sorted), compare_sorted);
	printed = count < max ? count : max;
	for (size_t i = 0; i < printed; i++) {
		print_one(sorted[i].problem, out);
	}
	if (printed < total) {
		text_format(out, "... and %zu more\n", total - printed);
	}
	free(sorted);
}

void problems_print(struct problems *problems, unsigned max, struct text *out)
{
	print(problems, true, true, max, out);
}

void problems_print_errors(struct problems *problems, unsigned max, struct text *out)
{
	print(problems, true, false, max, out);
}

void problems_print_warnings(struct problems *problems, unsigned max, struct text *out)
{
	print(problems, false, true, max, out);
}
