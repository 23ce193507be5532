// SPDX-License-Identifier: MIT
/* The fake NIC says what it can do, and refuses what it cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fake/pair.h"

static const struct pair_options small = {
	.device = { .max_qp = 3,
		    .max_qp_wr = 64,
		    .max_sge = 4,
		    .max_cq = 2,
		    .max_cqe = 256,
		    .max_mr = 2,
		    .max_pd = 2,
		    .max_ah = 1,
		    .max_inline_bytes = 64,
		    .max_mr_size_bytes = 2 << 20,
		    .max_msg_bytes = 100000,
		    .memlock_bytes = 3 << 20,
		    .rate_bps = 25000000000,
		    .mtu = IBV_MTU_2048 },
};

static void queries_tell_the_limits(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_device_attr device;
	struct ibv_device_attr_ex extended;
	struct ibv_port_attr port;
	struct ibv_gid_entry entries[4];
	union ibv_gid gid;
	__be16 pkey;

	pair_init(&pair, &small);
	assert_int_equal(ibv_query_device(pair.left.context, &device), 0);
	assert_int_equal(device.max_qp, 3);
	assert_int_equal(device.max_mr_size, 2 << 20);
	assert_int_equal(device.phys_port_cnt, 1);
	assert_int_equal(ibv_query_device_ex(pair.left.context, NULL, &extended), 0);
	assert_memory_equal(&extended.orig_attr, &device, sizeof(device));
	assert_int_equal(ibv_query_port(pair.left.context, 1, &port), 0);
	assert_int_equal(port.active_mtu, IBV_MTU_2048);
	assert_int_equal(port.max_msg_sz, 100000);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port.active_width, 1); /* 1X EDR: 25 Gbit/s */
	assert_int_equal(port.active_speed, 32);
	assert_int_equal(ibv_query_port(pair.left.context, 2, &port), EINVAL);
	assert_int_equal(ibv_query_gid_table(pair.left.context, entries, 4, 0), 2);
	assert_int_equal(entries[1].gid_index, 1);
	assert_int_equal(entries[1].gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entries[0].gid.raw[0], 0xfe);
	static const uint8_t mapped[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
	assert_memory_equal(entries[1].gid.raw, mapped, 16);
	assert_int_equal(ibv_query_gid(pair.left.context, 1, 1, &gid), 0);
	assert_memory_equal(&gid, &entries[1].gid, sizeof(gid));
	assert_int_equal(ibv_query_gid(pair.left.context, 1, 5, &gid), -1);
	assert_int_equal(ibv_query_pkey(pair.left.context, 1, 0, &pkey), 0);
	assert_int_equal(be16toh(pkey), 0xffff);
	assert_int_equal(ibv_query_pkey(pair.left.context, 1, 1, &pkey), -1);
	pair_done(&pair);
}

static void addresses_change(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_gid_entry entry;
	struct ibv_async_event event;

	pair_init(&pair, NULL);
	fabric_set_address(pair.fabric, "left", NULL);
	assert_int_equal(ibv_query_gid_ex(pair.left.context, 1, 1, &entry, 0), ENODATA);
	assert_int_equal(ibv_query_gid_table(pair.left.context, &entry, 1, 0), 1);
	fabric_set_address(pair.fabric, "left", "fd99::7");
	assert_int_equal(ibv_query_gid_ex(pair.left.context, 1, 1, &entry, 0), 0);
	assert_int_equal(entry.gid.raw[15], 7);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ibv_get_async_event(pair.left.context, &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_GID_CHANGE);
		ibv_ack_async_event(&event);
	}
	pair_done(&pair);
}

static struct ibv_qp *try_qp(struct end *end, struct ibv_qp_cap cap, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->cq, .recv_cq = end->cq, .qp_type = type, .cap = cap
	};

	errno = 0;
	return ibv_create_qp(end->pd, &init);
}

