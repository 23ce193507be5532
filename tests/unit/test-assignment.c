// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "assignments.h"
#include "model/assignment.h"
#include "util/memory.h"
#include "util/text.h"

static struct assignment example(void)
{
	struct assignment a = { .pair = 3, .role = ROLE_RESPONDER, .seed = INT64_MAX };

	schema_defaults(workload_section_fields, &a.workload);
	text_copy(a.run_id, sizeof(a.run_id), "01J8Z3R6000000000000000000");
	text_copy(a.scenario, sizeof(a.scenario), "smoke");
	text_copy(a.coordinator, sizeof(a.coordinator), "node1");
	a.initiator = (struct endpoint){ "node1", "rxe0", 1, 1 };
	a.responder = (struct endpoint){ "node2", "rxe1", 1, SCHEMA_AUTO };
	a.workload.qp.path_mtu = 1024;
	a.workload.qp.max_rd_atomic = 16;
	a.workload.qp.max_inline_data = 220;
	a.workload.workload.pattern = PATTERN_STREAM;
	a.workload.workload.op_count = 1;
	a.workload.workload.ops[0] = (struct operation){ .kind = OPERATION_WRITE,
							 .weight = 1,
							 .size_count = 2,
							 .sizes = { { 100, 1 }, { 65537, 1 } } };
	a.workload.run.duration_ns = 1000000000;
	a.workload.run.timeout_ns = 40000000000;
	return a;
}

static void an_assignment_comes_back_from_json(void **state)
{
	struct assignment a = example(), read;
	struct error err = ERROR_INIT;
	json_t *json = schema_write(assignment_fields, &a), *again;

	assert_int_equal(schema_read(assignment_fields, json, &read, &err), 0);
	again = schema_write(assignment_fields, &read);
	assert_true(json_equal(json, again));
	assert_true(read.responder.gid_index == SCHEMA_AUTO);
	assert_true(read.seed == INT64_MAX);
	assert_int_equal(assignment_check(&read, &err), 0);
	json_decref(json);
	json_decref(again);
}

/* Each has its own place on the wire. */
static void settings_of_queues_come_back_each_as_itself(void **state)
{
	struct assignment a = example(), read;
	struct error err = ERROR_INIT;
	json_t *json;

	a.workload.qp.srq = true;
	a.workload.qp.pkey = 0x8003;
	a.workload.qp.pkey_index = 4;
	a.workload.qp.max_send_sge = 5;
	a.workload.qp.max_recv_sge = 6;
	a.workload.cq.mode = CQ_MODE_EVENT;
	a.workload.cq.solicited = true;
	a.workload.cq.moderation_count = 7;
	a.workload.cq.moderation_period_ns = 8000;
	a.workload.memory.buffers = 9;
	json = schema_write(assignment_fields, &a);
	assert_int_equal(schema_read(assignment_fields, json, &read, &err), 0);
	assert_true(read.workload.qp.srq);
	assert_int_equal(read.workload.qp.pkey, 0x8003);
	assert_int_equal(read.workload.qp.pkey_index, 4);
	assert_int_equal(read.workload.qp.max_send_sge, 5);
	assert_int_equal(read.workload.qp.max_recv_sge, 6);
	assert_int_equal(read.workload.cq.mode, CQ_MODE_EVENT);
	assert_true(read.workload.cq.solicited);
	assert_int_equal(read.workload.cq.moderation_count, 7);
	assert_int_equal(read.workload.cq.moderation_period_ns, 8000);
	assert_int_equal(read.workload.memory.buffers, 9);
	json_decref(json);
}

static void local_and_remote_follow_the_role(void **state)
{
	struct assignment a = example();

	assert_ptr_equal(assignment_local(&a), &a.responder);
	assert_ptr_equal(assignment_remote(&a), &a.initiator);
	a.role = ROLE_INITIATOR;
	assert_ptr_equal(assignment_local(&a), &a.initiator);
	assert_ptr_equal(assignment_remote(&a), &a.responder);
}

static void expect_refused(const struct assignment *a, const char *part)
{
	struct error err = ERROR_INIT;

	assert_true(assignment_check(a, &err) < 0);
	assert_int_equal(err.class, ERROR_INPUT);
	if (!strstr(err.text, part)) {
		fail_msg("\"%s\" is not in: %s", part, err.text);
	}
}

static void what_a_planner_must_decide_cannot_be_left_open(void **state)
{
	struct assignment a = example();

	a.workload.qp.path_mtu = SCHEMA_AUTO;
	expect_refused(&a, "qp.path_mtu: auto");
	a = example();
	a.workload.qp.max_rd_atomic = SCHEMA_AUTO;
	expect_refused(&a, "qp.max_rd_atomic: auto");
	a = example();
	a.workload.workload.direction = DIRECTION_REVERSE;
	expect_refused(&a, "workload.direction: who requests must be decided");
	/* both need no decision */
	a.workload.workload.direction = DIRECTION_BOTH;
	assert_int_equal(assignment_check(&a, NULL), 0);
	/* but how much can be inlined only the device knows */
	a = example();
	a.workload.qp.max_inline_data = SCHEMA_AUTO;
	assert_int_equal(assignment_check(&a, NULL), 0);
}

