// SPDX-License-Identifier: MIT
#include "unit/control-harness.h"

/* Two nodes, connected: a asked, b answered. */
struct two {
	sd_event *event;
	struct member a;
	struct member b;
	struct record record; /* of a's session */
};

static void two_init(struct two *two)
{
	memset(two, 0, sizeof(*two));
	assert_true(sd_event_new(&two->event) >= 0);
	member_init(&two->a, "node-a");
	member_init(&two->b, "node-b");
	member_listen(&two->b, two->event, 64);
}

static void two_connect(struct two *two)
{
	member_connect(&two->a, two->event, two->b.port, &two->record);
	run_until(two->event, &two->record.opened, 1, 5000);
	run_until(two->event, &two->b.accepted, 1, 5000);
}

static void two_done(struct two *two)
{
	record_done(&two->record);
	member_done(&two->a);
	member_done(&two->b);
	sd_event_unref(two->event);
}

static json_t *message_of(const char *kind, size_t filler_bytes)
{
	json_t *message = json_object();

	json_set_string(message, "kind", kind);
	if (filler_bytes > 0) {
		char *filler = memory_new(filler_bytes + 1);

		memset(filler, 'f', filler_bytes);
		json_set_string(message, "filler", filler);
		free(filler);
	}
	return message;
}

static void two_nodes_greet_and_know_each_other(void **state)
{
	struct two two;
	struct port *port;

	two_init(&two);
	two.a.inventory->port_count = 1;
	port = &two.a.inventory->ports[0];
	text_copy(port->device, sizeof(port->device), "mlx5_0");
	port->port_num = 1;
	port->limits.max_qp = 4711;
	two_connect(&two);
	assert_string_equal(session_peer_name(two.record.session), "node-b");
	assert_string_equal(session_peer_name(two.b.records[0].session), "node-a");
	assert_non_null(
		inventory_port(session_peer_inventory(two.b.records[0].session), "mlx5_0", 1));
	assert_int_equal(session_peer_inventory(two.b.records[0].session)->ports[0].limits.max_qp,
			 4711);
	assert_string_equal(session_peer_inventory(two.record.session)->node, "node-b");
	assert_string_equal(session_peer_inventory(two.record.session)->boot_id, "boot");
	assert_true(strlen(session_peer_address(two.b.records[0].session)) > 0);
	two_done(&two);
}

static void messages_arrive_in_order_and_whole_up_to_the_limit(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	session_expect_totals(two.b.records[0].session, true);
	assert_true(session_send(two.record.session, message_of("first", 0)));
	assert_true(session_send(two.record.session, message_of("large", LIMIT_FRAME_BYTES - 30)));
	assert_true(session_send(two.record.session, message_of("large", LIMIT_FRAME_BYTES - 30)));
	assert_true(session_send(two.record.session, message_of("last", 16384)));
	run_until(two.event, &two.b.records[0].messages, 4, 10000);
	assert_string_equal(two.b.records[0].kinds, "first large large last ");
	assert_int_equal(json_string_length(json_object_get(two.b.records[0].last, "filler")),
			 16384);
	assert_true(session_send(two.b.records[0].session, message_of("answer", 16384)));
	run_until(two.event, &two.record.messages, 1, 5000);
	two_done(&two);
}

static void as_large_as_totals_is_only_what_is_waited_for(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	assert_true(session_send(two.record.session,
				 message_of("usual", LIMIT_FRAME_USUAL_BYTES - 30)));
	run_until(two.event, &two.b.records[0].messages, 1, 10000);
	session_expect_totals(two.b.records[0].session, true);
	assert_true(session_send(two.record.session, message_of("x", LIMIT_FRAME_USUAL_BYTES)));
	run_until(two.event, &two.b.records[0].messages, 2, 10000);
	session_expect_totals(two.b.records[0].session, false);
	assert_true(session_send(two.record.session, message_of("x", LIMIT_FRAME_USUAL_BYTES)));
	run_until(two.event, &two.b.records[0].closed, 1, 10000);
	assert_int_equal(two.b.records[0].messages, 2);
	assert_int_equal(two.b.records[0].why.number, EBADMSG);
	assert_non_null(strstr(two.b.records[0].why.text, "the limit is 524288"));
	two_done(&two);
}

