// SPDX-License-Identifier: MIT
#include "fake/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fake/fake-clock.h"
#include "fake/inside.h"
#include "util/memory.h"
#include "util/text.h"

#define WORLD_START_NS 1000000000000
#define WORLD_LATENCY_NS 100000
#define WORLD_NODES_MAX 64
#define WORLD_READY_MAX 64
#define WORLD_LOOKS_MAX 64 /* of that many each, in one round */
#define WORLD_TURNS_MAX 10000 /* of one loop in one round */
#define WORLD_LOOK_ROUNDS \
	16 /* while threads busy-poll, descriptors are looked at this often, or after */
#define WORLD_LOOK_NS 20000
#define WORLD_STEPS_MAX 1000000 /* without time moving */

struct world {
	uint64_t seed;
	struct fabric *fabric;
	struct list nodes;
	unsigned node_count;
	int epoll_fd; /* of all loops and streams */
	struct ready ready[WORLD_NODES_MAX];
	uint64_t latency_ns;
	enum world_cut cuts[WORLD_NODES_MAX][WORLD_NODES_MAX];
	unsigned cut_count; /* changes so far: 0 saves the look */
	uint64_t steps; /* since time moved */
	uint64_t rounds;
	uint64_t looked_round;
	uint64_t looked_ns;
	uint64_t turn; /* rounds, those that found nothing included */
	bool has_dirty; /* a node may be */
	uint64_t timers_ns; /* the earliest of all nodes that are not frozen */
	bool has_news; /* something other than busy-polling was done since the last look */
};

static struct world *current_world;
static struct node *current_node;

struct world *inside_world(void)
{
	return current_world;
}

struct node *inside_node(void)
{
	return current_node;
}

struct list *inside_nodes(struct world *world)
{
	return &world->nodes;
}

uint64_t inside_latency_ns(const struct world *world)
{
	return world->latency_ns;
}

static unsigned index_of(const struct world *world, const struct node *node)
{
	unsigned index = 0;

	for (struct list *at = world->nodes.next; at != &node->link; at = at->next) {
		index++;
	}
	return index;
}

enum world_cut inside_cut(const struct world *world, const struct node *a, const struct node *b)
{
	return world->cut_count == 0 ? WORLD_WHOLE
				     : world->cuts[index_of(world, a)][index_of(world, b)];
}

struct node *inside_find_address(struct world *world, const char *address)
{
	struct node *node;

	list_each(node, &world->nodes, link) {
		if (strcmp(node->address, address) == 0) {
			return node;
		}
	}
	return NULL;
}

struct node *inside_find_name(struct world *world, const char *name)
{
	struct node *node;

	list_each(node, &world->nodes, link) {
		if (strcmp(node->name, name) == 0) {
			return node;
		}
	}
	return NULL;
}

