// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fake/fabric.h"
#include "verbs/device.h"
#include "verbs/port.h"

static int set_up(void **state)
{
	struct fabric *fabric = fabric_new(1);

	fabric_add_device(fabric, &(struct fabric_device_config){
					  .name = "left", .address = "10.0.0.1", .max_qp = 77 });
	fabric_add_device(fabric,
			  &(struct fabric_device_config){ .name = "right", .address = "10.0.0.2" });
	fabric_use(fabric);
	*state = fabric;
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(fabric_objects(*state), 0);
	fabric_use(NULL);
	fabric_free(*state);
	return 0;
}

static void a_device_opens_by_name_with_its_limits(void **state)
{
	struct error err = ERROR_INIT;
	struct device *device = NULL;

	assert_int_equal(device_open(&device, "left", &err), 0);
	assert_string_equal(device->name, "left");
	assert_int_equal(device->attr.max_qp, 77);
	assert_true(fcntl(device->context->async_fd, F_GETFL) & O_NONBLOCK);
	device_close(device);
}

static void an_absent_device_is_named_with_those_that_are_there(void **state)
{
	struct error err = ERROR_INIT;
	struct device *device = NULL;

	assert_int_equal(device_open(&device, "middle", &err), -ENODEV);
	assert_null(device);
	assert_non_null(strstr(err.text, "\"middle\""));
	assert_non_null(strstr(err.text, "left, right"));
	assert_int_equal(err.class, ERROR_DEVICE);
	assert_int_equal(err.stage, STAGE_DISCOVER);
	assert_string_equal(err.call, "device");
}

static void without_any_device_the_error_says_so(void **state)
{
	struct error err = ERROR_INIT;
	struct device *device = NULL;

	fabric_use(NULL);
	assert_int_equal(device_open(&device, "left", &err), -ENODEV);
	assert_non_null(strstr(err.text, "it has: none"));
	fabric_use(*state);
}

static void a_device_that_refuses_to_open_says_what_failed(void **state)
{
	struct error err = ERROR_INIT;
	struct device *device = NULL;

	fabric_set_verb(*state, "left", FABRIC_OPEN_DEVICE,
			&(struct fabric_verb_fault){ .error = EBUSY, .count = 1 });
	assert_int_equal(device_open(&device, "left", &err), -EBUSY);
	assert_string_equal(err.call, "ibv_open_device");
	assert_int_equal(err.number, EBUSY);
	assert_non_null(strstr(err.text, "\"left\""));
	err = ERROR_INIT;
	fabric_set_verb(*state, "left", FABRIC_QUERY_DEVICE,
			&(struct fabric_verb_fault){ .error = EIO, .count = 1 });
	assert_int_equal(device_open(&device, "left", &err), -EIO);
	assert_string_equal(err.call, "ibv_query_device");
	assert_null(device);
}

static void events_are_classified_and_end_with_none(void **state)
{
	struct error err = ERROR_INIT;
	struct device *device = NULL;
	struct device_notice notice = { .element = state, .port_num = 7 };

	assert_int_equal(device_open(&device, "left", &err), 0);
	assert_int_equal(device_next_event(device, &notice), DEVICE_EVENT_NONE);
	assert_null(notice.element);
	assert_int_equal(notice.event, PORT_EVENT_KINDS);
	fabric_set_port(*state, "left", false);
	fabric_set_address(*state, "left", "10.0.0.9");
	fabric_remove_device(*state, "left");
	assert_int_equal(device_next_event(device, &notice), DEVICE_EVENT_PORT);
	assert_true(notice.name[0] != '\0');
	assert_int_equal(notice.event, PORT_EVENT_PORT_ERR);
	assert_int_equal(notice.port_num, 1);
	assert_int_equal(device_next_event(device, &notice), DEVICE_EVENT_PORT);
	assert_int_equal(notice.event, PORT_EVENT_GID_CHANGE);
	assert_int_equal(device_next_event(device, &notice), DEVICE_EVENT_FATAL);
	assert_int_equal(notice.event, PORT_EVENT_DEVICE_FATAL);
	/* Of the whole device. */
	assert_int_equal(notice.port_num, 0);
	assert_null(notice.element);
	assert_int_equal(device_next_event(device, &notice), DEVICE_EVENT_NONE);
	device_close(device);
}

static void a_device_is_listed_until_it_is_removed(void **state)
{
	assert_int_equal(device_is_listed("left"), 1);
	assert_int_equal(device_is_listed("lef"), 0);
	fabric_lose_device(*state, "left");
	assert_int_equal(device_is_listed("left"), 0);
}

