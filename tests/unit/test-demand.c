// SPDX-License-Identifier: MIT
#include "unit/ends.h"

#include <errno.h>

#include "verbs/demand.h"
#include "verbs/pkey.h"

static void rights_are_the_least_that_the_operations_need(void **state)
{
	enum {
		LOCAL = IBV_ACCESS_LOCAL_WRITE,
		WRITE = IBV_ACCESS_REMOTE_WRITE,
		READ = IBV_ACCESS_REMOTE_READ,
		ATOMIC = IBV_ACCESS_REMOTE_ATOMIC
	};
	static const struct {
		int pattern;
		int kind;
		unsigned initiator_qp;
		unsigned initiator_mr;
		unsigned responder_qp;
		unsigned responder_mr;
		bool initiator_receives;
		bool responder_receives;
	} rows[] = {
		{ PATTERN_STREAM, OPERATION_WRITE, 0, 0, WRITE, WRITE | LOCAL, false, false },
		{ PATTERN_STREAM, OPERATION_READ, 0, LOCAL, READ, READ, false, false },
		{ PATTERN_STREAM, OPERATION_SEND, 0, 0, 0, LOCAL, false, true },
		{ PATTERN_PINGPONG, OPERATION_WRITE, WRITE, WRITE | LOCAL, WRITE, WRITE | LOCAL,
		  false, false },
		{ PATTERN_PINGPONG, OPERATION_READ, 0, LOCAL, READ, READ, false, false },
		{ PATTERN_PINGPONG, OPERATION_SEND, 0, LOCAL, 0, LOCAL, true, true },
		{ PATTERN_STREAM, OPERATION_SEND_WITH_IMM, 0, 0, 0, LOCAL, false, true },
		{ PATTERN_STREAM, OPERATION_WRITE_WITH_IMM, 0, 0, WRITE, WRITE | LOCAL, false,
		  true },
		{ PATTERN_PINGPONG, OPERATION_WRITE_WITH_IMM, WRITE, WRITE | LOCAL, WRITE,
		  WRITE | LOCAL, true, true },
		{ PATTERN_STREAM, OPERATION_ATOMIC_CMP_AND_SWP, 0, LOCAL, ATOMIC, ATOMIC | LOCAL,
		  false, false },
		{ PATTERN_PINGPONG, OPERATION_ATOMIC_FETCH_AND_ADD, 0, LOCAL, ATOMIC,
		  ATOMIC | LOCAL, false, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assignment *assignment =
			assignments_new(ROLE_INITIATOR, rows[i].pattern, rows[i].kind, 64);
		struct demand demand;

		assert_int_equal(demand_of(assignment, &demand, NULL), 0);
		assert_int_equal(demand.qp_access, rows[i].initiator_qp);
		assert_int_equal(demand.mr_access, rows[i].initiator_mr);
		assert_int_equal(demand.recv_depth, rows[i].initiator_receives ? 32 : 0);
		assignment->role = ROLE_RESPONDER;
		assert_int_equal(demand_of(assignment, &demand, NULL), 0);
		assert_int_equal(demand.qp_access, rows[i].responder_qp);
		assert_int_equal(demand.mr_access, rows[i].responder_mr);
		assert_int_equal(demand.recv_depth, rows[i].responder_receives ? 32 : 0);
		free(assignment);
	}
}

static void completion_queues_hold_all_that_can_wait(void **state)
{
	struct assignment *assignment =
		assignments_new(ROLE_INITIATOR, PATTERN_STREAM, OPERATION_SEND, 64);
	struct workload *workload = &assignment->workload;
	struct error err = ERROR_INIT;
	struct demand demand;

	workload->qp.num_qps = 4;
	workload->workload.load.outstanding = 64;
	assert_int_equal(demand_of(assignment, &demand, NULL), 0);
	assert_int_equal(demand.send_cqe, 4 * 17);
	assert_int_equal(demand.recv_cqe, 1);
	workload->workload.load.outstanding = 67;
	assert_int_equal(demand_of(assignment, &demand, NULL), 0);
	assert_int_equal(demand.send_cqe, 4 * 18);
	workload->workload.load.outstanding = 4000;
	assert_int_equal(demand_of(assignment, &demand, NULL), 0);
	assert_int_equal(demand.send_cqe, 4 * 65);
	assignment->role = ROLE_RESPONDER;
	assert_int_equal(demand_of(assignment, &demand, NULL), 0);
	assert_int_equal(demand.recv_cqe, 4 * 32);
	workload->cq.size = 1000;
	assert_int_equal(demand_of(assignment, &demand, NULL), 0);
	assert_int_equal(demand.send_cqe, 1000);
	assert_int_equal(demand.recv_cqe, 1000);
	workload->cq.size = 259;
	assert_int_equal(demand_of(assignment, &demand, &err), -EINVAL);
	ends_assert_says(&err, "cq.size 259 is below the 260 completions");
	free(assignment);
}

struct limit_case {
	const char *field; /* of the device */
	struct fabric_device_config device;
	void (*ask)(struct workload *workload);
	const char *words[2];
};

static void ask_qps(struct workload *workload)
{
	workload->qp.num_qps = 9;
}

static void ask_send_wr(struct workload *workload)
{
	workload->qp.max_send_wr = 40;
}

static void ask_recv_wr(struct workload *workload)
{
	workload->workload.ops[0].kind = OPERATION_SEND;
	workload->workload.pattern = PATTERN_PINGPONG;
	workload->qp.max_send_wr = 8;
	workload->qp.max_recv_wr = 33;
}

static void ask_many_receives(struct workload *workload)
{
	ask_recv_wr(workload);
	workload->qp.num_qps = 2;
}

static void ask_depth(struct workload *workload)
{
	workload->qp.num_qps = 4;
	workload->workload.load.outstanding = 256;
}

static void ask_nothing_more(struct workload *workload)
{
}

static void ask_rd_atomic(struct workload *workload)
{
	workload->qp.max_rd_atomic = 17;
}

static void ask_mtu(struct workload *workload)
{
	workload->qp.path_mtu = 4096;
}

static void ask_pkey(struct workload *workload)
{
	workload->qp.pkey_index = 5;
}

/* Which entry is taken, and what is told where there is none. */
static void a_partition_is_found_by_its_value(void **state)
{
	static const struct {
		uint16_t table[FABRIC_PKEYS];
		uint64_t pkey;
		int index; /* -1: there is none */
	} rows[] = {
		{ { 0xffff, 0x8001 }, 0x8001, 1 },
		{ { 0xffff, 0x8001 }, 0x1, 1 },
		{ { 0xffff, 0x0001 }, 0x8001, 1 },
		{ { 0x0001, 0xffff, 0, 0x8001 }, 0x1, 3 },
		{ { 0xffff }, 0x7fff, 0 },
		{ { 0x8002, 0, 0, 0x8001 }, 0x8001, 3 },
		{ { 0xffff, 0, 0x8002 }, SCHEMA_AUTO, 0 },
		{ { 0xffff, 0x8002 }, 0x8001, -1 },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fabric_device_config config = { .name = "third", .is_infiniband = true };
		struct end third = { 0 };

		memcpy(config.pkeys, rows[i].table, sizeof(config.pkeys));
		fabric_add_device(fixture->fabric, &config);
		assert_int_equal(device_open(&third.device, "third", NULL), 0);
		third.assignment =
			assignments_new(ROLE_INITIATOR, PATTERN_STREAM, OPERATION_WRITE, 4096);
		third.assignment->workload.qp.pkey = rows[i].pkey;
		third.assignment->initiator.gid_index = 0;
		fixture->err = ERROR_INIT;
		assert_int_equal(resources_new(&third.resources, third.device, third.assignment,
					       &third.steps, &fixture->err),
				 rows[i].index < 0 ? -ENOENT : 0);
		if (rows[i].index < 0) {
			assert_int_equal(fixture->err.class, ERROR_DEVICE);
			assert_string_equal(fixture->err.call, "pkey");
			ends_assert_says(&fixture->err, "third port 1 is in no partition 0x0001");
			ends_assert_says(&fixture->err, "has 0xffff, 0x8002;");
		} else {
			struct endpoint_info info;

			resources_info(third.resources, third.assignment, &info);
			assert_int_equal(info.pkey_index, rows[i].index);
			assert_int_equal(info.pkey, rows[i].table[rows[i].index]);
		}
		ends_close(&third);
		fabric_remove_device(fixture->fabric, "third");
	}
}

static void limited_members_do_not_reach_each_other(void **state)
{
	assert_true(pkey_reaches(0x8001, 0x8001));
	assert_true(pkey_reaches(0x8001, 0x0001));
	assert_true(pkey_reaches(0x0001, 0x8001));
	assert_false(pkey_reaches(0x0001, 0x0001));
	assert_false(pkey_reaches(0x8001, 0x8002));
	assert_false(pkey_reaches(0xffff, 0x8001));
	assert_true(pkey_reaches(0, 0x0001));
	assert_true(pkey_reaches(0x0001, 0));
}

static void a_device_without_atomics_is_told_before_anything_is_made(void **state)
{
	struct fixture *fixture = *state;
	struct fabric_device_config config = { .name = "third",
					       .address = "10.0.0.3",
					       .has_no_atomics = true };
	struct end third = { 0 };

	fabric_add_device(fixture->fabric, &config);
	assert_int_equal(device_open(&third.device, "third", NULL), 0);
	third.assignment = assignments_new(ROLE_RESPONDER, PATTERN_STREAM,
					   OPERATION_ATOMIC_FETCH_AND_ADD, OPERATION_ATOMIC_BYTES);
	assert_int_equal(resources_new(&third.resources, third.device, third.assignment,
				       &third.steps, &fixture->err),
			 -EOPNOTSUPP);
	ends_assert_says(&fixture->err, "third has no atomic operations");
	assert_int_equal(fixture->err.number, EOPNOTSUPP);
	assert_int_equal(fixture->err.stage, STAGE_RESOURCE);
	ends_close(&third);
}

static void on_demand_paging_is_asked_for_only_of_a_device_that_has_it(void **state)
{
	struct fixture *fixture = *state;

	for (int has_odp = 0; has_odp <= 1; has_odp++) {
		struct fabric_device_config config = { .name = has_odp ? "fourth" : "third",
						       .address = has_odp ? "10.0.0.4" : "10.0.0.3",
						       .has_odp = has_odp };
		struct end end = { 0 };

		fabric_add_device(fixture->fabric, &config);
		assert_int_equal(device_open(&end.device, config.name, NULL), 0);
		end.assignment =
			assignments_new(ROLE_RESPONDER, PATTERN_STREAM, OPERATION_WRITE, 64);
		end.assignment->workload.memory.odp = true;
		end.assignment->workload.memory.relaxed_ordering = true;
		assert_int_equal(resources_new(&end.resources, end.device, end.assignment,
					       &end.steps, &fixture->err),
				 has_odp ? 0 : -EOPNOTSUPP);
		if (!has_odp) {
			ends_assert_says(&fixture->err, "third has no on-demand paging");
			assert_int_equal(fixture->err.number, EOPNOTSUPP);
			fixture->err = ERROR_INIT;
		}
		ends_close(&end);
	}
}

static void what_is_paged_is_what_the_operations_touch(void **state)
{
	static const struct {
		int kind;
		uint32_t needs;
	} rows[] = {
		{ OPERATION_SEND, IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV },
		{ OPERATION_WRITE, IBV_ODP_SUPPORT_WRITE },
		{ OPERATION_WRITE_WITH_IMM, IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_RECV },
		{ OPERATION_READ, IBV_ODP_SUPPORT_READ },
		{ OPERATION_ATOMIC_CMP_AND_SWP, IBV_ODP_SUPPORT_ATOMIC },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct assignment *assignment =
			assignments_new(ROLE_RESPONDER, PATTERN_STREAM, rows[i].kind, 8);
		struct demand demand;

		assert_int_equal(demand_of(assignment, &demand, NULL), 0);
		assert_int_equal(demand.odp_needs, 0);
		assert_int_equal(demand.mr_access & IBV_ACCESS_ON_DEMAND, 0);
		assignment->workload.memory.odp = true;
		assert_int_equal(demand_of(assignment, &demand, NULL), 0);
		assert_int_equal(demand.odp_needs, rows[i].needs);
		assert_int_equal(demand.mr_access & IBV_ACCESS_ON_DEMAND, IBV_ACCESS_ON_DEMAND);
		free(assignment);
	}
}

static void each_limit_of_the_device_is_named_with_value_and_limit(void **state)
{
	static const struct limit_case cases[] = {
		{ "max_qp",
		  { .max_qp = 8 },
		  ask_qps,
		  { "qp.num_qps 9 is above third's max_qp 8", "lower it" } },
		{ "max_qp_wr",
		  { .max_qp_wr = 32 },
		  ask_send_wr,
		  { "qp.max_send_wr 40 is above third's max_qp_wr 32" } },
		{ "max_qp_wr",
		  { .max_qp_wr = 32 },
		  ask_recv_wr,
		  { "qp.max_recv_wr 33 is above third's max_qp_wr 32" } },
		{ "max_cqe",
		  { .max_cqe = 100 },
		  ask_depth,
		  { "the send completion queue", "260 is above third's max_cqe 100" } },
		{ "max_cqe",
		  { .max_cqe = 50 },
		  ask_many_receives,
		  { "the receive completion queue", "66 is above third's max_cqe 50" } },
		{ "max_mr_size",
		  { .max_mr_size_bytes = 8000 },
		  ask_nothing_more,
		  { "8192 is above third's max_mr_size 8000" } },
		{ "max_msg_sz",
		  { .max_msg_bytes = 4000 },
		  ask_nothing_more,
		  { "size 4096 is above third's max_msg_sz 4000" } },
		{ "max_rd_atomic",
		  { .max_rd_atomic = 16 },
		  ask_rd_atomic,
		  { "qp.max_rd_atomic 17 is above third's max_qp_init_rd_atom 16" } },
		{ "mtu",
		  { .mtu = IBV_MTU_1024 },
		  ask_mtu,
		  { "qp.path_mtu: 4096 is above the active MTU 1024", "run it again" } },
		{ "pkeys", { 0 }, ask_pkey, { "qp.pkey_index 5", "table of 1 entries" } },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fabric_device_config config = cases[i].device;
		struct end third = { 0 };

		config.name = "third";
		config.address = "10.0.0.3";
		fabric_add_device(fixture->fabric, &config);
		assert_int_equal(device_open(&third.device, "third", NULL), 0);
		third.assignment =
			assignments_new(ROLE_INITIATOR, PATTERN_STREAM, OPERATION_WRITE, 4096);
		cases[i].ask(&third.assignment->workload);
		fixture->err = ERROR_INIT;
		assert_int_equal(resources_new(&third.resources, third.device, third.assignment,
					       &third.steps, &fixture->err),
				 -ERANGE);
		assert_int_equal(fixture->err.class, ERROR_INPUT);
		assert_string_equal(fixture->err.call, "limit");
		assert_int_equal(fixture->err.stage, STAGE_RESOURCE);
		ends_assert_says(&fixture->err, cases[i].words[0]);
		if (cases[i].words[1]) {
			ends_assert_says(&fixture->err, cases[i].words[1]);
		}
		assert_int_equal(fabric_objects(fixture->fabric), 3);
		ends_close(&third);
		fabric_remove_device(fixture->fabric, "third");
	}
}

static void what_this_version_cannot_do_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct qp_settings *qp = &fixture->left.assignment->workload.qp;
	struct workload_settings *workload = &fixture->left.assignment->workload.workload;

	qp->qp_type = QP_TYPE_XRC;
	assert_int_equal(ends_make(fixture, &fixture->left), -EOPNOTSUPP);
	ends_assert_says(&fixture->err, "qp.qp_type");
	assert_int_equal(fixture->err.number, EOPNOTSUPP);
	qp->qp_type = QP_TYPE_RC;
	workload->ops[0].kind = OPERATION_KINDS;
	assert_int_equal(ends_make(fixture, &fixture->left), -EOPNOTSUPP);
	ends_assert_says(&fixture->err, "workload.ops[0].op");
	workload->ops[0].kind = -1;
	assert_int_equal(ends_make(fixture, &fixture->left), -EOPNOTSUPP);
	workload->ops[0].kind = OPERATION_WRITE;
	workload->op_count = 0;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	workload->op_count = 1000000;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	workload->op_count = 1;
	qp->num_qps = UINT64_MAX;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	qp->num_qps = 0;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	qp->num_qps = 1;
	qp->path_mtu = 1500;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	ends_assert_says(&fixture->err, "qp.path_mtu 1500");
	qp->path_mtu = SCHEMA_AUTO;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	qp->path_mtu = 1024;
	qp->max_rd_atomic = SCHEMA_AUTO;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	qp->max_rd_atomic = 1;
	qp->max_send_wr = 0;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	qp->max_send_wr = 1;
	workload->ops[0].sizes[0].size_bytes = UINT64_MAX;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	workload->ops[0].sizes[0].size_bytes = LIMIT_BUFFER_BYTES;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	ends_assert_says(&fixture->err, "the buffer of 1 queue pairs");
}

