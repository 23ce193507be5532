// SPDX-License-Identifier: MIT
#include "model/connections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/memory.h"

static void what_was_written_is_read_back(void **state)
{
	_cleanup_free_ struct connections *wrote = memory_new(sizeof(*wrote));
	_cleanup_free_ struct connections *read = NULL;
	struct error err = ERROR_INIT;
	json_t *json;

	connections_init(wrote);
	wrote->retried = 2;
	wrote->refused = 3;
	wrote->phases[CONNECTION_CONNECT].failed = 1;
	for (uint64_t i = 1; i <= 100; i++) {
		histogram_add(&wrote->phases[CONNECTION_SETUP].latency, i * 1000);
	}
	json = connections_write(wrote);
	assert_int_equal(connections_read(json, &read, &err), 0);
	json_decref(json);
	assert_memory_equal(read, wrote, sizeof(*read));
	assert_int_equal(connections_failed(read), 1);
	json = connections_write(NULL);
	assert_true(json_is_null(json));
	free(take(read));
	assert_int_equal(connections_read(json, &read, &err), 0);
	assert_null(read);
	json_decref(json);
}

static void what_a_peer_makes_up_is_refused_in_words(void **state)
{
	static const struct {
		const char *json;
		const char *words;
	} cases[] = {
		{ "[]", "must be an object" },
		{ "{}", "\"retried\"" },
		{ "{\"retried\":0,\"refused\":-1,\"phases\":[]}", "\"refused\"" },
		{ "{\"retried\":0,\"refused\":0,\"phases\":{}}", "\"phases\"" },
		{ "{\"retried\":0,\"refused\":0,\"phases\":[3]}",
		  "phases[0]: a phase must be an object" },
		{ "{\"retried\":0,\"refused\":0,\"phases\":[{\"phase\":\"nap\"}]}",
		  "\"nap\" is not one" },
		{ "{\"retried\":0,\"refused\":0,\"phases\":[{\"phase\":\"connect\",\"failed\":1}]}",
		  "phases[0]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ struct connections *read = NULL;
		struct error err = ERROR_INIT;
		json_t *json = json_loads(cases[i].json, 0, NULL);

		assert_non_null(json);
		assert_true(connections_read(json, &read, &err) < 0);
		if (strstr(err.text, cases[i].words) == NULL) {
			fail_msg("%s: %s", cases[i].json, err.text);
		}
		json_decref(json);
	}
}

static void a_phase_that_is_there_twice_is_refused(void **state)
{
	_cleanup_free_ struct connections *wrote = memory_new(sizeof(*wrote));
	_cleanup_free_ struct connections *read = NULL;
	struct error err = ERROR_INIT;
	json_t *json, *phases;

	connections_init(wrote);
	wrote->phases[CONNECTION_DESTROY].failed = 1;
	json = connections_write(wrote);
	phases = json_object_get(json, "phases");
	json_array_append(phases, json_array_get(phases, 0));
	assert_true(connections_read(json, &read, &err) < 0);
	assert_non_null(strstr(err.text, "twice"));
	json_decref(json);
}

static void each_end_has_its_phases(void **state)
{
	assert_true(connections_has_phase(true, CONNECTION_RESOLVE_ADDR));
	assert_false(connections_has_phase(false, CONNECTION_RESOLVE_ADDR));
	assert_true(connections_has_phase(false, CONNECTION_ACCEPT));
	assert_false(connections_has_phase(true, CONNECTION_ACCEPT));
	assert_true(connections_has_phase(true, CONNECTION_SETUP));
	assert_true(connections_has_phase(false, CONNECTION_SETUP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_back),
		cmocka_unit_test(what_a_peer_makes_up_is_refused_in_words),
		cmocka_unit_test(a_phase_that_is_there_twice_is_refused),
		cmocka_unit_test(each_end_has_its_phases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
