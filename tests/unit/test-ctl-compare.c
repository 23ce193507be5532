// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <curl/curl.h>

#include "canned-daemon.h"

#define STEP(id, name, rate, bandwidth, cv)                                                    \
	"{\"id\":\"" id "\",\"scenario\":\"" name                                              \
	"\",\"state\":\"done\",\"verdict\":\"pass\",\"counts\":{},\"findings\":[],"            \
	"\"measurements\":[{\"verdict\":\"pass\",\"window_ns\":4000000000,\"ops_per_s\":" rate \
	",\"bandwidth_bps\":" bandwidth ",\"ops_per_s_cv\":" cv                                \
	",\"both\":null,\"workload\":{\"run\":{\"interval_ns\":250000000}}}]}"

static const struct canned ladder[] = {
	{ "GET /v1/runs?limit=1&scenario=one", 200, NULL,
	  "{\"runs\":[{\"id\":\"01K3V9Q7W0E5R2T8Y4U6J1M3N5\"}]}", 0, false },
	{ "GET /v1/runs?limit=1&scenario=none", 200, NULL, "{\"runs\":[]}", 0, false },
	{ "GET /v1/runs/01K3V9Q7W0E5R2T8Y4U6J1M3N5?intervals=false", 200, NULL,
	  STEP("01K3V9Q7W0E5R2T8Y4U6J1M3N5", "one", "1000000", "512000000", "0.04"), 0, false },
	{ "GET /v1/runs/01K3V9Q7W1?intervals=false", 200, NULL,
	  STEP("01K3V9Q7W1E5R2T8Y4U6J1M3N5", "two", "1500000", "768000000", "0.04"), 0, false },
	{ "GET /v1/runs/01K3V9Q7W2?intervals=false", 200, NULL,
	  STEP("01K3V9Q7W2E5R2T8Y4U6J1M3N5", "three", "1515000", "775680000", "0.04"), 0, false },
	{ "GET /v1/runs/01K3V9Q7W3?intervals=false", 200, NULL,
	  STEP("01K3V9Q7W3E5R2T8Y4U6J1M3N5", "four", "1200000", "614400000", "null"), 0, false },
	{ 0 }
};

/* 4 % over 16 intervals are 1 %: of a difference 1.4 %, twice that 2.8 %. */
static void each_run_is_told_by_what_it_gained(void **state)
{
	struct fixture *fixture = *state;

	start_daemon(fixture, ladder);
	assert_int_equal(RUN(fixture, "compare", "one", "01K3V9Q7W1", "01k3v9q7w2", "01K3V9Q7W3"),
			 0);
	assert_string_equal(fixture->err, "");
	assert_contains(fixture->out,
			"run of  verdict        rate  bandwidth       gain     in all\n");
	assert_contains(fixture->out,
			"one     PASS        1 Mop/s   512 Mb/s          -          -\n");
	assert_contains(fixture->out,
			"two     PASS      1.5 Mop/s   768 Mb/s    +50.0 %    +50.0 %\n");
	assert_contains(fixture->out, "~ +1.0 %    +51.5 %\n");
	assert_contains(fixture->out, "? -20.8 %  ? +20.0 %\n");
	assert_contains(fixture->out, "gain: of the rate, on the run above");
}

static void programs_get_the_same_as_numbers(void **state)
{
	struct fixture *fixture = *state;

	start_daemon(fixture, ladder);
	assert_int_equal(RUN(fixture, "compare", "one", "01K3V9Q7W1", "01K3V9Q7W2", "01K3V9Q7W3",
			     "--json"),
			 0);
	assert_contains(fixture->out, "\"scenario\":\"one\"");
	assert_contains(fixture->out, "\"gain\":null");
	assert_contains(fixture->out, "\"gain\":0.5");
	assert_contains(fixture->out, "\"is_beyond_noise\":true");
	assert_contains(fixture->out, "\"is_beyond_noise\":false");
	assert_contains(fixture->out, "\"is_beyond_noise\":null");
}

static void a_scenario_without_a_run_is_named(void **state)
{
	struct fixture *fixture = *state;

	start_daemon(fixture, ladder);
	assert_int_equal(RUN(fixture, "compare", "one", "none"), 3);
	assert_contains(fixture->err,
			"no run of a scenario \"none\" is kept; rdmatestctl run none");
	assert_string_equal(fixture->out, "");
}

static void one_run_alone_is_not_compared(void **state)
{
	struct fixture *fixture = *state;

	start_daemon(fixture, ladder);
	assert_int_equal(RUN(fixture, "compare", "one"), 2);
	assert_contains(fixture->err, "compare");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_run_is_told_by_what_it_gained),
		TEST(programs_get_the_same_as_numbers),
		TEST(a_scenario_without_a_run_is_named),
		TEST(one_run_alone_is_not_compared),
	};

	int failed;

	curl_global_init(CURL_GLOBAL_DEFAULT);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	curl_global_cleanup();
	return failed;
}