static void an_assignment_that_does_not_hold_together_is_refused(void **state)
{
	struct assignment a = example();

	a.workload.workload.signal_interval = 5;
	expect_refused(&a, "workload.signal_interval: 5 is above");
	a = example();
	a.workload.qp.qp_type = QP_TYPE_XRC;
	expect_refused(&a, "\"XRC\" is not in this version");
	a = example();
	text_copy(a.run_id, sizeof(a.run_id), "../../etc");
	expect_refused(&a, "run_id");
	a.run_id[0] = '\0';
	expect_refused(&a, "run_id");
	a = example();
	a.responder.device[0] = '\0';
	expect_refused(&a, "device");
}

static void refuse_with(const char *key, json_t *value)
{
	struct assignment a = example(), read;
	struct error err = ERROR_INIT;
	json_t *json = schema_write(assignment_fields, &a);

	if (value) {
		json_object_set_new(json, key, value);
	} else {
		json_object_del(json, key);
	}
	if (schema_read(assignment_fields, json, &read, &err) == 0) {
		fail_msg("a wrong %s was accepted", key);
	}
	assert_non_null(strstr(err.text, key));
	json_decref(json);
}

static void hostile_json_is_refused_with_the_key(void **state)
{
	refuse_with("run_id", json_integer(1));
	refuse_with("run_id", json_string("01J8Z3R60000000000000000000000000000000"));
	refuse_with("pair", json_integer(LIMIT_PAIRS));
	refuse_with("pair", json_integer(-1));
	refuse_with("role", json_string("judge"));
	refuse_with("scenario", json_string(""));
	refuse_with("coordinator", json_string("a b"));
	refuse_with("initiator", json_null());
	refuse_with("workload", NULL);
	refuse_with("qp", json_array());
	refuse_with("seed", json_null());
	refuse_with("seed", json_real(1.0));
}

static void endpoint_information_comes_back_and_is_bounded(void **state)
{
	struct endpoint_info *info = memory_new(2 * sizeof(*info)), *read = info + 1;
	struct error err = ERROR_INIT;
	json_t *json, *again;

	text_copy(info->gid, sizeof(info->gid), "::ffff:10.0.0.1");
	info->mtu_bytes = 1024;
	info->buffer_address = 0x7f0000000000;
	info->buffer_bytes = 4096;
	info->rkey = UINT32_MAX;
	info->qp_count = LIMIT_QPS;
	for (size_t i = 0; i < LIMIT_QPS; i++) {
		info->qps[i] = (struct qp_address){ i + 1, 0xffffff };
	}
	json = schema_write(endpoint_info_fields, info);
	assert_int_equal(schema_read(endpoint_info_fields, json, read, &err), 0);
	again = schema_write(endpoint_info_fields, read);
	assert_true(json_equal(json, again));
	json_decref(again);
	json_array_append_new(json_object_get(json, "qps"), json_object());
	assert_true(schema_read(endpoint_info_fields, json, read, &err) < 0);
	err = ERROR_INIT;
	/* Of pattern connect; of others run/errand counts them. */
	json_array_clear(json_object_get(json, "qps"));
	assert_int_equal(schema_read(endpoint_info_fields, json, read, &err), 0);
	assert_int_equal(read->qp_count, 0);
	json_decref(json);
	free(info);
}

static void what_is_pinned_is_whole_huge_pages(void **state)
{
	struct assignment *assignment =
		assignments_new(ROLE_INITIATOR, PATTERN_STREAM, OPERATION_WRITE, 4096);

	(void)state;
	assert_int_equal(assignment_pinned_bytes(assignment), 8192);
	assignment->workload.memory.kind = MEMORY_HUGEPAGE;
	assert_int_equal(assignment_pinned_bytes(assignment), 2 << 20);
	assignment->workload.memory.hugepage_bytes = 1 << 30;
	assert_int_equal(assignment_pinned_bytes(assignment), 1 << 30);
	free(assignment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_assignment_comes_back_from_json),
		cmocka_unit_test(settings_of_queues_come_back_each_as_itself),
		cmocka_unit_test(local_and_remote_follow_the_role),
		cmocka_unit_test(what_is_pinned_is_whole_huge_pages),
		cmocka_unit_test(what_a_planner_must_decide_cannot_be_left_open),
		cmocka_unit_test(an_assignment_that_does_not_hold_together_is_refused),
		cmocka_unit_test(hostile_json_is_refused_with_the_key),
		cmocka_unit_test(endpoint_information_comes_back_and_is_bounded),
	};

	return cmocka_run_group_tests_name("assignment", tests, NULL, NULL);
}
