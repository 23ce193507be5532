// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "model/inventory.h"
#include "util/memory.h"
#include "util/text.h"

static struct port ethernet(const char *device)
{
	struct port port = { .port_num = 1,
			     .state = PORT_STATE_ACTIVE,
			     .link_layer = LINK_LAYER_ETHERNET };

	text_copy(port.device, sizeof(port.device), device);
	return port;
}

static void add_gid(struct port *port, uint64_t index, int type, const char *gid, uint64_t vlan)
{
	struct gid_entry *entry = &port->gids[port->gid_count++];

	entry->index = index;
	entry->type = type;
	entry->vlan = vlan;
	text_copy(entry->gid, sizeof(entry->gid), gid);
}

static void expect_pick(const struct port *a, uint64_t wish_a, const struct port *b,
			uint64_t wish_b, uint64_t index_a, uint64_t index_b)
{
	struct error err = ERROR_INIT;
	uint64_t got_a = 777, got_b = 777;

	if (inventory_pick_gids(a, wish_a, b, wish_b, &got_a, &got_b, &err) < 0) {
		fail_msg("%s", err.text);
	}
	assert_int_equal(got_a, index_a);
	assert_int_equal(got_b, index_b);
}

static void expect_none(const struct port *a, uint64_t wish_a, const struct port *b,
			uint64_t wish_b, const char *part)
{
	struct error err = ERROR_INIT;
	uint64_t got_a = 777, got_b = 777;

	assert_int_equal(inventory_pick_gids(a, wish_a, b, wish_b, &got_a, &got_b, &err), -ENOENT);
	assert_non_null(strstr(err.text, part));
	assert_int_equal(err.stage, STAGE_RESOLVE);
	assert_int_equal(got_a, 777);
	assert_int_equal(got_b, 777);
}

#define AUTO SCHEMA_AUTO

static void roce_v2_with_ipv4_of_one_subnet_is_chosen(void **state)
{
	struct port a = ethernet("rxe0"), b = ethernet("rxe1");

	add_gid(&a, 0, GID_TYPE_ROCE_V2, "fe80::1", 0);
	add_gid(&a, 1, GID_TYPE_ROCE_V1, "::ffff:10.99.0.1", 0);
	add_gid(&a, 2, GID_TYPE_ROCE_V2, "::ffff:192.168.1.1", 0);
	add_gid(&a, 3, GID_TYPE_ROCE_V2, "::ffff:10.99.0.1", 0);
	add_gid(&b, 0, GID_TYPE_ROCE_V2, "fe80::2", 0);
	add_gid(&b, 5, GID_TYPE_ROCE_V2, "2001:db8::2", 0);
	add_gid(&b, 6, GID_TYPE_ROCE_V2, "::ffff:10.99.0.2", 0);
	expect_pick(&a, AUTO, &b, AUTO, 3, 6);
	expect_pick(&b, AUTO, &a, AUTO, 6, 3);
}

static void global_ipv6_is_taken_where_there_is_no_common_ipv4(void **state)
{
	struct port a = ethernet("a0"), b = ethernet("b0");

	add_gid(&a, 0, GID_TYPE_ROCE_V2, "fe80::1", 0);
	add_gid(&a, 1, GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 0);
	add_gid(&a, 2, GID_TYPE_ROCE_V2, "2001:db8:1::1", 0);
	add_gid(&a, 3, GID_TYPE_ROCE_V2, "2001:db8:2::1", 0);
	add_gid(&b, 0, GID_TYPE_ROCE_V2, "fe80::2", 0);
	add_gid(&b, 1, GID_TYPE_ROCE_V2, "2001:db8:2::2", 0);
	expect_pick(&a, AUTO, &b, AUTO, 3, 1);
}

static void C07_link_local_is_never_chosen_but_may_be_wished_for(void **state)
{
	struct port a = ethernet("a0"), b = ethernet("b0");

	add_gid(&a, 0, GID_TYPE_ROCE_V2, "fe80::1", 0);
	add_gid(&a, 1, GID_TYPE_ROCE_V2, "::ffff:169.254.1.1", 0);
	add_gid(&b, 0, GID_TYPE_ROCE_V2, "fe80::2", 0);
	add_gid(&b, 1, GID_TYPE_ROCE_V2, "::ffff:169.254.1.2", 0);
	expect_none(&a, AUTO, &b, AUTO, "fe80::1");
	expect_pick(&a, 0, &b, AUTO, 0, 0);
	expect_pick(&a, AUTO, &b, 1, 1, 1);
}

static void vlans_of_both_ends_agree_where_they_can(void **state)
{
	struct port a = ethernet("a0"), b = ethernet("b0");

	add_gid(&a, 1, GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 0);
	add_gid(&a, 2, GID_TYPE_ROCE_V2, "::ffff:10.0.0.3", 100);
	add_gid(&b, 1, GID_TYPE_ROCE_V2, "::ffff:10.0.0.2", 100);
	expect_pick(&a, AUTO, &b, AUTO, 2, 1);
}

static void a_wish_is_taken_as_it_is_or_refused(void **state)
{
	struct port a = ethernet("a0"), b = ethernet("b0");

	add_gid(&a, 0, GID_TYPE_ROCE_V1, "::ffff:10.0.0.1", 0);
	add_gid(&a, 1, GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 0);
	add_gid(&b, 0, GID_TYPE_ROCE_V1, "::ffff:10.0.0.2", 0);
	add_gid(&b, 1, GID_TYPE_ROCE_V2, "::ffff:10.0.0.2", 0);
	expect_pick(&a, 0, &b, AUTO, 0, 0); /* the type of the wish */
	expect_pick(&a, 1, &b, 1, 1, 1);
	expect_none(&a, 0, &b, 1, "roce_v1");
	expect_none(&a, 9, &b, AUTO, "(none)");
}

