// SPDX-License-Identifier: MIT
#pragma once

/*
 * What may stand at the top of a file. Private to config/.
 */

#include "util/schema.h"

/* The sections of one file, as nodes: what they hold is read once it is clear which file may hold
 * it. NULL: absent or unusable. */
struct file_sections {
	const struct document_node *version;
	const struct document_node *include;
	const struct document_node *daemon;
	const struct document_node *peers;
	const struct document_node *scenarios;
};

/* Of struct file_sections. */
extern const struct schema_field file_fields[];
