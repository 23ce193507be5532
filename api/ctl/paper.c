// SPDX-License-Identifier: MIT
#include "ctl/paper.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "util/memory.h"

static const char *const sequences[] = {
	[PAPER_PLAIN] = "",	   [PAPER_STRONG] = "\033[1m", [PAPER_DIM] = "\033[2m",
	[PAPER_GOOD] = "\033[32m", [PAPER_WARN] = "\033[33m",  [PAPER_BAD] = "\033[31m",
};

void paper_done(struct paper *paper)
{
	text_done(&paper->text);
}

static char *escape(const char *string)
{
	size_t size = 4 * strlen(string) + 1; /* each byte as \xNN at worst */
	char *escaped = memory_new(size);

	text_escape(escaped, size, string);
	return escaped;
}

/* Code points of escaped text; none of them is wide in what a daemon tells. */
static unsigned count_columns(const char *escaped, size_t length)
{
	unsigned columns = 0;

	for (size_t i = 0; i < length; i++) {
		columns += ((unsigned char)escaped[i] & 0xc0) != 0x80;
	}
	return columns;
}

unsigned paper_width(const char *string)
{
	_cleanup_free_ char *escaped = escape(string);

	return count_columns(escaped, strlen(escaped));
}

static void add_escaped(struct paper *paper, enum paper_tone tone, const char *escaped,
			size_t length)
{
	bool is_toned = paper->has_color && tone != PAPER_PLAIN && length > 0;

	if (is_toned) {
		text_add(&paper->text, sequences[tone]);
	}
	text_add_bytes(&paper->text, escaped, length);
	if (is_toned) {
		text_add(&paper->text, "\033[0m");
	}
	paper->column += count_columns(escaped, length);
}

void paper_add(struct paper *paper, enum paper_tone tone, const char *string)
{
	_cleanup_free_ char *escaped = escape(string);

	add_escaped(paper, tone, escaped, strlen(escaped));
}

void paper_format(struct paper *paper, enum paper_tone tone, const char *format, ...)
{
	_cleanup_text_ struct text formatted = TEXT_INIT;
	va_list arguments;

	va_start(arguments, format);
	text_format_list(&formatted, format, arguments);
	va_end(arguments);
	paper_add(paper, tone, formatted.data);
}

void paper_newline(struct paper *paper)
{
	text_add(&paper->text, "\n");
	paper->column = 0;
}

void paper_fill(struct paper *paper, unsigned column, unsigned gap)
{
	unsigned blanks = column > paper->column ? column - paper->column : 0;

	blanks = blanks < gap ? gap : blanks;
	text_format(&paper->text, "%*s", (int)blanks, "");
	paper->column += blanks;
}

/* Bytes of the first `columns` code points. */
static size_t bytes_of_columns(const char *escaped, size_t length, unsigned columns)
{
	size_t bytes = 0;

	while (bytes < length) {
		if (((unsigned char)escaped[bytes] & 0xc0) != 0x80 && columns-- == 0) {
			break;
		}
		bytes++;
	}
	return bytes;
}

/* Text of one tone on its way to lines. */
struct flow {
	struct paper *paper;
	enum paper_tone tone;
	unsigned indent;
	unsigned column; /* behind what is pending */
	struct text pending; /* escaped, of the line as it is now */
};

static void flow_end_line(struct flow *flow)
{
	if (flow->pending.length > 0) {
		add_escaped(flow->paper, flow->tone, flow->pending.data, flow->pending.length);
	}
	text_reset(&flow->pending);
}

static void flow_next_line(struct flow *flow)
{
	flow_end_line(flow);
	paper_newline(flow->paper);
	paper_fill(flow->paper, flow->indent, 0);
	flow->column = flow->paper->column;
}

static void flow_add(struct flow *flow, const char *word, size_t length)
{
	text_add_bytes(&flow->pending, word, length);
	flow->column += count_columns(word, length);
}

static void flow_add_word(struct flow *flow, const char *word, size_t length)
{
	unsigned columns = flow->paper->columns;
	unsigned room = columns > flow->indent + 10 ? columns - flow->indent : 10;

	while (count_columns(word, length) > room) {
		size_t part = bytes_of_columns(word, length, room);

		flow_add(flow, word, part);
		flow_next_line(flow);
		word += part;
		length -= part;
	}
	flow_add(flow, word, length);
}

void paper_wrap(struct paper *paper, enum paper_tone tone, unsigned indent, const char *string)
{
	_cleanup_free_ char *escaped = escape(string);
	struct flow flow = { paper, tone, indent, paper->column, TEXT_INIT };
	const char *word = escaped;
	bool is_first = true;

	while (*(word += strspn(word, " ")) != '\0') {
		size_t length = strcspn(word, " ");
		unsigned columns = count_columns(word, length);

		if (flow.column + !is_first + columns > paper->columns &&
		    (flow.column > indent || !is_first)) {
			flow_next_line(&flow);
		} else if (!is_first) {
			flow_add(&flow, " ", 1);
		}
		flow_add_word(&flow, word, length);
		is_first = false;
		word += length;
	}
	flow_end_line(&flow);
	text_done(&flow.pending);
}

int paper_print(const struct paper *paper, FILE *stream)
{
	errno = 0;
	if (fwrite(paper->text.data ? paper->text.data : "", 1, paper->text.length, stream) !=
		    paper->text.length ||
	    fflush(stream) != 0) {
		return errno != 0 ? -errno : -EIO;
	}
	return 0;
}

enum paper_tone paper_tone_of(const char *word)
{
	static const struct {
		const char *word;
		enum paper_tone tone;
	} tones[] = {
		{ "pass", PAPER_GOOD },	      { "fail", PAPER_BAD },
		{ "error", PAPER_BAD },	      { "inconclusive", PAPER_WARN },
		{ "degraded", PAPER_WARN },   { "unsupported", PAPER_WARN },
		{ "up", PAPER_GOOD },	      { "active", PAPER_GOOD },
		{ "down", PAPER_BAD },	      { "ok", PAPER_GOOD },
		{ "sick", PAPER_BAD },	      { "missed", PAPER_BAD },
		{ "connecting", PAPER_WARN }, { "none", PAPER_DIM },
	};

	for (size_t i = 0; i < sizeof(tones) / sizeof(tones[0]); i++) {
		if (strcmp(tones[i].word, word) == 0) {
			return tones[i].tone;
		}
	}
	return PAPER_PLAIN;
}

void paper_paragraph(struct paper *paper, enum paper_tone tone, unsigned indent, const char *words)
{
	paper_fill(paper, indent, 0);
	paper_wrap(paper, tone, indent, words);
	paper_newline(paper);
}
