// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "util/memory.h"
#include "util/random.h"

static void random_bytes_fill_all_and_differ(void **state)
{
	_cleanup_free_ unsigned char *large = memory_new(1 << 20);
	unsigned char first[32] = { 0 };
	unsigned char second[32] = { 0 };
	unsigned counts[256] = { 0 };

	random_fill(first, sizeof(first));
	random_fill(second, sizeof(second));
	assert_memory_not_equal(first, second, sizeof(first));
	random_fill(first, 0);
	/* above the 256 bytes, and the 32 MiB less one page, that one call may return */
	random_fill(large, 1 << 20);
	for (unsigned i = 0; i < 1 << 20; i++) {
		counts[large[i]]++;
	}
	for (unsigned i = 0; i < 256; i++) {
		assert_in_range(counts[i], 3500, 4700); /* 4096 expected, sigma 64 */
	}
}

static void random_bytes_do_not_touch_their_neighbours(void **state)
{
	unsigned char bytes[3] = { 1, 0, 2 };

	random_fill(bytes + 1, 1);
	assert_int_equal(bytes[0], 1);
	assert_int_equal(bytes[2], 2);
}

/* xoshiro256** from the state 1, 2, 3, 4: the first words as its authors' code gives them. */
static void the_generator_is_xoshiro256_starstar(void **state)
{
	struct prng prng = { .state = { 1, 2, 3, 4 } };

	assert_int_equal(prng_next(&prng), 11520);
	assert_int_equal(prng_next(&prng), 0);
	assert_int_equal(prng_next(&prng), 1509978240);
	assert_int_equal(prng_next(&prng), 1215971899390074240);
}

/* splitmix64 from 1234567: its well-known first outputs. */
static void seeds_go_through_splitmix64(void **state)
{
	struct prng prng;

	prng_init(&prng, 1234567);
	assert_true(prng.state[0] == 6457827717110365317ull);
	assert_true(prng.state[1] == 3203168211198807973ull);
	assert_true(prng.state[2] == 9817491932198370423ull);
	assert_true(prng.state[3] == 4593380528125082431ull);
}

static void a_seed_gives_one_sequence(void **state)
{
	struct prng a;
	struct prng b;
	struct prng c;
	unsigned same = 0;

	prng_init(&a, 42);
	prng_init(&b, 42);
	prng_init(&c, 43);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t next = prng_next(&a);

		assert_true(next == prng_next(&b));
		same += next == prng_next(&c);
	}
	assert_int_equal(same, 0);
	prng_init(&a, 0);
	assert_true(prng_next(&a) != 0 || prng_next(&a) != 0);
}

static void numbers_below_a_bound_are_uniform(void **state)
{
	unsigned counts[7] = { 0 };
	struct prng prng;

	prng_init(&prng, 7);
	for (unsigned i = 0; i < 70000; i++) {
		uint64_t number = prng_below(&prng, 7);

		assert_true(number < 7);
		counts[number]++;
	}
	for (unsigned i = 0; i < 7; i++) {
		assert_in_range(counts[i], 9500, 10500); /* sigma 93 */
	}
}

static void bounds_at_the_edges_hold(void **state)
{
	const uint64_t large = (1ull << 63) + 1; /* half of all draws must be drawn again */
	unsigned upper = 0;
	struct prng prng;

	prng_init(&prng, 9);
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t number = prng_below(&prng, large);

		assert_int_equal(prng_below(&prng, 1), 0);
		assert_true(number < large);
		upper += number >= large / 2;
		assert_true(prng_below(&prng, UINT64_MAX) < UINT64_MAX);
	}
	assert_in_range(upper, 4750, 5250);
}

static void a_hash_is_stable_and_depends_on_all(void **state)
{
	uint64_t hash = prng_hash("node1", 0);

	assert_true(hash == prng_hash("node1", 0));
	assert_true(hash != prng_hash("node2", 0));
	assert_true(hash != prng_hash("node1", 1));
	assert_true(prng_hash("", 0) != prng_hash("", 1));
	assert_true(prng_hash("ab", 0) != prng_hash("ba", 0));
}

static void hashes_of_like_names_spread(void **state)
{
	unsigned counts[16] = { 0 };
	char name[] = "node0000";

	for (unsigned i = 0; i < 10000; i++) {
		name[4] = (char)('0' + i / 1000);
		name[5] = (char)('0' + i / 100 % 10);
		name[6] = (char)('0' + i / 10 % 10);
		name[7] = (char)('0' + i % 10);
		counts[prng_hash(name, 5) % 16]++;
	}
	for (unsigned i = 0; i < 16; i++) {
		assert_in_range(counts[i], 500, 750); /* 625 expected, sigma 24 */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_bytes_fill_all_and_differ),
		cmocka_unit_test(random_bytes_do_not_touch_their_neighbours),
		cmocka_unit_test(the_generator_is_xoshiro256_starstar),
		cmocka_unit_test(seeds_go_through_splitmix64),
		cmocka_unit_test(a_seed_gives_one_sequence),
		cmocka_unit_test(numbers_below_a_bound_are_uniform),
		cmocka_unit_test(bounds_at_the_edges_hold),
		cmocka_unit_test(a_hash_is_stable_and_depends_on_all),
		cmocka_unit_test(hashes_of_like_names_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
