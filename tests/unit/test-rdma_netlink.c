// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

#include "host/rdma_netlink.h"

/* An answer of the kernel under construction. */
struct answer {
	_Alignas(8) char bytes[8192];
	size_t length;
};

static void *add_space(struct answer *answer, size_t count)
{
	void *at = answer->bytes + answer->length;

	assert_true(answer->length + NLMSG_ALIGN(count) <= sizeof(answer->bytes));
	memset(at, 0, NLMSG_ALIGN(count));
	answer->length += NLMSG_ALIGN(count);
	return at;
}

static struct nlmsghdr *begin_message(struct answer *answer, unsigned type)
{
	struct nlmsghdr *header = add_space(answer, NLMSG_HDRLEN);

	header->nlmsg_type = (uint16_t)type;
	return header;
}

static void end_message(struct answer *answer, struct nlmsghdr *header)
{
	header->nlmsg_len = (uint32_t)(answer->bytes + answer->length - (char *)header);
}

static struct nlattr *begin_nest(struct answer *answer, unsigned type)
{
	struct nlattr *nest = add_space(answer, NLA_HDRLEN);

	nest->nla_type = (uint16_t)(type | NLA_F_NESTED);
	return nest;
}

static void end_nest(struct answer *answer, struct nlattr *nest)
{
	nest->nla_len = (uint16_t)(answer->bytes + answer->length - (char *)nest);
}

static void add_bytes(struct answer *answer, unsigned type, const void *bytes, size_t count)
{
	struct nlattr *attribute = add_space(answer, NLA_HDRLEN + count);

	attribute->nla_type = (uint16_t)type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + count);
	memcpy((char *)attribute + NLA_HDRLEN, bytes, count);
}

static void add_u8(struct answer *answer, unsigned type, uint8_t value)
{
	add_bytes(answer, type, &value, sizeof(value));
}

static void add_u32(struct answer *answer, unsigned type, uint32_t value)
{
	add_bytes(answer, type, &value, sizeof(value));
}

static void add_string(struct answer *answer, unsigned type, const char *value)
{
	add_bytes(answer, type, value, strlen(value) + 1);
}

static struct nlmsghdr *begin_device(struct answer *answer, unsigned command, uint32_t index,
				     const char *name)
{
	struct nlmsghdr *header = begin_message(answer, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));

	add_u32(answer, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	add_string(answer, RDMA_NLDEV_ATTR_DEV_NAME, name);
	return header;
}

static void add_done(struct answer *answer, int error)
{
	struct nlmsghdr *header = begin_message(answer, NLMSG_DONE);

	memcpy(add_space(answer, sizeof(error)), &error, sizeof(error));
	end_message(answer, header);
}

/* process 0: one of the kernel's part. */
static void add_qp(struct answer *answer, uint8_t type, uint8_t state, uint32_t process,
		   const char *part)
{
	struct nlattr *entry = begin_nest(answer, RDMA_NLDEV_ATTR_RES_QP_ENTRY);

	add_u32(answer, RDMA_NLDEV_ATTR_RES_LQPN, 17);
	add_u8(answer, RDMA_NLDEV_ATTR_RES_TYPE, type);
	add_u8(answer, RDMA_NLDEV_ATTR_RES_STATE, state);
	if (process != 0) {
		add_u32(answer, RDMA_NLDEV_ATTR_RES_PID, process);
	} else {
		add_string(answer, RDMA_NLDEV_ATTR_RES_KERN_NAME, part);
	}
	end_nest(answer, entry);
}

static void add_queue_pairs(struct answer *answer)
{
	struct nlmsghdr *header = begin_device(answer, RDMA_NLDEV_CMD_RES_QP_GET, 3, "rxe0");
	struct nlattr *table = begin_nest(answer, RDMA_NLDEV_ATTR_RES_QP);

	add_qp(answer, 1, 3, 0, "ib_core"); /* GSI: of the port itself */
	add_qp(answer, 2, 3, 812, NULL);
	add_qp(answer, 2, 1, 812, NULL);
	add_qp(answer, 2, 3, 0, "nvme_rdma");
	end_nest(answer, table);
	end_message(answer, header);
}

static void queue_pairs_are_counted_by_process_and_part_of_the_kernel(void **state)
{
	struct rdma_netlink netlink = { 0 };
	struct answer answer = { 0 };

	(void)state;
	add_queue_pairs(&answer);
	assert_int_equal(rdma_netlink_add(&netlink, answer.bytes, answer.length),
			 RDMA_NETLINK_MORE);
	answer.length = 0;
	add_done(&answer, 0);
	assert_int_equal(rdma_netlink_add(&netlink, answer.bytes, answer.length),
			 RDMA_NETLINK_DONE);
	assert_int_equal(netlink.device_count, 1);
	assert_string_equal(netlink.devices[0].name, "rxe0");
	assert_int_equal(netlink.user_count, 2);
	assert_int_equal(netlink.users[0].process, 812);
	assert_string_equal(netlink.users[0].device, "rxe0");
	assert_int_equal(netlink.users[0].qp_count, 2);
	assert_int_equal(netlink.users[0].connected_count, 1);
	assert_int_equal(netlink.users[1].process, 0);
	assert_string_equal(netlink.users[1].part, "nvme_rdma");
	assert_int_equal(netlink.users[1].qp_count, 1);
}

static void add_count(struct answer *answer, const char *name, uint64_t count)
{
	struct nlattr *entry = begin_nest(answer, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);

	add_string(answer, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name);
	add_bytes(answer, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, &count, sizeof(count));
	end_nest(answer, entry);
}