static void queue_pairs_above_the_limits_are_refused(void **state)
{
	(void)state;
	struct pair pair;
	const struct ibv_qp_cap bad[] = {
		{ 65, 1, 1, 1, 0 }, { 1, 65, 1, 1, 0 }, { 1, 1, 5, 1, 0 },
		{ 1, 1, 1, 5, 0 },  { 1, 1, 1, 1, 65 },
	};
	const struct ibv_qp_cap good = { 64, 64, 4, 4, 64 };

	pair_init(&pair, &small);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(try_qp(&pair.left, bad[i], IBV_QPT_RC));
		assert_int_equal(errno, EINVAL);
	}
	assert_null(try_qp(&pair.left, good, IBV_QPT_XRC_SEND));
	assert_int_equal(errno, EOPNOTSUPP);
	struct ibv_qp *a = try_qp(&pair.left, good, IBV_QPT_RC);
	struct ibv_qp *b = try_qp(&pair.left, good, IBV_QPT_UD);
	assert_true(a != NULL && b != NULL);
	assert_int_equal(b->qp_num, a->qp_num + 1);
	assert_null(try_qp(&pair.left, good, IBV_QPT_RC)); /* the fourth */
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_destroy_qp(a) | ibv_destroy_qp(b), 0);
	pair_done(&pair);
}

static void completion_queues_above_the_limits_are_refused(void **state)
{
	(void)state;
	struct pair pair;
	const int bad[] = { 257, 0, -1 };

	pair_init(&pair, &small);
	for (size_t i = 0; i < 3; i++) {
		assert_null(ibv_create_cq(pair.left.context, bad[i], NULL, NULL, 0));
		assert_int_equal(errno, EINVAL);
	}
	assert_null(ibv_create_cq(pair.left.context, 1, NULL, NULL, 4));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(pair.left.context, 1, NULL, pair.right.channel, 0));
	assert_int_equal(errno, EINVAL);
	struct ibv_cq *second = ibv_create_cq(pair.left.context, 256, NULL, NULL, 3);
	assert_non_null(second);
	assert_null(ibv_create_cq(pair.left.context, 256, NULL, NULL, 0));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_destroy_cq(second), 0);
	pair_done(&pair);
}

static struct ibv_mr *try_region(struct pair *pair, size_t length, unsigned access)
{
	errno = 0;
	return ibv_reg_mr(pair->left.pd, pair->left.buffer, length, access);
}

static void regions_above_the_limits_are_refused(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, &small);
	assert_null(try_region(&pair, (2 << 20) + 1, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(try_region(&pair, 8, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(try_region(&pair, 8, IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ));
	assert_int_equal(errno, EINVAL);
	assert_null(try_region(&pair, 8, IBV_ACCESS_ON_DEMAND));
	assert_int_equal(errno, EOPNOTSUPP);
	struct ibv_mr *second = try_region(&pair, 1 << 20, IBV_ACCESS_REMOTE_READ);
	assert_non_null(second);
	assert_null(try_region(&pair, 8, 0)); /* the third */
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_dereg_mr(second), 0);
	pair_done(&pair);
}

static void locked_memory_is_limited(void **state)
{
	(void)state;
	struct pair pair;
	struct pair_options options = { .device.memlock_bytes = (1 << 20) + 4096 };

	pair_init(&pair, &options);
	assert_null(try_region(&pair, 4097, 0));
	assert_int_equal(errno, ENOMEM);
	struct ibv_mr *mr = try_region(&pair, 4096, IBV_ACCESS_RELAXED_ORDERING);
	assert_non_null(mr);
	assert_null(try_region(&pair, 1, 0));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = try_region(&pair, 1, 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	pair_done(&pair);
}

static void messages_above_the_limit_fail_locally(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, &small);
	assert_int_equal(pair_post_send(&pair.left, &pair.right, 1, IBV_WR_RDMA_WRITE, 0, 0, 100000,
					IBV_SEND_SIGNALED),
			 0);
	assert_int_equal(
		pair_post_send(&pair.left, &pair.right, 2, IBV_WR_RDMA_WRITE, 0, 0, 100001, 0), 0);
	pair_expect(&pair.left, 1, IBV_WC_SUCCESS, NULL);
	pair_expect(&pair.left, 2, IBV_WC_LOC_LEN_ERR, NULL);
	pair_done(&pair);
}

static void too_many_pieces_are_refused_at_the_post(void **state)
{
	(void)state;
	struct pair pair;
	struct ibv_sge sges[5] = { 0 };
	struct ibv_send_wr send = { .sg_list = sges, .num_sge = 5, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr recv = { .sg_list = sges, .num_sge = 5 };
	struct ibv_send_wr *bad_send;
	struct ibv_recv_wr *bad_recv;

	pair_init(&pair, NULL);
	assert_int_equal(ibv_post_send(pair.left.qp, &send, &bad_send), EINVAL);
	assert_ptr_equal(bad_send, &send);
	assert_int_equal(ibv_post_recv(pair.left.qp, &recv, &bad_recv), EINVAL);
	assert_ptr_equal(bad_recv, &recv);
	send.num_sge = 0;
	send.opcode = IBV_WR_BIND_MW;
	assert_int_equal(ibv_post_send(pair.left.qp, &send, &bad_send), EINVAL);
	pair_done(&pair);
}

static void a_full_receive_queue_takes_no_more(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, &(struct pair_options){ .max_wr = 3 });
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pair_post_recv(&pair.left, 1, 0, 8), 0);
	}
	assert_int_equal(pair_post_recv(&pair.left, 1, 0, 8), ENOMEM);
	pair_done(&pair);
}

