// SPDX-License-Identifier: MIT
#include "util/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "util/memory.h"

#define NAME_MAX_LENGTH 63
#define DISTANCE_MAX_LENGTH 63
#define DISTANCE_TOO_LONG 99

static void text_reserve(struct text *text, size_t more)
{
	size_t needed = text->length + more + 1;
	size_t capacity = text->capacity ? text->capacity : 64;

	if (needed <= text->capacity) {
		return;
	}
	while (capacity < needed) {
		capacity *= 2;
	}
	text->data = memory_resize(text->data, capacity, 1);
	text->capacity = capacity;
}

void text_done(struct text *text)
{
	free(text->data);
	*text = TEXT_INIT;
}

void text_reset(struct text *text)
{
	text->length = 0;
	if (text->data) {
		text->data[0] = '\0';
	}
}

void text_add(struct text *text, const char *string)
{
	text_add_bytes(text, string, strlen(string));
}

void text_add_bytes(struct text *text, const void *bytes, size_t count)
{
	text_reserve(text, count);
	if (count > 0) {
		memcpy(text->data + text->length, bytes, count);
	}
	text->length += count;
	text->data[text->length] = '\0';
}

void text_format(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text_format_list(text, format, arguments);
	va_end(arguments);
}

void text_format_list(struct text *text, const char *format, va_list arguments)
{
	va_list again;
	int length;

	va_copy(again, arguments);
	text_reserve(text, 0);
	length = vsnprintf(text->data + text->length, text->capacity - text->length, format,
			   arguments);
	if (length > 0 && (size_t)length >= text->capacity - text->length) {
		text_reserve(text, (size_t)length);
		vsnprintf(text->data + text->length, text->capacity - text->length, format, again);
	}
	va_end(again);
	text->length += length > 0 ? (size_t)length : 0;
	text->data[text->length] = '\0';
}

size_t text_sequence(const char *string, size_t count)
{
	const unsigned char *bytes = (const unsigned char *)string;
	unsigned char first = bytes[0];
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t length;

	if (first < 0x80) {
		return 1;
	} else if (first >= 0xc2 && first <= 0xdf) {
		length = 2;
	} else if (first >= 0xe0 && first <= 0xef) {
		length = 3;
		low = first == 0xe0 ? 0xa0 : low;
		high = first == 0xed ? 0x9f : high;
	} else if (first >= 0xf0 && first <= 0xf4) {
		length = 4;
		low = first == 0xf0 ? 0x90 : low;
		high = first == 0xf4 ? 0x8f : high;
	} else {
		return 0;
	}
	if (count < length || bytes[1] < low || bytes[1] > high) {
		return 0;
	}
	for (size_t i = 2; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80) {
			return 0;
		}
	}
	return length;
}

bool text_copy(char *destination, size_t size, const char *source)
{
	size_t length = strlen(source);
	size_t kept;

	if (size == 0) {
		return false;
	}
	if (length < size) {
		memcpy(destination, source, length + 1);
		return true;
	}
	kept = size - 1;
	/* A continuation byte at the cut belongs to a character that does not fit. */
	while (kept > 0 && ((unsigned char)source[kept] & 0xc0) == 0x80) {
		kept--;
	}
	memcpy(destination, source, kept);
	destination[kept] = '\0';
	return false;
}

const char *text_quote(char *buf, const char *source)
{
	char longer[TEXT_QUOTED_SIZE + 4];

	text_escape(longer, sizeof(longer), source);
	text_escape(buf, TEXT_QUOTED_SIZE - 3, source);
	if (strlen(longer) > strlen(buf)) {
		memcpy(buf + strlen(buf), "...", 4);
	}
	return buf;
}

bool text_is_name(const char *string)
{
	size_t length = 0;

	for (const char *c = string; *c; c++) {
		bool is_alphanumeric = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9');

		if (!is_alphanumeric && (c == string || (*c != '.' && *c != '_' && *c != '-'))) {
			return false;
		}
		if (++length > NAME_MAX_LENGTH) {
			return false;
		}
	}
	return length > 0;
}

bool text_is_utf8(const char *bytes, size_t count)
{
	return text_utf8_prefix(bytes, count) == count;
}

size_t text_utf8_prefix(const char *bytes, size_t count)
{
	size_t valid = 0;

	while (valid < count) {
		size_t length = text_sequence(bytes + valid, count - valid);

		if (length == 0) {
			break;
		}
		valid += length;
	}
	return valid;
}

bool text_starts_with(const char *string, const char *prefix)
{
	return strncmp(string, prefix, strlen(prefix)) == 0;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

unsigned text_distance(const char *a, const char *b)
{
	size_t a_length = strnlen(a, DISTANCE_MAX_LENGTH + 1);
	size_t b_length = strnlen(b, DISTANCE_MAX_LENGTH + 1);
	unsigned row[DISTANCE_MAX_LENGTH + 1];

	if (a_length > DISTANCE_MAX_LENGTH || b_length > DISTANCE_MAX_LENGTH) {
		return DISTANCE_TOO_LONG;
	}
	for (size_t j = 0; j <= b_length; j++) {
		row[j] = (unsigned)j;
	}
	for (size_t i = 1; i <= a_length; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned above = row[j];
			bool differs = tolower((unsigned char)a[i - 1]) !=
				       tolower((unsigned char)b[j - 1]);

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + differs);
			diagonal = above;
		}
	}
	return row[b_length];
}

const char *text_closest(const char *given, const char *const *candidates, size_t count)
{
	size_t given_length = strlen(given);
	unsigned best_distance = DISTANCE_TOO_LONG;
	const char *best = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t longer;
		unsigned distance;

		if (!candidates[i]) {
			continue;
		}
		distance = text_distance(given, candidates[i]);
		longer = strlen(candidates[i]) > given_length ? strlen(candidates[i])
							      : given_length;
		/*
		 * Two edits turn any two letters into any other two: half must be shared at least.
		 */
		if ((distance > 2 && 3 * distance > given_length) || 2 * distance > longer) {
			continue;
		}
		if (distance < best_distance) {
			best_distance = distance;
			best = candidates[i];
		}
	}
	return best;
}
