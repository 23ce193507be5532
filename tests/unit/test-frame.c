// SPDX-License-Identifier: MIT
#include "control/frame.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/limits.h"

#define LIMIT 4096

/* Three messages, one of them with bytes that look like a header. */
static void three(struct text *out)
{
	static const char *const texts[] = { "a", "\x01\x02 and \\\" quotes }{", "" };

	for (size_t i = 0; i < 3; i++) {
		_cleanup_json_ json_t *message = json_object();
		struct error err = ERROR_INIT;

		json_set_string(message, "kind", texts[i]);
		json_set_u64(message, "number", i);
		assert_int_equal(frame_write(message, LIMIT, out, &err), 0);
	}
}

/* Feeds bytes in one piece; returns how many messages came, in order. */
static unsigned feed(struct frame_reader *reader, const char *bytes, size_t count, unsigned first)
{
	unsigned messages = 0;

	while (count > 0) {
		_cleanup_json_ json_t *message = NULL;
		struct error err = ERROR_INIT;
		uint64_t number = 0;
		size_t used = 0;

		assert_int_equal(frame_read(reader, bytes, count, &used, &message, &err), 0);
		assert_true(used > 0 && used <= count);
		bytes += used;
		count -= used;
		if (message) {
			assert_int_equal(json_get_u64(message, "number", 0, 9, &number, &err), 0);
			assert_int_equal(number, first + messages);
			messages++;
		}
	}
	return messages;
}

static void messages_survive_a_split_at_every_byte(void **state)
{
	_cleanup_text_ struct text stream = TEXT_INIT;

	three(&stream);
	for (size_t cut = 0; cut <= stream.length; cut++) {
		struct frame_reader reader;
		unsigned count;

		frame_reader_init(&reader, LIMIT);
		count = feed(&reader, stream.data, cut, 0);
		count += feed(&reader, stream.data + cut, stream.length - cut, count);
		assert_int_equal(count, 3);
		assert_false(frame_is_partial(&reader));
		frame_reader_done(&reader);
	}
}

static void messages_survive_single_bytes(void **state)
{
	_cleanup_text_ struct text stream = TEXT_INIT;
	struct frame_reader reader;
	unsigned count = 0;

	three(&stream);
	frame_reader_init(&reader, LIMIT);
	for (size_t i = 0; i < stream.length; i++) {
		count += feed(&reader, stream.data + i, 1, count);
		assert_true(frame_is_partial(&reader) || count > 0);
	}
	assert_int_equal(count, 3);
	frame_reader_done(&reader);
}

static int read_all(const void *bytes, size_t count, size_t limit_bytes, struct error *err)
{
	struct frame_reader reader;
	const char *from = bytes;
	int ret = 0;

	frame_reader_init(&reader, limit_bytes);
	while (count > 0 && ret == 0) {
		_cleanup_json_ json_t *message = NULL;
		size_t used = 0;

		ret = frame_read(&reader, from, count, &used, &message, err);
		from += used;
		count -= used;
	}
	frame_reader_done(&reader);
	return ret;
}

static void a_length_of_zero_is_refused(void **state)
{
	struct error err = ERROR_INIT;

	assert_int_equal(read_all("\0\0\0\0", 4, LIMIT, &err), -EPROTO);
	assert_int_equal(err.class, ERROR_PEER);
	assert_non_null(strstr(err.text, "length 0"));
}

static void a_length_above_the_limit_is_refused_before_a_byte_of_it_comes(void **state)
{
	struct error err = ERROR_INIT;

	assert_int_equal(read_all("\x00\x00\x10\x01", 4, LIMIT, &err), -EPROTO);
	assert_non_null(strstr(err.text, "4097"));
	assert_non_null(strstr(err.text, "4096"));
	err = ERROR_INIT;
	assert_int_equal(read_all("\xff\xff\xff\xff", 4, LIMIT_FRAME_BYTES, &err), -EPROTO);
	assert_non_null(strstr(err.text, "4294967295"));
}

static void a_length_at_the_limit_is_taken(void **state)
{
	_cleanup_json_ json_t *message = json_object();
	_cleanup_text_ struct text probe = TEXT_INIT;
	_cleanup_text_ struct text stream = TEXT_INIT;
	char filler[LIMIT + 1];
	struct error err = ERROR_INIT;
	size_t length;

	json_set_string(message, "kind", "");
	json_write(message, &probe);
	length = LIMIT - probe.length;
	memset(filler, 'x', sizeof(filler));
	filler[length] = '\0';
	json_set_string(message, "kind", filler);
	assert_int_equal(frame_write(message, LIMIT, &stream, &err), 0);
	assert_int_equal(stream.length, LIMIT + 4);
	assert_int_equal(read_all(stream.data, stream.length, LIMIT, &err), 0);

	filler[length] = 'x';
	filler[length + 1] = '\0';
	json_set_string(message, "kind", filler);
	assert_int_equal(frame_write(message, LIMIT, &stream, &err), -EMSGSIZE);
	assert_int_equal(err.class, ERROR_BUG);
	assert_int_equal(stream.length, LIMIT + 4);
	assert_int_equal(stream.data[stream.length], '\0');
}

