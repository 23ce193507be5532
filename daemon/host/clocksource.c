// SPDX-License-Identifier: MIT
#include "host/clocksource.h"

#include <string.h>

#include "host/fact.h"

#define DIRECTORY "/sys/devices/system/clocksource/clocksource0"

int clocksource_read(const char *root, struct clocksource *ret)
{
	char available[256];
	int error;

	*ret = (struct clocksource){ 0 };
	error = fact_line(ret->current, sizeof(ret->current), "%s" DIRECTORY "/current_clocksource",
			  root);
	if (error < 0) {
		return error;
	}
	fact_line(available, sizeof(available), "%s" DIRECTORY "/available_clocksource", root);
	for (char *rest = available, *word; (word = strsep(&rest, " "));) {
		ret->is_tsc_available |= strcmp(word, "tsc") == 0;
	}
	return 0;
}
