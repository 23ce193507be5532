// SPDX-License-Identifier: MIT
#pragma once

/*
 * A diagnosis with a stable code (findings.def), a confidence, a sentence, evidence and what to do.
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
	char evidence[LIMIT_TEXT]; /* what was seen on which end */
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
/* Whether this code is there with at least that confidence. */
bool finding_has(const struct findings *findings, enum finding_code code,
		 enum confidence confidence);
json_t *finding_write(const struct findings *findings);