static void broken_and_empty_tables_match_nothing(void **state)
{
	struct port a = ethernet("a0"), b = ethernet("b0");

	expect_none(&a, AUTO, &b, AUTO, "none");
	add_gid(&a, 0, GID_TYPE_ROCE_V2, "not an address", 0);
	add_gid(&a, 1, GID_TYPE_ROCE_V2, "::", 0);
	add_gid(&b, 0, GID_TYPE_ROCE_V2, "::", 0);
	expect_none(&a, AUTO, &b, AUTO, "a0 port 1");
	for (uint64_t i = 2; i < LIMIT_GIDS; i++) {
		add_gid(&a, i, GID_TYPE_ROCE_V2, "2001:0db8:0000:0000:0000:0000:0000:0001", 0);
	}
	expect_none(&a, AUTO, &b, AUTO, "...");
}

static void infiniband_uses_index_0_and_link_layers_do_not_mix(void **state)
{
	struct port a = ethernet("a0"), b = ethernet("b0"), c = ethernet("c0");

	a.link_layer = LINK_LAYER_INFINIBAND;
	b.link_layer = LINK_LAYER_INFINIBAND;
	expect_pick(&a, AUTO, &b, AUTO, 0, 0);
	expect_pick(&a, 2, &b, AUTO, 2, 0);
	expect_none(&a, AUTO, &c, AUTO, "one link layer");
}

static void an_inventory_comes_back_from_json(void **state)
{
	struct inventory *inventory = memory_new(2 * sizeof(*inventory)), *read = inventory + 1;
	struct error err = ERROR_INIT;
	json_t *json, *again;

	text_copy(inventory->node, sizeof(inventory->node), "node1");
	text_copy(inventory->boot_id, sizeof(inventory->boot_id), "6c1f1c0e");
	text_copy(inventory->clock, sizeof(inventory->clock), "tsc");
	inventory->port_count = 2;
	inventory->ports[0] = ethernet("rxe0");
	inventory->ports[0].configured_gid_index = SCHEMA_AUTO;
	inventory->ports[0].numa_node = SCHEMA_AUTO;
	inventory->ports[0].link_rate_bps = 400000000000;
	inventory->ports[0].limits.max_qp = 65536;
	add_gid(&inventory->ports[0], 1, GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 7);
	inventory->ports[1] = ethernet("mlx5_0");
	inventory->ports[1].port_num = 2;
	json = schema_write(inventory_fields, inventory);
	assert_int_equal(schema_read(inventory_fields, json, read, &err), 0);
	again = schema_write(inventory_fields, read);
	assert_true(json_equal(json, again));
	assert_true(read->ports[0].numa_node == SCHEMA_AUTO);
	assert_ptr_equal(inventory_port(read, "mlx5_0", 2), &read->ports[1]);
	assert_null(inventory_port(read, "mlx5_0", 1));
	assert_null(inventory_port(read, "mlx5_1", 2));
	assert_ptr_equal(inventory_gid(&read->ports[0], 1), &read->ports[0].gids[0]);
	assert_null(inventory_gid(&read->ports[0], 0));
	json_decref(json);
	json_decref(again);
	free(inventory);
}

static void refuse(const char *text)
{
	struct inventory *read = memory_new(sizeof(*read));
	struct error err = ERROR_INIT;
	json_t *json = json_read(text, strlen(text), &err);

	assert_non_null(json);
	if (schema_read(inventory_fields, json, read, &err) == 0) {
		fail_msg("%s was accepted", text);
	}
	json_decref(json);
	free(read);
}

static void a_hostile_inventory_is_refused(void **state)
{
	struct text many = TEXT_INIT;

	refuse("{}");
	refuse("{\"node\":\"Node 1\"}");
	refuse("{\"node\":\"a\",\"ports\":{}}");
	refuse("{\"node\":\"a\",\"ports\":[{\"port_num\":0}]}");
	refuse("{\"node\":\"a\",\"ports\":[{\"state\":\"good\"}]}");
	refuse("{\"node\":\"a\",\"ports\":[{\"link_rate_bps\":-1}]}");
	refuse("{\"node\":\"a\",\"ports\":[{\"gids\":[{\"vlan\":4096}]}]}");
	refuse("{\"node\":\"a\",\"ports\":[{\"device\":\"0123456789012345678901234567890123456789012345678901234567890123\"}]}");
	text_add(&many, "{\"node\":\"a\",\"ports\":[");
	for (int i = 0; i <= LIMIT_PORTS; i++) {
		text_add(&many, i ? ",{}" : "{}");
	}
	text_add(&many, "]}");
	refuse(many.data);
	text_done(&many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roce_v2_with_ipv4_of_one_subnet_is_chosen),
		cmocka_unit_test(global_ipv6_is_taken_where_there_is_no_common_ipv4),
		cmocka_unit_test(C07_link_local_is_never_chosen_but_may_be_wished_for),
		cmocka_unit_test(vlans_of_both_ends_agree_where_they_can),
		cmocka_unit_test(a_wish_is_taken_as_it_is_or_refused),
		cmocka_unit_test(broken_and_empty_tables_match_nothing),
		cmocka_unit_test(infiniband_uses_index_0_and_link_layers_do_not_mix),
		cmocka_unit_test(an_inventory_comes_back_from_json),
		cmocka_unit_test(a_hostile_inventory_is_refused),
	};

	return cmocka_run_group_tests_name("inventory", tests, NULL, NULL);
}
