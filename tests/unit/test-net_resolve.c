// SPDX-License-Identifier: MIT
/* Names, with a name server that does what the test wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "util/memory.h"
#include "util/net.h"

#define MANY 100

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool answers;
	unsigned inside; /* of getaddrinfo, now */
	unsigned most;
	unsigned asked; /* ever */
} server = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, true, 0, 0, 0 };

/* In one block, as freeaddrinfo expects it. */
static struct addrinfo *make_address(const char *numeric, struct addrinfo *next)
{
	struct addrinfo *info = memory_new(sizeof(*info) + sizeof(struct sockaddr_in));
	struct sockaddr_in *address = (struct sockaddr_in *)(info + 1);

	address->sin_family = AF_INET;
	inet_pton(AF_INET, numeric, &address->sin_addr);
	*info = (struct addrinfo){
		.ai_family = AF_INET,
		.ai_addr = (struct sockaddr *)address,
		.ai_addrlen = sizeof(*address),
		.ai_next = next,
	};
	return info;
}

/* Instead of libc's: "n<count>" has so many addresses, anything else has none. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	unsigned count = 0;
	char numeric[32];

	pthread_mutex_lock(&server.lock);
	server.asked++;
	server.inside++;
	server.most = server.inside > server.most ? server.inside : server.most;
	pthread_cond_broadcast(&server.changed);
	while (!server.answers) {
		pthread_cond_wait(&server.changed, &server.lock);
	}
	server.inside--;
	pthread_cond_broadcast(&server.changed);
	pthread_mutex_unlock(&server.lock);
	*ret = NULL;
	if (sscanf(host, "n%u", &count) != 1) {
		return EAI_NONAME;
	}
	for (; count > 0; count--) {
		snprintf(numeric, sizeof(numeric), "10.0.0.%u", count);
		*ret = make_address(numeric, *ret);
	}
	return *ret ? 0 : EAI_NODATA;
}

static void server_answers(bool answers)
{
	pthread_mutex_lock(&server.lock);
	server.answers = answers;
	if (!answers) {
		server.most = 0;
		server.asked = 0;
	}
	pthread_cond_broadcast(&server.changed);
	pthread_mutex_unlock(&server.lock);
}

static void wait_inside(unsigned count)
{
	pthread_mutex_lock(&server.lock);
	while (server.inside != count) {
		pthread_cond_wait(&server.changed, &server.lock);
	}
	pthread_mutex_unlock(&server.lock);
}

static int finish(struct net_resolve *resolve, char *host, struct error *err)
{
	struct pollfd poller = { .fd = net_resolve_fd(resolve), .events = POLLIN };

	assert_int_equal(poll(&poller, 1, 20000), 1);
	return net_resolve_finish(resolve, host, NET_NUMERIC_SIZE, err);
}

static void a_thousand_names_do_not_make_a_thousand_threads(void **state)
{
	struct net_resolve_pool *pool = net_resolve_pool_new();
	struct net_resolve *resolves[MANY];
	char host[NET_NUMERIC_SIZE];

	server_answers(false);
	for (unsigned i = 0; i < MANY; i++) {
		resolves[i] = net_resolve_start(pool, "n1");
		assert_int_equal(net_resolve_finish(resolves[i], host, sizeof(host), NULL),
				 -EAGAIN);
	}
	wait_inside(NET_RESOLVE_THREADS);
	server_answers(true);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(finish(resolves[i], host, NULL), 0);
		assert_string_equal(host, "10.0.0.1");
		net_resolve_free(resolves[i]);
	}
	assert_int_equal(server.asked, MANY);
	assert_int_equal(server.most, NET_RESOLVE_THREADS);
	net_resolve_pool_free(pool);
}

static void what_is_freed_before_its_turn_is_never_asked(void **state)
{
	struct net_resolve_pool *pool = net_resolve_pool_new();
	struct net_resolve *resolves[MANY];
	char host[NET_NUMERIC_SIZE];

	server_answers(false);
	for (unsigned i = 0; i < MANY; i++) {
		resolves[i] = net_resolve_start(pool, "n1");
	}
	wait_inside(NET_RESOLVE_THREADS);
	for (unsigned i = 0; i < MANY - 1; i++) {
		net_resolve_free(resolves[i]); /* those that are asked, and those that wait */
	}
	server_answers(true);
	assert_int_equal(finish(resolves[MANY - 1], host, NULL), 0);
	net_resolve_free(resolves[MANY - 1]);
	wait_inside(0);
	assert_int_equal(server.asked, NET_RESOLVE_THREADS + 1);
	net_resolve_pool_free(pool);
}

