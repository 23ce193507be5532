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

#include "util/memory.h"
#include "util/text.h"
#include "util/thread.h"

#define NUMERIC_SIZE 64

/*
 * Shared by its owner and its thread, which cannot be stopped inside getaddrinfo. Whoever is last
 * frees it: the owner if the thread is done, else the thread.
 */
struct net_resolve {
	pthread_mutex_t lock;
	bool is_done;
	bool is_abandoned;
	int fd; /* readable once done */
	int ret; /* 0 or -errno */
	struct error error;
	char address[NUMERIC_SIZE];
	char host[]; /* to look up */
};

static void resolve_destroy(struct net_resolve *resolve)
{
	if (resolve->fd >= 0) {
		close(resolve->fd);
	}
	pthread_mutex_destroy(&resolve->lock);
	free(resolve);
}

/* Before is_done the result belongs to the thread, afterwards to the owner. */
static void resolve_finish(struct net_resolve *resolve)
{
	bool is_abandoned;
	ssize_t ignored;

	pthread_mutex_lock(&resolve->lock);
	resolve->is_done = true;
	is_abandoned = resolve->is_abandoned;
	ignored = write(resolve->fd, &(uint64_t){ 1 }, sizeof(uint64_t));
	(void)ignored;
	pthread_mutex_unlock(&resolve->lock);
	if (is_abandoned) {
		resolve_destroy(resolve);
	}
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

static struct thread_next resolve_step(void *arg)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_ADDRCONFIG };
	struct net_resolve *resolve = arg;
	struct addrinfo *found = NULL;
	int code = getaddrinfo(resolve->host, NULL, &hints, &found);

	if (code == 0) {
		code = getnameinfo(found->ai_addr, found->ai_addrlen, resolve->address,
				   sizeof(resolve->address), NULL, 0, NI_NUMERICHOST);
		freeaddrinfo(found);
	}
	if (code != 0) {
		take_failure(resolve, code);
	}
	resolve_finish(resolve);
	return (struct thread_next){ .want = THREAD_DONE };
}

struct net_resolve *net_resolve_start(const char *host)
{
	const struct thread_options options = { .name = "resolve", .cpu = -1 };
	size_t size = strlen(host) + 1;
	struct net_resolve *resolve = memory_new(sizeof(*resolve) + size);
	struct thread *thread;
	int ret;

	memcpy(resolve->host, host, size);
	pthread_mutex_init(&resolve->lock, NULL);
	resolve->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (resolve->fd < 0) {
		resolve->ret = error_set_call(&resolve->error, errno, ERROR_RESOURCE, STAGE_RESOLVE,
					      "eventfd", "\"%s\" cannot be looked up", host);
		resolve->is_done = true;
		return resolve;
	}
	if (net_is_numeric(host) && size <= sizeof(resolve->address)) {
		memcpy(resolve->address, host, size);
		resolve_finish(resolve);
		return resolve;
	}
	ret = thread_start(&thread, &options, resolve_step, resolve, &resolve->error);
	if (ret < 0) {
		resolve->ret = ret == -EAGAIN ? -ENOMEM : ret; /* -EAGAIN would mean "wait" */
		resolve->error.stage = STAGE_RESOLVE;
		resolve_finish(resolve);
		return resolve;
	}
	thread_detach(&thread);
	return resolve;
}

int net_resolve_fd(struct net_resolve *resolve)
{
	return resolve->fd;
}

int net_resolve_finish(struct net_resolve *resolve, char *ret_host, size_t size, struct error *err)
{
	bool is_done;

	pthread_mutex_lock(&resolve->lock);
	is_done = resolve->is_done;
	pthread_mutex_unlock(&resolve->lock);
	if (!is_done) {
		return -EAGAIN;
	}
	if (resolve->ret < 0) {
		if (err && !error_is_set(err)) {
			*err = resolve->error;
		}
		return resolve->ret;
	}
	text_copy(ret_host, size, resolve->address);
	return 0;
}

void net_resolve_free(struct net_resolve *resolve)
{
	bool is_done;

	if (!resolve) {
		return;
	}
	pthread_mutex_lock(&resolve->lock);
	is_done = resolve->is_done;
	resolve->is_abandoned = true;
	pthread_mutex_unlock(&resolve->lock);
	if (is_done) {
		resolve_destroy(resolve);
	}
}