static void a_message_above_the_limit_is_our_own_fault(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	assert_false(session_send(two.record.session, message_of("large", LIMIT_FRAME_BYTES)));
	assert_int_equal(two.record.closed, 0); /* never from inside the call */
	run_until(two.event, &two.record.closed, 1, 5000);
	assert_int_equal(two.record.why.class, ERROR_BUG);
	two_done(&two);
}

static void many_small_messages_pass_a_busy_loop(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	for (unsigned i = 0; i < 20000; i++) {
		assert_true(session_send(two.record.session, message_of("x", 10)));
	}
	run_until(two.event, &two.b.records[0].messages, 20000, 30000);
	two_done(&two);
}

static void a_close_tells_the_peer_why_and_us_nothing(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	session_close(two.record.session, "the test is over");
	assert_false(session_is_open(two.record.session));
	assert_false(session_send(two.record.session, message_of("late", 0)));
	session_close(two.record.session, "again");
	assert_int_equal(two.record.closed, 0);
	run_until(two.event, &two.record.closed, 1, 1000);
	run_until(two.event, &two.b.records[0].closed, 1, 1000);
	assert_false(error_is_set(&two.record.why));
	assert_int_equal(two.b.records[0].why.class, ERROR_PEER);
	assert_string_equal(two.b.records[0].why.call, "session");
	assert_non_null(strstr(two.b.records[0].why.text, "node-a ("));
	assert_non_null(strstr(two.b.records[0].why.text, "closed the session: the test is over"));
	two_done(&two);
}

static void messages_before_a_close_still_arrive(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	assert_true(session_send(two.record.session, message_of("release", 0)));
	session_close(two.record.session, "done");
	run_until(two.event, &two.b.records[0].closed, 1, 1000);
	assert_string_equal(two.b.records[0].kinds, "release ");
	two_done(&two);
}

static void a_session_may_be_closed_inside_its_own_event(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	text_copy(two.b.records[0].close_on, sizeof(two.b.records[0].close_on), "second");
	assert_true(session_send(two.record.session, message_of("first", 0)));
	assert_true(session_send(two.record.session, message_of("second", 0)));
	assert_true(session_send(two.record.session, message_of("third", 0)));
	run_until(two.event, &two.b.records[0].closed, 1, 1000);
	run_until(two.event, &two.record.closed, 1, 1000);
	assert_string_equal(two.b.records[0].kinds, "first second ");
	two_done(&two);

	two_init(&two);
	two.record.close_on_open = true;
	member_connect(&two.a, two.event, two.b.port, &two.record);
	run_until(two.event, &two.record.closed, 1, 5000);
	assert_int_equal(two.record.opened, 1);
	assert_false(error_is_set(&two.record.why));
	two_done(&two);
}

static void a_session_may_be_freed_inside_its_own_event(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	text_copy(two.b.records[0].free_on, sizeof(two.b.records[0].free_on), "second");
	assert_true(session_send(two.record.session, message_of("first", 0)));
	assert_true(session_send(two.record.session, message_of("second", 0)));
	assert_true(session_send(two.record.session, message_of("third", 0)));
	run_until(two.event, &two.record.closed, 1, 1000);
	assert_string_equal(two.b.records[0].kinds, "first second ");
	assert_int_equal(two.b.records[0].closed, 0);
	assert_int_equal(two.record.why.class, ERROR_PEER);
	two_done(&two);
}

