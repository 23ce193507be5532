// SPDX-License-Identifier: MIT
#include "util/schema_place.h"

#include <stdio.h>

void schema_place_key(char *ret, const char *place, const char *key)
{
	snprintf(ret, SCHEMA_PLACE_SIZE, "%s%s%s", place, *place ? "." : "", key);
}

void schema_place_item(char *ret, const char *place, size_t index)
{
	snprintf(ret, SCHEMA_PLACE_SIZE, "%s[%zu]", place, index);
}
