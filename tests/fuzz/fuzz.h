// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the fuzz targets share. A target, fuzz-NAME.c, is one function that takes any bytes. It does
 * the same for the same bytes: no file, time, thread, network or chance of the machine comes in. A
 * promise that is broken aborts (assert); memory and undefined behaviour are the sanitizers'
 * business. Inputs are text as far as may be, so that seeds can be written and findings read.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The target took the input as a good one. An input "good-*" that is not taken as such fails
 * replay.c: it stands no more for what it was written for. */
void fuzz_accept(void);
bool fuzz_is_accepted(void); /* the last one */
void fuzz_forget(void); /* before the next */

/*
 * A copy of exactly these bytes and a NUL: a step beyond it is found. Caller frees. What it holds
 * behind a NUL is lost to those who take a string.
 */
char *fuzz_string(const uint8_t *data, size_t size);

/* An input taken line by line. */
struct fuzz_lines {
	const char *at;
	size_t left;
};
struct fuzz_lines fuzz_lines(const uint8_t *data, size_t size);
/* A copy as of fuzz_string, without its newline; NULL at the end. Caller frees. */
char *fuzz_lines_next(struct fuzz_lines *lines, size_t *ret_length);

/* The number that a line's argument begins with, at most `max`; 0 when there is none. */
uint64_t fuzz_number(const char *string, uint64_t max);

/* Aborts unless a terminal may show it: valid UTF-8, no control character; is_page: newlines are
 * fine. */
void fuzz_expect_readable(const char *string, bool is_page);
/* Aborts unless it is set, of one of the classes that hostile input may have, and readable. */
void fuzz_expect_error(const struct error *err);
/* Aborts unless it can be written and read again: what goes out as JSON is JSON. */
void fuzz_expect_json(const json_t *value);
/* Aborts unless both are written the same. */
void fuzz_expect_same(const json_t *a, const json_t *b);