static void a_peer_that_vanishes_is_told_as_lost(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	/* No bye, no close_notify: as a killed process leaves it. */
	session_free(two.b.records[0].session);
	two.b.records[0].session = NULL;
	run_until(two.event, &two.record.closed, 1, 1000);
	assert_int_equal(two.record.why.class, ERROR_PEER);
	assert_int_equal(two.record.why.stage, STAGE_NONE);
	assert_string_equal(two.record.why.call, "session");
	assert_non_null(strstr(two.record.why.text, "node-b (" HOST ":"));
	assert_non_null(strstr(two.record.why.text, "without a goodbye"));
	two_done(&two);
}

static void nobody_listening_is_a_failed_connect(void **state)
{
	struct two two;

	two_init(&two);
	session_listener_free(two.b.listener);
	two.b.listener = NULL;
	member_connect(&two.a, two.event, two.b.port, &two.record);
	assert_int_equal(two.record.closed, 0);
	run_until(two.event, &two.record.closed, 1, 5000);
	assert_int_equal(two.record.why.class, ERROR_PEER);
	assert_int_equal(two.record.why.stage, STAGE_DISCOVER);
	assert_string_equal(two.record.why.call, "connect");
	two_done(&two);
}

static void another_key_is_a_failed_tls_on_both_sides(void **state)
{
	struct session_listener_status status;
	struct two two;

	two_init(&two);
	two.a.identity.key = other_key;
	member_connect(&two.a, two.event, two.b.port, &two.record);
	run_until(two.event, &two.record.closed, 1, 5000);
	run_for(two.event, 20);
	assert_int_equal(two.record.opened, 0);
	assert_int_equal(two.record.why.class, ERROR_PEER);
	assert_int_equal(two.record.why.stage, STAGE_DISCOVER);
	assert_string_equal(two.record.why.call, "tls");
	assert_non_null(strstr(two.record.why.text, "holds another fleet key"));
	session_listener_status(two.b.listener, &status);
	assert_int_equal(status.refused[SESSION_REFUSED_KEY], 1);
	assert_int_equal(status.pending, 0);
	assert_string_equal(status.last_failure.call, "tls");
	assert_int_equal(status.last_failure.number, EKEYREJECTED);
	assert_int_equal(two.record.why.number, EKEYREJECTED);
	assert_non_null(strstr(status.last_failure.text, HOST ":"));
	assert_non_null(strstr(status.last_failure.text, "daemon.key_file"));
	assert_int_equal(two.b.accepted, 0);
	two_done(&two);
}

static void without_a_key_nothing_is_tried(void **state)
{
	struct two two;

	two_init(&two);
	two.a.identity.key.count = 0;
	member_connect(&two.a, two.event, two.b.port, &two.record);
	run_until(two.event, &two.record.closed, 1, 5000);
	assert_int_equal(two.record.why.class, ERROR_INPUT);
	assert_non_null(strstr(two.record.why.text, "daemon.key_file"));
	two_done(&two);
}

static void another_protocol_is_named_with_both_versions_on_both_sides(void **state)
{
	struct session_listener_status status;
	struct two two;

	two_init(&two);
	two.a.identity.protocol = 2;
	two.a.identity.version = "0.9.0";
	member_connect(&two.a, two.event, two.b.port, &two.record);
	run_until(two.event, &two.record.closed, 1, 5000);
	run_for(two.event, 50);
	assert_int_equal(two.record.why.class, ERROR_PEER);
	assert_string_equal(two.record.why.call, "hello");
	assert_non_null(strstr(two.record.why.text,
			       "protocol 1 (rdmatestd 0.1.0), this daemon 2 (rdmatestd 0.9.0)"));
	session_listener_status(two.b.listener, &status);
	assert_int_equal(status.refused[SESSION_REFUSED_VERSION], 1);
	assert_string_equal(status.last_failure.call, "hello");
	assert_int_equal(status.last_failure.number, EPROTONOSUPPORT);
	assert_int_equal(two.record.why.number, EPROTONOSUPPORT);
	assert_non_null(strstr(status.last_failure.text,
			       "protocol 2 (rdmatestd 0.9.0), this daemon 1 (rdmatestd 0.1.0)"));
	two_done(&two);
}

