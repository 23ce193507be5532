// SPDX-License-Identifier: MIT
#include "unit/control-harness.h"

#include <errno.h>
#include <sys/eventfd.h>

/* A daemon, and somebody who does not keep the rules. */
struct scene {
	sd_event *event;
	struct member node;
	struct stranger stranger;
};

static void scene_init(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	assert_true(sd_event_new(&scene->event) >= 0);
	member_init(&scene->node, "node-a");
	member_listen(&scene->node, scene->event, 64);
	stranger_connect(&scene->stranger, scene->node.port);
}

static void scene_done(struct scene *scene)
{
	stranger_done(&scene->stranger);
	member_done(&scene->node);
	sd_event_unref(scene->event);
}

static void scene_open(struct scene *scene)
{
	scene_init(scene);
	stranger_shake(&scene->stranger, scene->event);
	stranger_send_text(&scene->stranger, STRANGER_HELLO);
	run_until(scene->event, &scene->node.accepted, 1, 5000);
}

static struct session_listener_status scene_status(const struct scene *scene)
{
	struct session_listener_status status;

	session_listener_status(scene->node.listener, &status);
	return status;
}

static void garbage_instead_of_tls_ends_the_connection(void **state)
{
	static const char http[] = "GET /metrics HTTP/1.1\r\nHost: node\r\n\r\n";
	struct scene scene;
	struct session_listener_status status;

	scene_init(&scene);
	assert_int_equal(write(scene.stranger.fd, http, sizeof(http) - 1), sizeof(http) - 1);
	run_for(scene.event, 50);
	status = scene_status(&scene);
	assert_int_equal(status.refused[SESSION_REFUSED_TLS], 1);
	assert_int_equal(status.pending, 0);
	assert_string_equal(status.last_failure.call, "tls");
	scene_done(&scene);
}

