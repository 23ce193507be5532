// SPDX-License-Identifier: MIT
#include "control/frame.h"

#include <errno.h>
#include <string.h>

#include "model/limits.h"

#define KEPT_BYTES (64u << 10) /* a larger buffer is given back after its message */

void frame_reader_init(struct frame_reader *reader, size_t limit_bytes)
{
	*reader = (struct frame_reader){ .limit_bytes = limit_bytes };
}

void frame_reader_done(struct frame_reader *reader)
{
	text_done(&reader->body);
	frame_reader_init(reader, reader->limit_bytes);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many bytes it took; the length is known once the header is whole. */
static size_t read_header(struct frame_reader *reader, const uint8_t *bytes, size_t count)
{
	size_t used = smaller(count, sizeof(reader->header) - reader->header_count);

	memcpy(reader->header + reader->header_count, bytes, used);
	reader->header_count += used;
	if (reader->header_count == sizeof(reader->header)) {
		reader->length = (size_t)reader->header[0] << 24 | (size_t)reader->header[1] << 16 |
				 (size_t)reader->header[2] << 8 | (size_t)reader->header[3];
	}
	return used;
}

static int check_length(const struct frame_reader *reader, struct error *err)
{
	if (reader->length == 0) {
		return error_set(err, -EPROTO, ERROR_PEER,
				 "sent a frame of length 0; a frame holds one JSON object");
	}
	if (reader->length > reader->limit_bytes) {
		return error_set(
			err, -EPROTO, ERROR_PEER,
			"announced a frame of %zu bytes; the limit is %zu; is it rdmatestd?",
			reader->length, reader->limit_bytes);
	}
	return 0;
}

static int finish(struct frame_reader *reader, json_t **ret_message, struct error *err)
{
	struct error reason = ERROR_INIT;
	json_t *message = json_read_limited(reader->body.data, reader->body.length,
					    LIMIT_FRAME_VALUES, &reason);

	reader->header_count = 0;
	text_reset(&reader->body);
	if (reader->body.capacity > KEPT_BYTES) {
		text_done(&reader->body);
		reader->body = TEXT_INIT;
	}
	if (!message) {
		return error_set(err, -EPROTO, ERROR_PEER, "sent a frame that is no message: %s",
				 reason.text);
	}
	*ret_message = message;
	return 0;
}

int frame_read(struct frame_reader *reader, const void *bytes, size_t count, size_t *ret_used,
	       json_t **ret_message, struct error *err)
{
	const uint8_t *from = bytes;
	size_t used = 0;
	json_t *message = NULL;
	int ret = 0;

	if (reader->header_count < sizeof(reader->header)) {
		used = read_header(reader, from, count);
		if (reader->header_count == sizeof(reader->header)) {
			ret = check_length(reader, err);
		}
	}
	if (ret == 0 && reader->header_count == sizeof(reader->header)) {
		size_t part = smaller(count - used, reader->length - reader->body.length);

		text_add_bytes(&reader->body, from + used, part);
		used += part;
		if (reader->body.length == reader->length) {
			ret = finish(reader, &message, err);
		}
	}
	if (ret < 0) {
		return ret;
	}
	*ret_used = used;
	*ret_message = message;
	return 0;
}

bool frame_is_partial(const struct frame_reader *reader)
{
	return reader->header_count > 0;
}

int frame_write(const json_t *message, size_t limit_bytes, struct text *out, struct error *err)
{
	size_t start = out->length;
	size_t length;
	uint8_t header[4] = { 0 };

	text_add_bytes(out, header, sizeof(header));
	json_write(message, out);
	length = out->length - start - sizeof(header);
	if (length > limit_bytes) {
		out->length = start;
		out->data[start] = '\0';
		return error_set(err, -EMSGSIZE, ERROR_BUG,
				 "a message of %zu bytes is above the frame limit %zu", length,
				 limit_bytes);
	}
	out->data[start] = (char)(length >> 24);
	out->data[start + 1] = (char)(length >> 16);
	out->data[start + 2] = (char)(length >> 8);
	out->data[start + 3] = (char)length;
	return 0;
}
