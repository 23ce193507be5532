// SPDX-License-Identifier: MIT
#include "config/place.h"

#include <stdlib.h>
#include <string.h>

static struct place place_of(const struct document_node *node, bool is_written)
{
	return (struct place){ .line = node->line,
			       .column = node->column,
			       .is_written = is_written };
}

/* The step at the head of *rest ("name" or "[3]") below node, or NULL; *rest moves behind it. */
static const struct document_node *descend(const struct document_node *node, const char **rest)
{
	const char *step = *rest;
	char key[64];
	size_t length;

	if (*step == '[') {
		char *end;
		unsigned long index = strtoul(step + 1, &end, 10);

		*rest = *end == ']' ? end + 1 : "";
		return node->kind == DOCUMENT_LIST && index < node->count ? node->values[index]
									  : NULL;
	}
	length = strcspn(step, ".[");
	*rest = step + length;
	if (node->kind != DOCUMENT_MAP || length == 0 || length >= sizeof(key)) {
		return NULL;
	}
	memcpy(key, step, length);
	key[length] = '\0';
	return document_get(node, key);
}

struct place place_find(const struct document_node *node, const char *dotted)
{
	while (*dotted) {
		const struct document_node *below;

		if (*dotted == '.') {
			dotted++;
			continue;
		}
		below = descend(node, &dotted);
		if (!below) {
			return place_of(node, false);
		}
		node = below;
	}
	return place_of(node, true);
}

struct place place_key(const struct document_node *map, const char *key)
{
	for (size_t i = 0; i < map->count; i++) {
		if (map->keys && strcmp(map->keys[i]->scalar, key) == 0) {
			return place_of(map->keys[i], true);
		}
	}
	return place_of(map, false);
}
