// SPDX-License-Identifier: MIT
#include "run/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/identifier.h"
#include "util/memory.h"
#include "util/text.h"

static int set_up(void **state)
{
	sd_event *event;

	assert_true(sd_event_new(&event) >= 0);
	*state = event;
	return 0;
}

static int tear_down(void **state)
{
	sd_event_unref(*state);
	return 0;
}

static struct run *new_run(const char *id, enum run_state state)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run = run_new(scenario);

	free(scenario);
	text_copy(run->id, sizeof(run->id), id);
	run->state = state;
	return run;
}

static void the_oldest_finished_runs_go_first(void **state)
{
	sd_event *event = *state;
	struct history *history = history_new(event, 2);

	history_add(history, new_run("AAAAAA1", RUN_RUNNING));
	history_add(history, new_run("AAAAAA2", RUN_DONE));
	history_add(history, new_run("AAAAAA3", RUN_DONE));
	assert_int_equal(history_count(history), 2);
	assert_string_equal(history_at(history, 0)->id, "AAAAAA3");
	assert_string_equal(history_at(history, 1)->id, "AAAAAA1"); /* it goes on: kept */
	assert_null(history_at(history, 2));
	history_free(history);
}

static void a_run_is_found_by_an_unambiguous_beginning(void **state)
{
	sd_event *event = *state;
	struct history *history = history_new(event, 10);

	history_add(history, new_run("ABCDEF1X", RUN_DONE));
	history_add(history, new_run("ABCDEF2X", RUN_DONE));
	assert_string_equal(history_find(history, "ABCDEF1")->id, "ABCDEF1X");
	assert_null(history_find(history, "ABCDEF"));
	assert_null(history_find(history, "ABC"));
	assert_null(history_find(history, ""));
	assert_string_equal(history_find(history, "ABCDEF2X")->id, "ABCDEF2X");
	history_free(history);
}

/* As a peer may fill it: 64 classes at both ends are about 4 MiB a measurement. */
static struct run *new_large_run(const char *id, enum run_state state)
{
	struct run *run = new_run(id, state);

	for (unsigned i = 0; i < 16; i++) {
		struct measurement *measurement = run_add_measurement(run);
		struct participant *ends[] = { &measurement->initiator, &measurement->responder };

		for (unsigned j = 0; j < 2; j++) {
			ends[j]->has_totals = true;
			ends[j]->totals.class_count = LIMIT_CLASSES;
			ends[j]->totals.classes =
				memory_new_array(LIMIT_CLASSES, sizeof(struct class_totals));
		}
		run_weigh(run, measurement);
	}
	return run;
}

static void results_are_bounded_in_bytes_too(void **state)
{
	sd_event *event = *state;
	struct history *history = history_new(event, 1000);
	char id[16];

	for (unsigned i = 0; i < 12; i++) {
		snprintf(id, sizeof(id), "AAAAAA%u", i);
		history_add(history, new_large_run(id, i == 0 ? RUN_RUNNING : RUN_DONE));
	}
	/* About 60 MiB each: four fit, beside the one that goes on. */
	assert_in_range(history_count(history), 4, 6);
	assert_string_equal(history_at(history, 0)->id, "AAAAAA11");
	assert_non_null(history_find(history, "AAAAAA0"));
	assert_null(history_find(history, "AAAAAA1"));
	history_free(history);
}

static void fewer_kept_runs_take_effect_at_once(void **state)
{
	sd_event *event = *state;
	struct history *history = history_new(event, 10);

	for (char i = '0'; i < '9'; i++) {
		char id[] = "ABCDEFx";

		id[6] = i;
		history_add(history, new_run(id, RUN_DONE));
	}
	history_configure(history, 3);
	assert_int_equal(history_count(history), 3);
	assert_string_equal(history_at(history, 0)->id, "ABCDEF8");
	history_free(history);
}

/* Hundreds of MiB are not given back within one turn of the loop, in which nothing else happens. */
static void a_run_that_is_let_go_is_freed_piece_by_piece(void **state)
{
	sd_event *event = *state;
	struct history *history = history_new(event, 1);
	struct run *large = new_run("AAAAAA1", RUN_DONE);
	size_t turns = 0;

	for (unsigned i = 0; i < 1000; i++) {
		run_add_measurement(large);
	}
	history_add(history, large);
	history_add(history, new_run("AAAAAA2", RUN_DONE));
	assert_int_equal(history_count(history), 1);
	assert_null(history_find(history, "AAAAAA1"));
	assert_int_equal(history_leaving(history), 1);
	while (history_leaving(history) > 0 && turns < 1000) {
		turns += sd_event_run(event, 0) > 0;
	}
	assert_int_equal(history_leaving(history), 0);
	assert_true(turns > 10);
	assert_int_equal(sd_event_run(event, 0), 0);
	history_free(history);
}

static void identifiers_are_26_characters_and_differ(void **state)
{
	char a[32];
	char b[32];

	identifier_new(a);
	identifier_new(b);
	assert_int_equal(strlen(a), 26);
	assert_int_equal(strspn(a, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"), 26);
	assert_string_not_equal(a, b);
	assert_true(a[0] <= '7'); /* 48 bits of time in 130 bits of digits */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_oldest_finished_runs_go_first, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_is_found_by_an_unambiguous_beginning, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(results_are_bounded_in_bytes_too, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(fewer_kept_runs_take_effect_at_once, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_run_that_is_let_go_is_freed_piece_by_piece,
						set_up, tear_down),
		cmocka_unit_test(identifiers_are_26_characters_and_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
