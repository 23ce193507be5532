// SPDX-License-Identifier: MIT
#pragma once

/* Memory that this process holds, for tests of growth. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static inline long resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	char line[128];
	const char *resident;

	/* Size and resident pages. */
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	resident = strchr(line, ' ');
	assert_non_null(resident);
	return strtol(resident, NULL, 10) * sysconf(_SC_PAGESIZE);
}