static void a_port_is_looked_at_as_it_is_now(void **state)
{
	struct error err = ERROR_INIT;
	struct device *device = NULL;
	struct port_after port;

	assert_int_equal(device_open(&device, "left", &err), 0);
	port_look("/nonexistent", device, 1, 1, &port);
	assert_true(port.is_known && port.is_present);
	assert_int_equal(port.state, PORT_STATE_ACTIVE);
	assert_int_equal(port.active_mtu_bytes, 4096);
	assert_int_equal(port.link_rate_bps, 100000000000);
	assert_int_equal(port.link_width, 4);
	assert_string_equal(port.gid, "::ffff:10.0.0.1");
	fabric_set_port(*state, "left", false);
	fabric_set_address(*state, "left", NULL);
	port_look("/nonexistent", device, 1, 1, &port);
	assert_int_equal(port.state, PORT_STATE_DOWN);
	assert_string_equal(port.gid, "::");
	/* What cannot be read is not gone. */
	port_look("/nonexistent", device, 1, 9999, &port);
	assert_true(port.is_known && port.is_present);
	assert_string_equal(port.gid, "");
	fabric_set_verb(*state, "left", FABRIC_QUERY_PORT,
			&(struct fabric_verb_fault){ .error = EIO });
	port_look("/nonexistent", device, 1, 1, &port);
	assert_false(port.is_known);
	fabric_set_verb(*state, "left", FABRIC_QUERY_PORT, NULL);
	fabric_lose_device(*state, "left");
	port_look("/nonexistent", device, 1, 1, &port);
	assert_true(port.is_known);
	assert_false(port.is_present);
	device_close(device);
}

static void an_event_about_a_queue_pair_does_not_hold_up_its_end(void **state)
{
	struct error err = ERROR_INIT;
	struct device *device = NULL;
	struct device_notice notice;

	assert_int_equal(device_open(&device, "left", &err), 0);
	struct ibv_pd *pd = ibv_alloc_pd(device->context);
	struct ibv_cq *cq = ibv_create_cq(device->context, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = { 1, 8, 1, 1, 0 }
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_recv_wr *bad;

	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					       IBV_QP_ACCESS_FLAGS),
			 0);
	/* Eight flushed receives overrun a completion queue of one. */
	for (int i = 0; i < 8; i++) {
		assert_int_equal(ibv_post_recv(qp, &(struct ibv_recv_wr){ .wr_id = 1 }, &bad), 0);
	}
	attr.qp_state = IBV_QPS_ERR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(device_next_event(device, &notice), DEVICE_EVENT_CQ);
	assert_ptr_equal(notice.element, cq);
	assert_int_equal(notice.event, PORT_EVENT_CQ_ERR);
	while (device_next_event(device, &notice) != DEVICE_EVENT_NONE) {
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	device_close(device);
}

static void without_descriptors_no_device_is_told_to_be_gone(void **state)
{
	struct error err = ERROR_INIT;
	struct device *device = NULL;
	struct device *second = NULL;
	struct port_after port;
	struct rlimit old;
	struct rlimit few;

	assert_int_equal(device_open(&device, "left", &err), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	/* None at all, and one, but none for what comes after. */
	for (rlim_t more = 0; more < 2; more++) {
		int next = dup(device->context->async_fd);

		close(next);
		few = (struct rlimit){ .rlim_cur = (rlim_t)next + more, .rlim_max = old.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		err = ERROR_INIT;
		assert_int_equal(device_open(&second, "left", &err), -EMFILE);
		assert_int_equal(err.number, EMFILE);
		assert_int_equal(err.class, ERROR_RESOURCE);
		assert_non_null(strstr(err.text, "LimitNOFILE="));
		assert_int_equal(device_is_listed("left"), -EMFILE);
		port_look("/nonexistent", device, 1, 1, &port);
		assert_true(port.is_known && port.is_present);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	}
	assert_null(second);
	device_close(device);
	(void)state;
}

static void a_kernel_without_ib_uverbs_has_no_device(void **state)
{
	struct error err = ERROR_INIT;
	struct device *device = NULL;

	fabric_set_listing(*state, ENOSYS);
	assert_int_equal(device_open(&device, "left", &err), -ENODEV);
	assert_non_null(strstr(err.text, "modprobe ib_uverbs"));
	assert_string_equal(err.call, "device");
	assert_int_equal(device_is_listed("left"), 0);
	fabric_set_listing(*state, 0);
	assert_int_equal(device_is_listed("left"), 1);
	assert_null(device);
}

static void closing_nothing_is_fine(void **state)
{
	device_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_device_opens_by_name_with_its_limits),
		TEST(an_absent_device_is_named_with_those_that_are_there),
		TEST(without_any_device_the_error_says_so),
		TEST(a_device_that_refuses_to_open_says_what_failed),
		TEST(events_are_classified_and_end_with_none),
		TEST(a_device_is_listed_until_it_is_removed),
		TEST(a_port_is_looked_at_as_it_is_now),
		TEST(an_event_about_a_queue_pair_does_not_hold_up_its_end),
		TEST(without_descriptors_no_device_is_told_to_be_gone),
		TEST(a_kernel_without_ib_uverbs_has_no_device),
		TEST(closing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
