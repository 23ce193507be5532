// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/list.h"

struct item {
	int number;
	struct list link;
};

static void appended_items_come_in_order(void **state)
{
	struct item items[3] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
	struct list head = LIST_INIT(head);
	struct item *item;
	int expected = 1;

	assert_true(list_is_empty(&head));
	assert_null(list_first(&head, struct item, link));
	list_append(&head, &items[1].link);
	list_append(&head, &items[2].link);
	list_prepend(&head, &items[0].link);
	assert_ptr_equal(list_first(&head, struct item, link), &items[0]);
	list_each(item, &head, link) {
		assert_int_equal(item->number, expected++);
	}
	assert_int_equal(expected, 4);
}

static void an_empty_list_has_no_turns(void **state)
{
	struct list head;
	struct item *item;
	int turns = 0;

	list_init(&head);
	list_each(item, &head, link) {
		turns += item->number;
	}
	assert_int_equal(turns, 0);
}

static void the_current_item_may_be_removed(void **state)
{
	struct item items[4] = {
		{ .number = 1 }, { .number = 2 }, { .number = 3 }, { .number = 4 }
	};
	struct list head = LIST_INIT(head);
	struct item *item;
	int sum = 0;

	for (unsigned i = 0; i < 4; i++) {
		list_append(&head, &items[i].link);
	}
	list_each(item, &head, link) {
		sum += item->number;
		if (item->number % 2 == 0) {
			list_remove(&item->link);
		}
	}
	assert_int_equal(sum, 10);
	sum = 0;
	list_each(item, &head, link) {
		sum += item->number;
	}
	assert_int_equal(sum, 4);
}

static void removing_twice_is_harmless(void **state)
{
	struct item item = { .number = 1 };
	struct list head = LIST_INIT(head);

	list_append(&head, &item.link);
	list_remove(&item.link);
	list_remove(&item.link);
	assert_true(list_is_empty(&head));
	assert_true(list_is_empty(&item.link));
}

static void loops_can_be_nested(void **state)
{
	struct item items[3] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
	struct list head = LIST_INIT(head);
	struct item *outer;
	struct item *inner;
	int sum = 0;

	for (unsigned i = 0; i < 3; i++) {
		list_append(&head, &items[i].link);
	}
	list_each(outer, &head, link) {
		list_each(inner, &head, link) {
			sum += outer->number * inner->number;
		}
	}
	assert_int_equal(sum, 36);
}

static void a_loop_can_be_left_early(void **state)
{
	struct item items[2] = { { .number = 1 }, { .number = 2 } };
	struct list head = LIST_INIT(head);
	struct item *item;
	int turns = 0;

	list_append(&head, &items[0].link);
	list_append(&head, &items[1].link);
	list_each(item, &head, link) {
		turns++;
		break;
	}
	assert_int_equal(turns, 1);
	assert_ptr_equal(item, &items[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_items_come_in_order),
		cmocka_unit_test(an_empty_list_has_no_turns),
		cmocka_unit_test(the_current_item_may_be_removed),
		cmocka_unit_test(removing_twice_is_harmless),
		cmocka_unit_test(loops_can_be_nested),
		cmocka_unit_test(a_loop_can_be_left_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
