// SPDX-License-Identifier: MIT
#include "unit/ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void a_write_lands_in_the_receiving_half_of_the_other_end(void **state)
{
	struct fixture *fixture = *state;
	struct end *left = &fixture->left;
	struct end *right = &fixture->right;
	struct ibv_wc wc;
	struct ibv_send_wr *bad;

	left->assignment->workload.qp.num_qps = 3;
	right->assignment->workload.qp.num_qps = 3;
	assert_int_equal(ends_make(fixture, left), 0);
	assert_int_equal(ends_make(fixture, right), 0);
	assert_int_equal(ends_connect(fixture), 0);
	memset(left->resources->buffer, 'x', left->resources->layout.total_bytes);
	struct ibv_sge sge = { .addr = left->info.buffer_address +
				       2 * left->resources->layout.stride_bytes,
			       .length = 4096,
			       .lkey = left->resources->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };
	wr.wr.rdma.rkey = (uint32_t)right->info.rkey;
	wr.wr.rdma.remote_addr = right->info.buffer_address +
				 2 * right->resources->layout.stride_bytes +
				 right->resources->layout.half_bytes;
	assert_int_equal(ibv_post_send(left->resources->qps[2], &wr, &bad), 0);
	fake_clock_advance(ENDS_MS);
	assert_int_equal(ibv_poll_cq(left->resources->send_cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(right->resources->buffer[2 * 8192 + 4096], 'x');
	assert_int_equal(right->resources->buffer[2 * 8192 + 8191], 'x');
	assert_int_equal(right->resources->buffer[2 * 8192 + 4095], 0);
	assert_int_equal(right->info.buffer_bytes, 3 * 8192);
}

static void sends_find_receives_that_were_posted_before_the_connection(void **state)
{
	struct fixture *fixture = *state;
	struct end *left = &fixture->left;
	struct end *right = &fixture->right;
	struct ibv_send_wr *bad;
	struct ibv_wc wcs[8];

	left->assignment->workload.workload.ops[0].kind = OPERATION_SEND;
	right->assignment->workload.workload.ops[0].kind = OPERATION_SEND;
	left->assignment->workload.qp.num_qps = 2;
	right->assignment->workload.qp.num_qps = 2;
	right->assignment->workload.qp.max_recv_wr = 3;
	assert_int_equal(ends_make(fixture, left), 0);
	assert_int_equal(ends_make(fixture, right), 0);
	assert_int_equal(left->resources->recv_depth, 0);
	assert_int_equal(right->resources->recv_depth, 3);
	assert_int_equal(ends_step(&right->steps, "post_recv")->count, 2);
	assert_null(ends_step(&left->steps, "post_recv"));
	assert_int_equal(ends_connect(fixture), 0);
	struct ibv_sge sge = { .addr = left->info.buffer_address,
			       .length = 100,
			       .lkey = left->resources->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	left->resources->buffer[99] = 'y';
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ibv_post_send(left->resources->qps[1], &wr, &bad), 0);
	}
	fake_clock_advance(ENDS_MS);
	assert_int_equal(ibv_poll_cq(right->resources->recv_cq, 8, wcs), 3);
	assert_int_equal(wcs[0].wr_id, 1);
	assert_int_equal(wcs[0].byte_len, 100);
	assert_int_equal(right->resources->buffer[8192 + 4096 + 99], 'y');
	/* The chain of the second queue pair, in part. */
	struct ibv_recv_wr *bad_recv;
	assert_null(right->resources->recv_wrs[5].next);
	assert_int_equal(ibv_post_recv(right->resources->qps[1], &right->resources->recv_wrs[4],
				       &bad_recv),
			 0);
	assert_int_equal(ibv_poll_cq(right->resources->send_cq, 8, wcs), 0);
}

static void every_attribute_comes_from_the_assignment_and_the_other_end(void **state)
{
	struct fixture *fixture = *state;
	struct end *left = &fixture->left;
	struct qp_settings *qp = &left->assignment->workload.qp;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	char gid[48];

	qp->path_mtu = 2048;
	qp->traffic_class = 104;
	qp->flow_label = 0xabcde;
	qp->hop_limit = 61;
	qp->service_level = 3;
	qp->local_ack_timeout = 17;
	qp->retry_cnt = 5;
	qp->rnr_retry = 4;
	qp->min_rnr_timer = 9;
	qp->max_rd_atomic = 11;
	qp->max_send_wr = 50;
	assert_int_equal(ends_make(fixture, left), 0);
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	assert_int_equal(ends_connect(fixture), 0);
	assert_int_equal(ibv_query_qp(left->resources->qps[0], &attr, 0, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mtu, IBV_MTU_2048);
	assert_int_equal(attr.dest_qp_num, fixture->right.info.qps[0].qp_num);
	assert_int_equal(attr.rq_psn, fixture->right.info.qps[0].psn);
	assert_int_equal(attr.sq_psn, left->info.qps[0].psn);
	assert_int_equal(attr.ah_attr.grh.traffic_class, 104);
	assert_int_equal(attr.ah_attr.grh.flow_label, 0xabcde);
	assert_int_equal(attr.ah_attr.grh.hop_limit, 61);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 1);
	inet_ntop(AF_INET6, attr.ah_attr.grh.dgid.raw, gid, sizeof(gid));
	assert_string_equal(gid, "::ffff:10.0.0.2");
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.sl, 3);
	assert_int_equal(attr.ah_attr.port_num, 1);
	assert_int_equal(attr.timeout, 17);
	assert_int_equal(attr.retry_cnt, 5);
	assert_int_equal(attr.rnr_retry, 4);
	assert_int_equal(attr.min_rnr_timer, 9);
	assert_int_equal(attr.max_rd_atomic, 11);
	assert_int_equal(attr.max_dest_rd_atomic, 11);
	assert_int_equal(init.cap.max_send_wr, 50);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
	assert_int_equal(init.sq_sig_all, 0);
	assert_ptr_equal(init.send_cq, left->resources->send_cq);
	assert_ptr_equal(init.recv_cq, left->resources->recv_cq);
	/* An unset traffic class is 0. */
	assert_int_equal(ibv_query_qp(fixture->right.resources->qps[0], &attr, 0, &init), 0);
	assert_int_equal(attr.ah_attr.grh.traffic_class, 0);
}

