// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "ctl/live.h"
#include "model/sample.h"
#include "util/memory.h"

/* What the daemon answers, around the active pairs. */
static json_t *answer(const char *inner)
{
	_cleanup_text_ struct text whole = TEXT_INIT;
	json_t *json;

	text_format(&whole,
		    "{\"id\": \"01K3V9Q7W0E5R2T8Y4U6J1M3N5\", \"scenario\": \"mixed\","
		    " \"state\": \"running\", \"verdict\": null, \"progress\": %s}",
		    inner);
	json = json_read(whole.data, whole.length, NULL);
	assert_non_null(json);
	return json;
}

#define ENDS                                                                                  \
	"\"initiator\": \"node1\", \"initiator_device\": \"rxe0\", \"responder\": \"node2\"," \
	" \"responder_device\": \"rxe1\""
#define OTHER_ENDS                                                                            \
	"\"initiator\": \"node3\", \"initiator_device\": \"rxe0\", \"responder\": \"node4\"," \
	" \"responder_device\": \"rxe1\""

static void assert_line(json_t *progress, unsigned columns, const char *expected)
{
	_cleanup_json_ json_t *taken = progress;
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	paper.columns = columns;
	live_print_line(taken, "mixed", &paper);
	assert_string_equal(paper.text.data, expected);
}

/* As sample_progress_write has it: the daemon's own words. */
static json_t *measuring(uint64_t elapsed_ns, uint64_t total_ns, uint64_t operations,
			 uint64_t iterations)
{
	struct progress progress = {
		.phase = PHASE_MEASURING,
		.elapsed_ns = elapsed_ns,
		.total_ns = total_ns,
		.operations = operations,
		.iterations = iterations,
		.last = { .start_ns = 2000000000,
			  .end_ns = 3000000000,
			  .operations = 12100,
			  .bytes = 50250000 },
	};
	json_t *json = answer(
		"{\"state\": \"running\", \"pairs_done\": 0, \"pairs\": 1, \"active\": [{" ENDS
		", \"phase\": \"measuring\"}]}");
	json_t *pair =
		json_array_get(json_object_get(json_object_get(json, "progress"), "active"), 0);

	json_set_take(pair, "progress", sample_progress_write(&progress));
	return json;
}

static void a_measurement_shows_time_bar_and_rates(void **state)
{
	assert_line(measuring(3000000000, 10000000000, 36300, 0), 120,
		    "mixed  node1/rxe0 -> node2/rxe1  measuring  3.0/10.0 s  [====>             ]"
		    "  12.1 kop/s  402 Mb/s");
}

static void the_bar_is_full_only_at_the_end(void **state)
{
	assert_line(
		measuring(0, 10000000000, 0, 0), 80,
		"mixed  node1/rxe0 -> node2/rxe1  measuring  0.0/10.0 s  [                  ]  12");
	assert_line(
		measuring(10000000000, 10000000000, 0, 0), 77,
		"mixed  node1/rxe0 -> node2/rxe1  measuring  10.0/10.0 s  [==================]");
	/* A late answer is not more than the whole. */
	assert_line(
		measuring(12000000000, 10000000000, 0, 0), 77,
		"mixed  node1/rxe0 -> node2/rxe1  measuring  10.0/10.0 s  [==================]");
}

static void a_run_by_iterations_counts_operations(void **state)
{
	assert_line(measuring(1000000000, 0, 500, 2000), 95,
		    "mixed  node1/rxe0 -> node2/rxe1  measuring  500/2 000 operations"
		    "  [====>             ]  12.1 ko");
}

static void a_line_is_never_longer_than_the_terminal(void **state)
{
	for (unsigned columns = 1; columns < 140; columns++) {
		_cleanup_json_ json_t *json = measuring(3000000000, 10000000000, 36300, 0);
		_cleanup_paper_ struct paper paper = PAPER_INIT;

		paper.columns = columns;
		live_print_line(json, "a-scenario-with-a-name", &paper);
		assert_true(paper.column <= columns);
		assert_null(strchr(paper.text.data, '\n'));
	}
}

static void several_pairs_are_counted(void **state)
{
	assert_line(
		answer("{\"state\": \"running\", \"pairs_done\": 2, \"pairs\": 6, \"active\": [{" ENDS
		       ", \"phase\": \"connecting\", \"progress\": null}, {" OTHER_ENDS
		       ", \"phase\": \"preparing\", \"progress\": null}]}"),
		100, "mixed  2/6 pairs  node1/rxe0 -> node2/rxe1 and 1 more  connecting");
}

