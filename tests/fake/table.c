// SPDX-License-Identifier: MIT
/* The hash table of nic.h, for queue pairs by number and regions by key. */
#include "fake/nic.h"

void table_add(struct table *table, struct table_node *node, uint32_t key)
{
	struct table_node **bucket = &table->buckets[key % TABLE_BUCKETS];

	node->key = key;
	node->next = *bucket;
	*bucket = node;
}

void table_remove(struct table *table, struct table_node *node)
{
	struct table_node **at = &table->buckets[node->key % TABLE_BUCKETS];

	while (*at != node) {
		at = &(*at)->next;
	}
	*at = node->next;
}

struct table_node *table_find(const struct table *table, uint32_t key)
{
	struct table_node *node = table->buckets[key % TABLE_BUCKETS];

	while (node != NULL && node->key != key) {
		node = node->next;
	}
	return node;
}