static void memory_grows_with_what_came_not_with_what_was_announced(void **state)
{
	struct frame_reader reader;
	struct error err = ERROR_INIT;
	json_t *message = NULL;
	size_t used = 0;

	frame_reader_init(&reader, LIMIT_FRAME_BYTES);
	assert_int_equal(frame_read(&reader, "\x00\x10\x00\x00{", 5, &used, &message, &err), 0);
	assert_int_equal(used, 5);
	assert_null(message);
	assert_true(reader.body.capacity < 4096);
	assert_true(frame_is_partial(&reader));
	frame_reader_done(&reader);
}

static void a_large_frame_leaves_no_large_buffer_behind(void **state)
{
	_cleanup_json_ json_t *message = json_object();
	_cleanup_text_ struct text stream = TEXT_INIT;
	char *filler = memory_new(500001);
	struct frame_reader reader;
	struct error err = ERROR_INIT;

	memset(filler, 'x', 500000);
	json_set_u64(message, "number", 0);
	json_set_string(message, "filler", filler);
	assert_int_equal(frame_write(message, LIMIT_FRAME_BYTES, &stream, &err), 0);
	frame_reader_init(&reader, LIMIT_FRAME_BYTES);
	assert_int_equal(feed(&reader, stream.data, stream.length, 0), 1);
	assert_int_equal(reader.body.capacity, 0);
	frame_reader_done(&reader);
	free(filler);
}

static void what_is_no_json_object_is_refused(void **state)
{
	static const char *const bodies[] = {
		"x",
		"[]",
		"1",
		"\"kind\"",
		"null",
		"{\"a\":1,\"a\":2}",
		"{\"a\":\"\xff\"}",
		"{}x",
		"{",
		" ",
		"{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
	};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		_cleanup_text_ struct text stream = TEXT_INIT;
		struct error err = ERROR_INIT;

		text_add_bytes(&stream, (uint8_t[]){ 0, 0, 0, (uint8_t)strlen(bodies[i]) }, 4);
		text_add(&stream, bodies[i]);
		assert_int_equal(read_all(stream.data, stream.length, LIMIT, &err), -EPROTO);
		assert_int_equal(err.class, ERROR_PEER);
		assert_non_null(strstr(err.text, "no message"));
	}
}

/* 2 MiB of "[]," would take 0.15 s and 90 MiB. */
static void a_frame_of_too_many_values_is_refused(void **state)
{
	static const struct {
		unsigned items;
		int ret;
	} cases[] = { { LIMIT_FRAME_VALUES - 2, 0 }, { LIMIT_FRAME_VALUES - 1, -EPROTO } };

	for (size_t i = 0; i < 2; i++) {
		_cleanup_text_ struct text frame = TEXT_INIT;
		struct error err = ERROR_INIT;
		size_t length;

		text_add_bytes(&frame, "\0\0\0\0", 4);
		text_add(&frame, "{\"a\":[0");
		for (unsigned j = 1; j < cases[i].items; j++) {
			text_add(&frame, ",0");
		}
		text_add(&frame, "]}");
		length = frame.length - 4;
		memcpy(frame.data,
		       (uint8_t[]){ 0, (uint8_t)(length >> 16), (uint8_t)(length >> 8),
				    (uint8_t)length },
		       4);
		assert_int_equal(read_all(frame.data, frame.length, LIMIT_FRAME_BYTES, &err),
				 cases[i].ret);
		if (cases[i].ret < 0) {
			assert_non_null(strstr(err.text, "at most 65536"));
		}
	}
}

static void a_nul_byte_does_not_end_a_body_early(void **state)
{
	struct error err = ERROR_INIT;

	assert_int_equal(read_all("\0\0\0\x05{}\0{}", 9, LIMIT, &err), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_survive_a_split_at_every_byte),
		cmocka_unit_test(messages_survive_single_bytes),
		cmocka_unit_test(a_length_of_zero_is_refused),
		cmocka_unit_test(a_length_above_the_limit_is_refused_before_a_byte_of_it_comes),
		cmocka_unit_test(a_length_at_the_limit_is_taken),
		cmocka_unit_test(memory_grows_with_what_came_not_with_what_was_announced),
		cmocka_unit_test(a_large_frame_leaves_no_large_buffer_behind),
		cmocka_unit_test(what_is_no_json_object_is_refused),
		cmocka_unit_test(a_frame_of_too_many_values_is_refused),
		cmocka_unit_test(a_nul_byte_does_not_end_a_body_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
