// SPDX-License-Identifier: MIT
/*
 * util/net for tests. In a world, connections are pairs of unix sockets with a relay between that
 * delays, holds or breaks them; without one they are the product's: its sources are taken in under
 * other names.
 */
#define net_listen real_net_listen
#define net_connect real_net_connect
#define net_connect_result real_net_connect_result
#define net_accept real_net_accept
#include "util/net.c" /* NOLINT(bugprone-suspicious-include) */
#undef net_listen
#undef net_connect
#undef net_connect_result
#undef net_accept

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "fake/fake-clock.h"
#include "fake/inside.h"

int net_listen(const char *host, uint16_t port, struct error *err);
int net_connect(const char *host, uint16_t port, struct error *err);
int net_connect_result(int fd);
int net_accept(int listen_fd, char *ret_peer, size_t peer_size);

#define NET_CHUNK_BYTES 65536
#define NET_HELD_BYTES (1 << 20) /* more than this on its way: the sender has to wait */
#define NET_RETRY_NS 1000000
#define NET_FDS 4096
#define NET_EPHEMERAL_PORT 40000

/* Bytes, or the end, on their way. */
struct chunk {
	struct list link;
	uint64_t due_ns;
	size_t count;
	size_t sent;
	bool is_end;
	char data[];
};

struct stream;

struct stream_end {
	struct ready ready;
	struct stream *stream;
	struct stream_end *other;
	struct node *node;
	int fd; /* the relay's side; the node has the other */
	struct list outgoing; /* to this end's node: struct chunk */
	size_t held_bytes; /* of outgoing */
	bool is_ended; /* its node wrote its last */
	unsigned events; /* watched for */
};

struct stream {
	struct list link;
	bool is_dead; /* nobody answers; lives until its node gives up */
	struct stream_end ends[2];
};

static struct list streams = LIST_INIT(streams);
static uint64_t due_ns = UINT64_MAX; /* of the earliest chunk that is not held by a cut */
static int results[NET_FDS]; /* of connecting, by descriptor: 0, -errno, or -EINPROGRESS for ever */

static void watch(struct stream_end *end, unsigned events)
{
	if (end->events != events) {
		end->events = events;
		inside_watch(end->node->world, end->fd, events, &end->ready);
	}
}

static void drop_chunks(struct stream_end *end)
{
	struct chunk *chunk;

	list_each(chunk, &end->outgoing, link) {
		list_remove(&chunk->link);
		free(chunk);
	}
}

static void stream_free(struct stream *stream)
{
	for (int i = 0; i < 2; i++) {
		watch(&stream->ends[i], 0);
		close(stream->ends[i].fd);
		drop_chunks(&stream->ends[i]);
	}
	list_remove(&stream->link);
	free(stream);
}

static enum world_cut cut_of(const struct stream *stream)
{
	return inside_cut(stream->ends[0].node->world, stream->ends[0].node, stream->ends[1].node);
}

static void add_chunk(struct stream_end *to, const char *data, size_t count)
{
	struct chunk *chunk = memory_new(sizeof(*chunk) + count);

	chunk->due_ns = fake_clock_now_ns() + inside_latency_ns(to->node->world);
	chunk->count = count;
	chunk->is_end = count == 0;
	if (count > 0) {
		memcpy(chunk->data, data, count);
	}
	if (chunk->due_ns < due_ns && cut_of(to->stream) != WORLD_SILENT) {
		due_ns = chunk->due_ns;
	}
	to->held_bytes += count;
	list_append(&to->outgoing, &chunk->link);
}

/* What a node wrote goes on its way to the other. */
void net_stream_ready(struct world *world, void *stream_end)
{
	static char buffer[NET_CHUNK_BYTES];
	struct stream_end *end = stream_end;

	(void)world;
	if (end->stream->is_dead) {
		stream_free(end->stream);
		return;
	}
	ssize_t got = recv(end->fd, buffer, sizeof(buffer), MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN) {
		return;
	}
	if (got <= 0) {
		end->is_ended = true;
		watch(end, 0);
		add_chunk(end->other, NULL, 0);
		return;
	}
	add_chunk(end->other, buffer, (size_t)got);
	if (end->other->held_bytes > NET_HELD_BYTES) {
		watch(end, 0);
	}
}