static void the_queue_pair_gets_these_rights(void **state)
{
	struct fixture *fixture = *state;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ends_make(fixture, &fixture->left), 0);
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	assert_int_equal(ibv_query_qp(fixture->left.resources->qps[0], &attr, 0, &init), 0);
	assert_int_equal(attr.qp_access_flags, 0);
	assert_int_equal(attr.qp_state, IBV_QPS_INIT);
	assert_int_equal(ibv_query_qp(fixture->right.resources->qps[0], &attr, 0, &init), 0);
	assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
}

static void a_verb_that_fails_is_named_and_everything_is_undone(void **state)
{
	static const struct {
		enum fabric_verb verb;
		int error;
		const char *call;
		uint32_t skip;
	} rows[] = {
		{ FABRIC_QUERY_PORT, EIO, "ibv_query_port", 0 },
		{ FABRIC_ALLOC_PD, ENOMEM, "ibv_alloc_pd", 0 },
		{ FABRIC_REG_MR, EFAULT, "ibv_reg_mr", 0 },
		{ FABRIC_CREATE_CQ, ENOMEM, "ibv_create_cq", 0 },
		{ FABRIC_CREATE_CQ, ENOMEM, "ibv_create_cq", 1 },
		{ FABRIC_CREATE_QP, ENOMEM, "ibv_create_qp", 0 },
		{ FABRIC_CREATE_QP, ENOMEM, "ibv_create_qp", 2 },
		{ FABRIC_MODIFY_INIT, EINVAL, "ibv_modify_qp", 1 },
		{ FABRIC_POST_RECV, ENOMEM, "ibv_post_recv", 1 },
		{ FABRIC_CREATE_SRQ, ENOMEM, "ibv_create_srq", 0 },
		{ FABRIC_POST_RECV, ENOMEM, "ibv_post_srq_recv", 0 },
		{ FABRIC_CREATE_QP, ENOMEM, "ibv_create_qp", 1 },
	};
	struct fixture *fixture = *state;
	struct workload *workload = &fixture->right.assignment->workload;

	workload->qp.num_qps = 3;
	workload->workload.ops[0].kind = OPERATION_SEND;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		workload->qp.srq = i + 3 >= sizeof(rows) / sizeof(rows[0]);
		fabric_set_verb(fixture->fabric, "right", rows[i].verb,
				&(struct fabric_verb_fault){ .error = rows[i].error,
							     .skip = rows[i].skip });
		assert_int_equal(ends_make(fixture, &fixture->right), -rows[i].error);
		assert_string_equal(fixture->err.call, rows[i].call);
		assert_int_equal(fixture->err.number, rows[i].error);
		assert_int_equal(fixture->err.kind, ERROR_KIND_ERRNO);
		fabric_set_verb(fixture->fabric, "right", rows[i].verb, NULL);
	}
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
}

