// SPDX-License-Identifier: MIT
#pragma once

/*
 * Frames of the control protocol: 4 bytes length, big-endian, then that many bytes of one JSON
 * object of at most LIMIT_FRAME_VALUES values. The reader takes a stream in pieces of any size and
 * never holds more than one frame. Loop thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/json.h"
#include "util/text.h"

struct frame_reader {
	size_t limit_bytes; /* of one frame's JSON; may be changed at any time, for the frames that
			       begin then */
	uint8_t header[4];
	size_t header_count;
	size_t length; /* as the header said */
	struct text body; /* grows with what arrives, not with what was announced */
};

void frame_reader_init(struct frame_reader *reader, size_t limit_bytes);
void frame_reader_done(struct frame_reader *reader);

/*
 * Takes bytes until one message is whole or all are taken; *ret_used says how many. *ret_message: a
 * new reference, or NULL when more bytes are needed. -EPROTO with err (class PEER) when the stream
 * is no stream of frames; then it cannot go on.
 */
int frame_read(struct frame_reader *reader, const void *bytes, size_t count, size_t *ret_used,
	       json_t **ret_message, struct error *err);
/* In the middle of a frame: the end of the stream would cut it. */
bool frame_is_partial(const struct frame_reader *reader);

/* Adds the frame of a message to *out. -EMSGSIZE when it is above limit_bytes; then *out is as
 * before. */
int frame_write(const json_t *message, size_t limit_bytes, struct text *out, struct error *err);
