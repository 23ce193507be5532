// SPDX-License-Identifier: MIT
#pragma once

/*
 * Members of records that a daemon of another version may have written: what is absent or of
 * another kind is not there, and is shown as "-". Places are dotted: "initiator.endpoint.node".
 * Pure; strings and arrays are borrowed from the record.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/json.h"
#include "util/units.h"

/* What an answer must have to be one of the daemon's; a table ends with a NULL place. */
enum field_kind { FIELD_STRING, FIELD_NUMBER, FIELD_BOOL, FIELD_OBJECT, FIELD_ARRAY };
struct field_wanted {
	const char *place;
	enum field_kind kind;
};
/* NULL, or the first row that is absent or of another kind. */
const struct field_wanted *field_missing(const json_t *json, const struct field_wanted *wanted);
/* "an array" */
const char *field_kind_name(enum field_kind kind);

/* NULL when absent or null. */
const json_t *field_find(const json_t *json, const char *place);
/* `fallback` when it is no string. */
const char *field_string(const json_t *json, const char *place, const char *fallback);
/* False when it is no whole number of at least 0. */
bool field_u64(const json_t *json, const char *place, uint64_t *ret);
/* False when it is no number. */
bool field_real(const json_t *json, const char *place, double *ret);
bool field_is_true(const json_t *json, const char *place);
bool field_is_false(const json_t *json, const char *place);
/* NULL when it is no array; json_array_size(NULL) is 0. */
const json_t *field_array(const json_t *json, const char *place);

/* A GID; an IPv4 address that stands in one is shown alone. "-" when absent. Borrowed. */
const char *field_address(const json_t *json, const char *place);

/* For people, into buf[UNITS_SIZE]; "-" when absent. Each returns buf. */
const char *field_show_duration(const json_t *json, const char *place, char *buf); /* ns */
const char *field_show_size(const json_t *json, const char *place, char *buf); /* bytes */
const char *field_show_rate(const json_t *json, const char *place, char *buf); /* bit/s */
const char *field_show_ops_rate(const json_t *json, const char *place, char *buf);
const char *field_show_count(const json_t *json, const char *place, char *buf);
/* An RFC 3339 time to the second: "2026-09-01 12:00:00Z". */
const char *field_show_time(const json_t *json, const char *place, char *buf);
