// SPDX-License-Identifier: MIT
#pragma once

/*
 * Numbers that should come once each and in order: which of them came again, and which late. What
 * is further back than SEQUENCE_WINDOW is remembered no more. One thread.
 */

#include <stdint.h>

#define SEQUENCE_WINDOW 4096u

enum sequence_order {
	SEQUENCE_NEXT, /* the next one, or one after it: those between are missing */
	SEQUENCE_LATE, /* was missing */
	SEQUENCE_AGAIN, /* has come already */
};

struct sequence {
	uint64_t next; /* above all that came */
	uint64_t missing; /* below it */
	uint64_t seen[SEQUENCE_WINDOW / 64]; /* bits, by number modulo the window */
};

enum sequence_order sequence_take(struct sequence *sequence, uint64_t number);
/* The number whose low 32 bits these are, and which is the nearest to the next one. */
uint64_t sequence_widen(const struct sequence *sequence, uint32_t low);
