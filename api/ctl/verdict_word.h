// SPDX-License-Identifier: MIT
#pragma once

/*
 * Verdicts as people meet them: words in capitals, bad ones first. Pure.
 */

#include "model/verdict.h"

#define VERDICT_WORD_SIZE 24

/* "fail" -> "FAIL"; cut at VERDICT_WORD_SIZE. Returns buf. */
const char *verdict_word(const char *name, char *buf);
/* VERDICT_NONE for a word that is none. */
enum verdict verdict_word_parse(const char *name);
/* How bad: higher is worse. */
int verdict_word_badness(const char *name);
