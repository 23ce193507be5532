// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "http/asset.h"
#include "http/page.h"
#include "http/routes.h"
#include "util/document.h"
#include "util/memory.h"

static void every_route_is_described_and_every_description_is_served(void **state)
{
	const struct asset *asset = asset_find("openapi.yaml");
	struct problems problems;
	struct document *document;
	const struct document_node *paths;
	size_t described = 0;
	size_t served = 0;

	problems_init(&problems);
	document = document_read("openapi.yaml", asset->bytes, asset->count, &problems);
	assert_non_null(document);
	assert_int_equal(problems.errors, 0);
	paths = document_get(document->root, "paths");
	assert_non_null(paths);
	for (const struct route *route = routes_table; route->method; route++) {
		const struct document_node *path = document_get(paths, route->path);
		const char *method = strcmp(route->method, "GET") == 0 ? "get" : "post";
		const struct document_node *operation = path ? document_get(path, method) : NULL;
		const struct document_node *parameters;
		size_t arguments = 0;

		if (!operation) {
			fail_msg("%s %s is not in api/openapi.yaml", route->method, route->path);
			return;
		}
		served++;
		parameters = document_get(operation, "parameters");
		for (size_t i = 0; parameters && i < parameters->count; i++) {
			if (strcmp(document_get(parameters->values[i], "in")->scalar, "query") ==
			    0) {
				const char *name =
					document_get(parameters->values[i], "name")->scalar;
				const char *const *known = route->arguments;

				while (known && *known && strcmp(*known, name) != 0) {
					known++;
				}
				if (!known || !*known) {
					fail_msg("%s is described to take %s and does not",
						 route->path, name);
				}
				arguments++;
			}
		}
		for (const char *const *known = route->arguments; known && *known; known++) {
			arguments--;
		}
		assert_int_equal(arguments, 0);
		/* Whoever may be refused is told of the refusal. */
		assert_int_equal(document_get(document_get(operation, "responses"), "403") != NULL,
				 route->access != ROUTE_OPEN);
	}
	for (size_t i = 0; i < paths->count; i++) {
		described += paths->values[i]->count;
	}
	assert_int_equal(described, served);
	document_free(document);
	problems_done(&problems);
}

static void references_of_the_description_lead_somewhere(void **state)
{
	const char *bytes = asset_find("openapi.yaml")->bytes;
	const char *at = bytes;
	unsigned count = 0;

	while ((at = strstr(at, "\"#/components/"))) {
		char name[64];
		const char *end = strchr(at + 1, '"');
		const char *last = end;
		_cleanup_text_ struct text line = TEXT_INIT;

		while (last[-1] != '/') {
			last--;
		}
		assert_true((size_t)(end - last) < sizeof(name));
		memcpy(name, last, (size_t)(end - last));
		name[end - last] = '\0';
		text_format(&line, "\n    %s:", name);
		if (!strstr(bytes, line.data)) {
			fail_msg("%s is referred to and not described", name);
		}
		at = end;
		count++;
	}
	assert_true(count > 30);
}

static void the_page_escapes_what_it_shows_and_survives_empty_records(void **state)
{
	_cleanup_json_ json_t *status = json_pack("{s:s,s:s,s:{s:b}}", "node", "<script>\"'&",
						  "state", "running", "config", "is_last_reload_ok",
						  1);
	_cleanup_json_ json_t *odd = json_pack("[{s:s,s:s,s:{s:s,s:s}},i,n,{s:i}]", "name",
					       "<b>\xe2\x80\xae"
					       "abc",
					       "id", "\"><i>", "last", "verdict", "fail",
					       "scenario", "<u>", 3, "verdict", 7);
	struct page content = { .status = json_incref(status) };
	struct page nothing = { 0 };
	json_t *row;
	size_t i;
	_cleanup_text_ struct text out = TEXT_INIT;

	json_array_foreach(odd, i, row) {
		page_add_scenario(&content, json_incref(row));
		page_add_run(&content, json_incref(row));
		page_add_last(&content, json_incref(row));
		page_add_peer(&content, json_incref(row));
		page_add_port(&content, json_incref(row));
	}
	page_write(&content, &out);
	assert_null(strstr(out.data, "<script>"));
	assert_null(strstr(out.data, "<b>\""));
	assert_null(strstr(out.data, "<i>"));
	assert_null(strstr(out.data, "<u>"));
	assert_null(strstr(out.data, "\xe2\x80\xae")); /* turns the direction of writing */
	assert_non_null(strstr(out.data, "&lt;b&gt;\\xe2\\x80\\xaeabc"));
	assert_null(strstr(out.data, "{{"));
	assert_non_null(strstr(out.data, "&lt;script&gt;&quot;&#39;&amp;"));
	assert_non_null(strstr(out.data, "FAIL: &lt;u&gt;"));
	text_reset(&out);
	page_write(&nothing, &out);
	assert_null(strstr(out.data, "{{"));
	assert_non_null(strstr(out.data, "</html>"));
	page_done(&content);
	page_done(&nothing);
}

