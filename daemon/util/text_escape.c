// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <string.h>

#include "util/text.h"

/*
 * What a reader does not see, or sees in another place than it stands: C0, DEL and C1 (terminals
 * obey them), the line separators, and of the default ignorable code points (Unicode 15,
 * DerivedCore- Properties) those without use in plain text. Variation selectors after emoji pass.
 */
static const struct {
	uint32_t first;
	uint32_t last;
} hidden[] = {
	{ 0x00, 0x1f },	      { 0x7f, 0x9f },	    { 0xad, 0xad },	{ 0x34f, 0x34f },
	{ 0x61c, 0x61c },     { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f }, { 0x3164, 0x3164 },
	{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool is_hidden(uint32_t code)
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]) && code >= hidden[i].first; i++) {
		if (code <= hidden[i].last) {
			return true;
		}
	}
	return false;
}

/* Of a valid sequence. */
static uint32_t code_point(const char *bytes, size_t length)
{
	static const uint8_t masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = (uint8_t)bytes[0] & masks[length];

	for (size_t i = 1; i < length; i++) {
		code = code << 6 | ((uint8_t)bytes[i] & 0x3f);
	}
	return code;
}

void text_escape(char *destination, size_t size, const char *source)
{
	static const char digits[] = "0123456789abcdef";
	size_t left = strlen(source);
	size_t used = 0;

	while (left > 0) {
		size_t length = text_sequence(source, left);
		bool is_plain = length > 0 && !is_hidden(code_point(source, length));

		length = length > 0 ? length : 1;
		if (used + (is_plain ? length : 4 * length) >= size) {
			break;
		}
		for (size_t i = 0; i < length; i++) {
			uint8_t byte = (uint8_t)source[i];

			if (is_plain) {
				destination[used++] = source[i];
				continue;
			}
			destination[used++] = '\\';
			destination[used++] = 'x';
			destination[used++] = digits[byte >> 4];
			destination[used++] = digits[byte & 15];
		}
		source += length;
		left -= length;
	}
	if (size > 0) {
		destination[used] = '\0';
	}
}

static void add_utf16(struct text *out, uint32_t code)
{
	if (code > 0xffff) {
		text_format(out, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 | (code & 0x3ff));
	} else {
		text_format(out, "\\u%04x", code);
	}
}

void text_escape_json(struct text *out, const char *bytes, size_t count)
{
	size_t plain = 0; /* passed, not yet added */

	for (size_t at = 0; at < count;) {
		size_t length = 1;

		/* ASCII controls are the syntax's own; in strings its writer has escaped them. */
		if ((uint8_t)bytes[at] >= 0x7f) {
			size_t valid = text_sequence(bytes + at, count - at);
			uint32_t code = valid > 0 ? code_point(bytes + at, valid) : 0xfffd;

			length = valid > 0 ? valid : 1;
			if (is_hidden(code)) {
				text_add_bytes(out, bytes + plain, at - plain);
				add_utf16(out, code);
				plain = at + length;
			}
		}
		at += length;
	}
	text_add_bytes(out, bytes + plain, count - plain);
}
