// SPDX-License-Identifier: MIT
#include "control/gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define SECOND_NS 1000000000ull
#define START_NS (1000 * SECOND_NS)

static bool ask(struct gate *gate, const char *address, uint64_t now_mono_ns)
{
	struct gate_source source;

	gate_look(gate, address, &source);
	return gate_admit(gate, &source, now_mono_ns);
}

/* How many of `tries` at one moment. */
static unsigned ask_often(struct gate *gate, const char *address, unsigned tries,
			  uint64_t now_mono_ns)
{
	unsigned admitted = 0;

	for (unsigned i = 0; i < tries; i++) {
		admitted += ask(gate, address, now_mono_ns);
	}
	return admitted;
}

static void a_source_gets_40_at_once_and_20_a_second(void **state)
{
	struct gate *gate = gate_new();
	unsigned admitted = 0;

	assert_int_equal(ask_often(gate, "10.0.0.9:1", 100, START_NS), 40);
	for (unsigned ms = 1; ms <= 10000; ms++) {
		admitted += ask(gate, "10.0.0.9:2", START_NS + ms * SECOND_NS / 1000);
	}
	assert_int_equal(admitted, 200);
	assert_int_equal(ask_often(gate, "10.0.0.9:3", 100, START_NS + 100 * SECOND_NS), 40);
	gate_free(gate);
}

static void the_port_does_not_make_another_source_and_the_address_does(void **state)
{
	struct gate *gate = gate_new();

	ask_often(gate, "10.0.0.9:1", 40, START_NS);
	assert_false(ask(gate, "10.0.0.9:60000", START_NS));
	assert_true(ask(gate, "10.0.0.8:1", START_NS));
	assert_false(ask(gate, "[::ffff:10.0.0.9]:1", START_NS));
	gate_free(gate);
}

static void a_stranger_has_one_source_for_his_64_bits_of_ipv6(void **state)
{
	struct gate *gate = gate_new();
	unsigned admitted = 0;

	for (unsigned i = 0; i < 1000; i++) {
		char address[64];

		snprintf(address, sizeof(address), "[2001:db8:0:7::%x]:80", i + 1);
		admitted += ask(gate, address, START_NS);
	}
	assert_int_equal(admitted, 40);
	assert_true(ask(gate, "[2001:db8:0:8::1]:80", START_NS));
	gate_free(gate);
}

static void what_is_no_address_is_one_source(void **state)
{
	struct gate *gate = gate_new();

	assert_int_equal(ask_often(gate, "unix", 30, START_NS) + ask_often(gate, "", 30, START_NS),
			 40);
	gate_free(gate);
}

/* One connection from each of many addresses, all different. */
static unsigned flood(struct gate *gate, unsigned first, unsigned count, uint64_t now_mono_ns)
{
	unsigned admitted = 0;

	for (unsigned i = first; i < first + count; i++) {
		char address[64];

		snprintf(address, sizeof(address), "172.%u.%u.%u:9", 16 + i / 65536, i / 256 % 256,
			 i % 256);
		admitted += ask(gate, address, now_mono_ns);
	}
	return admitted;
}

static void strangers_in_sum_get_400_at_once_and_200_a_second(void **state)
{
	struct gate *gate = gate_new();
	unsigned admitted = 0;

	assert_int_equal(flood(gate, 0, 100000, START_NS), 400);
	for (unsigned s = 1; s <= 5; s++) {
		admitted += flood(gate, s * 100000, 100000, START_NS + s * SECOND_NS);
	}
	assert_int_equal(admitted, 1000);
	gate_free(gate);
}

static void one_that_asks_too_often_takes_nothing_from_the_others(void **state)
{
	struct gate *gate = gate_new();
	unsigned admitted = 0;

	ask_often(gate, "10.0.0.9:1", 1000000, START_NS);
	admitted = flood(gate, 0, 1000, START_NS);
	assert_int_equal(admitted, 400 - 40);
	gate_free(gate);
}

static void known_nodes_get_in_whatever_strangers_do(void **state)
{
	struct gate *gate = gate_new();

	gate_know(gate, "10.0.0.2:18620", START_NS);
	gate_know(gate, "2001:db8:0:7::2", START_NS);
	gate_know(gate, "node3.example.org:18620", START_NS); /* no address: nothing happens */
	for (unsigned i = 0; i < 100000; i++) {
		char address[64];

		snprintf(address, sizeof(address), "[2001:db8:0:7::%x]:80", i + 3);
		ask(gate, address, START_NS);
	}
	flood(gate, 0, 100000, START_NS);
	assert_false(ask(gate, "10.0.0.3:5", START_NS));
	assert_true(ask(gate, "10.0.0.2:5", START_NS));
	assert_true(ask(gate, "[2001:db8:0:7::2]:5", START_NS));
	assert_false(ask(gate, "[2001:db8:0:7::3]:5", START_NS));
	/* and have their own limit */
	assert_int_equal(ask_often(gate, "10.0.0.2:6", 100, START_NS), 39);
	gate_free(gate);
}

static void a_whole_fleet_that_comes_back_at_once_gets_in(void **state)
{
	struct gate *gate = gate_new();
	unsigned admitted = 0;

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 1024; i++) {
			char address[64];

			snprintf(address, sizeof(address), "10.1.%u.%u:18620", i / 256, i % 256);
			if (round == 0) {
				gate_know(gate, address, START_NS + i);
			} else {
				admitted += ask(gate, address, START_NS + SECOND_NS);
			}
		}
	}
	/* sets are small: a few of so many may have pushed each other out */
	assert_in_range(admitted, 1000, 1024);
	gate_free(gate);
}

static void strangers_push_no_known_node_out(void **state)
{
	struct gate *gate = gate_new();
	struct gate_source source;

	gate_know(gate, "10.0.0.2", START_NS);
	for (unsigned s = 1; s < 100; s++) {
		flood(gate, s * 10000, 10000, START_NS + s * SECOND_NS);
	}
	gate_look(gate, "10.0.0.2:99", &source);
	assert_true(source.is_known);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_gets_40_at_once_and_20_a_second),
		cmocka_unit_test(the_port_does_not_make_another_source_and_the_address_does),
		cmocka_unit_test(a_stranger_has_one_source_for_his_64_bits_of_ipv6),
		cmocka_unit_test(what_is_no_address_is_one_source),
		cmocka_unit_test(strangers_in_sum_get_400_at_once_and_200_a_second),
		cmocka_unit_test(one_that_asks_too_often_takes_nothing_from_the_others),
		cmocka_unit_test(known_nodes_get_in_whatever_strangers_do),
		cmocka_unit_test(a_whole_fleet_that_comes_back_at_once_gets_in),
		cmocka_unit_test(strangers_push_no_known_node_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
