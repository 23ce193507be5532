// SPDX-License-Identifier: MIT
#pragma once

/* How the nodes of a document come, grow and go, for document.c alone. */

#include "util/document.h"
#include "util/memory.h"

struct document_node *document_node_new(enum document_kind kind, unsigned line, unsigned column);
void document_node_free(struct document_node *node); /* with all below it */
MEMORY_CLEANUP(struct document_node, document_node_free)

/* Takes key (NULL in a list) and value. */
void document_node_add(struct document_node *node, struct document_node *key,
		       struct document_node *value);

/* Scalars, by text and then by place. */
void document_node_sort(struct document_node **keys, size_t count);