static void C24_the_queue_pair_that_is_one_too_many_is_counted(void **state)
{
	struct fixture *fixture = *state;

	fixture->left.assignment->workload.qp.num_qps = 3;
	fabric_set_verb(fixture->fabric, "left", FABRIC_CREATE_QP,
			&(struct fabric_verb_fault){ .error = ENOMEM, .skip = 2 });
	assert_int_equal(ends_make(fixture, &fixture->left), -ENOMEM);
	ends_assert_says(&fixture->err,
			 "queue pair 3 of 3: left gives no more queue pairs (its max_qp is 65536");
	assert_int_equal(fixture->err.class, ERROR_RESOURCE);
}

/* Every inline size is tried; then one of RC is given. */
static void C29_a_transport_that_the_device_does_not_have_is_named(void **state)
{
	struct fixture *fixture = *state;
	struct workload *workload = &fixture->left.assignment->workload;

	workload->qp.qp_type = QP_TYPE_UC;
	workload->workload.ops[0].kind = OPERATION_SEND;
	fabric_set_verb(fixture->fabric, "left", FABRIC_CREATE_QP,
			&(struct fabric_verb_fault){ .error = EINVAL, .count = 5 });
	assert_true(ends_make(fixture, &fixture->left) < 0);
	ends_assert_says(&fixture->err, "left has no UC queue pairs; use qp.qp_type: RC");
	assert_int_equal(fixture->err.number, EOPNOTSUPP);
}

/* Whether the limit counts for this process is decided by CAP_IPC_LOCK. */
static void set_ipc_lock(bool is_on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	if (is_on) {
		data[0].effective |= data[0].permitted & 1u << CAP_IPC_LOCK;
	} else {
		data[0].effective &= ~(1u << CAP_IPC_LOCK);
	}
	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

static void too_little_lockable_memory_names_limit_and_need(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit old;
	struct end third = { 0 };

	fabric_add_device(fixture->fabric, &(struct fabric_device_config){ .name = "third",
									   .address = "10.0.0.3",
									   .memlock_bytes = 4096 });
	assert_int_equal(device_open(&third.device, "third", NULL), 0);
	third.assignment =
		assignments_new(ROLE_INITIATOR, PATTERN_STREAM, OPERATION_WRITE, 1 << 20);
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
	set_ipc_lock(false);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 65536, old.rlim_max }), 0);
	assert_int_equal(resources_new(&third.resources, third.device, third.assignment,
				       &third.steps, &fixture->err),
			 -ENOMEM);
	ends_assert_says(&fixture->err, "a buffer of 2 MiB cannot be registered");
	ends_assert_says(&fixture->err, "RLIMIT_MEMLOCK) of this process is 64 KiB");
	ends_assert_says(&fixture->err, "LimitMEMLOCK=");
	assert_int_equal(fixture->err.class, ERROR_RESOURCE);
	fixture->err = ERROR_INIT;
	assert_int_equal(
		setrlimit(RLIMIT_MEMLOCK,
			  &(struct rlimit){ 8 << 20 < old.rlim_max ? 8 << 20 : old.rlim_max,
					    old.rlim_max }),
		0);
	assert_int_equal(resources_new(&third.resources, third.device, third.assignment,
				       &third.steps, &fixture->err),
			 -ENOMEM);
	if (old.rlim_max >= 8 << 20) {
		ends_assert_says(&fixture->err, "would allow it");
	}
	set_ipc_lock(true);
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
	ends_close(&third);
}