void inside_watch(struct world *world, int fd, unsigned events, struct ready *ready)
{
	struct epoll_event event = { .events = events, .data.ptr = ready };

	if (events == 0) {
		epoll_ctl(world->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	} else if (epoll_ctl(world->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 &&
		   epoll_ctl(world->epoll_fd, EPOLL_CTL_MOD, fd, &event) < 0) {
		inside_die(world, "epoll_ctl failed");
	}
}

void inside_timer_set(int fd, bool is_real_clock, uint64_t at_ns)
{
	struct node *node = current_node;
	unsigned i = 0;

	if (node == NULL) {
		return; /* a loop of the test itself has no timers here */
	}
	if (at_ns != UINT64_MAX) {
		int64_t offset_ns = is_real_clock ? FAKE_CLOCK_EPOCH_NS + node->real_offset_ns
						  : (int64_t)node->mono_offset_ns;
		at_ns = (int64_t)at_ns > offset_ns ? (uint64_t)((int64_t)at_ns - offset_ns) : 0;
	}
	while (i < node->timer_count && node->timers[i].fd != fd) {
		i++;
	}
	if (i == NODE_TIMERS_MAX) {
		inside_die(node->world, "a loop with too many timerfds");
	}
	if (i == node->timer_count) {
		node->timer_count++;
	}
	node->timers[i] = (struct node_timer){ fd, at_ns };
	node->world->has_dirty = true; /* the earliest may be another now */
}

static uint64_t timer_ns(const struct node *node)
{
	uint64_t at_ns = UINT64_MAX;

	for (unsigned i = 0; i < node->timer_count; i++) {
		at_ns = node->timers[i].at_ns < at_ns ? node->timers[i].at_ns : at_ns;
	}
	return at_ns;
}

void inside_die(struct world *world, const char *why)
{
	struct node *node;

	fprintf(stderr, "world: %s; at %lu ns\n", why, (unsigned long)fake_clock_now_ns());
	list_each(node, &world->nodes, link) {
		fprintf(stderr, "world: %s: %s, next timer %lu ns\n", node->name,
			node->is_frozen ? "frozen" : "runs", (unsigned long)timer_ns(node));
	}
	thread_print_all(world);
	net_print_all();
	fprintf(stderr, "world: fabric: next event %lu ns\n",
		(unsigned long)fabric_next_ns(world->fabric));
	abort();
}

/* --- life --- */

struct world *world_new(uint64_t seed)
{
	struct world *world = memory_new(sizeof(*world));

	if (current_world != NULL) {
		inside_die(current_world, "a second world");
	}
	fake_clock_start(WORLD_START_NS);
	world->seed = seed;
	world->latency_ns = WORLD_LATENCY_NS;
	world->fabric = fabric_new(seed);
	list_init(&world->nodes);
	world->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (world->epoll_fd < 0) {
		inside_die(world, "epoll_create1 failed");
	}
	fabric_use(world->fabric);
	fabric_set_pass_time(world->fabric, thread_pass_time, world);
	current_world = world;
	return world;
}

static void node_free(struct node *node)
{
	if (!list_is_empty(&node->threads)) {
		inside_die(node->world, "world_free with threads that were not joined");
	}
	inside_watch(node->world, sd_event_get_fd(node->event), 0, NULL);
	world_enter(node);
	sd_event_unref(node->event);
	world_enter(NULL);
	list_remove(&node->link);
	free(node);
}

void world_free(struct world *world)
{
	struct node *node;

	if (world == NULL) {
		return;
	}
	world_enter(NULL);
	world_run(world, 2 * world->latency_ns); /* the ends of streams arrive */
	if (net_done(world) > 0) {
		inside_die(world, "world_free with connections that were not closed");
	}
	list_each(node, &world->nodes, link) {
		node_free(node);
	}
	fabric_free(world->fabric);
	close(world->epoll_fd);
	current_world = NULL;
	fake_clock_set_offsets(0, 0);
	fake_clock_stop();
	free(world);
}

struct fabric *world_fabric(struct world *world)
{
	return world->fabric;
}

struct node *world_add_node(struct world *world, const struct node_options *options)
{
	struct node *node = memory_new(sizeof(*node));
	struct ready *ready = &world->ready[world->node_count];

	if (world->node_count++ == WORLD_NODES_MAX) {
		inside_die(world, "too many nodes");
	}
	node->world = world;
	text_copy(node->name, sizeof(node->name), options->name);
	text_copy(node->address, sizeof(node->address), options->address);
	node->mono_offset_ns = options->mono_offset_ns;
	node->real_offset_ns = options->real_offset_ns;
	node->is_dirty = true;
	prng_init(&node->prng, prng_hash(options->name, world->seed));
	list_init(&node->threads);
	list_append(&world->nodes, &node->link);

	struct node *before = world_enter(node);
	if (sd_event_new(&node->event) < 0) {
		inside_die(world, "sd_event_new failed");
	}
	world_enter(before);
	*ready = (struct ready){ READY_NODE, node };
	inside_watch(world, sd_event_get_fd(node->event), EPOLLIN, ready);
	return node;
}

sd_event *world_event(struct node *node)
{
	return node->event;
}

struct node *inside_enter(struct node *node)
{
	struct node *before = current_node;

	if (node == before) {
		return before;
	}
	current_node = node;
	fabric_enter_host(node != NULL ? node->name : NULL);
	fake_clock_set_offsets(node != NULL ? node->mono_offset_ns : 0,
			       node != NULL ? node->real_offset_ns : 0);
	return before;
}

struct node *world_enter(struct node *node)
{
	struct node *before = inside_enter(node);

	/* what is done there may be for its loop to go on with */
	if (node != NULL) {
		node->news++;
		node->is_dirty = true;
		node->world->has_dirty = true;
	}
	if (before != NULL) {
		before->is_dirty = true;
		before->world->has_dirty = true;
	}
	return before;
}

void world_freeze(struct node *node, bool is_frozen)
{
	node->is_frozen = is_frozen;
	node->is_dirty = true;
	node->world->has_dirty = true;
	thread_look_again();
}

void world_hold(struct node *node, const char *thread_name)
{
	text_copy(node->held, sizeof(node->held), thread_name != NULL ? thread_name : "");
	thread_look_again();
}

void world_set_latency(struct world *world, uint64_t latency_ns)
{
	world->latency_ns = latency_ns;
}

void world_cut(struct world *world, struct node *a, struct node *b, enum world_cut cut)
{
	unsigned i = index_of(world, a);
	struct node *node;

	world->cut_count++;
	list_each(node, &world->nodes, link) {
		unsigned j = index_of(world, node);
		if ((b == NULL && node != a) || node == b) {
			world->cuts[i][j] = cut;
			world->cuts[j][i] = cut;
		}
	}
	net_cut_changed(world);
}

/* --- rounds --- */

/* A system call for each packet would cost more than all else. */
static bool must_look(struct world *world)
{
	world->turn++;
	if (!world->has_news && world->turn - world->looked_round < WORLD_LOOK_ROUNDS &&
	    fake_clock_now_ns() - world->looked_ns < WORLD_LOOK_NS) {
		return false;
	}
	world->looked_round = world->turn;
	world->looked_ns = fake_clock_now_ns();
	world->has_news = false;
	return true;
}

static void collect_ready(struct world *world)
{
	struct epoll_event events[WORLD_READY_MAX];

	if (!must_look(world)) {
		return;
	}
	int count = WORLD_READY_MAX;

	/* A thousand connections may end at once. */
	for (int look = 0; look < WORLD_LOOKS_MAX && count == WORLD_READY_MAX; look++) {
		count = epoll_wait(world->epoll_fd, events, WORLD_READY_MAX, 0);
		for (int i = 0; i < count; i++) {
			struct ready *ready = events[i].data.ptr;
			if (ready->kind == READY_NODE) {
				((struct node *)ready->owner)->is_dirty = true;
				world->has_dirty = true;
			} else {
				net_stream_ready(world, ready->owner);
				world->steps++;
			}
		}
	}
}

static bool turn_loop(struct node *node)
{
	struct world *world = node->world;
	unsigned turns = 0;

	inside_enter(node);
	while (sd_event_get_state(node->event) != SD_EVENT_FINISHED) {
		int r = sd_event_run(node->event, 0);
		if (r < 0) {
			inside_die(world, "sd_event_run failed");
		}
		if (r == 0) {
			break;
		}
		if (++turns == WORLD_TURNS_MAX) {
			break; /* the others' turn */
		}
	}
	node->is_dirty = turns == WORLD_TURNS_MAX;
	for (unsigned i = 0; i < node->timer_count; i++) {
		/* what was due has run; what comes next was armed again */
		if (node->timers[i].at_ns <= fake_clock_now_ns()) {
			node->timers[i].at_ns = UINT64_MAX;
		}
	}
	node->news += turns > 0;
	inside_enter(NULL);
	world->steps += turns;
	return turns > 0;
}

static bool turn_loops(struct world *world)
{
	bool has_done = false;
	struct node *node;

	if (!world->has_dirty && world->timers_ns > fake_clock_now_ns()) {
		return false;
	}
	world->has_dirty = false;
	list_each(node, &world->nodes, link) {
		if (!node->is_frozen && (node->is_dirty || timer_ns(node) <= fake_clock_now_ns())) {
			has_done |= turn_loop(node);
		}
		world->has_dirty |= node->is_dirty && !node->is_frozen;
	}
	world->timers_ns = UINT64_MAX;
	list_each(node, &world->nodes, link) {
		if (!node->is_frozen && timer_ns(node) < world->timers_ns) {
			world->timers_ns = timer_ns(node);
		}
	}
	return has_done;
}

static void tell_host(void *arg, const char *host)
{
	struct world *world = arg;
	struct node *node;

	list_each(node, &world->nodes, link) {
		if (host == NULL || strcmp(host, node->name) == 0) {
			node->news++;
		}
	}
}

static bool run_round(struct world *world)
{
	struct node *before = inside_enter(NULL);
	bool has_done = false;

	fabric_run(world->fabric);
	fabric_touched(world->fabric, tell_host, world);
	has_done |= net_deliver(world);
	collect_ready(world);
	has_done |= turn_loops(world);
	world->has_news |= has_done;
	unsigned stepped = thread_step_all(world, NULL, &world->steps);
	world->has_news |= (stepped & STEPPED) != 0;
	has_done |= stepped != 0;
	inside_enter(before);
	world->rounds += has_done;
	return has_done;
}

/* Of everything but the fabric. */
static uint64_t next_ns(struct world *world)
{
	uint64_t at_ns = thread_next_ns(world);
	uint64_t net_ns = net_next_ns();

	at_ns = net_ns < at_ns ? net_ns : at_ns;
	return world->timers_ns < at_ns ? world->timers_ns : at_ns;
}

/* Runs packets, up to a time, until a program could notice one. True: one did. */
static bool run_packets(struct world *world, uint64_t until_ns)
{
	while (fabric_next_ns(world->fabric) <= until_ns) {
		if (fabric_next_ns(world->fabric) > fake_clock_now_ns()) {
			fake_clock_set(fabric_next_ns(world->fabric));
			world->steps = 0;
		}
		fabric_run(world->fabric);
		if (fabric_is_touched(world->fabric)) {
			return true;
		}
	}
	return false;
}

/* Moves time to what comes next, but not beyond `end_ns`. False: that is reached. */
static bool advance(struct world *world, uint64_t end_ns, bool may_be_idle)
{
	uint64_t at_ns = next_ns(world);
	uint64_t look_ns = world->looked_ns + WORLD_LOOK_NS;

	if (at_ns == UINT64_MAX && fabric_next_ns(world->fabric) == UINT64_MAX && !may_be_idle) {
		inside_die(world, "nothing will ever happen");
	}
	if (at_ns <= fake_clock_now_ns()) {
		return true;
	}
	at_ns = at_ns < end_ns ? at_ns : end_ns + 1;
	if (world->turn == world->looked_round) {
		look_ns = at_ns; /* nothing happened since */
	}
	if (run_packets(world, (at_ns < look_ns ? at_ns : look_ns) - 1)) {
		return true;
	}
	if (look_ns < at_ns) {
		world->has_news = true; /* look before time goes far */
		return true;
	}
	if (at_ns > end_ns) {
		fake_clock_set(end_ns);
		return false;
	}
	fake_clock_set(at_ns);
	world->steps = 0;
	return true;
}

static uint64_t end_of(uint64_t ns)
{
	uint64_t most_ns = (uint64_t)INT64_MAX - fake_clock_now_ns();

	return fake_clock_now_ns() + (ns < most_ns ? ns : most_ns);
}

static void check_steps(struct world *world)
{
	if (++world->steps > WORLD_STEPS_MAX) {
		inside_die(world, "a million steps, and time has not moved");
	}
}

bool world_run_until(struct world *world, bool (*is_true)(void *arg), void *arg,
		     uint64_t timeout_ns)
{
	uint64_t end_ns = end_of(timeout_ns);

	while (!is_true(arg)) {
		check_steps(world);
		if (!run_round(world) && !is_true(arg) && !advance(world, end_ns, false)) {
			return false;
		}
	}
	return true;
}

void world_run(struct world *world, uint64_t ns)
{
	uint64_t end_ns = end_of(ns);

	do {
		while (run_round(world)) {
			check_steps(world);
		}
		check_steps(world);
	} while (advance(world, end_ns, true));
	while (run_round(world)) {
		check_steps(world);
	}
}

uint64_t world_rounds(const struct world *world)
{
	return world->rounds;
}
