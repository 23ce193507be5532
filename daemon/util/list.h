// SPDX-License-Identifier: MIT
#pragma once

/*
 * An intrusive doubly linked ring. A head is a node that is not in any object. One thread at a
 * time.
 */

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next;
	struct list *prev;
};

#define LIST_INIT(name)          \
	{                        \
		&(name), &(name) \
	}

static inline void list_init(struct list *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_append(struct list *head, struct list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void list_prepend(struct list *head, struct list *node)
{
	list_append(head->next, node);
}

/* Leaves the node as an empty ring of its own: removing twice is harmless. */
static inline void list_remove(struct list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

#define list_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

/*
 * The current item may be removed inside the body. Loops may be nested: each has names of its own.
 */
#define list_each(item, head, member) \
	list_each_named(item, head, member, LIST_NAME(_node, __LINE__), LIST_NAME(_next, __LINE__))

#define LIST_NAME(prefix, line) LIST_PASTE(prefix, line)
#define LIST_PASTE(prefix, line) prefix##line
#define list_each_named(item, head, member, node, next_node)                            \
	for (struct list *node = (head)->next, *next_node = node->next;                 \
	     node != (head) && ((item) = list_entry(node, typeof(*(item)), member), 1); \
	     node = next_node, next_node = node->next)

#define list_first(head, type, member) \
	(list_is_empty(head) ? NULL : list_entry((head)->next, type, member))
