// SPDX-License-Identifier: MIT
#pragma once

/*
 * JSON both ways, over jansson: strict reading with limits, one way of writing. json_t is
 * jansson's, reference counted, one thread at a time. Getters say what is wrong and where:
 * `"qp.num_qps": 70000 is above 16384`.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/memory.h"
#include "util/text.h"

MEMORY_CLEANUP(json_t, json_decref)
#define _cleanup_json_ _cleanup_(json_decref_pointer)

/*
 * One object; duplicates, trailing bytes, invalid UTF-8 and nesting over 32 are refused. NULL with
 * err. Owned by the caller.
 */
json_t *json_read(const char *bytes, size_t count, struct error *err);
/*
 * As json_read; also refuses, before anything is made of it, what may hold more than max_values
 * values: each costs some 100 ns and up to 120 bytes, whatever its length.
 */
json_t *json_read_limited(const char *bytes, size_t count, size_t max_values, struct error *err);

/* Compact, keys in insertion order. Adds to *out. Characters that text_escape would escape are
 * written as \uNNNN. */
void json_write(const json_t *value, struct text *out);
/* Two-space indent for people. */
void json_write_pretty(const json_t *value, struct text *out);

/* A number that JSON can hold: null for NaN and infinity. New reference. */
json_t *json_number(double value);

/* A string; null for NULL; what is not UTF-8 is escaped. New reference. */
json_t *json_text(const char *value);

/* What a value is, for messages: "an object", "a string". */
const char *json_kind_name(const json_t *value);

/* Setters take nothing but the value; fatal when out of memory. */
void json_set_string(json_t *object, const char *key, const char *value); /* NULL -> null */
void json_set_u64(json_t *object, const char *key, uint64_t value); /* above INT64_MAX -> null */
void json_set_i64(json_t *object, const char *key, int64_t value);
void json_set_real(json_t *object, const char *key, double value);
void json_set_bool(json_t *object, const char *key, bool value);
void json_set_time(json_t *object, const char *key, int64_t real_ns); /* RFC 3339; 0 -> null */
void json_set_take(json_t *object, const char *key, json_t *value); /* takes the reference; NULL ->
								       null */

/*
 * Required members of a hostile object. 0 or -EINVAL with err (class INPUT) naming the key, value
 * and limit.
 */
int json_get_string(const json_t *object, const char *key, char *ret, size_t size,
		    struct error *err);
int json_get_u64(const json_t *object, const char *key, uint64_t min, uint64_t max, uint64_t *ret,
		 struct error *err);
int json_get_i64(const json_t *object, const char *key, int64_t *ret, struct error *err);
int json_get_bool(const json_t *object, const char *key, bool *ret, struct error *err);
int json_get_real(const json_t *object, const char *key, double *ret, struct error *err);
int json_get_object(const json_t *object, const char *key, json_t **ret,
		    struct error *err); /* borrowed
					 */
int json_get_array(const json_t *object, const char *key, size_t max_length, json_t **ret,
		   struct error *err); /* borrowed */
/* Optional: *ret keeps its value when the key is absent or null. */
int json_get_u64_or(const json_t *object, const char *key, uint64_t min, uint64_t max,
		    uint64_t *ret, struct error *err);
int json_get_string_or(const json_t *object, const char *key, char *ret, size_t size,
		       struct error *err);
