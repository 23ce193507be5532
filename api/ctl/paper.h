// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a person reads, laid out before it is printed: escaped, coloured if wanted, wrapped at word
 * boundaries.
 *
 * Everything is built in memory, so that the same functions serve the terminal and the tests. What
 * comes from a daemon may be hostile: every string is escaped on its way in, only this file writes
 * escape sequences. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/text.h"

enum paper_tone {
	PAPER_PLAIN,
	PAPER_STRONG,
	PAPER_DIM,
	PAPER_GOOD,
	PAPER_WARN,
	PAPER_BAD,
};

#define PAPER_COLUMNS 100

struct paper {
	struct text text;
	bool has_color;
	unsigned columns; /* wide */
	unsigned column; /* where the next character goes, from 0 */
};

#define PAPER_INIT ((struct paper){ .columns = PAPER_COLUMNS })

void paper_done(struct paper *paper);
#define _cleanup_paper_ _cleanup_(paper_done)

void paper_add(struct paper *paper, enum paper_tone tone, const char *string);
void paper_format(struct paper *paper, enum paper_tone tone, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void paper_newline(struct paper *paper);
/* Words wrapped on lines of their own, all indented alike. */
void paper_paragraph(struct paper *paper, enum paper_tone tone, unsigned indent, const char *words);
/* Blanks up to a column; at least `gap` of them. */
void paper_fill(struct paper *paper, unsigned column, unsigned gap);
/* Words from the current column on, continued at `indent`. A word is broken only if it is longer
 * than a whole line. */
void paper_wrap(struct paper *paper, enum paper_tone tone, unsigned indent, const char *string);

/* Characters that a string takes on a terminal once it is escaped. */
unsigned paper_width(const char *string);

/* Writes it out. 0 or -errno. */
int paper_print(const struct paper *paper, FILE *stream);

/* How a verdict, a peer's or a port's state looks. Unknown words are plain. */
enum paper_tone paper_tone_of(const char *word);
