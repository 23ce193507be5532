// SPDX-License-Identifier: MIT
#pragma once

/*
 * A body that is made while it is sent: the record of a run may have a hundred megabytes, and the
 * loop has its turn after every piece. Loop thread; what they tell of must outlive them, or be
 * held by them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/json.h"
#include "util/text.h"

/* The head of each kind. */
struct pieces {
	/* Adds the next piece, made within a fraction of a millisecond, of a few KiB at most; it
	 * may be empty. False: that was the last; not called again. */
	bool (*next)(struct pieces *pieces, struct text *out);
	void (*free)(struct pieces *pieces);
};

/* NULL too. */
void pieces_free(struct pieces *pieces);

/* Takes pieces until there are that many bytes or the time is over, but one in any case. At their
 * end they are freed, and *pieces NULL. */
void pieces_fill(struct pieces **pieces, struct text *out, size_t bytes, uint64_t time_ns);

/* The item with this index, from 0; a new reference; NULL: there are not so many. */
typedef json_t *(*pieces_item_fn)(void *arg, size_t index);
/* {members of `head`..., key: [items]}: an item a piece. head: an object, taken; NULL: no others.
 * When they are freed, free_arg (may be NULL) is called for arg. */
struct pieces *pieces_list_new(json_t *head, const char *key, pieces_item_fn item, void *arg,
			       void (*free_arg)(void *arg));
