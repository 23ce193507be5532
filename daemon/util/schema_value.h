// SPDX-License-Identifier: MIT
#pragma once

/*
 * Single values of a schema table, for schema*.c alone: from and to what a person writes, and their
 * limits.
 */

#include "util/schema.h"

/* BOOL, numbers, ENUM, NAME, STRING: one word or text, no list or map. */
bool schema_value_is_scalar(enum schema_type type);
bool schema_value_is_number(enum schema_type type);

/*
 * Sets *member from what a person wrote. False with the rest of the sentence after the place in
 * *why, *member untouched. For scalar types, and for FLAGS, where it adds the bit of one word.
 */
bool schema_value_parse(const struct schema_field *field, const char *written, bool is_quoted,
			void *member, struct text *why);

/* False with the sentence, `quoted` being the value as it came, in *why. */
bool schema_value_check_range(const struct schema_field *field, uint64_t value, const char *quoted,
			      struct text *why);
bool schema_value_check_string(const struct schema_field *field, const char *string,
			       struct text *why);

/* As a person writes it, "64KiB"; into buf[UNITS_SIZE]. Number types. */
const char *schema_value_write(const struct schema_field *field, uint64_t value, char *buf);

/* "a size such as 64KiB". */
const char *schema_value_hint(enum schema_type type);

/* The index of a word in a NULL-terminated list, or -1. */
int schema_value_index(const char *const *names, const char *word);
/* ` is not one of A, B; did you mean "A"?` */
void schema_value_explain_choice(const char *const *names, const char *word, struct text *why);