static void steps_tell_how_long_and_how_much(void **state)
{
	struct fixture *fixture = *state;
	struct end *left = &fixture->left;

	left->assignment->workload.qp.num_qps = 2;
	fixture->right.assignment->workload.qp.num_qps = 2;
	fabric_set_verb(fixture->fabric, "left", FABRIC_REG_MR,
			&(struct fabric_verb_fault){ .cost_ns = 5 * ENDS_MS });
	fabric_set_verb(fixture->fabric, "left", FABRIC_CREATE_QP,
			&(struct fabric_verb_fault){ .cost_ns = 2 * ENDS_MS });
	fabric_set_verb(fixture->fabric, "left", FABRIC_MODIFY_RTR,
			&(struct fabric_verb_fault){ .cost_ns = 3 * ENDS_MS, .count = 1 });
	fabric_set_verb(fixture->fabric, "left", FABRIC_DESTROY_QP,
			&(struct fabric_verb_fault){ .cost_ns = 4 * ENDS_MS });
	assert_int_equal(ends_make(fixture, left), 0);
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	assert_int_equal(ends_connect(fixture), 0);
	assert_int_equal(ends_step(&left->steps, "alloc_pd")->count, 1);
	assert_int_equal(ends_step(&left->steps, "map_buffer")->bytes, 16384);
	assert_int_equal(ends_step(&left->steps, "reg_mr")->duration_ns, 5 * ENDS_MS);
	assert_int_equal(ends_step(&left->steps, "reg_mr")->bytes, 16384);
	assert_int_equal(ends_step(&left->steps, "create_cq")->count, 2);
	assert_int_equal(ends_step(&left->steps, "create_qp")->count, 2);
	assert_int_equal(ends_step(&left->steps, "create_qp")->duration_ns, 4 * ENDS_MS);
	assert_int_equal(ends_step(&left->steps, "create_qp")->max_ns, 2 * ENDS_MS);
	assert_int_equal(ends_step(&left->steps, "modify_init")->count, 2);
	assert_int_equal(ends_step(&left->steps, "modify_rtr")->duration_ns, 3 * ENDS_MS);
	assert_int_equal(ends_step(&left->steps, "modify_rtr")->max_ns, 3 * ENDS_MS);
	assert_int_equal(ends_step(&left->steps, "modify_rts")->count, 2);
	resources_free(left->resources, &left->steps);
	left->resources = NULL;
	assert_int_equal(ends_step(&left->steps, "destroy_qp")->duration_ns, 8 * ENDS_MS);
	assert_int_equal(ends_step(&left->steps, "destroy_cq")->count, 2);
	assert_int_equal(ends_step(&left->steps, "dereg_mr")->bytes, 16384);
	assert_int_equal(ends_step(&left->steps, "dealloc_pd")->count, 1);
}

static void an_address_that_nobody_has_is_unresolved(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ends_make(fixture, &fixture->left), 0);
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	memcpy(fixture->right.info.gid, "::ffff:10.0.0.99", 17);
	assert_int_equal(ends_connect(fixture), -ETIMEDOUT);
	assert_int_equal(fixture->err.class, ERROR_DEVICE);
	assert_int_equal(fixture->err.stage, STAGE_MODIFY_QP);
	assert_string_equal(fixture->err.call, "ibv_modify_qp");
	ends_assert_says(&fixture->err, "no way to ::ffff:10.0.0.99 from gid_index 1");
	assert_int_equal(ends_step(&fixture->left.steps, "modify_rtr")->count, 1);
}

