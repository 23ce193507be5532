// SPDX-License-Identifier: MIT
#pragma once

/*
 * Strings: bounded copies, a growing buffer, and what people need to read (escapes, did-you-mean).
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* A growing buffer; always NUL-terminated once something was added; free with text_done. */
struct text {
	char *data;
	size_t length;
	size_t capacity;
};

#define TEXT_INIT ((struct text){ 0 })

void text_done(struct text *text);
void text_reset(struct text *text); /* keeps the memory */
void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t count);
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_format_list(struct text *text, const char *format, va_list arguments);
#define _cleanup_text_ _cleanup_(text_done)

/*
 * Copies as much as fits, always terminates; false if it was cut (never in the middle of a UTF-8
 * sequence).
 */
bool text_copy(char *destination, size_t size, const char *source);

/*
 * For terminals and logs: control characters, what is invisible or changes the direction of writing
 * (Unicode: default ignorable and bidirectional controls, the line separators), and invalid UTF-8
 * become \xNN, byte by byte, so that a line stays a line and says what it shows. A character that
 * does not fit whole ends the text; always terminates; at most 4 bytes for each of the source.
 */
void text_escape(char *destination, size_t size, const char *source);
/*
 * The same characters in the text of a JSON document, whose strings are valid UTF-8, as \uNNNN: who
 * parses it gets what there was. Adds to *out.
 */
void text_escape_json(struct text *out, const char *bytes, size_t count);

#define TEXT_QUOTED_SIZE 44
/*
 * For a message that quotes what may be hostile: escaped, cut at 40 bytes with "..." behind.
 * Returns buf[TEXT_QUOTED_SIZE].
 */
const char *text_quote(char *buf, const char *source);

/* [a-z0-9][a-z0-9._-]{0,62}: names of nodes, scenarios, labels. */
bool text_is_name(const char *string);
/* Length of the valid UTF-8 sequence at `bytes` (1 to 4; shortest form, no surrogates), or 0. */
size_t text_sequence(const char *bytes, size_t count);
bool text_is_utf8(const char *bytes, size_t count);
/* How many bytes, from the first on, are valid UTF-8. */
size_t text_utf8_prefix(const char *bytes, size_t count);
bool text_starts_with(const char *string, const char *prefix);

/* Case-insensitive edit distance; 99 when either is longer than 63. */
unsigned text_distance(const char *a, const char *b);

/*
 * The closest of `count` candidates (NULL entries skipped) if near enough to suggest (<= 2 or a
 * third), else NULL.
 */
const char *text_closest(const char *given, const char *const *candidates, size_t count);
