// SPDX-License-Identifier: MIT
#include "engine/sequence.h"

static uint64_t *word_of(struct sequence *sequence, uint64_t number)
{
	return &sequence->seen[number % SEQUENCE_WINDOW / 64];
}

static uint64_t bit_of(uint64_t number)
{
	return 1ull << number % 64;
}

enum sequence_order sequence_take(struct sequence *sequence, uint64_t number)
{
	uint64_t *word = word_of(sequence, number);
	uint64_t gap;

	if (number < sequence->next) {
		/* Too old to be known: nothing is missing, or something that this may be. */
		if (sequence->next - number > SEQUENCE_WINDOW ? sequence->missing == 0
							      : *word & bit_of(number)) {
			return SEQUENCE_AGAIN;
		}
		if (sequence->next - number <= SEQUENCE_WINDOW) {
			*word |= bit_of(number);
		}
		sequence->missing -= sequence->missing > 0; /* an old repetition may have been taken
							       for it */
		return SEQUENCE_LATE;
	}
	gap = number - sequence->next;
	sequence->missing += gap;
	for (uint64_t i = 0; i < gap && i < SEQUENCE_WINDOW; i++) {
		*word_of(sequence, number - 1 - i) &= ~bit_of(number - 1 - i);
	}
	*word |= bit_of(number);
	sequence->next = number + 1;
	return SEQUENCE_NEXT;
}

uint64_t sequence_widen(const struct sequence *sequence, uint32_t low)
{
	int32_t ahead = (int32_t)(low - (uint32_t)sequence->next);

	if (ahead < 0 && (uint64_t) - (int64_t)ahead > sequence->next) {
		return low;
	}
	return sequence->next + (uint64_t)(int64_t)ahead;
}
