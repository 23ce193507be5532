// SPDX-License-Identifier: MIT
#include "util/net.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/list.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/thread.h"

#define ADDRESSES_MAX 8

/* Shared by its owner and its threads, which cannot be stopped inside getaddrinfo: the last frees.
 */
struct net_resolve_pool {
	pthread_mutex_t lock;
	struct list waiting;
	unsigned threads;
	unsigned references;
};

enum state { WAITING, WORKING, DONE };

/* While WORKING the result belongs to the thread, which also frees it if it was abandoned. */
struct net_resolve {
	struct list link; /* in waiting */
	struct net_resolve_pool *pool;
	enum state state;
	bool is_abandoned;
	int fd; /* readable once done */
	int ret; /* 0 or -errno */
	struct error error;
	size_t count;
	size_t next; /* to be told */
	char addresses[ADDRESSES_MAX][NET_NUMERIC_SIZE];
	char host[]; /* to look up */
};

struct net_resolve_pool *net_resolve_pool_new(void)
{
	struct net_resolve_pool *pool = memory_new(sizeof(*pool));

	pthread_mutex_init(&pool->lock, NULL);
	list_init(&pool->waiting);
	pool->references = 1;
	return pool;
}

/* With the lock held, which is given back. */
static void pool_unref(struct net_resolve_pool *pool)
{
	bool is_last = --pool->references == 0;

	pthread_mutex_unlock(&pool->lock);
	if (is_last) {
		pthread_mutex_destroy(&pool->lock);
		free(pool);
	}
}

void net_resolve_pool_free(struct net_resolve_pool *pool)
{
	if (pool) {
		pthread_mutex_lock(&pool->lock);
		pool_unref(pool);
	}
}

static void resolve_destroy(struct net_resolve *resolve)
{
	if (resolve->fd >= 0) {
		close(resolve->fd);
	}
	free(resolve);
}

/* With the lock held. */
static void resolve_done(struct net_resolve *resolve)
{
	ssize_t ignored;

	resolve->state = DONE;
	ignored = write(resolve->fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	(void)ignored;
}

static void take_failure(struct net_resolve *resolve, int code)
{
	char quoted[TEXT_QUOTED_SIZE];

	text_quote(quoted, resolve->host);
	switch (code) {
	case EAI_NONAME:
	case EAI_NODATA:
		resolve->ret = error_set(
			&resolve->error, -ENOENT, ERROR_INPUT,
			"\"%s\" has no address: %s; check the name and the DNS or /etc/hosts",
			quoted, gai_strerror(code));
		break;
	case EAI_SYSTEM:
		resolve->ret = error_set_call(&resolve->error, errno == EAGAIN ? EIO : errno,
					      ERROR_RESOURCE, STAGE_NONE, "getaddrinfo",
					      "\"%s\" cannot be looked up", quoted);
		break;
	default: /* the name server does not answer, as a rule: not what was asked is wrong */
		resolve->ret = error_set(&resolve->error, -EHOSTUNREACH, ERROR_RESOURCE,
					 "\"%s\" cannot be looked up: %s; check this host's DNS",
					 quoted, gai_strerror(code));
		break;
	}
	resolve->error.stage = STAGE_RESOLVE;
}

/* The system's order is the order of preference (RFC 6724). */
static int take_addresses(struct net_resolve *resolve, const struct addrinfo *found)
{
	int code = EAI_NODATA;

	for (; found && resolve->count < ADDRESSES_MAX; found = found->ai_next) {
		code = getnameinfo(found->ai_addr, found->ai_addrlen,
				   resolve->addresses[resolve->count], NET_NUMERIC_SIZE, NULL, 0,
				   NI_NUMERICHOST);
		resolve->count += code == 0;
	}
	return resolve->count > 0 ? 0 : code;
}

static void look_up(struct net_resolve *resolve)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_ADDRCONFIG };
	struct addrinfo *found = NULL;
	int code = getaddrinfo(resolve->host, NULL, &hints, &found);

	if (code == 0) {
		code = take_addresses(resolve, found);
		freeaddrinfo(found);
	}
	if (code != 0) {
		take_failure(resolve, code);
	}
}

static struct thread_next pool_step(void *arg)
{
	struct net_resolve_pool *pool = arg;
	struct net_resolve *resolve;

