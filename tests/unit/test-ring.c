// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "util/ring.h"

#define ITEMS 300000u

static void items_come_out_in_order(void **state)
{
	int items[4];
	struct ring ring;

	ring_init(&ring, 4);
	assert_null(ring_get(&ring));
	for (unsigned i = 0; i < 4; i++) {
		assert_true(ring_put(&ring, &items[i]));
	}
	for (unsigned i = 0; i < 4; i++) {
		assert_ptr_equal(ring_get(&ring), &items[i]);
	}
	assert_null(ring_get(&ring));
	ring_done(&ring);
}

static void a_full_ring_refuses_and_keeps_what_it_has(void **state)
{
	struct ring ring;
	int items[3];

	ring_init(&ring, 2);
	assert_true(ring_put(&ring, &items[0]));
	assert_true(ring_put(&ring, &items[1]));
	assert_false(ring_put(&ring, &items[2]));
	assert_ptr_equal(ring_get(&ring), &items[0]);
	assert_true(ring_put(&ring, &items[2]));
	assert_ptr_equal(ring_get(&ring), &items[1]);
	assert_ptr_equal(ring_get(&ring), &items[2]);
	assert_null(ring_get(&ring));
	ring_done(&ring);
}

static void a_ring_of_one_works(void **state)
{
	struct ring ring;
	int item;

	ring_init(&ring, 1);
	for (unsigned i = 0; i < 10; i++) {
		assert_true(ring_put(&ring, &item));
		assert_false(ring_put(&ring, &item));
		assert_ptr_equal(ring_get(&ring), &item);
		assert_null(ring_get(&ring));
	}
	ring_done(&ring);
}

static void the_counters_may_wrap(void **state)
{
	struct ring ring;
	int item;

	ring_init(&ring, 4);
	atomic_store(&ring.head, UINT64_MAX - 1);
	atomic_store(&ring.tail, UINT64_MAX - 1);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(ring_put(&ring, &item));
	}
	assert_false(ring_put(&ring, &item));
	for (unsigned i = 0; i < 4; i++) {
		assert_ptr_equal(ring_get(&ring), &item);
	}
	assert_null(ring_get(&ring));
	ring_done(&ring);
}

static void *produce(void *arg)
{
	struct ring *ring = arg;

	for (uintptr_t i = 1; i <= ITEMS; i++) {
		while (!ring_put(ring, (void *)i)) {
			sched_yield();
		}
	}
	return NULL;
}

static void two_threads_lose_and_swap_nothing(void **state)
{
	struct ring ring;
	pthread_t producer;

	ring_init(&ring, 8);
	pthread_create(&producer, NULL, produce, &ring);
	for (uintptr_t i = 1; i <= ITEMS; i++) {
		void *item;

		while (!(item = ring_get(&ring))) {
			sched_yield();
		}
		assert_int_equal((uintptr_t)item, i);
	}
	pthread_join(producer, NULL);
	assert_null(ring_get(&ring));
	ring_done(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_out_in_order),
		cmocka_unit_test(a_full_ring_refuses_and_keeps_what_it_has),
		cmocka_unit_test(a_ring_of_one_works),
		cmocka_unit_test(the_counters_may_wrap),
		cmocka_unit_test(two_threads_lose_and_swap_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
