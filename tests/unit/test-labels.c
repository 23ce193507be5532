// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "model/labels.h"
#include "util/text.h"

static const struct labels compute = { 2, { { "role", "compute" }, { "rack", "r1" } } };

static bool matches(const char *string, const char *node, const struct labels *labels)
{
	struct selector selector = { 0 };
	const char *reason = labels_selector_parse(string, &selector);

	if (reason) {
		fail_msg("\"%s\" %s", string, reason);
	}
	return labels_selector_matches(&selector, node, labels);
}

static void a_star_and_an_empty_selector_take_everyone(void **state)
{
	struct selector empty = { 0 };

	assert_true(matches("*", "a", &compute));
	assert_true(matches(" * ", "a", NULL));
	assert_true(labels_selector_matches(&empty, "a", NULL));
}

static void terms_are_joined_by_and(void **state)
{
	assert_true(matches("role=compute", "a", &compute));
	assert_true(matches("role=compute,rack=r1", "a", &compute));
	assert_true(matches(" role=compute , rack=r1 ", "a", &compute));
	assert_false(matches("role=compute,rack=r2", "a", &compute));
	assert_false(matches("role=storage", "a", &compute));
	assert_false(matches("tier=1", "a", &compute));
}

static void negated_terms_also_take_nodes_without_the_label(void **state)
{
	assert_true(matches("rack!=r2", "a", &compute));
	assert_false(matches("rack!=r1", "a", &compute));
	assert_true(matches("tier!=1", "a", &compute));
	assert_true(matches("tier!=1", "a", NULL));
}

static void the_name_is_a_label_of_its_own(void **state)
{
	assert_true(matches("name=node1", "node1", &compute));
	assert_false(matches("name=node1", "node2", &compute));
	assert_true(matches("name!=node1", "node2", NULL));
}

static void alternatives_are_joined_by_or(void **state)
{
	struct selector selector = { 0 };

	assert_null(labels_selector_parse("name=x", &selector));
	assert_null(labels_selector_parse("rack=r1", &selector));
	assert_true(labels_selector_matches(&selector, "x", NULL));
	assert_true(labels_selector_matches(&selector, "y", &compute));
	assert_false(labels_selector_matches(&selector, "y", NULL));
}

static void wrong_selectors_are_refused_with_a_reason(void **state)
{
	static const char *const wrong[] = { "",
					     "role",
					     "=x",
					     "role=",
					     "role==x",
					     "role=a b",
					     "Role=x",
					     "role=x,",
					     "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1",
					     "role=*",
					     "!=x",
					     ",",
					     "role=x,,rack=y" };
	struct selector selector = { 0 };
	char huge[2000];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (!labels_selector_parse(wrong[i], &selector)) {
			fail_msg("\"%s\" was accepted", wrong[i]);
		}
	}
	memset(huge, 'a', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	assert_non_null(labels_selector_parse(huge, &selector));
	assert_int_equal(selector.count, 0);
	for (int i = 0; i < SELECTOR_ALTERNATIVES; i++) {
		assert_null(labels_selector_parse("a=1", &selector));
	}
	assert_non_null(labels_selector_parse("a=1", &selector));
}

/* --- schema functions --- */

struct holder {
	struct labels labels;
	struct selector who;
};

static const struct schema_field fields[] = {
	{ .key = "labels",
	  .type = SCHEMA_CUSTOM,
	  .offset = offsetof(struct holder, labels),
	  .size = sizeof(struct labels),
	  .parse = labels_parse,
	  .write = labels_write,
	  .read = labels_read,
	  .doc = "Labels." },
	{ .key = "who",
	  .type = SCHEMA_CUSTOM,
	  .offset = offsetof(struct holder, who),
	  .size = sizeof(struct selector),
	  .parse = labels_parse_selector,
	  .write = labels_write_selector,
	  .read = labels_read_selector,
	  .fallback = "*",
	  .doc = "Selector." },
	{ 0 },
};

static unsigned parse(const char *yaml, struct holder *holder, struct text *out)
{
	struct problems problems;
	struct schema_context context = { "l.yaml", &problems };
	struct document *document;
	unsigned errors;

	problems_init(&problems);
	document = document_read("l.yaml", yaml, strlen(yaml), &problems);
	if (document) {
		schema_parse(fields, document->root, "", holder, fields, &context);
	}
	document_free(document);
	text_reset(out);
	problems_print(&problems, 20, out);
	errors = problems.errors;
	problems_done(&problems);
	return errors;
}

