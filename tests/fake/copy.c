// SPDX-License-Identifier: MIT
/* The DMA engine: moves bytes between lists of pieces of memory. */
#include <string.h>

#include "fake/nic.h"

#if defined(__SANITIZE_THREAD__)
#define COPY_IS_HIDDEN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COPY_IS_HIDDEN 1
#endif
#endif

#ifdef COPY_IS_HIDDEN
/* A device's writes are no data races: a program that polls memory is right to do so. */
__attribute__((no_sanitize("thread"), noinline)) static void move_bytes(void *to, const void *from,
									uint64_t bytes)
{
	volatile uint8_t *out = to;
	const volatile uint8_t *in = from;

	for (uint64_t i = 0; i < bytes; i++) {
		out[i] = in[i];
	}
}
#else
/* Who polls the last byte must find the others before it. */
static void move_bytes(void *to, const void *from, uint64_t bytes)
{
	uint8_t *out = to;
	const uint8_t *in = from;

	if (bytes > 1) {
		memmove(out, in, bytes - 1);
	}
	__atomic_store_n(&out[bytes - 1], in[bytes - 1], __ATOMIC_RELEASE);
}
#endif

/* A place in a list. */
struct cursor {
	struct pieces pieces;
	int index;
	uint64_t offset; /* in the piece */
};

static struct cursor seek(struct pieces pieces, uint64_t offset)
{
	struct cursor cursor = { .pieces = pieces, .offset = offset };

	while (cursor.index < pieces.count && cursor.offset >= pieces.sges[cursor.index].length) {
		cursor.offset -= pieces.sges[cursor.index++].length;
	}
	return cursor;
}

static uint64_t left(const struct cursor *cursor)
{
	return cursor->index < cursor->pieces.count
		       ? cursor->pieces.sges[cursor->index].length - cursor->offset
		       : 0;
}

static uint8_t *address(const struct cursor *cursor)
{
	return (uint8_t *)(uintptr_t)cursor->pieces.sges[cursor->index].addr + cursor->offset;
}

static void advance(struct cursor *cursor, uint64_t bytes)
{
	*cursor = seek((struct pieces){ cursor->pieces.sges + cursor->index,
					cursor->pieces.count - cursor->index },
		       cursor->offset + bytes);
}

void copy_pieces(struct pieces to, uint64_t to_offset, struct pieces from, uint64_t from_offset,
		 uint64_t bytes)
{
	struct cursor out = seek(to, to_offset);
	struct cursor in = seek(from, from_offset);

	while (bytes > 0) {
		uint64_t now = bytes;
		now = left(&out) < now ? left(&out) : now;
		now = left(&in) < now ? left(&in) : now;
		if (now == 0) {
			nic_die("copy beyond the end of a list: %lu bytes left",
				(unsigned long)bytes);
		}
		move_bytes(address(&out), address(&in), now);
		advance(&out, now);
		advance(&in, now);
		bytes -= now;
	}
}