static void bad_first_messages_are_answered_with_a_reason(void **state)
{
	static const struct {
		const char *body;
		const char *reason;
		int number; /* 0: EBADMSG */
	} bad[] = {
		{ "no json", "no message" },
		{ "[1]", "no message" },
		{ "{}", "\"kind\": missing" },
		{ "{\"kind\":7}", "\"kind\": a string is expected" },
		{ "{\"kind\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}", "at most 31" },
		{ "{\"kind\":\"prepare\"}", "sent \"prepare\" before its hello" },
		{ "{\"kind\":\"ping\",\"t1_real_ns\":1,\"t1_mono_ns\":1}", "before its hello" },
		{ "{\"kind\":\"hello\"}", "\"protocol\": missing" },
		{ "{\"kind\":\"hello\",\"protocol\":\"1\"}", "invalid hello" },
		{ "{\"kind\":\"hello\",\"protocol\":-1}", "invalid hello" },
		{ "{\"kind\":\"hello\",\"protocol\":7}", "speaks control protocol 7 (rdmatestd ?)",
		  EPROTONOSUPPORT },
		{ "{\"kind\":\"hello\",\"protocol\":1,\"node\":\"x\"}", "\"boot_id\": missing" },
		{ "{\"kind\":\"hello\",\"protocol\":1,\"node\":\"a b\",\"boot_id\":\"\"}",
		  "calls its node", EINVAL },
		{ "{\"kind\":\"hello\",\"protocol\":1,\"node\":\"\",\"boot_id\":\"\"}",
		  "calls its node", EINVAL },
		{ "{\"kind\":\"hello\",\"protocol\":1,\"node\":\"node-a\",\"boot_id\":\"\"}",
		  "daemon.node_name", EEXIST },
		{ "{\"kind\":\"hello\",\"protocol\":1,\"node\":\"x\",\"boot_id\":\"\"}",
		  "\"inventory\": missing" },
		{ "{\"kind\":\"hello\",\"protocol\":1,\"node\":\"x\",\"boot_id\":\"\",\"inventory\":[]}",
		  "invalid hello" },
		{ "{\"kind\":\"hello\",\"protocol\":1,\"node\":\"x\",\"boot_id\":\"\",\"inventory\":"
		  "{\"node\":\"x\",\"ports\":[{\"port_num\":256}]}}",
		  "invalid hello: inventory" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int number = bad[i].number ? bad[i].number : EBADMSG;
		struct scene scene;

		scene_init(&scene);
		stranger_shake(&scene.stranger, scene.event);
		stranger_send_text(&scene.stranger, bad[i].body);
		stranger_expect_bye(&scene.stranger, scene.event, bad[i].reason);
		assert_int_equal(scene.node.accepted, 0);
		assert_int_equal(scene_status(&scene).pending, 1); /* until we close too */
		assert_true(json_is_true(json_object_get(scene.stranger.last, "refused")));
		stranger_done(&scene.stranger);
		scene.stranger = (struct stranger){ .fd = -1 };
		run_for(scene.event, 20);
		assert_int_equal(scene_status(&scene).refused[number == EPROTONOSUPPORT
								      ? SESSION_REFUSED_VERSION
								      : SESSION_REFUSED_HELLO],
				 1);
		assert_string_equal(scene_status(&scene).last_failure.call, "hello");
		assert_int_equal(scene_status(&scene).last_failure.number, number);
		assert_int_equal(scene_status(&scene).pending, 0);
		scene_done(&scene);
	}
}

static void bad_frames_are_answered_with_a_reason(void **state)
{
	struct scene scene;

	scene_open(&scene);
	stranger_send_bytes(&scene.stranger, "\0\0\0\0", 4);
	stranger_expect_bye(&scene.stranger, scene.event, "stranger sent a frame of length 0");
	assert_int_equal(scene.node.records[0].opened, 1);
	scene_done(&scene);

	scene_open(&scene);
	stranger_send_bytes(&scene.stranger, "\x00\x08\x00\x01", 4);
	stranger_expect_bye(&scene.stranger, scene.event, "524289 bytes; the limit is 524288");
	scene_done(&scene);

	scene_open(&scene);
	session_expect_totals(scene.node.records[0].session, true);
	stranger_send_bytes(&scene.stranger, "\x00\x20\x00\x01", 4);
	stranger_expect_bye(&scene.stranger, scene.event, "2097153 bytes; the limit is 2097152");
	scene_done(&scene);
}

static void bad_messages_of_the_session_are_answered_with_a_reason(void **state)
{
	static const struct {
		const char *body;
		const char *reason;
	} bad[] = {
		{ STRANGER_HELLO, "second hello" },
		{ "{\"kind\":\"ping\"}", "invalid ping" },
		{ "{\"kind\":\"ping\",\"t1_real_ns\":1.5,\"t1_mono_ns\":1}", "invalid ping" },
		{ "{\"kind\":\"pong\",\"t1_mono_ns\":1}", "invalid pong" },
		{ "{\"kind\":\"inventory\"}", "invalid inventory" },
		{ "{\"kind\":\"inventory\",\"inventory\":{\"node\":\"x\",\"ports\":7}}",
		  "invalid inventory" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct scene scene;

		scene_open(&scene);
		stranger_send_text(&scene.stranger, bad[i].body);
		stranger_expect_bye(&scene.stranger, scene.event, bad[i].reason);
		scene_done(&scene);
	}
}

static void unknown_kinds_are_the_owners_and_unknown_keys_nobodys(void **state)
{
	struct scene scene;

	scene_open(&scene);
	stranger_send_text(&scene.stranger, "{\"kind\":\"dance\",\"with\":[1,2]}");
	stranger_send_text(&scene.stranger,
			   "{\"kind\":\"ping\",\"t1_real_ns\":1,\"t1_mono_ns\":1,\"new\":true}");
	run_until(scene.event, &scene.node.records[0].messages, 1, 1000);
	assert_string_equal(scene.node.records[0].kinds, "dance ");
	run_for(scene.event, 20);
	assert_int_equal(stranger_receive(&scene.stranger), 0);
	assert_string_equal(scene.stranger.kinds, "hello ping pong ");
	assert_int_equal(json_integer_value(json_object_get(scene.stranger.last, "t1_mono_ns")), 1);
	assert_true(json_integer_value(json_object_get(scene.stranger.last, "t3_mono_ns")) >=
		    json_integer_value(json_object_get(scene.stranger.last, "t2_mono_ns")));
	scene_done(&scene);
}

static void a_pong_full_of_lies_changes_nothing(void **state)
{
	struct scene scene;
	int64_t offset_ns;
	int64_t error_ns;

	scene_open(&scene);
	stranger_send_text(&scene.stranger,
			   "{\"kind\":\"pong\",\"t1_real_ns\":0,\"t1_mono_ns\":0,\"t2_real_ns\":0,"
			   "\"t2_mono_ns\":-9223372036854775808,\"t3_real_ns\":9223372036854775807,"
			   "\"t3_mono_ns\":9223372036854775807}");
	run_for(scene.event, 20);
	assert_true(session_is_open(scene.node.records[0].session));
	assert_false(session_clock_offset(scene.node.records[0].session, &offset_ns, &error_ns));
	scene_done(&scene);
}

static void a_stream_cut_inside_a_frame_says_so(void **state)
{
	struct scene scene;

	scene_open(&scene);
	stranger_send_bytes(&scene.stranger, "\0\0\0\x0a{\"ki", 8);
	tls_bye(scene.stranger.tls);
	run_until(scene.event, &scene.node.records[0].closed, 1, 1000);
	assert_non_null(strstr(scene.node.records[0].why.text, "middle of a frame"));
	assert_string_equal(scene.node.records[0].why.call, "session");
	scene_done(&scene);
}

static void stranger_hears(struct scene *scene, const char *kind)
{
	for (int i = 0; i < 5000 && !strstr(scene->stranger.kinds, kind); i++) {
		run_for(scene->event, 2);
		assert_int_equal(stranger_receive(&scene->stranger), 0);
	}
	assert_non_null(strstr(scene->stranger.kinds, kind));
}

static void an_inventory_that_changes_between_the_two_hellos_is_told(void **state)
{
	struct scene scene;

	scene_init(&scene);
	stranger_shake(&scene.stranger, scene.event);
	stranger_hears(&scene, "hello ");
	scene.node.inventory->port_count = 1;
	scene.node.identity.inventory_changes++;
	stranger_send_text(&scene.stranger, STRANGER_HELLO);
	stranger_hears(&scene, "inventory ");
	assert_string_equal(scene.stranger.kinds, "hello ping inventory ");
	scene_done(&scene);

	scene_open(&scene);
	stranger_hears(&scene, "ping ");
	run_for(scene.event, 20);
	assert_int_equal(stranger_receive(&scene.stranger), 0);
	assert_string_equal(scene.stranger.kinds, "hello ping ");
	scene_done(&scene);
}

static void messages_split_at_every_byte_arrive(void **state)
{
	static const char frame[] = "\0\0\0\x0c{\"kind\":\"k\"}\0\0\0\x0c{\"kind\":\"l\"}";
	struct scene scene;
	unsigned expected = 0;

	scene_open(&scene);
	for (size_t cut = 0; cut < sizeof(frame); cut++) {
		if (cut > 0) {
			stranger_send_bytes(&scene.stranger, frame, cut);
			run_for(scene.event, 1);
		}
		if (cut < sizeof(frame) - 1) {
			stranger_send_bytes(&scene.stranger, frame + cut, sizeof(frame) - 1 - cut);
		}
		expected += 2;
		run_until(scene.event, &scene.node.records[0].messages, expected, 1000);
	}
	scene_done(&scene);
}

/* A turn reads 64 KiB; what GnuTLS has taken from the kernel beyond that makes no descriptor
 * readable. */
static void the_rest_of_a_record_behind_a_full_turn_is_not_forgotten(void **state)
{
	enum { BODY = 100 + 65536 - 4 };
	char *frame = memory_new(BODY + 5);
	struct scene scene;

	scene_open(&scene);
	memset(frame, ' ', BODY + 4);
	memcpy(frame, (uint8_t[]){ 0, BODY >> 16, (BODY >> 8) & 255, BODY & 255 }, 4);
	memcpy(frame + 4, "{\"kind\":\"wide\"", 14);
	frame[BODY + 3] = '}';
	stranger_send_bytes(&scene.stranger, frame, 100);
	for (size_t i = 0; i < 4; i++) {
		stranger_send_bytes(&scene.stranger, frame + 100 + i * 16384, 16384);
	}
	/* Long before the next ping could wake it. */
	run_until(scene.event, &scene.node.records[0].messages, 1, 500);
	scene_done(&scene);
	free(frame);
}

/* Somebody else on the same loop, woken while a peer floods it. */
struct bystander {
	const struct record *flooded;
	unsigned messages_when_woken;
	unsigned calls;
};

static int bystander_woken(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct bystander *bystander = arg;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	bystander->messages_when_woken = bystander->flooded->messages;
	bystander->calls++;
	return 0;
}

/* What the kernel takes of a stream of small frames. */
static size_t flood(struct stranger *stranger)
{
	static const char body[] = "{\"kind\":\"flood\"}";
	_cleanup_text_ struct text frames = TEXT_INIT;
	const char header[4] = { 0, 0, 0, sizeof(body) - 1 };
	size_t start = 0;

	for (unsigned i = 0; i < 50000; i++) {
		text_add_bytes(&frames, header, sizeof(header));
		text_add(&frames, body);
	}
	while (start < frames.length) {
		ssize_t sent = tls_write(stranger->tls, frames.data + start, frames.length - start,
					 &stranger->err);

		if (sent == -EAGAIN) {
			break;
		}
		assert_true(sent > 0);
		start += (size_t)sent;
	}
	return start / (sizeof(header) + sizeof(body) - 1);
}

static void a_flood_keeps_nobody_else_waiting(void **state)
{
	struct scene scene;
	struct bystander bystander = { 0 };
	const struct record *record = &scene.node.records[0];
	sd_event_source *source = NULL;
	unsigned turn = 16 * 4096 / 20; /* frames, at most */
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	assert_true(fd >= 0);
	scene_open(&scene);
	bystander.flooded = record;
	assert_true(sd_event_add_io(scene.event, &source, fd, EPOLLIN, bystander_woken,
				    &bystander) >= 0);
	assert_true(flood(&scene.stranger) > 3 * turn);
	while (record->messages == 0) {
		assert_true(sd_event_run(scene.event, 10000) >= 0);
	}
	assert_int_equal(eventfd_write(fd, 1), 0);
	run_until(scene.event, &bystander.calls, 1, 5000);
	assert_true(bystander.messages_when_woken <= 3 * turn);
	sd_event_source_disable_unref(source);
	close(fd);
	scene_done(&scene);
}

static void a_bye_of_any_form_closes(void **state)
{
	static const struct {
		const char *body;
		const char *text;
	} byes[] = {
		{ "{\"kind\":\"bye\",\"reason\":\"tired\"}", "closed the session: tired" },
		{ "{\"kind\":\"bye\"}", "no reason given" },
		{ "{\"kind\":\"bye\",\"reason\":[]}", "no reason given" },
		{ "{\"kind\":\"bye\",\"reason\":\"line\\nbreak\\u0007\"}", "line\\x0abreak\\x07" },
	};

	for (size_t i = 0; i < sizeof(byes) / sizeof(byes[0]); i++) {
		struct scene scene;

		scene_open(&scene);
		stranger_send_text(&scene.stranger, byes[i].body);
		stranger_send_text(&scene.stranger, "{\"kind\":\"late\"}");
		run_until(scene.event, &scene.node.records[0].closed, 1, 1000);
		assert_non_null(strstr(scene.node.records[0].why.text, byes[i].text));
		assert_int_equal(scene.node.records[0].messages, 0);
		scene_done(&scene);
	}
}

static void a_peer_that_does_not_read_is_closed_at_4_mib(void **state)
{
	char *filler = memory_new(100001);
	struct scene scene;
	unsigned sent = 0;

	scene_open(&scene);
	memset(filler, 'x', 100000);
	for (; sent < 200; sent++) {
		json_t *message = json_object();

		json_set_string(message, "kind", "progress");
		json_set_string(message, "filler", filler);
		if (!session_send(scene.node.records[0].session, message)) {
			break;
		}
		run_for(scene.event, 1);
	}
	/* 8 MiB here, and what the two sockets hold. */
	assert_true(sent > 40 && sent < 150);
	assert_int_equal(scene.node.records[0].closed, 0);
	run_until(scene.event, &scene.node.records[0].closed, 1, 1000);
	assert_int_equal(scene.node.records[0].why.class, ERROR_PEER);
	assert_non_null(strstr(scene.node.records[0].why.text, "does not read"));
	scene_done(&scene);
	free(filler);
}

static void a_peer_that_ignores_our_bye_is_left_after_half_a_second(void **state)
{
	struct scene scene;
	uint64_t start_mono_ns;

	scene_open(&scene);
	session_close(scene.node.records[0].session, "enough");
	start_mono_ns = clock_mono_ns();
	/* a busy machine may make every wait longer: only what holds at any speed is asserted */
	while (clock_mono_ns() - start_mono_ns < 200 * MS) {
		stranger_send_text(&scene.stranger, "{\"kind\":\"more\"}");
		run_for(scene.event, 10);
	}
	run_until(scene.event, &scene.node.records[0].closed, 1, 10000);
	assert_true(clock_mono_ns() - start_mono_ns >= 400 * MS);
	assert_int_equal(scene.node.records[0].messages, 0);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(garbage_instead_of_tls_ends_the_connection),
		cmocka_unit_test(bad_first_messages_are_answered_with_a_reason),
		cmocka_unit_test(bad_frames_are_answered_with_a_reason),
		cmocka_unit_test(bad_messages_of_the_session_are_answered_with_a_reason),
		cmocka_unit_test(unknown_kinds_are_the_owners_and_unknown_keys_nobodys),
		cmocka_unit_test(a_pong_full_of_lies_changes_nothing),
		cmocka_unit_test(a_stream_cut_inside_a_frame_says_so),
		cmocka_unit_test(an_inventory_that_changes_between_the_two_hellos_is_told),
		cmocka_unit_test(messages_split_at_every_byte_arrive),
		cmocka_unit_test(the_rest_of_a_record_behind_a_full_turn_is_not_forgotten),
		cmocka_unit_test(a_flood_keeps_nobody_else_waiting),
		cmocka_unit_test(a_bye_of_any_form_closes),
		cmocka_unit_test(a_peer_that_does_not_read_is_closed_at_4_mib),
		cmocka_unit_test(a_peer_that_ignores_our_bye_is_left_after_half_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
