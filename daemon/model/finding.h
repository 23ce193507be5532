// SPDX-License-Identifier: MIT
#pragma once

/*
 * A diagnosis with a stable code (findings.def), a confidence, a sentence, what speaks for and
 * against it, and what to do.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/limits.h"
#include "util/error.h"
#include "util/json.h"

enum finding_code {
#define FINDING(code, name, title, explanation, cure) FINDING_##name,
#include "model/findings.def"
#undef FINDING
	FINDING_COUNT
};

enum confidence { CONFIDENCE_POSSIBLE, CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN };
extern const char *const confidence_names[];

struct finding {
	enum finding_code code;
	enum confidence confidence;
	char text[LIMIT_TEXT]; /* one sentence about this case, with names */
	char evidence[LIMIT_TEXT]; /* what was seen on which end: what speaks for it */
	char against[LIMIT_TEXT]; /* what speaks against it; "" nothing */
};

struct findings {
	size_t count;
	struct finding items[LIMIT_FINDINGS];
};

struct finding_info {
	unsigned number; /* 101 -> "RDT-0101" */
	const char *slug; /* "peer-daemon-lost" */
	const char *title;
	const char *explanation;
	const char *cure;
};
const struct finding_info *finding_info(enum finding_code code);

/* Adds one unless the same code is there; the most confident first. When full the least confident
 * is dropped. */
void finding_add(struct findings *findings, enum finding_code code, enum confidence confidence,
		 const char *evidence, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* One thing more that speaks against the finding of this code; nothing if there is none. */
void finding_doubt(struct findings *findings, enum finding_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Whether this code is there with at least that confidence. */
bool finding_has(const struct findings *findings, enum finding_code code,
		 enum confidence confidence);
json_t *finding_write(const struct findings *findings);