static void a_run_that_waits_tells_its_place(void **state)
{
	assert_line(answer("{\"state\": \"queued\", \"place_in_queue\": 2}"), 100,
		    "mixed  waits for other runs, place 2 in the queue");
}

static void what_is_not_told_yet_is_left_out(void **state)
{
	assert_line(answer("null"), 100, "mixed  running");
	assert_line(answer("{\"active\": [{}]}"), 100, "mixed  -/- -> -/-  -");
	assert_line(
		answer("{\"active\": [{\"phase\": \"measuring\", \"progress\": {\"elapsed_ns\": 5,"
		       " \"last\": [9, 1, \"x\"]}}]}"),
		100, "mixed  -/- -> -/-  measuring  5 ns  ");
}

static void hostile_words_do_not_reach_the_terminal(void **state)
{
	assert_line(answer("{\"active\": [{\"phase\": \"a\\u001b[2Jb\"}]}"), 100,
		    "mixed  -/- -> -/-  a\\x1b[2Jb");
}

static void assert_changes(const json_t *before, const json_t *after, const char *expected)
{
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	live_print_changes(before, after, "mixed", &paper);
	assert_string_equal(paper.text.data ? paper.text.data : "", expected);
}

static void without_a_terminal_each_phase_is_said_once(void **state)
{
	_cleanup_json_ json_t *queued = json_pack("{s:s, s:n}", "state", "queued", "progress");
	_cleanup_json_ json_t *first =
		answer("{\"active\": [{" ENDS ", \"phase\": \"preparing\"}]}");
	_cleanup_json_ json_t *second = answer("{\"active\": [{" OTHER_ENDS
					       ", \"phase\": \"preparing\"}, {" ENDS
					       ", \"phase\": \"measuring\"}]}");

	assert_changes(NULL, queued, "mixed  waits for other runs\n");
	assert_changes(queued, queued, "");
	assert_changes(queued, first, "mixed  node1/rxe0 -> node2/rxe1  preparing\n");
	assert_changes(first, first, "");
	assert_changes(first, second,
		       "mixed  node3/rxe0 -> node4/rxe1  preparing\n"
		       "mixed  node1/rxe0 -> node2/rxe1  measuring\n");
}

static void assert_remaining(const char *inner, uint64_t expected_ns)
{
	_cleanup_json_ json_t *progress = answer(inner);

	assert_true(live_remaining_ns(progress) == expected_ns);
}

static void a_run_stays_as_it_is_until_the_first_pair_is_through_its_phase(void **state)
{
	assert_remaining("{\"active\": [{" ENDS ", \"progress\": {\"elapsed_ns\": 1000,"
			 " \"total_ns\": 5000}}, {" OTHER_ENDS
			 ", \"progress\": {\"elapsed_ns\": 2000, \"total_ns\": 5000}}]}",
			 3000);
	assert_remaining("{\"active\": [{" ENDS ", \"progress\": {\"elapsed_ns\": 1000,"
			 " \"total_ns\": 5000}}, {" OTHER_ENDS ", \"progress\": null}]}",
			 0);
	assert_remaining("{\"active\": [{" ENDS ", \"progress\": {\"elapsed_ns\": 6000,"
			 " \"total_ns\": 5000}}]}",
			 0);
	assert_remaining("{\"active\": []}", 0);
	assert_remaining("{\"place_in_queue\": 1}", 0);
	assert_remaining("null", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_measurement_shows_time_bar_and_rates),
		cmocka_unit_test(the_bar_is_full_only_at_the_end),
		cmocka_unit_test(a_run_by_iterations_counts_operations),
		cmocka_unit_test(a_line_is_never_longer_than_the_terminal),
		cmocka_unit_test(several_pairs_are_counted),
		cmocka_unit_test(a_run_that_waits_tells_its_place),
		cmocka_unit_test(what_is_not_told_yet_is_left_out),
		cmocka_unit_test(hostile_words_do_not_reach_the_terminal),
		cmocka_unit_test(without_a_terminal_each_phase_is_said_once),
		cmocka_unit_test(a_run_stays_as_it_is_until_the_first_pair_is_through_its_phase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