	pthread_mutex_lock(&pool->lock);
	resolve = list_first(&pool->waiting, struct net_resolve, link);
	if (!resolve) {
		pool->threads--;
		pool_unref(pool);
		return (struct thread_next){ .want = THREAD_DONE };
	}
	list_remove(&resolve->link);
	resolve->state = WORKING;
	pthread_mutex_unlock(&pool->lock);
	look_up(resolve);
	pthread_mutex_lock(&pool->lock);
	resolve_done(resolve);
	if (resolve->is_abandoned) {
		resolve_destroy(resolve);
	}
	pthread_mutex_unlock(&pool->lock);
	return (struct thread_next){ .want = THREAD_AGAIN };
}

/* One more thread unless there are enough. With the lock held. */
static int help(struct net_resolve_pool *pool, struct error *err)
{
	const struct thread_options options = { .name = "resolve", .cpu = -1 };
	struct thread *thread;
	int ret;

	if (pool->threads == NET_RESOLVE_THREADS) {
		return 0;
	}
	ret = thread_start(&thread, &options, pool_step, pool, err);
	if (ret < 0) {
		return pool->threads > 0 ? 0 : ret; /* the others will come to it */
	}
	pool->threads++;
	pool->references++;
	thread_detach(&thread);
	return 0;
}

static void enqueue(struct net_resolve *resolve)
{
	struct net_resolve_pool *pool = resolve->pool;
	int ret;

	pthread_mutex_lock(&pool->lock);
	list_append(&pool->waiting, &resolve->link);
	ret = help(pool, &resolve->error);
	if (ret < 0) {
		list_remove(&resolve->link);
		resolve->ret = ret == -EAGAIN ? -ENOMEM : ret; /* -EAGAIN would mean "wait" */
		resolve->error.stage = STAGE_RESOLVE;
		resolve_done(resolve);
	}
	pthread_mutex_unlock(&pool->lock);
}

struct net_resolve *net_resolve_start(struct net_resolve_pool *pool, const char *host)
{
	size_t size = strlen(host) + 1;
	struct net_resolve *resolve = memory_new(sizeof(*resolve) + size);

	memcpy(resolve->host, host, size);
	list_init(&resolve->link);
	resolve->pool = pool;
	resolve->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (resolve->fd < 0) {
		resolve->ret = error_set_call(&resolve->error, errno, ERROR_RESOURCE, STAGE_RESOLVE,
					      "eventfd", "\"%s\" cannot be looked up", host);
		resolve->state = DONE;
	} else if (net_is_numeric(host) && size <= NET_NUMERIC_SIZE) {
		memcpy(resolve->addresses[resolve->count++], host, size);
		resolve_done(resolve);
	} else {
		enqueue(resolve);
	}
	return resolve;
}

int net_resolve_fd(struct net_resolve *resolve)
{
	return resolve->fd;
}

static bool is_done(struct net_resolve *resolve)
{
	bool is;

	pthread_mutex_lock(&resolve->pool->lock);
	is = resolve->state == DONE;
	pthread_mutex_unlock(&resolve->pool->lock);
	return is;
}

int net_resolve_finish(struct net_resolve *resolve, char *ret_host, size_t size, struct error *err)
{
	if (!is_done(resolve)) {
		return -EAGAIN;
	}
	if (resolve->ret < 0) {
		if (err && !error_is_set(err)) {
			*err = resolve->error;
		}
		return resolve->ret;
	}
	text_copy(ret_host, size, resolve->addresses[0]);
	resolve->next = 1;
	return 0;
}

int net_resolve_next(struct net_resolve *resolve, char *ret_host, size_t size)
{
	if (resolve->next == 0 || resolve->next >= resolve->count) {
		return -ENOENT;
	}
	text_copy(ret_host, size, resolve->addresses[resolve->next++]);
	return 0;
}

void net_resolve_free(struct net_resolve *resolve)
{
	struct net_resolve_pool *pool;

	if (!resolve) {
		return;
	}
	pool = resolve->pool;
	pthread_mutex_lock(&pool->lock);
	if (resolve->state == WORKING) {
		resolve->is_abandoned = true;
	} else {
		list_remove(&resolve->link);
		resolve_destroy(resolve);
	}
	pthread_mutex_unlock(&pool->lock);
}
