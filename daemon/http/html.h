// SPDX-License-Identifier: MIT
#pragma once

/*
 * Small pieces of the page: text escaped for HTML, and members of records that may be missing.
 * Pure; any thread.
 */

#include <stdint.h>

#include "util/json.h"
#include "util/text.h"

/* Text as content or attribute value: &, <, >, quotes escaped, and what text_escape escapes. */
void html_add(struct text *out, const char *string);
/* A string member, "" when it is not there; borrowed. */
const char *html_word(const json_t *object, const char *key);
/* An integer member, 0 when it is not there. */
long long html_number(const json_t *object, const char *key);
/* "good", "warn", "bad" or "calm" for a verdict or state. */
const char *html_mood(const char *word);
/* A coloured verdict or state. */
void html_add_mark(struct text *out, const char *word);
/* "12.0 s ago" for the time of the record's member, at the time `now`; "never" when it has none. */
void html_add_ago(struct text *out, const char *now, const json_t *object, const char *key);
/* A member that is nanoseconds, "61 us"; nothing when it is not there. */
void html_add_duration(struct text *out, const json_t *object, const char *key);