static void the_summary_tells_the_queue_pairs_of_each_device(void **state)
{
	struct rdma_netlink netlink = { 0 };
	struct answer answer = { 0 };
	struct nlmsghdr *header;
	struct nlattr *table;

	(void)state;
	header = begin_device(&answer, RDMA_NLDEV_CMD_RES_GET, 0, "mlx5_0");
	table = begin_nest(&answer, RDMA_NLDEV_ATTR_RES_SUMMARY);
	add_count(&answer, "pd", 7);
	add_count(&answer, "qp", 130763);
	end_nest(&answer, table);
	end_message(&answer, header);
	header = begin_device(&answer, RDMA_NLDEV_CMD_RES_GET, 1, "mlx5_1");
	end_message(&answer, header);
	add_done(&answer, 0);
	assert_int_equal(rdma_netlink_add(&netlink, answer.bytes, answer.length),
			 RDMA_NETLINK_DONE);
	assert_int_equal(netlink.device_count, 2);
	assert_int_equal(netlink.devices[0].qp_count, 130763);
	assert_int_equal(netlink.devices[1].qp_count, UINT64_MAX);
}

static void the_mode_of_namespaces_is_told(void **state)
{
	struct rdma_netlink netlink = { 0 };
	struct answer answer = { 0 };
	struct nlmsghdr *header =
		begin_message(&answer, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET));

	(void)state;
	add_u8(&answer, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
	end_message(&answer, header);
	assert_int_equal(rdma_netlink_add(&netlink, answer.bytes, answer.length),
			 RDMA_NETLINK_MORE);
	assert_true(netlink.is_exclusive);
	*((uint8_t *)header + NLMSG_HDRLEN + NLA_HDRLEN) = 1;
	assert_int_equal(rdma_netlink_add(&netlink, answer.bytes, answer.length),
			 RDMA_NETLINK_MORE);
	assert_false(netlink.is_exclusive);
	assert_int_equal(netlink.device_count, 0);
}

static void a_refusal_is_told_with_its_errno(void **state)
{
	struct rdma_netlink netlink = { 0 };
	struct answer answer = { 0 };

	(void)state;
	add_done(&answer, -EPERM);
	((struct nlmsghdr *)answer.bytes)->nlmsg_type = NLMSG_ERROR;
	assert_int_equal(rdma_netlink_add(&netlink, answer.bytes, answer.length), -EPERM);
}

/* Every byte of a good answer changed to each of some values: nothing is read beyond it. */
static void damaged_answers_do_no_harm(void **state)
{
	static const uint8_t values[] = { 0, 1, 3, 4, 5, 8, 0x7f, 0x80, 0xff };
	struct answer good = { 0 };

	(void)state;
	add_queue_pairs(&good);
	add_done(&good, 0);
	for (size_t i = 0; i < good.length; i++) {
		for (size_t j = 0; j < sizeof(values); j++) {
			struct rdma_netlink netlink = { 0 };
			/* Of its own size, so that a sanitizer sees what is read behind it. */
			char *bytes = malloc(good.length);

			memcpy(bytes, good.bytes, good.length);
			bytes[i] = (char)values[j];
			(void)rdma_netlink_add(&netlink, bytes, good.length);
			assert_true(netlink.user_count <= 4);
			assert_true(netlink.device_count <= 2);
			free(bytes);
		}
	}
}

static void cut_answers_do_no_harm(void **state)
{
	struct answer good = { 0 };

	(void)state;
	add_queue_pairs(&good);
	for (size_t length = 0; length < good.length; length++) {
		struct rdma_netlink netlink = { 0 };
		char *bytes = malloc(length + 1);

		memcpy(bytes, good.bytes, length);
		assert_int_equal(rdma_netlink_add(&netlink, bytes, length),
				 length < NLMSG_HDRLEN ? RDMA_NETLINK_MORE : -EBADMSG);
		assert_int_equal(netlink.user_count, 0);
		free(bytes);
	}
}

static void more_than_fits_is_cut_and_said(void **state)
{
	struct rdma_netlink netlink = { 0 };

	(void)state;
	for (uint32_t i = 0; i < RDMA_NETLINK_USERS + 2; i++) {
		struct answer answer = { 0 };
		struct nlmsghdr *header =
			begin_device(&answer, RDMA_NLDEV_CMD_RES_QP_GET, 3, "rxe0");
		struct nlattr *table = begin_nest(&answer, RDMA_NLDEV_ATTR_RES_QP);

		add_qp(&answer, 2, 3, 1000 + i, NULL);
		end_nest(&answer, table);
		end_message(&answer, header);
		assert_int_equal(netlink.is_cut, i > RDMA_NETLINK_USERS);
		assert_int_equal(rdma_netlink_add(&netlink, answer.bytes, answer.length),
				 RDMA_NETLINK_MORE);
	}
	assert_true(netlink.is_cut);
	assert_int_equal(netlink.user_count, RDMA_NETLINK_USERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_pairs_are_counted_by_process_and_part_of_the_kernel),
		cmocka_unit_test(the_summary_tells_the_queue_pairs_of_each_device),
		cmocka_unit_test(the_mode_of_namespaces_is_told),
		cmocka_unit_test(a_refusal_is_told_with_its_errno),
		cmocka_unit_test(damaged_answers_do_no_harm),
		cmocka_unit_test(cut_answers_do_no_harm),
		cmocka_unit_test(more_than_fits_is_cut_and_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
