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
	_cleanup_json_ json_t *odd = json_pack("[{s:s,s:s,s:{s:s,s:s}},i,n,{s:i}]", "name", "<b>",
					       "id", "\"><i>", "last", "verdict", "fail",
					       "scenario", "<u>", 3, "verdict", 7);
	struct page_content content = {
		.status = status, .scenarios = odd, .runs = odd, .peers = odd, .devices = odd
	};
	struct page_content nothing = { 0 };
	_cleanup_text_ struct text out = TEXT_INIT;

	page_write(&content, &out);
	assert_null(strstr(out.data, "<script>"));
	assert_null(strstr(out.data, "<b>\""));
	assert_null(strstr(out.data, "<i>"));
	assert_null(strstr(out.data, "<u>"));
	assert_null(strstr(out.data, "{{"));
	assert_non_null(strstr(out.data, "&lt;script&gt;&quot;&#39;&amp;"));
	assert_non_null(strstr(out.data, "FAIL: &lt;u&gt;"));
	text_reset(&out);
	page_write(&nothing, &out);
	assert_null(strstr(out.data, "{{"));
	assert_non_null(strstr(out.data, "</html>"));
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
		cmocka_unit_test(assets_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
