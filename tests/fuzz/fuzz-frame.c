// SPDX-License-Identifier: MIT
/*
 * Frames of the control protocol and the JSON in them: control/frame, util/json. The first byte of
 * the input says in what pieces the rest arrives.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "control/frame.h"
#include "fuzz/fuzz.h"
#include "model/limits.h"
#include "util/memory.h"

#define LIMIT_BYTES LIMIT_FRAME_UNAUTHENTICATED_BYTES

/* Every getter, whatever the value is. */
static void get_each(const json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value) {
		struct error err[7] = { ERROR_INIT };
		json_t *inner = NULL;
		char few[8] = "";
		uint64_t number = 5;
		int64_t whole;
		double real;
		bool is_true;

		json_get_string(object, key, few, sizeof(few), &err[0]);
		json_get_u64(object, key, 2, 1000, &number, &err[1]);
		assert(number >= 2 && number <= 1000);
		json_get_i64(object, key, &whole, &err[2]);
		json_get_bool(object, key, &is_true, &err[3]);
		json_get_real(object, key, &real, &err[4]);
		if (json_get_array(object, key, 3, &inner, &err[5]) == 0) {
			assert(json_array_size(inner) <= 3);
		}
		if (json_get_object(object, key, &inner, &err[6]) == 0) {
			get_each(inner);
		}
		json_get_u64_or(object, key, 0, UINT64_MAX, &number, NULL);
		json_get_string_or(object, key, few, sizeof(few), NULL);
		for (size_t i = 0; i < sizeof(err) / sizeof(err[0]); i++) {
			if (error_is_set(&err[i])) {
				fuzz_expect_error(&err[i]);
			}
		}
		assert(json_get_u64(object, "", 0, 1, &number, NULL) < 0 ||
		       json_object_get(object, ""));
	}
}

/* A frame that we write is the message again. */
static void check_writing(const json_t *message)
{
	_cleanup_text_ struct text out = TEXT_INIT;
	_cleanup_text_ struct text pretty = TEXT_INIT;
	struct error err = ERROR_INIT;
	struct frame_reader reader;
	json_t *back = NULL;
	size_t used = 0;

	text_add(&out, "before");
	if (frame_write(message, LIMIT_BYTES, &out, &err) < 0) {
		assert(err.class == ERROR_BUG && strcmp(out.data, "before") == 0);
		return;
	}
	frame_reader_init(&reader, LIMIT_BYTES);
	assert(frame_read(&reader, out.data + 6, out.length - 6, &used, &back, &err) == 0);
	assert(back && used == out.length - 6);
	frame_reader_done(&reader);
	json_decref(back);
	json_write_pretty(message, &pretty);
	back = json_read(pretty.data, pretty.length, &err);
	assert(back);
	json_decref(back);
}

struct outcome {
	struct text messages;
	unsigned count;
	int ret;
	struct error err;
};

/* The whole stream, in pieces of `piece` bytes; 0: as it is. */
static void read_stream(const uint8_t *bytes, size_t count, size_t piece, struct outcome *ret)
{
	struct frame_reader reader;
	size_t taken = 0;

	*ret = (struct outcome){ 0 };
	text_add(&ret->messages, "");
	frame_reader_init(&reader, LIMIT_BYTES);
	while (taken < count && ret->ret == 0) {
		size_t offered = piece && piece < count - taken ? piece : count - taken;
		json_t *message = NULL;
		size_t used = 0;

		ret->ret = frame_read(&reader, bytes + taken, offered, &used, &message, &ret->err);
		assert(used <= offered && (used > 0 || ret->ret < 0));
		/* Grows with what came, not with what was announced. */
		assert(reader.body.length <= count && reader.body.capacity <= 2 * count + 64);
		taken += used;
		if (message) {
			json_write(message, &ret->messages);
			ret->count++;
			if (!piece) {
				get_each(message);
				check_writing(message);
			}
			json_decref(message);
		}
		assert(ret->ret < 0 || message || frame_is_partial(&reader));
	}
	frame_reader_done(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole;
	struct outcome pieces;

	if (size == 0) {
		return 0;
	}
	read_stream(data + 1, size - 1, 0, &whole);
	read_stream(data + 1, size - 1, 1u + data[0], &pieces);
	assert(whole.ret == pieces.ret && whole.count == pieces.count);
	assert(strcmp(whole.messages.data, pieces.messages.data) == 0);
	assert(strcmp(whole.err.text, pieces.err.text) == 0);
	if (whole.ret < 0) {
		fuzz_expect_error(&whole.err);
	} else if (whole.count > 0) {
		fuzz_accept();
	}
	text_done(&whole.messages);
	text_done(&pieces.messages);
	return 0;
}