static void an_endpoint_that_is_not_there_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct endpoint *endpoint = &fixture->left.assignment->initiator;

	endpoint->port_num = 2;
	assert_int_equal(ends_make(fixture, &fixture->left), -ENODEV);
	ends_assert_says(&fixture->err, "\"left\" has no port 2 (it has 1)");
	endpoint->port_num = 0;
	assert_int_equal(ends_make(fixture, &fixture->left), -ENODEV);
	endpoint->port_num = 1;
	endpoint->gid_index = 77;
	assert_int_equal(ends_make(fixture, &fixture->left), -ENOENT);
	ends_assert_says(&fixture->err, "gid_index 77 is not in the GID table");
	endpoint->gid_index = 1;
	fabric_set_address(fixture->fabric, "left", NULL);
	assert_int_equal(ends_make(fixture, &fixture->left), -ENOENT);
	ends_assert_says(&fixture->err, "gid_index 1 of left port 1 is empty");
	fabric_set_port(fixture->fabric, "left", false);
	assert_int_equal(ends_make(fixture, &fixture->left), -ENETDOWN);
	ends_assert_says(&fixture->err, "port 1 of left is not active");
	assert_int_equal(fixture->err.class, ERROR_DEVICE);
	assert_string_equal(fixture->err.call, "device");
	assert_int_equal(fixture->err.stage, STAGE_DISCOVER);
}

