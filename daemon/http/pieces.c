// SPDX-License-Identifier: MIT
#include "http/pieces.h"

#include <stdlib.h>

#include "util/clock.h"
#include "util/memory.h"

void pieces_free(struct pieces *pieces)
{
	if (pieces) {
		pieces->free(pieces);
	}
}

void pieces_fill(struct pieces **pieces, struct text *out, size_t bytes, uint64_t time_ns)
{
	uint64_t end_mono_ns = clock_mono_ns() + time_ns;
	size_t before = out->length;

	do {
		if (!(*pieces)->next(*pieces, out)) {
			pieces_free(take(*pieces));
		}
	} while (*pieces && out->length - before < bytes && clock_mono_ns() < end_mono_ns);
}

struct list_pieces {
	struct pieces pieces;
	json_t *head;
	const char *key; /* static */
	pieces_item_fn item;
	void *arg;
	void (*free_arg)(void *arg);
	bool is_begun;
	size_t index;
};

/* Up to the first item. */
static void begin_list(struct list_pieces *list, struct text *out)
{
	json_t *head = list->head ? take(list->head) : json_object();

	json_set_take(head, list->key, json_array());
	json_write(head, out);
	json_decref(head);
	out->length -= sizeof("]}") - 1;
	out->data[out->length] = '\0';
	list->is_begun = true;
}

static bool next_of_list(struct pieces *pieces, struct text *out)
{
	struct list_pieces *list = (struct list_pieces *)pieces;
	json_t *item = list->item(list->arg, list->index);

	if (!list->is_begun) {
		begin_list(list, out);
	}
	if (!item) {
		text_add(out, "]}\n");
		return false;
	}
	text_add(out, list->index++ ? "," : "");
	json_write(item, out);
	json_decref(item);
	return true;
}

static void free_list(struct pieces *pieces)
{
	struct list_pieces *list = (struct list_pieces *)pieces;

	if (list->free_arg) {
		list->free_arg(list->arg);
	}
	json_decref(list->head);
	free(list);
}

struct pieces *pieces_list_new(json_t *head, const char *key, pieces_item_fn item, void *arg,
			       void (*free_arg)(void *arg))
{
	struct list_pieces *list = memory_new(sizeof(*list));

	*list = (struct list_pieces){
		.pieces = { .next = next_of_list, .free = free_list },
		.head = head,
		.key = key,
		.item = item,
		.arg = arg,
		.free_arg = free_arg,
	};
	return &list->pieces;
}