static void objects_in_use_are_busy(void **state)
{
	(void)state;
	struct pair pair;

	pair_init(&pair, NULL);
	assert_int_equal(fabric_objects(pair.fabric), 12);
	assert_int_equal(ibv_dealloc_pd(pair.left.pd), EBUSY);
	assert_int_equal(ibv_destroy_cq(pair.left.cq), EBUSY);
	assert_int_equal(ibv_destroy_comp_channel(pair.left.channel), EBUSY);
	assert_int_equal(ibv_close_device(pair.left.context), EBUSY);
	assert_int_equal(fabric_objects(pair.fabric), 12);
	pair_done(&pair);
}

static void hosts_see_their_own_devices(void **state)
{
	(void)state;
	struct fabric *fabric = fabric_new(1);
	int count;

	fabric_use(fabric);
	fabric_add_device(fabric, &(struct fabric_device_config){ .name = "a", .host = "one" });
	fabric_add_device(fabric, &(struct fabric_device_config){ .name = "b", .host = "two" });
	fabric_add_device(fabric, &(struct fabric_device_config){ .name = "c" });
	ibv_free_device_list(ibv_get_device_list(&count));
	assert_int_equal(count, 3);
	fabric_enter_host("two");
	struct ibv_device **list = ibv_get_device_list(&count);
	assert_int_equal(count, 2);
	assert_string_equal(ibv_get_device_name(list[0]), "b");
	assert_null(list[2]);
	ibv_free_device_list(list);
	fabric_enter_host(NULL);
	fabric_free(fabric);
	ibv_free_device_list(ibv_get_device_list(&count));
	assert_int_equal(count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queries_tell_the_limits),
		cmocka_unit_test(addresses_change),
		cmocka_unit_test(queue_pairs_above_the_limits_are_refused),
		cmocka_unit_test(completion_queues_above_the_limits_are_refused),
		cmocka_unit_test(regions_above_the_limits_are_refused),
		cmocka_unit_test(locked_memory_is_limited),
		cmocka_unit_test(messages_above_the_limit_fail_locally),
		cmocka_unit_test(too_many_pieces_are_refused_at_the_post),
		cmocka_unit_test(a_full_receive_queue_takes_no_more),
		cmocka_unit_test(objects_in_use_are_busy),
		cmocka_unit_test(hosts_see_their_own_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
