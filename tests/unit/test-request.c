// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "http/request.h"
#include "util/random.h"

static void targets_are_taken_apart_strictly(void **state)
{
	static const struct {
		const char *raw;
		const char *path; /* NULL: refused */
	} cases[] = {
		{ "/", "/" },
		{ "/v1/runs?limit=1", "/v1/runs" },
		{ "/v1/%72uns", "/v1/runs" },
		{ "/a.b/..c/d..", "/a.b/..c/d.." },
		{ "/?", "/" },
		{ "", NULL },
		{ "*", NULL },
		{ "v1", NULL },
		{ "http://localhost/v1", NULL },
		{ "//v1", NULL },
		{ "/v1//runs", NULL },
		{ "/v1/./runs", NULL },
		{ "/v1/../runs", NULL },
		{ "/v1/%2e%2E/runs", NULL },
		{ "/..", NULL },
		{ "/.", NULL },
		{ "/a/.?x=y", NULL },
		{ "/a%00b", NULL },
		{ "/a%2fb", NULL },
		{ "/a%5cb", NULL },
		{ "/a\\b", NULL },
		{ "/a%", NULL },
		{ "/a%4", NULL },
		{ "/a%zz", NULL },
		{ "/a b", NULL },
		{ "/caf\xc3\xa9", NULL },
		{ "/a;b", NULL },
		{ "/a#b", NULL },
		{ "/a%0d%0ab", NULL },
		{ "/x?a", NULL },
		{ "/x?=b", NULL },
		{ "/x?a=b&", NULL },
		{ "/x?&a=b", NULL },
		{ "/x?a=b=c", NULL },
		{ "/x?a=1&a=2", NULL },
		{ "/x?a=%00", NULL },
		{ "/x?a=%0a", NULL },
		{ "/x?a=%ff", NULL },
		{ "/x?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1", NULL },
		{ "/x?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1", "/x" },
		{ "/x?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request request = { 0 };
		unsigned status;
		const char *wrong = request_read_target(&request, cases[i].raw, &status);

		if (!wrong != (cases[i].path != NULL) ||
		    (!wrong && strcmp(request.path, cases[i].path) != 0)) {
			fail_msg("%s: %s, \"%s\"", cases[i].raw, wrong ? wrong : "taken",
				 request.path);
		}
		assert_int_equal(status, 400);
	}
}

static void a_target_that_is_too_long_has_its_own_status(void **state)
{
	char raw[REQUEST_TARGET_MAX + 2];
	struct request request = { 0 };
	unsigned status;

	memset(raw, 'a', sizeof(raw));
	raw[0] = '/';
	raw[REQUEST_TARGET_MAX + 1] = '\0';
	assert_non_null(request_read_target(&request, raw, &status));
	assert_int_equal(status, 414);
	raw[REQUEST_TARGET_MAX] = '\0';
	assert_non_null(request_read_target(&request, raw, &status));
	assert_int_equal(status, 400);
	assert_true(strlen(request.path) < sizeof(request.path));
}

static void random_targets_never_give_a_path_that_leaves_its_alphabet(void **state)
{
	static const char alphabet[] = "/.%2eEfF05aZ?=&~-_:\\;#\x80 ";
	struct prng prng;

	prng_init(&prng, 3);
	for (unsigned round = 0; round < 50000; round++) {
		struct request request = { 0 };
		char raw[40] = "/";
		unsigned status;
		size_t length = 1 + prng_below(&prng, sizeof(raw) - 2);

		for (size_t i = 1; i < length; i++) {
			raw[i] = alphabet[prng_below(&prng, sizeof(alphabet) - 1)];
		}
		if (!request_read_target(&request, raw, &status)) {
			assert_true(request.path[0] == '/');
			assert_null(strstr(request.path, "//"));
			assert_null(strstr(request.path, "/../"));
			assert_null(strstr(request.path, "/./"));
			assert_null(strpbrk(request.path, "%?=&:\\;# \x80"));
		}
	}
}

static void headers_that_smuggle_are_refused(void **state)
{
	static const struct {
		const char *headers[6];
		unsigned status; /* 0: fine */
	} cases[] = {
		{ { "Host", "a" }, 0 },
		{ { "Host", "a", "Content-Length", "0" }, 0 },
		{ { "Host", "a", "content-length", "5" }, 413 },
		{ { "Host", "a", "Content-Length", "-0" }, 413 },
		{ { "Host", "a", "Content-Length", "0", "Content-Length" }, 400 },
		{ { "Host", "a", "Transfer-Encoding", "chunked" }, 411 },
		{ { "Host", "a", "transfer-ENCODING", "identity", "Content-Length", "0" }, 411 },
		{ { "Host", "a", "Host", "b" }, 400 },
		{ { "Accept", "*/*" }, 400 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request request = { 0 };
		struct response response = { 0 };
		bool is_fine;

		for (size_t k = 0; k < 6 && cases[i].headers[k]; k += 2) {
			request_add_header(&request, cases[i].headers[k],
					   k + 1 < 6 ? cases[i].headers[k + 1] : NULL);
		}
		is_fine = request_check_headers(&request, &response);
		assert_int_equal(is_fine, cases[i].status == 0);
		assert_int_equal(response.status, cases[i].status);
		response_done(&response);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(targets_are_taken_apart_strictly),
		cmocka_unit_test(a_target_that_is_too_long_has_its_own_status),
		cmocka_unit_test(random_targets_never_give_a_path_that_leaves_its_alphabet),
		cmocka_unit_test(headers_that_smuggle_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
