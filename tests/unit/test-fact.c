// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "host/fact.h"
#include "unit/tree.h"

static void a_line_is_the_first_without_its_end_and_cut_to_size(void **state)
{
	struct tree *tree = *state;
	char line[8];

	tree_write(tree, "/proc/x", "one\ntwo\n");
	assert_int_equal(fact_line(line, sizeof(line), "%s/proc/x", tree->root), 0);
	assert_string_equal(line, "one");
	tree_write(tree, "/proc/x", "0123456789\n");
	assert_int_equal(fact_line(line, sizeof(line), "%s/proc/x", tree->root), 0);
	assert_string_equal(line, "0123456");
	tree_write(tree, "/proc/x", "");
	assert_int_equal(fact_line(line, sizeof(line), "%s/proc/x", tree->root), 0);
	assert_string_equal(line, "");
}

static void what_cannot_be_read_says_why(void **state)
{
	struct tree *tree = *state;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct fact_names names;
	char line[8] = "before";
	char huge[5000];
	int64_t number;

	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	tree_write(tree, "/proc/x", "1\n");
	assert_int_equal(fact_line(line, sizeof(line), "%s/absent", tree->root), -ENOENT);
	assert_string_equal(line, "");
	assert_int_equal(fact_line(line, sizeof(line), "%s/proc/x/y", tree->root), -ENOTDIR);
	assert_int_equal(fact_line(line, sizeof(line), "%s/proc", tree->root), -EISDIR);
	assert_int_equal(fact_line(line, sizeof(line), "%s", huge), -ENAMETOOLONG);
	assert_int_equal(fact_integer(&number, "%s/absent", tree->root), -ENOENT);
	assert_int_equal(fact_text(&text, "%s/absent", tree->root), -ENOENT);
	assert_int_equal(fact_link(line, sizeof(line), "%s/proc/x", tree->root), -EINVAL);
	assert_int_equal(fact_exists("%s/absent", tree->root), -ENOENT);
	assert_int_equal(fact_names(&names, "%s/proc/x", tree->root), -ENOTDIR);
	assert_int_equal(names.count, 0);
	fact_names_done(&names);
}

static void a_number_is_the_whole_line_or_none(void **state)
{
	static const struct {
		const char *content;
		int error;
		int64_t number;
	} rows[] = {
		{ "7\n", 0, 7 },
		{ "-1\n", 0, -1 },
		{ "0x15b3\n", 0, 0x15b3 },
		{ "010\n", 0, 10 },
		{ "\n", -EINVAL, 0 },
		{ "7 x\n", -EINVAL, 0 },
		{ "x\n", -EINVAL, 0 },
		{ "0x\n", -EINVAL, 0 },
		{ "99999999999999999999\n", -EINVAL, 0 },
	};
	struct tree *tree = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t number = 0;

		tree_write(tree, "/n", rows[i].content);
		assert_int_equal(fact_integer(&number, "%s/n", tree->root), rows[i].error);
		assert_int_equal(number, rows[i].number);
	}
}

static void a_text_is_whole_even_when_empty(void **state)
{
	struct tree *tree = *state;
	_cleanup_text_ struct text text = TEXT_INIT;
	static char content[100000];

	memset(content, 'a', sizeof(content) - 1);
	tree_write(tree, "/t", content);
	assert_int_equal(fact_text(&text, "%s/t", tree->root), 0);
	assert_string_equal(text.data, content);
	text_done(&text);
	text = TEXT_INIT;
	tree_write(tree, "/t", "");
	assert_int_equal(fact_text(&text, "%s/t", tree->root), 0);
	assert_string_equal(text.data, "");
}

static void a_text_without_end_is_refused(void **state)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	(void)state;
	assert_int_equal(fact_text(&text, "/dev/zero"), -EFBIG);
}

static void names_come_in_the_order_of_their_numbers_without_hidden_ones(void **state)
{
	struct tree *tree = *state;
	struct fact_names names;

	tree_write(tree, "/d/rxe10", "");
	tree_write(tree, "/d/rxe2", "");
	tree_write(tree, "/d/.hidden", "");
	tree_write(tree, "/d/mlx5_0", "");
	tree_write(tree, "/d/a-name-of-more-than-sixty-three-bytes-is-no-name-of-a-device-anywhere",
		   "");
	assert_int_equal(fact_names(&names, "%s/d", tree->root), 0);
	assert_int_equal(names.count, 3);
	assert_false(names.is_cut);
	assert_string_equal(names.names[0], "mlx5_0");
	assert_string_equal(names.names[1], "rxe2");
	assert_string_equal(names.names[2], "rxe10");
	fact_names_done(&names);
}

static void a_link_gives_its_last_component(void **state)
{
	struct tree *tree = *state;
	char name[8];

	tree_link(tree, "/driver", "../../bus/pci/drivers/ice");
	tree_link(tree, "/plain", "ice");
	assert_int_equal(fact_link(name, sizeof(name), "%s/driver", tree->root), 0);
	assert_string_equal(name, "ice");
	assert_int_equal(fact_link(name, sizeof(name), "%s/plain", tree->root), 0);
	assert_string_equal(name, "ice");
}

static void a_key_is_found_at_the_beginning_of_a_line_only(void **state)
{
	(void)state;
	assert_string_equal(fact_find("a: 1\nab:\t 2\n", "ab:"), "2\n");
	assert_string_equal(fact_find("Max: 7", "Max:"), "7");
	assert_string_equal(fact_find("\n\nMax: 7", "Max:"), "7");
	assert_null(fact_find("xMax: 7", "Max:"));
	assert_null(fact_find("", "Max:"));
	assert_null(fact_find("\n", "Max:"));
}

static void components_lead_nowhere_else(void **state)
{
	(void)state;
	assert_true(fact_is_component("eth0.10"));
	assert_false(fact_is_component(""));
	assert_false(fact_is_component(".."));
	assert_false(fact_is_component(".x"));
	assert_false(fact_is_component("a/b"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_is_the_first_without_its_end_and_cut_to_size),
		TEST(what_cannot_be_read_says_why),
		TEST(a_number_is_the_whole_line_or_none),
		TEST(a_text_is_whole_even_when_empty),
		TEST(a_text_without_end_is_refused),
		TEST(names_come_in_the_order_of_their_numbers_without_hidden_ones),
		TEST(a_link_gives_its_last_component),
		TEST(a_key_is_found_at_the_beginning_of_a_line_only),
		TEST(components_lead_nowhere_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