static void inline_auto_takes_what_the_device_gives(void **state)
{
	static const struct {
		uint32_t device_bytes;
		uint64_t given_bytes;
	} rows[] = { { 256, 220 }, { 200, 128 }, { 100, 64 }, { 63, 32 }, { 31, 0 } };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct end third = { 0 };

		fabric_add_device(fixture->fabric,
				  &(struct fabric_device_config){ .name = "third",
								  .address = "10.0.0.3",
								  .max_inline_bytes =
									  rows[i].device_bytes });
		assert_int_equal(device_open(&third.device, "third", NULL), 0);
		third.assignment =
			assignments_new(ROLE_INITIATOR, PATTERN_STREAM, OPERATION_WRITE, 4096);
		third.assignment->workload.qp.num_qps = 2;
		assert_int_equal(resources_new(&third.resources, third.device, third.assignment,
					       &third.steps, NULL),
				 0);
		resources_info(third.resources, third.assignment, &third.info);
		assert_int_equal(third.resources->max_inline_data, rows[i].given_bytes);
		assert_int_equal(third.info.max_inline_data, rows[i].given_bytes);
		ends_close(&third);
		fabric_remove_device(fixture->fabric, "third");
	}
}

static void C22_an_inline_size_that_the_device_refuses_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct workload *workload = &fixture->left.assignment->workload;

	workload->qp.max_inline_data = 512;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	ends_assert_says(&fixture->err, "qp.max_inline_data 512 is above what left gives");
	assert_string_equal(fixture->err.call, "limit");
	assert_int_equal(fixture->err.class, ERROR_INPUT);
	workload->qp.max_inline_data = SCHEMA_AUTO;
	workload->workload.ops[0].inline_mode = INLINE_YES;
	workload->workload.ops[0].sizes[0].size_bytes = 300;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	ends_assert_says(&fixture->err, "qp.max_inline_data 300 is above");
	workload->qp.max_inline_data = 64;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	ends_assert_says(&fixture->err, "inline: true need qp.max_inline_data 300, it is 64");
	workload->workload.ops[0].sizes[0].size_bytes = 250;
	workload->qp.max_inline_data = SCHEMA_AUTO;
	assert_int_equal(ends_make(fixture, &fixture->left), 0);
	assert_int_equal(fixture->left.resources->max_inline_data, 250);
}

