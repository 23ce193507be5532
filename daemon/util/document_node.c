// SPDX-License-Identifier: MIT
#include "util/document_node.h"

#include <stdlib.h>
#include <string.h>

void document_node_free(struct document_node *node)
{
	if (!node) {
		return;
	}
	for (size_t i = 0; i < node->count; i++) {
		if (node->keys) {
			document_node_free(node->keys[i]);
		}
		document_node_free(node->values[i]);
	}
	free(node->keys);
	free(node->values);
	free(node->scalar);
	free(node);
}

struct document_node *document_node_new(enum document_kind kind, unsigned line, unsigned column)
{
	struct document_node *node = memory_new(sizeof(*node));

	node->kind = kind;
	node->line = line;
	node->column = column;
	return node;
}

/* The arrays grow at each power of two. */
void document_node_add(struct document_node *node, struct document_node *key,
		       struct document_node *value)
{
	if ((node->count & (node->count - 1)) == 0) {
		size_t capacity = node->count ? 2 * node->count : 1;

		node->values = memory_resize(node->values, capacity, sizeof(node->values[0]));
		if (key) {
			node->keys = memory_resize(node->keys, capacity, sizeof(node->keys[0]));
		}
	}
	if (key) {
		node->keys[node->count] = key;
	}
	node->values[node->count] = value;
	node->count++;
}

static int compare_keys(const void *left, const void *right)
{
	const struct document_node *a = *(struct document_node *const *)left;
	const struct document_node *b = *(struct document_node *const *)right;
	int order = strcmp(a->scalar, b->scalar);

	if (order == 0) {
		order = a->line < b->line ? -1 : a->line > b->line;
	}
	return order ? order : (a->column < b->column ? -1 : a->column > b->column);
}

void document_node_sort(struct document_node **keys, size_t count)
{
	qsort(keys, count, sizeof(*keys), compare_keys);
}