/* False: the node does not read now. */
static bool deliver_chunk(struct stream_end *end, struct chunk *chunk)
{
	if (chunk->is_end) {
		shutdown(end->fd, SHUT_WR);
	}
	while (chunk->sent < chunk->count) {
		ssize_t sent = send(end->fd, chunk->data + chunk->sent, chunk->count - chunk->sent,
				    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN) {
			chunk->due_ns = fake_clock_now_ns() + NET_RETRY_NS;
			return false;
		}
		if (sent < 0) {
			/* it is closed there: the sender shall know */
			shutdown(end->other->fd, SHUT_RDWR);
			break;
		}
		chunk->sent += (size_t)sent;
	}
	end->held_bytes -= chunk->count;
	list_remove(&chunk->link);
	free(chunk);
	return true;
}

static bool deliver_end(struct stream_end *end)
{
	bool has_done = false;
	struct chunk *chunk;

	while ((chunk = list_first(&end->outgoing, struct chunk, link)) != NULL &&
	       chunk->due_ns <= fake_clock_now_ns()) {
		if (!deliver_chunk(end, chunk)) {
			break;
		}
		has_done = true;
	}
	if (!end->other->is_ended && end->held_bytes <= NET_HELD_BYTES) {
		watch(end->other, EPOLLIN);
	}
	return has_done;
}

static bool is_over(const struct stream *stream)
{
	const struct stream_end *ends = stream->ends;

	return ends[0].is_ended && ends[1].is_ended && list_is_empty(&ends[0].outgoing) &&
	       list_is_empty(&ends[1].outgoing);
}

static void find_due(void)
{
	struct stream *stream;

	due_ns = UINT64_MAX;
	list_each(stream, &streams, link) {
		for (int i = 0; i < 2 && cut_of(stream) != WORLD_SILENT; i++) {
			struct chunk *chunk =
				list_first(&stream->ends[i].outgoing, struct chunk, link);
			if (chunk != NULL && chunk->due_ns < due_ns) {
				due_ns = chunk->due_ns;
			}
		}
	}
}

bool net_deliver(struct world *world)
{
	bool has_done = false;
	struct stream *stream;

	(void)world;
	if (due_ns > fake_clock_now_ns()) {
		return false;
	}
	list_each(stream, &streams, link) {
		if (stream->is_dead || cut_of(stream) == WORLD_SILENT) {
			continue;
		}
		has_done |= deliver_end(&stream->ends[0]);
		has_done |= deliver_end(&stream->ends[1]);
		if (is_over(stream)) {
			stream_free(stream);
			has_done = true;
		}
	}
	find_due();
	return has_done;
}

uint64_t net_next_ns(void)
{
	return due_ns;
}

void net_cut_changed(struct world *world)
{
	struct stream *stream;

	(void)world;
	list_each(stream, &streams, link) {
		if (cut_of(stream) == WORLD_RESET) {
			stream_free(stream);
		}
	}
	find_due();
}

void net_print_all(void)
{
	struct stream *stream;

	list_each(stream, &streams, link) {
		fprintf(stderr, "world: stream %s -> %s: %zu and %zu bytes on their way\n",
			stream->ends[0].node->name, stream->ends[1].node->name,
			stream->ends[1].held_bytes, stream->ends[0].held_bytes);
	}
}

unsigned net_done(struct world *world)
{
	unsigned count = 0;
	struct stream *stream;

	(void)world;
	list_each(stream, &streams, link) {
		count += stream->is_dead || !stream->ends[0].is_ended || !stream->ends[1].is_ended;
		stream_free(stream);
	}
	return count;
}

/* --- the seam --- */

static void abstract_address(struct sockaddr_un *ret, socklen_t *ret_length, const char *kind,
			     const char *address, unsigned port)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "world/%d/%s/%s:%u",
			      getpid(), kind, address, port);
	*ret_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int net_listen(const char *host, uint16_t port, struct error *err)
{
	struct node *node = inside_node();
	struct sockaddr_un address;
	socklen_t length;

	if (node == NULL) {
		return real_net_listen(host, port, err);
	}
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	abstract_address(&address, &length, "listen", node->address, port);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 128) < 0) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_CONFIG, "bind",
				      "cannot listen on %s port %u", host, port);
	}
	return take_fd(fd);
}

