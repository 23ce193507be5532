// SPDX-License-Identifier: MIT
#pragma once

/* The documentation side of schema.h, for schema.c alone. */

#include "util/schema.h"

void schema_reference_print(const struct schema_field *fields, const char *title, struct text *out);
