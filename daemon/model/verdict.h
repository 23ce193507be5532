// SPDX-License-Identifier: MIT
#pragma once

/*
 * Judgements. A set takes the worst in the order fail > error > inconclusive > unsupported >
 * degraded > pass.
 */

#include <stdbool.h>

enum verdict {
	VERDICT_NONE, /* not judged yet */
	VERDICT_PASS,
	VERDICT_DEGRADED, /* works, but a warning threshold or evidence of retransmission by us */
	VERDICT_UNSUPPORTED,
	VERDICT_INCONCLUSIVE, /* too little or doubtful evidence */
	VERDICT_ERROR, /* we could not measure */
	VERDICT_FAIL, /* fabric or peer below expectation */
};
#define VERDICT_COUNT 7
extern const char *const verdict_names[];

enum verdict verdict_worse(enum verdict a, enum verdict b);
/* Exit status of rdmatestctl run: 0 pass, 1 fail, 3 error, 4 inconclusive, 5 degraded, 6
 * unsupported. */
int verdict_exit_status(enum verdict verdict);
