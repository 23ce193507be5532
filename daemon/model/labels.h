// SPDX-License-Identifier: MIT
#pragma once

/*
 * Labels of nodes and scenarios, and selectors over them: "*", "role=compute",
 * "rack!=r1,role=storage" (comma = and), a list of such (or). `name=` selects by node name. Plain
 * data.
 */

#include <stdbool.h>
#include <stddef.h>

#include "model/limits.h"
#include "util/schema.h"

struct label {
	char key[LIMIT_NAME];
	char value[LIMIT_NAME];
};

struct labels {
	size_t count;
	struct label items[LIMIT_LABELS];
};

#define SELECTOR_TERMS 8
#define SELECTOR_ALTERNATIVES 8

struct selector_term {
	bool is_negated;
	struct label label;
};

struct selector_all {
	size_t count; /* 0 = everything */
	struct selector_term terms[SELECTOR_TERMS];
};

struct selector {
	size_t count; /* alternatives; 0 = everything */
	struct selector_all alternatives[SELECTOR_ALTERNATIVES];
};

/* NULL, or a reason that continues `"role==x" ...`. Adds one alternative. */
const char *labels_selector_parse(const char *string, struct selector *selector);
bool labels_selector_matches(const struct selector *selector, const char *node_name,
			     const struct labels *labels);
/* The value of a key or NULL. */
const char *labels_get(const struct labels *labels, const char *key);

/* Custom functions for schema tables: a map of strings; a string or list of strings. */
void labels_parse(const struct document_node *node, const struct schema_field *field,
		  const char *place, void *member, struct schema_context *context);
json_t *labels_write(const struct schema_field *field, const void *member);
int labels_read(const struct schema_field *field, const json_t *value, void *member,
		struct error *err);
void labels_parse_selector(const struct document_node *node, const struct schema_field *field,
			   const char *place, void *member, struct schema_context *context);
json_t *labels_write_selector(const struct schema_field *field, const void *member);
int labels_read_selector(const struct schema_field *field, const json_t *value, void *member,
			 struct error *err);
