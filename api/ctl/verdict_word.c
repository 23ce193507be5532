// SPDX-License-Identifier: MIT
#include "ctl/verdict_word.h"

#include <string.h>

#include "util/text.h"

const char *verdict_word(const char *name, char *buf)
{
	text_copy(buf, VERDICT_WORD_SIZE, name);
	for (char *at = buf; *at != '\0'; at++) {
		if (*at >= 'a' && *at <= 'z') {
			*at = (char)(*at - 'a' + 'A');
		}
	}
	return buf;
}

enum verdict verdict_word_parse(const char *name)
{
	for (int i = 0; i < VERDICT_COUNT; i++) {
		if (strcmp(verdict_names[i], name) == 0) {
			return (enum verdict)i;
		}
	}
	return VERDICT_NONE;
}

int verdict_word_badness(const char *name)
{
	return (int)verdict_word_parse(name);
}
