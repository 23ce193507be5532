// SPDX-License-Identifier: MIT
#pragma once

/*
 * One table per noun says it all: how a person writes it (YAML, with units), how daemons and
 * programs exchange it (JSON, base units in the key), its default, its range, its documentation.
 * The same table parses configuration with every error at once, encodes and checks the control
 * protocol, and prints the field reference: they cannot drift apart.
 *
 * Objects are plain structs without pointers. Every number is a uint64_t, an enumeration an int, a
 * switch a bool.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/document.h"
#include "util/error.h"
#include "util/json.h"

/* The stored value of a field written `auto`. In JSON: null. */
#define SCHEMA_AUTO UINT64_MAX

enum schema_type {
	SCHEMA_BOOL, /* bool; true, false */
	SCHEMA_INTEGER, /* uint64_t */
	SCHEMA_HEX, /* uint64_t; 0x... or decimal */
	SCHEMA_SIZE, /* uint64_t bytes */
	SCHEMA_DURATION, /* uint64_t ns */
	SCHEMA_RATE, /* uint64_t bit/s */
	SCHEMA_OPS_RATE, /* uint64_t operations/s */
	SCHEMA_RATIO, /* uint64_t parts per million */
	SCHEMA_ENUM, /* int, index into names */
	SCHEMA_FLAGS, /* uint64_t, bit i = names[i]; written as a list */
	SCHEMA_NAME, /* char[size], [a-z0-9][a-z0-9._-]{0,62} */
	SCHEMA_STRING, /* char[size], UTF-8 without control characters */
	SCHEMA_STRINGS, /* char[max_items][size] with a size_t count */
	SCHEMA_MAP, /* a struct described by fields */
	SCHEMA_LIST, /* an array of structs described by fields, with a size_t count */
	SCHEMA_CUSTOM, /* parse, and write/read for JSON */
	SCHEMA_LATER, /* in the grammar, not in this version: refused, `doc` says what to do instead
		       */
};

struct schema_field;

/* What a custom parser gets. place: "scenarios[0].workload.ops[1].size". */
struct schema_context {
	const char *path; /* of the file */
	struct problems *problems;
};
typedef void (*schema_parse_fn)(const struct document_node *node, const struct schema_field *field,
				const char *place, void *member, struct schema_context *context);
typedef json_t *(*schema_write_fn)(const struct schema_field *field,
				   const void *member); /* new
							   reference
							 */
typedef int (*schema_read_fn)(const struct schema_field *field, const json_t *value, void *member,
			      struct error *err);

struct schema_field {
	const char *key; /* NULL ends a table */
	const char *json_key; /* with the unit: "duration_ns"; NULL = as key */
	enum schema_type type;
	bool is_required;
	bool has_auto; /* `auto` is accepted and is stored as SCHEMA_AUTO (numbers only) */
	bool is_optional; /* has no default: 0, below min, is stored when it is left out, stands for
			     that in JSON, and cannot be written (numbers only) */
	size_t offset; /* of the member in its struct */
	size_t size; /* NAME, STRING, STRINGS: of one char array; CUSTOM: of the member, zeroed by
			the defaults */
	uint64_t min; /* numbers; both 0 = no limits */
	uint64_t max;
	const char *const *names; /* ENUM, FLAGS: NULL-terminated */
	const char *fallback; /* the default, as a person would write it; NULL = zero/empty/false */
	const struct schema_field *fields; /* MAP, LIST */
	size_t item_size; /* LIST */
	size_t count_offset; /* LIST, STRINGS: of the size_t count */
	size_t max_items; /* LIST, STRINGS */
	size_t min_items;
	schema_parse_fn parse; /* CUSTOM */
	schema_write_fn write;
	schema_read_fn read;
	const char *doc; /* one line of help: meaning, RDMA term */
	const char *example; /* of a required one, as a person would write it, for who left it out;
				or NULL */
};

/* Writes the defaults of every field (maps too; lists become empty) into *object. */
void schema_defaults(const struct schema_field *fields, void *object);

/*
 * Reads a map into *object (which gets its defaults first). Adds every problem: unknown keys with a
 * did-you-mean (also "belongs under 'qp'" when another map of `root` has it), missing required
 * keys, wrong kinds, units, ranges. place: "" or a prefix without trailing dot. False if any error
 * was added.
 */
bool schema_parse(const struct schema_field *fields, const struct document_node *map,
		  const char *place, void *object, const struct schema_field *root,
		  struct schema_context *context);

/* One scalar by a table row; for custom parsers. False if a problem was added. */
bool schema_parse_scalar(const struct schema_field *field, const struct document_node *node,
			 const char *place, void *member, struct schema_context *context);

/* As JSON: every field, always, in table order. New reference. */
json_t *schema_write(const struct schema_field *fields, const void *object);

/*
 * From JSON of a peer: ranges and kinds checked, unknown keys ignored, absent keys keep their
 * default, required ones must be there. 0, or -EINVAL with err naming key, value and limit. *object
 * is unspecified after an error.
 */
int schema_read(const struct schema_field *fields, const json_t *json, void *object,
		struct error *err);

/*
 * The reference page (Markdown tables, one per map, nested ones following), from the table alone.
 */
void schema_print_reference(const struct schema_field *fields, const char *title, struct text *out);
