// SPDX-License-Identifier: MIT
#include "config/file.h"

#include <string.h>

#include "model/scenario.h"
#include "model/topology.h"

#define GRAMMAR_VERSION 1
#define QUOTED_SIZE 44

static void keep_node(const struct document_node *node, const struct schema_field *field,
		      const char *place, void *member, struct schema_context *context)
{
	if (!node->is_reported) {
		*(const struct document_node **)member = node;
	}
}

static void read_version(const struct document_node *node, const struct schema_field *field,
			 const char *place, void *member, struct schema_context *context)
{
	char quoted[QUOTED_SIZE];

	if (node->is_reported) {
		return;
	}
	if (node->kind == DOCUMENT_SCALAR && strcmp(node->scalar, "1") == 0) {
		keep_node(node, field, place, member, context);
		return;
	}
	text_escape(quoted, sizeof(quoted),
		    node->kind == DOCUMENT_SCALAR ? node->scalar : "a list or map");
	problems_add(
		context->problems, false, context->path, node->line, node->column,
		"%s: \"%s\" is not a version of this grammar; this daemon reads version %d: write `version: %d`",
		place, quoted, GRAMMAR_VERSION, GRAMMAR_VERSION);
}

#define SECTION(name)                                                                    \
	.key = #name, .type = SCHEMA_CUSTOM, .parse = keep_node, .size = sizeof(void *), \
	.offset = offsetof(struct file_sections, name)

const struct schema_field file_fields[] = {
	{ .key = "version",
	  .type = SCHEMA_CUSTOM,
	  .is_required = true,
	  .example = "version: 1",
	  .size = sizeof(void *),
	  .parse = read_version,
	  .offset = offsetof(struct file_sections, version),
	  .doc = "Of this grammar: 1. Every file begins with it." },
	{ SECTION(include),
	  .doc = "List of files or globs, relative to the main file, which alone may have it; they hold peers and scenarios." },
	{ SECTION(daemon), .fields = daemon_fields, .doc = "This node. Main file only." },
	{ SECTION(peers), .fields = peer_fields,
	  .doc = "List of the nodes of the fleet; this one may be among them." },
	{ SECTION(scenarios), .fields = scenario_fields, .doc = "List of what to run." },
	{ .key = "defaults", .type = SCHEMA_LATER, .doc = "write the values into each scenario" },
	{ .key = "templates", .type = SCHEMA_LATER, .doc = "write the values into each scenario" },
	{ .key = "suites", .type = SCHEMA_LATER, .doc = "run its scenarios one after the other" },
	{ .key = NULL },
};
