// SPDX-License-Identifier: MIT
#pragma once

/* A noun with a field of every type, and its table, for the tests of util/schema. */

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/schema.h"

struct op {
	int op;
	uint64_t size_bytes;
	uint64_t weight;
};

struct wish {
	char name[64];
	char description[20];
	bool enabled;
	int kind;
	uint64_t flags;
	struct {
		uint64_t num_qps;
		uint64_t qkey;
		uint64_t gid_index;
	} qp;
	struct op ops[4];
	size_t op_count;
	char labels[3][8];
	size_t label_count;
	uint64_t duration_ns;
	uint64_t rate_bps;
	uint64_t ops_rate;
	uint64_t share_ppm;
	uint64_t pair[2]; /* of a custom field, "3-5" */
};

static const char *const kinds[] = { "RC", "UC", "UD", NULL };
static const char *const op_names[] = { "write", "read", "send", NULL };
static const char *const flag_names[] = { "manual", "startup", "reload", NULL };

static void parse_pair(const struct document_node *node, const struct schema_field *field,
		       const char *place, void *member, struct schema_context *context)
{
	unsigned low;
	unsigned high;

	if (node->kind != DOCUMENT_SCALAR || sscanf(node->scalar, "%u-%u", &low, &high) != 2) {
		problems_add(context->problems, false, context->path, node->line, node->column,
			     "%s: is not a pair such as 3-5", place);
		return;
	}
	((uint64_t *)member)[0] = low;
	((uint64_t *)member)[1] = high;
}

static json_t *write_pair(const struct schema_field *field, const void *member)
{
	const uint64_t *pair = member;

	return json_pack("[I, I]", (json_int_t)pair[0], (json_int_t)pair[1]);
}

static int read_pair(const struct schema_field *field, const json_t *value, void *member,
		     struct error *err)
{
	uint64_t *pair = member;

	if (json_array_size(value) != 2) {
		return error_set(err, -EINVAL, ERROR_INPUT, "a pair is expected");
	}
	pair[0] = (uint64_t)json_integer_value(json_array_get(value, 0));
	pair[1] = (uint64_t)json_integer_value(json_array_get(value, 1));
	return 0;
}

#define AT(type, member) .offset = offsetof(struct type, member)

static const struct schema_field op_fields[] = { { .key = "op",
						   .type = SCHEMA_ENUM,
						   AT(op, op),
						   .names = op_names,
						   .is_required = true,
						   .doc = "the verb" },
						 { .key = "size",
						   .json_key = "size_bytes",
						   .type = SCHEMA_SIZE,
						   AT(op, size_bytes),
						   .is_required = true,
						   .max = 1 << 30,
						   .doc = "bytes of one operation" },
						 { .key = "weight",
						   .type = SCHEMA_INTEGER,
						   AT(op, weight),
						   .min = 1,
						   .max = 1000000,
						   .fallback = "1",
						   .doc = "share of operations" },
						 { 0 } };

static const struct schema_field qp_fields[] = {
	{ .key = "num_qps",
	  .type = SCHEMA_INTEGER,
	  AT(wish, qp.num_qps) - offsetof(struct wish, qp),
	  .min = 1,
	  .max = 16384,
	  .fallback = "1",
	  .doc = "queue pairs" },
	{ .key = "qkey",
	  .type = SCHEMA_HEX,
	  AT(wish, qp.qkey) - offsetof(struct wish, qp),
	  .max = UINT32_MAX,
	  .fallback = "0x11111111",
	  .doc = "Q_Key" },
	{ .key = "gid_index",
	  .type = SCHEMA_INTEGER,
	  AT(wish, qp.gid_index) - offsetof(struct wish, qp),
	  .max = 255,
	  .has_auto = true,
	  .fallback = "auto",
	  .doc = "sgid_index" },
	{ .key = "srq", .type = SCHEMA_LATER, .doc = "use num_qps: 1" },
	{ 0 }
};

static const struct schema_field wish_fields[] = {
	{ .key = "name",
	  .type = SCHEMA_NAME,
	  AT(wish, name),
	  .size = 64,
	  .is_required = true,
	  .doc = "its name" },
	{ .key = "description",
	  .type = SCHEMA_STRING,
	  AT(wish, description),
	  .size = 20,
	  .doc = "a | b" },
	{ .key = "enabled",
	  .type = SCHEMA_BOOL,
	  AT(wish, enabled),
	  .fallback = "true",
	  .doc = "runs at all" },
	{ .key = "kind", .type = SCHEMA_ENUM, AT(wish, kind), .names = kinds, .doc = "ibv_qp_type" },
	{ .key = "on",
	  .type = SCHEMA_FLAGS,
	  AT(wish, flags),
	  .names = flag_names,
	  .fallback = "[manual, reload]",
	  .doc = "when" },
	{ .key = "qp", .type = SCHEMA_MAP, AT(wish, qp), .fields = qp_fields, .doc = "queue pairs" },
	{ .key = "ops",
	  .type = SCHEMA_LIST,
	  AT(wish, ops),
	  .fields = op_fields,
	  .item_size = sizeof(struct op),
	  .count_offset = offsetof(struct wish, op_count),
	  .min_items = 1,
	  .max_items = 4,
	  .doc = "the mix" },
	{ .key = "labels",
	  .type = SCHEMA_STRINGS,
	  AT(wish, labels),
	  .size = 8,
	  .max_items = 3,
	  .count_offset = offsetof(struct wish, label_count),
	  .fallback = "a, b",
	  .doc = "words" },
	{ .key = "duration",
	  .json_key = "duration_ns",
	  .type = SCHEMA_DURATION,
	  AT(wish, duration_ns),
	  .min = 1000000,
	  .max = 86400000000000,
	  .fallback = "10s",
	  .doc = "how long" },
	{ .key = "rate",
	  .json_key = "rate_bps",
	  .type = SCHEMA_RATE,
	  AT(wish, rate_bps),
	  .fallback = "10Gbps",
	  .doc = "limit" },
	{ .key = "ops_rate",
	  .json_key = "ops_per_s",
	  .type = SCHEMA_OPS_RATE,
	  AT(wish, ops_rate),
	  .fallback = "200k/s",
	  .doc = "limit" },
	{ .key = "share",
	  .json_key = "share_ppm",
	  .type = SCHEMA_RATIO,
	  AT(wish, share_ppm),
	  .fallback = "95%",
	  .doc = "part" },
	{ .key = "pair",
	  .type = SCHEMA_CUSTOM,
	  AT(wish, pair),
	  .size = 2 * sizeof(uint64_t),
	  .fallback = "3-5",
	  .parse = parse_pair,
	  .write = write_pair,
	  .read = read_pair,
	  .doc = "two numbers" },
	{ 0 }
};
