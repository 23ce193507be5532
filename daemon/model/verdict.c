// SPDX-License-Identifier: MIT
#include "model/verdict.h"

#include <stddef.h>

const char *const verdict_names[] = {
	[VERDICT_NONE] = "none",
	[VERDICT_PASS] = "pass",
	[VERDICT_DEGRADED] = "degraded",
	[VERDICT_UNSUPPORTED] = "unsupported",
	[VERDICT_INCONCLUSIVE] = "inconclusive",
	[VERDICT_ERROR] = "error",
	[VERDICT_FAIL] = "fail",
	NULL,
};
_Static_assert(sizeof(verdict_names) / sizeof(verdict_names[0]) == VERDICT_COUNT + 1,
	       "a word for every verdict");

enum verdict verdict_worse(enum verdict a, enum verdict b)
{
	/* The enumeration is in this order. */
	return a > b ? a : b;
}

int verdict_exit_status(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_PASS:
		return 0;
	case VERDICT_FAIL:
		return 1;
	case VERDICT_INCONCLUSIVE:
		return 4;
	case VERDICT_DEGRADED:
		return 5;
	case VERDICT_UNSUPPORTED:
		return 6;
	case VERDICT_NONE:
	case VERDICT_ERROR:
		break;
	}
	return 3;
}