/* What one release writes and another does not take, though their protocol is the same. */
static void a_hello_that_is_not_taken_is_no_other_version(void **state)
{
	struct session_listener_status status;
	struct two two;

	two_init(&two);
	two.a.inventory->port_count = 1;
	two.a.inventory->ports[0].port_num = 256;
	member_connect(&two.a, two.event, two.b.port, &two.record);
	run_until(two.event, &two.record.closed, 1, 5000);
	assert_int_equal(two.record.opened, 0); /* though the other hello was good */
	assert_int_equal(two.record.why.class, ERROR_PEER);
	assert_int_equal(two.record.why.stage, STAGE_DISCOVER);
	assert_string_equal(two.record.why.call, "hello");
	assert_int_equal(two.record.why.number, ECONNREFUSED);
	assert_non_null(strstr(two.record.why.text, "refuses this daemon"));
	assert_non_null(strstr(two.record.why.text, "sent an invalid hello: inventory"));
	run_for(two.event, 20);
	session_listener_status(two.b.listener, &status);
	assert_int_equal(status.refused[SESSION_REFUSED_HELLO], 1);
	assert_string_equal(status.last_failure.call, "hello");
	assert_int_equal(status.last_failure.kind, ERROR_KIND_ERRNO);
	assert_int_equal(status.last_failure.number, EBADMSG);
	assert_int_equal(two.b.accepted, 0);
	two_done(&two);
}

static void a_node_of_our_own_name_is_refused(void **state)
{
	struct two two;

	two_init(&two);
	two.a.identity.node_name = "node-b";
	member_connect(&two.a, two.event, two.b.port, &two.record);
	run_until(two.event, &two.record.closed, 1, 5000);
	assert_int_equal(two.record.opened, 0);
	assert_int_equal(two.record.why.class, ERROR_INPUT); /* a mistake of configuration */
	assert_string_equal(two.record.why.call, "hello");
	assert_non_null(strstr(two.record.why.text, "daemon.node_name"));
	assert_non_null(strstr(two.record.why.text, "node-b"));
	assert_int_equal(two.b.accepted, 0);
	two_done(&two);
}

static void a_changed_inventory_is_told(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	two.b.inventory->port_count = 2;
	for (size_t i = 0; i < 2; i++) {
		text_copy(two.b.inventory->ports[i].device, LIMIT_NAME, "rxe0");
		two.b.inventory->ports[i].port_num = i + 1;
	}
	session_send_inventory(two.b.records[0].session);
	run_until(two.event, &two.record.inventories, 1, 1000);
	assert_int_equal(session_peer_inventory(two.record.session)->port_count, 2);
	assert_string_equal(session_peer_inventory(two.record.session)->boot_id, "boot");
	two_done(&two);
}

static void the_largest_inventory_fits_into_a_hello(void **state)
{
	struct inventory *inventory;
	struct two two;

	two_init(&two);
	inventory = two.a.inventory;
	inventory->port_count = LIMIT_PORTS;
	for (size_t i = 0; i < LIMIT_PORTS; i++) {
		struct port *port = &inventory->ports[i];

		snprintf(port->device, sizeof(port->device), "a_device_with_a_rather_long_name_%zu",
			 i);
		port->port_num = 1;
		port->gid_count = LIMIT_GIDS;
		for (size_t j = 0; j < LIMIT_GIDS; j++) {
			port->gids[j].index = j;
			text_copy(port->gids[j].gid, sizeof(port->gids[j].gid),
				  "fe80:0000:0000:0000:aaaa:bbbb:cccc:dddd");
			text_copy(port->gids[j].netdev, sizeof(port->gids[j].netdev),
				  "enp193s0f0np0");
		}
	}
	two_connect(&two);
	assert_int_equal(session_peer_inventory(two.b.records[0].session)->ports[31].gid_count,
			 LIMIT_GIDS);
	two_done(&two);
}