static void an_attribute_that_the_device_refuses_without_a_word_is_found_out(void **state)
{
	struct fixture *fixture = *state;
	struct workload *workload = &fixture->right.assignment->workload;

	workload->workload.ops[0].kind = OPERATION_SEND;
	/* Five sizes of inline data are tried, then each queue alone. */
	fabric_set_verb(fixture->fabric, "right", FABRIC_CREATE_QP,
			&(struct fabric_verb_fault){ .error = EINVAL, .count = 5 });
	assert_int_equal(ends_make(fixture, &fixture->right), -EINVAL);
	ends_assert_says(&fixture->err, "qp.max_send_wr 64 is above what right gives");
	fabric_set_verb(fixture->fabric, "right", FABRIC_CREATE_QP,
			&(struct fabric_verb_fault){ .error = EINVAL, .count = 6 });
	assert_int_equal(ends_make(fixture, &fixture->right), -EINVAL);
	ends_assert_says(&fixture->err, "qp.max_recv_wr 32 is above what right gives");
	fabric_set_verb(fixture->fabric, "right", FABRIC_CREATE_QP,
			&(struct fabric_verb_fault){ .error = EINVAL });
	assert_int_equal(ends_make(fixture, &fixture->right), -EINVAL);
	ends_assert_says(&fixture->err, "right gives no more queue pairs");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_set_up, ends_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rights_are_the_least_that_the_operations_need),
		cmocka_unit_test(completion_queues_hold_all_that_can_wait),
		TEST(each_limit_of_the_device_is_named_with_value_and_limit),
		TEST(a_partition_is_found_by_its_value),
		cmocka_unit_test(limited_members_do_not_reach_each_other),
		TEST(a_device_without_atomics_is_told_before_anything_is_made),
		TEST(on_demand_paging_is_asked_for_only_of_a_device_that_has_it),
		cmocka_unit_test(what_is_paged_is_what_the_operations_touch),
		TEST(what_this_version_cannot_do_is_refused),
		TEST(an_endpoint_that_is_not_there_is_named),
		TEST(inline_auto_takes_what_the_device_gives),
		TEST(C22_an_inline_size_that_the_device_refuses_is_named),
		TEST(an_attribute_that_the_device_refuses_without_a_word_is_found_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
