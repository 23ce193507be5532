// SPDX-License-Identifier: MIT
#pragma once

/*
 * Places in messages, "scenarios[0].workload.ops[1].size", for schema*.c and custom parsers. Cut if
 * ever too long.
 */

#include <stddef.h>

#define SCHEMA_PLACE_SIZE 256

/*
 * Into ret[SCHEMA_PLACE_SIZE]: "scenarios[0]" and "qp" -> "scenarios[0].qp"; "" and "qp" -> "qp".
 */
void schema_place_key(char *ret, const char *place, const char *key);
/* "ops" and 1 -> "ops[1]". */
void schema_place_item(char *ret, const char *place, size_t index);