static void set_result(int fd, int result)
{
	if (fd >= NET_FDS) {
		inside_die(inside_world(), "too many descriptors");
	}
	results[fd] = result;
}

/* Nobody answers: the descriptor never becomes writable. */
static void fill_up(int fd)
{
	static const char zeroes[4096];

	while (send(fd, zeroes, sizeof(zeroes), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
	}
}

/* The relay's own connection to the listener, from a name that tells who connects; or -errno. */
static int connect_relay(struct node *from, const struct node *to, uint16_t port)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	socklen_t length;

	if (fd < 0) {
		return -errno;
	}
	abstract_address(&address, &length, "from", from->address,
			 NET_EPHEMERAL_PORT + from->next_port++ % 20000U);
	if (bind(fd, (struct sockaddr *)&address, length) < 0) {
		return -errno;
	}
	abstract_address(&address, &length, "listen", to->address, port);
	if (connect(fd, (struct sockaddr *)&address, length) < 0) {
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	}
	return take_fd(fd);
}

static void add_end(struct stream *stream, int index, struct node *node, int fd)
{
	struct stream_end *end = &stream->ends[index];

	end->ready = (struct ready){ READY_STREAM, end };
	end->stream = stream;
	end->other = &stream->ends[1 - index];
	end->node = node;
	end->fd = fd;
	list_init(&end->outgoing);
}

int net_connect(const char *host, uint16_t port, struct error *err)
{
	struct node *node = inside_node();
	int fds[2];

	if (node == NULL) {
		return real_net_connect(host, port, err);
	}
	if (!net_is_numeric(host)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"%s\" is not an address", host);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_CONNECT, "socket",
				      "cannot connect to %s port %u", host, port);
	}
	struct node *to = inside_find_address(node->world, host);
	enum world_cut cut = to ? inside_cut(node->world, node, to) : WORLD_SILENT;
	int relay = cut == WORLD_RESET ? -ECONNREFUSED : -EINPROGRESS;
	if (cut == WORLD_WHOLE) {
		relay = connect_relay(node, to, port);
	}
	set_result(fds[0], relay < 0 ? relay : 0);
	if (relay == -EINPROGRESS) {
		fill_up(fds[0]); /* the other descriptor stays with a stream that goes nowhere */
		to = to ? to : node;
		relay = fcntl(fds[1], F_DUPFD_CLOEXEC, 0);
	}
	if (relay < 0) {
		close(fds[1]);
		return fds[0];
	}
	struct stream *stream = memory_new(sizeof(*stream));
	add_end(stream, 0, node, fds[1]);
	add_end(stream, 1, to, relay);
	list_append(&streams, &stream->link);
	if (results[fds[0]] == 0) {
		watch(&stream->ends[0], EPOLLIN);
		watch(&stream->ends[1], EPOLLIN);
	} else {
		stream->is_dead = true;
		watch(&stream->ends[0], EPOLLRDHUP);
	}
	return fds[0];
}

int net_connect_result(int fd)
{
	return inside_world() == NULL ? real_net_connect_result(fd) : results[fd];
}

int net_accept(int listen_fd, char *ret_peer, size_t peer_size)
{
	struct sockaddr_un address;
	socklen_t length = sizeof(address);

	if (inside_world() == NULL) {
		return real_net_accept(listen_fd, ret_peer, peer_size);
	}
	int fd = accept4(listen_fd, (struct sockaddr *)&address, &length,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		return -errno;
	}
	char name[sizeof(address.sun_path) + 1] = "";
	size_t count = length - offsetof(struct sockaddr_un, sun_path);
	if (count > 1) {
		memcpy(name, address.sun_path + 1, count - 1);
	}
	const char *peer = strrchr(name, '/');
	text_copy(ret_peer, peer_size, peer != NULL ? peer + 1 : name);
	return fd;
}