static void C31_other_failures_of_rtr_and_rts_show_what_was_asked(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ends_make(fixture, &fixture->left), 0);
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	fabric_set_verb(fixture->fabric, "left", FABRIC_MODIFY_RTR,
			&(struct fabric_verb_fault){ .error = EINVAL, .count = 1 });
	assert_int_equal(ends_connect(fixture), -EINVAL);
	assert_int_equal(fixture->err.stage, STAGE_MODIFY_QP);
	ends_assert_says(&fixture->err, "cannot go to RTR");
	ends_assert_says(&fixture->err, "path_mtu 1024");
	fabric_set_verb(fixture->fabric, "left", FABRIC_MODIFY_RTS,
			&(struct fabric_verb_fault){ .error = EINVAL, .count = 1 });
	assert_int_equal(ends_connect(fixture), -EINVAL);
	ends_assert_says(&fixture->err, "cannot go to RTS (local_ack_timeout");
}

static void C32_a_gid_without_interface_is_told_in_these_words(void **state)
{
	struct fixture *fixture = *state;
	static const int errors[] = { ENODEV, ENODATA };

	assert_int_equal(ends_make(fixture, &fixture->left), 0);
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	for (size_t i = 0; i < 2; i++) {
		fabric_set_verb(fixture->fabric, "left", FABRIC_MODIFY_RTR,
				&(struct fabric_verb_fault){ .error = errors[i], .count = 1 });
		assert_int_equal(ends_connect(fixture), -errors[i]);
		assert_int_equal(fixture->err.class, ERROR_DEVICE);
		assert_int_equal(fixture->err.stage, STAGE_MODIFY_QP);
		ends_assert_says(
			&fixture->err,
			"of left cannot go to RTR: no network interface is behind gid_index 1 any more");
	}
}

static void what_the_other_end_tells_is_not_trusted(void **state)
{
	struct fixture *fixture = *state;
	struct endpoint_info good;

	assert_int_equal(ends_make(fixture, &fixture->left), 0);
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	good = fixture->right.info;
#define REFUSED(member, value, words)                                \
	do {                                                         \
		fixture->right.info = good;                          \
		fixture->right.info.member = (value);                \
		assert_true(ends_connect(fixture) < 0);              \
		assert_int_equal(fixture->err.class, ERROR_PEER);    \
		assert_int_equal(fixture->err.stage, STAGE_CONNECT); \
		ends_assert_says(&fixture->err, words);              \
	} while (0)
	REFUSED(qp_count, 0, "number of queue pairs 0 differs");
	REFUSED(qp_count, 2, "number of queue pairs 2 differs");
	REFUSED(qp_count, SIZE_MAX, "number of queue pairs");
	REFUSED(buffer_bytes, 8191, "buffer size 8191");
	REFUSED(rkey, 1ull << 32, "rkey 4294967296");
	REFUSED(lid, 65536, "LID 65536");
	REFUSED(qps[0].qp_num, 0, "queue pair number 0");
	REFUSED(qps[0].qp_num, 1 << 24, "queue pair number 16777216");
	REFUSED(qps[0].psn, 1 << 24, "packet sequence number");
	REFUSED(gid[0], 'x', "is not an IPv6 address");
	REFUSED(gid[0], '\0', "GID \"\"");
#undef REFUSED
	fixture->right.info = good;
	fixture->right.info.mtu_bytes = 512;
	assert_int_equal(ends_connect(fixture), -ERANGE);
	ends_assert_says(&fixture->err, "above the active MTU 512");
	assert_string_equal(fixture->err.call, "limit");
	/* Not even terminated. */
	fixture->right.info = good;
	memset(fixture->right.info.gid, 'f', sizeof(fixture->right.info.gid));
	assert_true(ends_connect(fixture) < 0);
	ends_assert_says(&fixture->err, "is not an IPv6 address");
	fixture->right.info = good;
	assert_int_equal(ends_connect(fixture), 0);
}

