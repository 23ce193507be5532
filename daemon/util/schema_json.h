// SPDX-License-Identifier: MIT
#pragma once

/* The JSON side of schema.h, for schema.c alone. */

#include "util/schema.h"

json_t *schema_json_write(const struct schema_field *fields, const void *object); /* new reference
										   */
/*
 * Into an object that has its defaults. place: the path of the object in messages, "" or without
 * trailing dot.
 */
int schema_json_read(const struct schema_field *fields, const json_t *json, const char *place,
		     void *object, struct error *err);