static void the_clock_offset_is_known_after_the_first_ping(void **state)
{
	struct two two;
	int64_t offset_ns = 1;
	int64_t error_ns = 0;

	two_init(&two);
	two_connect(&two);
	run_for(two.event, 50);
	assert_true(session_clock_offset(two.record.session, &offset_ns, &error_ns));
	/* Both nodes read one clock: the truth is 0, and must lie within the bound. */
	assert_true(offset_ns >= -error_ns && offset_ns <= error_ns);
	assert_true(error_ns < (int64_t)(1000 * MS));
	assert_true(session_round_trip_ns(two.record.session) > 0);
	assert_true(session_clock_offset(two.b.records[0].session, &offset_ns, &error_ns));
	two_done(&two);
}

static void sessions_outlive_their_listener(void **state)
{
	struct two two;

	two_init(&two);
	two_connect(&two);
	session_listener_free(two.b.listener);
	two.b.listener = NULL;
	assert_true(session_send(two.record.session, message_of("still", 0)));
	run_until(two.event, &two.b.records[0].messages, 1, 1000);
	two_done(&two);
}

static void a_session_may_be_freed_in_every_state(void **state)
{
	struct two two;

	/* After each number of turns of the loop: wherever the session is by then. */
	for (unsigned turns = 0; turns < 12; turns++) {
		two_init(&two);
		member_connect(&two.a, two.event, two.b.port, &two.record);
		for (unsigned i = 0; i < turns; i++) {
			sd_event_run(two.event, 1000);
		}
		two_done(&two);
	}
	two_init(&two);
	two.record.session = session_connect(two.event, two.a.pool, "name.invalid", 1,
					     &two.a.identity, &record_events, &two.record);
	two_done(&two);
}

static void a_name_that_cannot_be_resolved_is_a_failed_connect(void **state)
{
	struct two two;

	two_init(&two);
	two.record.session = session_connect(two.event, two.a.pool, "name.invalid", 18620,
					     &two.a.identity, &record_events, &two.record);
	run_until(two.event, &two.record.closed, 1, 8000);
	assert_int_equal(two.record.why.class, ERROR_PEER);
	assert_int_equal(two.record.why.stage, STAGE_DISCOVER);
	assert_string_equal(two.record.why.call, "connect");
	assert_non_null(strstr(two.record.why.text, "name.invalid:18620"));
	two_done(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_nodes_greet_and_know_each_other),
		cmocka_unit_test(messages_arrive_in_order_and_whole_up_to_the_limit),
		cmocka_unit_test(as_large_as_totals_is_only_what_is_waited_for),
		cmocka_unit_test(a_message_above_the_limit_is_our_own_fault),
		cmocka_unit_test(many_small_messages_pass_a_busy_loop),
		cmocka_unit_test(a_close_tells_the_peer_why_and_us_nothing),
		cmocka_unit_test(messages_before_a_close_still_arrive),
		cmocka_unit_test(a_session_may_be_closed_inside_its_own_event),
		cmocka_unit_test(a_session_may_be_freed_inside_its_own_event),
		cmocka_unit_test(a_peer_that_vanishes_is_told_as_lost),
		cmocka_unit_test(nobody_listening_is_a_failed_connect),
		cmocka_unit_test(another_key_is_a_failed_tls_on_both_sides),
		cmocka_unit_test(without_a_key_nothing_is_tried),
		cmocka_unit_test(another_protocol_is_named_with_both_versions_on_both_sides),
		cmocka_unit_test(a_hello_that_is_not_taken_is_no_other_version),
		cmocka_unit_test(a_node_of_our_own_name_is_refused),
		cmocka_unit_test(a_changed_inventory_is_told),
		cmocka_unit_test(the_largest_inventory_fits_into_a_hello),
		cmocka_unit_test(the_clock_offset_is_known_after_the_first_ping),
		cmocka_unit_test(sessions_outlive_their_listener),
		cmocka_unit_test(a_session_may_be_freed_in_every_state),
		cmocka_unit_test(a_name_that_cannot_be_resolved_is_a_failed_connect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