static void packet_sequence_numbers_are_random_and_have_24_bits(void **state)
{
	struct fixture *fixture = *state;
	struct end *left = &fixture->left;
	unsigned equal = 0;

	left->assignment->workload.qp.num_qps = 64;
	assert_int_equal(ends_make(fixture, left), 0);
	for (size_t i = 0; i < 64; i++) {
		assert_in_range(left->info.qps[i].psn, 0, 0xffffff);
		assert_int_equal(left->info.qps[i].qp_num, left->resources->qps[i]->qp_num);
		for (size_t j = 0; j < i; j++) {
			equal += left->info.qps[i].psn == left->info.qps[j].psn;
		}
	}
	assert_in_range(equal, 0, 2);
}

static void operations_without_payload_have_a_region(void **state)
{
	struct fixture *fixture = *state;

	fixture->left.assignment->workload.workload.ops[0].sizes[0].size_bytes = 0;
	fixture->right.assignment->workload.workload.ops[0].sizes[0].size_bytes = 0;
	assert_int_equal(ends_make(fixture, &fixture->left), 0);
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	assert_int_equal(fixture->right.info.buffer_bytes, 4096);
	assert_int_equal(ends_connect(fixture), 0);
}

static void a_buffer_is_placed_on_the_node_that_is_named_or_refused(void **state)
{
	struct fixture *fixture = *state;

	fixture->left.assignment->workload.memory.numa_node = 1023;
	assert_int_equal(ends_make(fixture, &fixture->left), -EINVAL);
	ends_assert_says(&fixture->err, "NUMA node 1023");
	assert_int_equal(fixture->err.class, ERROR_RESOURCE);
	assert_string_equal(fixture->err.call, "mbind");
	fixture->left.assignment->workload.memory.numa_node = 0;
	assert_int_equal(ends_make(fixture, &fixture->left), 0);
}

/* Whether the host has any is not this test's: of this size none has. */
static void huge_pages_that_are_not_there_are_refused_with_those_that_are(void **state)
{
	struct fixture *fixture = *state;

	fixture->left.assignment->workload.memory.kind = MEMORY_HUGEPAGE;
	fixture->left.assignment->workload.memory.hugepage_bytes = 4 << 20;
	assert_true(ends_make(fixture, &fixture->left) < 0);
	ends_assert_says(&fixture->err, "this host has no huge pages of 4 MiB (it has: ");
	assert_int_equal(fixture->err.class, ERROR_RESOURCE);
}

static void a_device_that_vanished_leaves_nothing_behind(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(ends_make(fixture, &fixture->left), 0);
	fabric_remove_device(fixture->fabric, "left");
	resources_free(fixture->left.resources, &fixture->left.steps);
	fixture->left.resources = NULL;
	device_close(fixture->left.device);
	fixture->left.device = NULL;
	assert_int_equal(fabric_objects(fixture->fabric), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_set_up, ends_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_write_lands_in_the_receiving_half_of_the_other_end),
		TEST(sends_find_receives_that_were_posted_before_the_connection),
		TEST(every_attribute_comes_from_the_assignment_and_the_other_end),
		TEST(the_queue_pair_gets_these_rights),
		TEST(a_verb_that_fails_is_named_and_everything_is_undone),
		TEST(C24_the_queue_pair_that_is_one_too_many_is_counted),
		TEST(C29_a_transport_that_the_device_does_not_have_is_named),
		TEST(too_little_lockable_memory_names_limit_and_need),
		TEST(steps_tell_how_long_and_how_much),
		TEST(an_address_that_nobody_has_is_unresolved),
		TEST(C31_other_failures_of_rtr_and_rts_show_what_was_asked),
		TEST(C32_a_gid_without_interface_is_told_in_these_words),
		TEST(what_the_other_end_tells_is_not_trusted),
		TEST(packet_sequence_numbers_are_random_and_have_24_bits),
		TEST(operations_without_payload_have_a_region),
		TEST(a_buffer_is_placed_on_the_node_that_is_named_or_refused),
		TEST(huge_pages_that_are_not_there_are_refused_with_those_that_are),
		TEST(a_device_that_vanished_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
