// SPDX-License-Identifier: MIT
#include "fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/text.h"

/* What the sanitizers ask of the program that they are in; the environment goes before. */
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
	/* A finding aborts, so that replay.c can name the input; freed memory is kept back less
	 * long, so that a fuzzer of some megabytes stays one. */
	return "abort_on_error=1:quarantine_size_mb=32:detect_stack_use_after_return=1:"
	       "strict_string_checks=1:malloc_context_size=10";
}

const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:abort_on_error=1:print_stacktrace=1";
}

static bool is_accepted;

void fuzz_accept(void)
{
	is_accepted = true;
}

bool fuzz_is_accepted(void)
{
	return is_accepted;
}

void fuzz_forget(void)
{
	is_accepted = false;
}

char *fuzz_string(const uint8_t *data, size_t size)
{
	char *copy = memory_new(size + 1);

	if (size > 0) {
		memcpy(copy, data, size);
	}
	return copy;
}

struct fuzz_lines fuzz_lines(const uint8_t *data, size_t size)
{
	return (struct fuzz_lines){ .at = (const char *)data, .left = size };
}

char *fuzz_lines_next(struct fuzz_lines *lines, size_t *ret_length)
{
	const char *end;
	size_t length;
	char *line;

	if (lines->left == 0) {
		return NULL;
	}
	end = memchr(lines->at, '\n', lines->left);
	length = end ? (size_t)(end - lines->at) : lines->left;
	line = fuzz_string((const uint8_t *)lines->at, length);
	lines->at += length + (end != NULL);
	lines->left -= length + (end != NULL);
	*ret_length = length;
	return line;
}

uint64_t fuzz_number(const char *string, uint64_t max)
{
	uint64_t number = 0;

	while (*string == ' ') {
		string++;
	}
	for (; *string >= '0' && *string <= '9' && number < max; string++) {
		number = number * 10 + (uint64_t)(*string - '0');
	}
	return number < max ? number : max;
}

void fuzz_expect_readable(const char *string, bool is_page)
{
	assert(text_is_utf8(string, strlen(string)));
	for (const char *c = string; *c; c++) {
		assert((unsigned char)*c >= 0x20 || (is_page && *c == '\n'));
		assert(*c != 0x7f);
		assert(*c != '\xc2' || (unsigned char)c[1] >= 0xa0);
	}
}

void fuzz_expect_error(const struct error *err)
{
	/* What came from outside is never our bug, and never the device's. */
	assert(err->class == ERROR_INPUT || err->class == ERROR_PEER ||
	       err->class == ERROR_RESOURCE);
	assert(err->text[0]);
	fuzz_expect_readable(err->text, false);
}

void fuzz_expect_same(const json_t *a, const json_t *b)
{
	_cleanup_text_ struct text text_a = TEXT_INIT;
	_cleanup_text_ struct text text_b = TEXT_INIT;

	json_write(a, &text_a);
	json_write(b, &text_b);
	assert(strcmp(text_a.data, text_b.data) == 0);
}

void fuzz_expect_json(const json_t *value)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	json_t *back;

	json_write(value, &text);
	assert(text_is_utf8(text.data, text.length));
	back = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, NULL);
	assert(back && json_equal(back, value));
	json_decref(back);
}
