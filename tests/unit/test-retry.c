// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "run/retry.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

static void set_failure(struct failure *failure, enum error_class class, const char *call)
{
	*failure = FAILURE_INIT;
	if (class != ERROR_NONE) {
		error_set(&failure->error, -1, class, "what happened");
		text_copy(failure->error.call, sizeof(failure->error.call), call);
	}
}

/* Of a run with one pair for each row, whether it is worth it. */
static bool is_worth(const enum error_class *classes, const char *const *calls, size_t count)
{
	_cleanup_free_ struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run = run_new(scenario);
	bool ret;

	for (size_t i = 0; i < count; i++) {
		set_failure(&run_add_measurement(run)->first_error, classes[i], calls[i]);
	}
	ret = retry_is_worth(run);
	run_free(run);
	return ret;
}

static bool is_one_worth(enum error_class class, const char *call)
{
	return is_worth(&class, &call, 1);
}

static void who_was_away_may_be_back(void **state)
{
	assert_true(is_one_worth(ERROR_PEER, "connect"));
	assert_true(is_one_worth(ERROR_PEER, "session"));
	assert_true(is_one_worth(ERROR_DEVICE, "device"));
	assert_true(is_one_worth(ERROR_RESOURCE, "sick"));
}

static void what_somebody_must_set_right_is_left_to_the_schedule(void **state)
{
	assert_false(is_one_worth(ERROR_NONE, ""));
	assert_false(is_one_worth(ERROR_PEER, "hello"));
	assert_false(is_one_worth(ERROR_PEER, "busy"));
	assert_false(is_one_worth(ERROR_DEVICE, "ibv_poll_cq"));
	assert_false(is_one_worth(ERROR_RESOURCE, "ibv_reg_mr"));
	assert_false(is_one_worth(ERROR_INPUT, "device"));
}

/* Of a run whose traffic failed by itself, or did not, with that finding first. */
static bool is_worth_with(bool has_failed, enum finding_code code, enum confidence confidence)
{
	_cleanup_free_ struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run = run_new(scenario);
	struct measurement *measurement = run_add_measurement(run);
	bool ret;

	set_failure(&measurement->first_error, has_failed ? ERROR_DEVICE : ERROR_NONE,
		    "ibv_poll_cq");
	finding_add(&measurement->findings, code, confidence, "", "what was found");
	finding_add(&measurement->findings, FINDING_PORT_DOWN, CONFIDENCE_POSSIBLE, "", "maybe");
	ret = retry_is_worth(run);
	run_free(run);
	return ret;
}

static bool is_found_worth(enum finding_code code, enum confidence confidence)
{
	return is_worth_with(true, code, confidence);
}

static void a_port_that_went_down_under_the_traffic_may_be_back(void **state)
{
	assert_true(is_found_worth(FINDING_PORT_DOWN, CONFIDENCE_CERTAIN));
	assert_true(is_found_worth(FINDING_PORT_DOWN, CONFIDENCE_LIKELY));
	assert_true(is_found_worth(FINDING_ADDRESS_LOST, CONFIDENCE_CERTAIN));
	assert_false(is_found_worth(FINDING_PATH_LOST, CONFIDENCE_CERTAIN));
	assert_false(is_found_worth(FINDING_REMOTE_ACCESS, CONFIDENCE_LIKELY));
	assert_false(is_found_worth(FINDING_ADDRESS_LOST, CONFIDENCE_POSSIBLE));
	/* Behind the traffic it cost nothing: that was measured. */
	assert_false(is_worth_with(false, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN));
}

static void a_mesh_with_one_node_away_is_not_measured_more_often(void **state)
{
	static const enum error_class classes[] = { ERROR_PEER, ERROR_PEER, ERROR_NONE };
	static const char *const calls[] = { "connect", "session", "" };

	assert_true(is_worth(classes, calls, 2));
	assert_false(is_worth(classes, calls, 3));
	assert_false(is_worth(NULL, NULL, 0));
}

static void attempts_are_further_and_further_apart_and_come_to_an_end(void **state)
{
	static const uint64_t least_s[RETRY_MOST] = { 5, 10, 20, 40, 80, 160, 300, 300 };

	for (uint64_t attempt = 1; attempt <= RETRY_MOST; attempt++) {
		uint64_t least_ns = least_s[attempt - 1] * SECOND_NS;

		assert_int_equal(retry_after_ns(attempt, CLOCK_NEVER, 0), least_ns);
		for (uint64_t seed = 1; seed < 1000; seed++) {
			assert_in_range(retry_after_ns(attempt, CLOCK_NEVER,
						       seed * 0x9e3779b97f4a7c15ull),
					least_ns, least_ns + least_ns / 2);
		}
	}
	assert_true(retry_after_ns(RETRY_MOST + 1, CLOCK_NEVER, 0) == CLOCK_NEVER);
	assert_true(retry_after_ns(UINT64_MAX, CLOCK_NEVER, 0) == CLOCK_NEVER);
}

static void nodes_that_lost_the_same_peer_do_not_come_back_at_once(void **state)
{
	assert_true(retry_after_ns(1, CLOCK_NEVER, 1000000000) !=
		    retry_after_ns(1, CLOCK_NEVER, 2000000000));
}

static void a_turn_that_comes_soon_is_not_anticipated(void **state)
{
	assert_true(retry_after_ns(1, 10 * SECOND_NS, 0) == CLOCK_NEVER);
	assert_int_equal(retry_after_ns(1, 11 * SECOND_NS, 0), 5 * SECOND_NS);
	assert_true(retry_after_ns(3, 30 * SECOND_NS, 0) == CLOCK_NEVER);
	assert_true(retry_after_ns(1, 0, 0) == CLOCK_NEVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_away_may_be_back),
		cmocka_unit_test(what_somebody_must_set_right_is_left_to_the_schedule),
		cmocka_unit_test(a_port_that_went_down_under_the_traffic_may_be_back),
		cmocka_unit_test(a_mesh_with_one_node_away_is_not_measured_more_often),
		cmocka_unit_test(attempts_are_further_and_further_apart_and_come_to_an_end),
		cmocka_unit_test(nodes_that_lost_the_same_peer_do_not_come_back_at_once),
		cmocka_unit_test(a_turn_that_comes_soon_is_not_anticipated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
