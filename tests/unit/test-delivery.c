// SPDX-License-Identifier: MIT
#include "model/delivery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "util/memory.h"

static struct measurement *new_measurement(void)
{
	struct measurement *m = memory_new(sizeof(*m));

	m->first_error = FAILURE_INIT;
	m->assignment.workload.qp.qp_type = QP_TYPE_UC;
	m->assignment.workload.workload.pattern = PATTERN_STREAM;
	m->initiator.has_totals = true;
	m->responder.has_totals = true;
	m->initiator.totals.end = END_DURATION;
	m->initiator.totals.operations = 900; /* of the window alone */
	m->initiator.totals.traffic_operations = 1000;
	m->responder.totals.end = END_STOPPED;
	m->responder.totals.receives = 990;
	return m;
}

static void what_was_sent_and_not_received_is_lost(void **state)
{
	struct measurement *m = new_measurement();
	struct delivery delivery;

	(void)state;
	assert_true(delivery_of(m, &delivery));
	assert_int_equal(delivery.sent, 1000);
	assert_int_equal(delivery.received, 990);
	assert_int_equal(delivery.lost, 10);
	assert_true(delivery_share(m, false) > 0.9899 && delivery_share(m, false) < 0.9901);
	/* An end that is stopped early flushes what has left already. */
	m->responder.totals.receives = 1001;
	assert_true(delivery_of(m, &delivery));
	assert_int_equal(delivery.lost, 0);
	assert_true(delivery_share(m, false) == 1);
	assert_false(delivery_way(m, true, &delivery));
	free(m);
}

static void both_ways_are_counted_apart_and_together(void **state)
{
	struct measurement *m = new_measurement();
	struct delivery delivery;

	(void)state;
	m->assignment.workload.workload.direction = DIRECTION_BOTH;
	m->responder.totals.traffic_operations = 500;
	m->initiator.totals.receives = 400;
	/* The responder was cut short: of its way nothing can be said, nor of both. */
	assert_true(delivery_way(m, false, &delivery));
	assert_false(delivery_of(m, &delivery));
	m->responder.totals.end = END_DURATION;
	assert_true(delivery_way(m, true, &delivery));
	assert_int_equal(delivery.sent, 500);
	assert_int_equal(delivery.lost, 100);
	assert_true(delivery_share(m, true) == 0.8);
	assert_true(delivery_share(m, false) == 0.99);
	/* What one way hides does not make good what another lost. */
	m->responder.totals.receives = 1050;
	assert_true(delivery_of(m, &delivery));
	assert_int_equal(delivery.sent, 1500);
	assert_int_equal(delivery.received, 1450);
	assert_int_equal(delivery.lost, 100);
	free(m);
}

static void where_nothing_can_be_said_nothing_is(void **state)
{
	struct measurement *m = new_measurement();
	struct delivery delivery;

	(void)state;
	m->assignment.workload.qp.qp_type = QP_TYPE_RC;
	assert_false(delivery_of(m, &delivery));
	assert_true(delivery_share(m, false) == 1);
	m->assignment.workload.qp.qp_type = QP_TYPE_UC;
	m->assignment.workload.workload.pattern = PATTERN_PINGPONG;
	assert_false(delivery_of(m, &delivery));
	m->assignment.workload.workload.pattern = PATTERN_STREAM;
	m->responder.has_totals = false;
	assert_false(delivery_of(m, &delivery));
	m->responder.has_totals = true;
	m->initiator.totals.end = END_STOPPED;
	assert_false(delivery_of(m, &delivery));
	m->initiator.totals.end = END_ITERATIONS;
	assert_true(delivery_of(m, &delivery));
	error_set(&m->first_error.error, -1, ERROR_DEVICE, "broken");
	assert_false(delivery_of(m, &delivery));
	m->first_error = FAILURE_INIT;
	m->initiator.totals.traffic_operations = 0;
	m->responder.totals.receives = 0;
	assert_true(delivery_of(m, &delivery) && delivery_share(m, false) == 1);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_sent_and_not_received_is_lost),
		cmocka_unit_test(both_ways_are_counted_apart_and_together),
		cmocka_unit_test(where_nothing_can_be_said_nothing_is),
	};

	return cmocka_run_group_tests_name("delivery", tests, NULL, NULL);
}
