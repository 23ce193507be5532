// SPDX-License-Identifier: MIT
/* Names for tests: those of a world's nodes; without a world the product's resolver. */
#define net_resolve real_resolve
#define net_resolve_start real_resolve_start
#define net_resolve_fd real_resolve_fd
#define net_resolve_finish real_resolve_finish
#define net_resolve_next real_resolve_next
#define net_resolve_free real_resolve_free
#include "util/net_resolve.c" /* NOLINT(bugprone-suspicious-include) */
#undef net_resolve
#undef net_resolve_start
#undef net_resolve_fd
#undef net_resolve_finish
#undef net_resolve_next
#undef net_resolve_free

#include "fake/inside.h"

struct net_resolve;
struct net_resolve *net_resolve_start(struct net_resolve_pool *pool, const char *host);
int net_resolve_fd(struct net_resolve *resolve);
int net_resolve_finish(struct net_resolve *resolve, char *ret_host, size_t size, struct error *err);
int net_resolve_next(struct net_resolve *resolve, char *ret_host, size_t size);
void net_resolve_free(struct net_resolve *resolve);

/* Of a world: answered at once. */
struct answer {
	int fd;
	char host[256];
	char address[64]; /* empty: there is no such name */
};

struct net_resolve *net_resolve_start(struct net_resolve_pool *pool, const char *host)
{
	struct node *node = inside_node();

	if (node == NULL) {
		return (struct net_resolve *)real_resolve_start(pool, host);
	}
	struct answer *answer = memory_new(sizeof(*answer));
	struct node *found = inside_find_name(node->world, host);
	text_copy(answer->host, sizeof(answer->host), host);
	if (net_is_numeric(host)) {
		text_copy(answer->address, sizeof(answer->address), host);
	} else if (found != NULL) {
		text_copy(answer->address, sizeof(answer->address), found->address);
	}
	answer->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (answer->fd < 0) {
		inside_die(node->world, "eventfd failed");
	}
	return (struct net_resolve *)answer;
}

int net_resolve_fd(struct net_resolve *resolve)
{
	return inside_world() == NULL ? real_resolve_fd((struct real_resolve *)resolve)
				      : ((struct answer *)resolve)->fd;
}

int net_resolve_finish(struct net_resolve *resolve, char *ret_host, size_t size, struct error *err)
{
	const struct answer *answer = (struct answer *)resolve;

	if (inside_world() == NULL) {
		return real_resolve_finish((struct real_resolve *)resolve, ret_host, size, err);
	}
	if (answer->address[0] == '\0') {
		return error_set(err, -ENOENT, ERROR_INPUT, "\"%s\" has no address", answer->host);
	}
	text_copy(ret_host, size, answer->address);
	return 0;
}

int net_resolve_next(struct net_resolve *resolve, char *ret_host, size_t size)
{
	return inside_world() == NULL
		       ? real_resolve_next((struct real_resolve *)resolve, ret_host, size)
		       : -ENOENT; /* a node has one address */
}

void net_resolve_free(struct net_resolve *resolve)
{
	if (inside_world() == NULL) {
		real_resolve_free((struct real_resolve *)resolve);
	} else if (resolve != NULL) {
		close(((struct answer *)resolve)->fd);
		free(resolve);
	}
}