static void the_headline_says_what_is_wrong_and_where_to_look(void **state)
{
	struct page page = {
		.status = json_pack("{s:s,s:{s:s,s:b},s:{s:s},s:{s:i,s:{s:i,s:i}}}", "state",
				    "running", "config", "path", "/etc/a.yaml", "is_last_reload_ok",
				    0, "ports", "error", "mlx5_0: Permission denied", "runs",
				    "kept", 9, "verdicts", "pass", 5, "fail", 2),
	};
	_cleanup_text_ struct text out = TEXT_INIT;

	page_add_scenario(&page, json_pack("{s:s,s:{s:s,s:s,s:s,s:{s:s,s:s,s:s}}}", "name", "mixed",
					   "last", "id", "01J8Z3R6Q0W4T5Y6A7S8D9F0GH", "scenario",
					   "mixed", "verdict", "fail", "first_finding", "code",
					   "RDT-0107", "text", "no way", "against", "a <doubt>"));
	page_write(&page, &out);
	assert_non_null(strstr(out.data, "FAIL: mixed"));
	assert_non_null(strstr(
		out.data,
		"RDT-0107: no way (but: a &lt;doubt&gt;). rdmatestctl results 01J8Z3R6Q0 tells all"));
	assert_non_null(strstr(out.data, "rdmatestctl check --config=/etc/a.yaml tells"));
	assert_non_null(strstr(out.data, "mlx5_0: Permission denied"));
	/* Runs that are not over have no verdict. */
	assert_non_null(strstr(out.data, "5 of 7 pass"));
	page_done(&page);
}

static json_t *make_peer(unsigned number, const char *name_state)
{
	char name[32];

	snprintf(name, sizeof(name), "peer-%u-", number);
	return json_pack("{s:s,s:s,s:b}", "name", name, "state", name_state, "is_enabled", 1);
}

static void of_a_large_fleet_the_page_shows_what_is_wrong_first(void **state)
{
	struct page page = { 0 };
	_cleanup_text_ struct text out = TEXT_INIT;
	_cleanup_json_ json_t *gids = json_array();

	for (unsigned i = 0; i < 1024; i++) {
		page_add_peer(&page, make_peer(i, i % 100 == 99 ? "down" : "up"));
	}
	for (unsigned i = 0; i < 30; i++) {
		json_array_append_new(gids, json_pack("{s:i,s:s}", "index", i, "gid", "fe80::1"));
	}
	page_add_port(&page, json_pack("{s:O}", "gids", gids));
	page_write(&page, &out);
	assert_non_null(strstr(out.data, "924 more, none of them worse: <code>rdmatestctl peers<"));
	assert_non_null(strstr(out.data, "peer-999-"));
	assert_non_null(strstr(out.data, "peer-0-"));
	assert_true(strstr(out.data, "peer-999-") < strstr(out.data, "peer-0-"));
	assert_null(strstr(out.data, "peer-998-"));
	assert_non_null(strstr(out.data, "<br>and 22 more"));
	page_done(&page);
}

static void assets_are_found_by_name(void **state)
{
	assert_non_null(asset_find("page.html"));
	assert_null(asset_find("page"));
	for (const struct asset *asset = asset_table; asset->name; asset++) {
		assert_int_equal(strlen(asset->bytes), asset->count);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_route_is_described_and_every_description_is_served),
		cmocka_unit_test(references_of_the_description_lead_somewhere),
		cmocka_unit_test(the_page_escapes_what_it_shows_and_survives_empty_records),
		cmocka_unit_test(the_headline_says_what_is_wrong_and_where_to_look),
		cmocka_unit_test(of_a_large_fleet_the_page_shows_what_is_wrong_first),
		cmocka_unit_test(assets_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