static void a_server_that_hangs_keeps_nobody_from_leaving(void **state)
{
	struct net_resolve_pool *pool = net_resolve_pool_new();
	struct net_resolve *first;
	struct net_resolve *second;

	server_answers(false);
	first = net_resolve_start(pool, "n1");
	second = net_resolve_start(pool, "n2");
	wait_inside(2);
	net_resolve_free(first);
	net_resolve_free(second);
	net_resolve_pool_free(pool);
	server_answers(true);
	wait_inside(0);
}

static void all_addresses_are_told_in_their_order(void **state)
{
	struct net_resolve_pool *pool = net_resolve_pool_new();
	struct net_resolve *resolve = net_resolve_start(pool, "n3");
	char host[NET_NUMERIC_SIZE] = "old";

	assert_int_equal(net_resolve_next(resolve, host, sizeof(host)), -ENOENT);
	assert_int_equal(finish(resolve, host, NULL), 0);
	assert_string_equal(host, "10.0.0.1");
	assert_int_equal(net_resolve_next(resolve, host, sizeof(host)), 0);
	assert_string_equal(host, "10.0.0.2");
	assert_int_equal(net_resolve_next(resolve, host, sizeof(host)), 0);
	assert_string_equal(host, "10.0.0.3");
	assert_int_equal(net_resolve_next(resolve, host, sizeof(host)), -ENOENT);
	net_resolve_free(resolve);

	resolve = net_resolve_start(pool, "n200"); /* 8 are enough */
	assert_int_equal(finish(resolve, host, NULL), 0);
	for (unsigned i = 1; i < 8; i++) {
		assert_int_equal(net_resolve_next(resolve, host, sizeof(host)), 0);
	}
	assert_int_equal(net_resolve_next(resolve, host, sizeof(host)), -ENOENT);
	net_resolve_free(resolve);
	net_resolve_pool_free(pool);
}

static void no_address_is_an_error_with_the_cure(void **state)
{
	static const char *const names[] = { "n0", "nowhere" };
	struct net_resolve_pool *pool = net_resolve_pool_new();

	for (unsigned i = 0; i < 2; i++) {
		struct net_resolve *resolve = net_resolve_start(pool, names[i]);
		struct error err = ERROR_INIT;
		char host[NET_NUMERIC_SIZE] = "old";

		assert_int_equal(finish(resolve, host, &err), -ENOENT);
		assert_int_equal(err.class, ERROR_INPUT);
		assert_int_equal(err.stage, STAGE_RESOLVE);
		assert_non_null(strstr(err.text, "check the name"));
		assert_int_equal(net_resolve_next(resolve, host, sizeof(host)), -ENOENT);
		assert_string_equal(host, "old");
		net_resolve_free(resolve);
	}
	net_resolve_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thousand_names_do_not_make_a_thousand_threads),
		cmocka_unit_test(what_is_freed_before_its_turn_is_never_asked),
		cmocka_unit_test(a_server_that_hangs_keeps_nobody_from_leaving),
		cmocka_unit_test(all_addresses_are_told_in_their_order),
		cmocka_unit_test(no_address_is_an_error_with_the_cure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