static void labels_and_selectors_are_read_from_yaml(void **state)
{
	struct holder holder;
	struct text out = TEXT_INIT;

	assert_int_equal(
		parse("labels: {role: compute, rack: r1}\nwho: [role=compute, \"name=b,rack!=r2\"]\n",
		      &holder, &out),
		0);
	assert_string_equal(labels_get(&holder.labels, "rack"), "r1");
	assert_null(labels_get(&holder.labels, "tier"));
	assert_int_equal(holder.who.count, 2);
	assert_true(holder.who.alternatives[1].terms[1].is_negated);
	/* what is written replaces the default */
	assert_int_equal(parse("who: role=x\n", &holder, &out), 0);
	assert_int_equal(holder.who.count, 1);
	assert_int_equal(holder.who.alternatives[0].count, 1);
	assert_int_equal(parse("labels: {}\n", &holder, &out), 0);
	assert_int_equal(holder.labels.count, 0);
	assert_true(labels_selector_matches(&holder.who, "anyone", NULL));
	text_done(&out);
}

static void expect_problem(const char *yaml, const char *part)
{
	struct holder holder;
	struct text out = TEXT_INIT;

	assert_true(parse(yaml, &holder, &out) > 0);
	if (!strstr(out.data, part)) {
		fail_msg("\"%s\" is not in: %s", part, out.data);
	}
	text_done(&out);
}

static void wrong_labels_are_refused_with_their_place(void **state)
{
	expect_problem("labels: [a]\n", "l.yaml:1:9: error: labels: must be a map");
	expect_problem("labels: {name: x}\n", "implicit label");
	expect_problem("labels: {Role: x}\n", "is no name");
	expect_problem("labels: {role: \"\"}\n", "value that is empty");
	expect_problem("labels: {role: [x]}\n", "plain value");
	expect_problem(
		"labels: {a1: 1, a2: 1, a3: 1, a4: 1, a5: 1, a6: 1, a7: 1, a8: 1, a9: 1, b1: 1, b2: 1, b3: 1, "
		"b4: 1, b5: 1, b6: 1, b7: 1, b8: 1}\n",
		"16");
	expect_problem("who: {a: b}\n", "must be a selector");
	expect_problem("who: []\n", "selects nothing");
	expect_problem("who: [a=1, [b=1]]\n", "who[1]");
	expect_problem("who: role\n", "\"role\" must be \"*\"");
}

static void both_come_back_from_json(void **state)
{
	struct holder holder, read;
	struct text out = TEXT_INIT;
	struct error err = ERROR_INIT;
	json_t *json, *again;

	parse("labels: {role: compute}\nwho: [\"role=compute,rack!=r1\", \"*\"]\n", &holder, &out);
	json = schema_write(fields, &holder);
	text_reset(&out);
	json_write(json, &out);
	assert_string_equal(
		out.data,
		"{\"labels\":{\"role\":\"compute\"},\"who\":[\"role=compute,rack!=r1\",\"*\"]}");
	assert_int_equal(schema_read(fields, json, &read, &err), 0);
	again = schema_write(fields, &read);
	assert_true(json_equal(json, again));
	json_decref(again);
	json_decref(json);
	text_done(&out);
}

static void hostile_json_is_refused(void **state)
{
	static const char *const wrong[] = {
		"{\"labels\":[]}",
		"{\"labels\":{\"a\":1}}",
		"{\"labels\":{\"A b\":\"x\"}}",
		"{\"labels\":{\"name\":\"x\"}}",
		"{\"who\":\"*\"}",
		"{\"who\":[]}",
		"{\"who\":[1]}",
		"{\"who\":[\"x\"]}",
		"{\"who\":[\"a=1\",\"a=1\",\"a=1\",\"a=1\",\"a=1\",\"a=1\",\"a=1\",\"a=1\",\"a=1\"]}",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct error err = ERROR_INIT;
		struct holder read;
		json_t *json = json_read(wrong[i], strlen(wrong[i]), &err);

		assert_non_null(json);
		if (schema_read(fields, json, &read, &err) == 0) {
			fail_msg("%s was accepted", wrong[i]);
		}
		assert_int_equal(err.class, ERROR_INPUT);
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_star_and_an_empty_selector_take_everyone),
		cmocka_unit_test(terms_are_joined_by_and),
		cmocka_unit_test(negated_terms_also_take_nodes_without_the_label),
		cmocka_unit_test(the_name_is_a_label_of_its_own),
		cmocka_unit_test(alternatives_are_joined_by_or),
		cmocka_unit_test(wrong_selectors_are_refused_with_a_reason),
		cmocka_unit_test(labels_and_selectors_are_read_from_yaml),
		cmocka_unit_test(wrong_labels_are_refused_with_their_place),
		cmocka_unit_test(both_come_back_from_json),
		cmocka_unit_test(hostile_json_is_refused),
	};

	return cmocka_run_group_tests_name("labels", tests, NULL, NULL);
}
