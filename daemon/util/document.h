// SPDX-License-Identifier: MIT
#pragma once

/*
 * A YAML file as a tree of marked nodes, read with libyaml's event interface. Anchors, aliases,
 * tags, merge keys, duplicate keys, second documents, NUL bytes, invalid UTF-8 and tabs as
 * indentation are refused with their place; at most 1 MiB, 16 levels, 20,000 nodes. Scalars stay
 * strings: a schema types them.
 *
 * Immutable once read; one thread at a time. Errors go to a problem list, all of them, not only the
 * first.
 */

#include <stdbool.h>
#include <stddef.h>

#include "util/list.h"
#include "util/text.h"

enum document_kind { DOCUMENT_SCALAR, DOCUMENT_LIST, DOCUMENT_MAP };

struct document_node {
	enum document_kind kind;
	unsigned line; /* from 1 */
	unsigned column; /* from 1 */
	char *scalar; /* DOCUMENT_SCALAR; "" when there is no value */
	bool is_quoted;
	bool has_value; /* false for `key:` with nothing behind it */
	bool is_reported; /* a problem was added already (an alias): a schema stays silent about it
			   */
	size_t count; /* items of a list, pairs of a map */
	struct document_node **keys; /* DOCUMENT_MAP: scalars */
	struct document_node **values; /* DOCUMENT_MAP and DOCUMENT_LIST */
};

struct document {
	char *path; /* as given */
	struct document_node *root; /* a map; an empty file has an empty map */
};

/* One finding about a file: "path:line:column: error: place: text". */
struct problem {
	struct list link;
	char *path;
	unsigned line; /* 0: the whole file */
	unsigned column;
	bool is_warning;
	char *text; /* place included: "scenarios[0].qp.num_qps: 0 is below 1" */
};

struct problems {
	struct list list; /* of struct problem */
	unsigned errors;
	unsigned warnings;
};

void problems_init(struct problems *problems);
void problems_done(struct problems *problems);
void problems_add(struct problems *problems, bool is_warning, const char *path, unsigned line,
		  unsigned column, const char *format, ...) __attribute__((format(printf, 6, 7)));
/*
 * By file in order of first appearance, then line, column. At most `max` lines, then "... and N
 * more".
 */
void problems_print(struct problems *problems, unsigned max, struct text *out);
/* The same of the errors, or of the warnings alone. */
void problems_print_errors(struct problems *problems, unsigned max, struct text *out);
void problems_print_warnings(struct problems *problems, unsigned max, struct text *out);

#define DOCUMENT_MAX_BYTES (1u << 20)
#define DOCUMENT_MAX_DEPTH 16u
#define DOCUMENT_MAX_NODES 20000u

/* NULL when the file cannot be used at all (its problems are added); caller frees. */
struct document *document_read_file(const char *path, struct problems *problems);
/* The same from memory; `path` names it in problems. */
struct document *document_read(const char *path, const char *bytes, size_t count,
			       struct problems *problems);
void document_free(struct document *document);

/* The value of a key or NULL. */
const struct document_node *document_get(const struct document_node *map, const char *key);
