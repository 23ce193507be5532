// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the seams (thread.c, net.c, random.c, libc.c) and the world share. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "fake/world.h"
#include "util/list.h"
#include "util/random.h"

#define NODE_TIMERS_MAX 8

struct node_timer {
	int fd; /* a timerfd of its loop */
	uint64_t at_ns; /* of the world's clock; UINT64_MAX: not armed */
};

struct node {
	struct list link;
	struct world *world;
	char name[64];
	char address[64];
	uint64_t mono_offset_ns;
	int64_t real_offset_ns;
	sd_event *event;
	struct prng prng; /* of random_fill */
	struct list threads;
	struct node_timer timers[NODE_TIMERS_MAX];
	unsigned timer_count;
	uint16_t next_port;
	uint64_t news; /* grows when its busy-polling threads may find something */
	char held[16]; /* name of the thread that gets no further; empty: none */
	bool is_frozen;
	bool is_dirty; /* its loop may have something to do */
};

/* What an epoll item of the world stands for. */
enum ready_kind { READY_NODE, READY_STREAM };
struct ready {
	enum ready_kind kind;
	void *owner;
};

/* NULL when there is no world: then the seams are the product's. */
struct world *inside_world(void);
/* As world_enter, but the node's loop has no more to do than before. */
struct node *inside_enter(struct node *node);
/* NULL: the test itself. */
struct node *inside_node(void);
struct node *inside_find_address(struct world *world, const char *address);
struct node *inside_find_name(struct world *world, const char *name);
struct list *inside_nodes(struct world *world);
/* Watches a descriptor for the world; events as for epoll, 0: stop. */
void inside_watch(struct world *world, int fd, unsigned events, struct ready *ready);
uint64_t inside_latency_ns(const struct world *world);
enum world_cut inside_cut(const struct world *world, const struct node *a, const struct node *b);
/* Ends the test. */
void inside_die(struct world *world, const char *why) __attribute__((noreturn));

/* thread.c */
/* What threads did in a round. */
enum { STEPPED_HOT = 1, /* one that busy-polls did something */ STEPPED = 2 /* another one did */ };
/* Steps what may run of this node, or (NULL) of all that are not frozen; the bits above. Adds to
 * *steps. */
unsigned thread_step_all(struct world *world, struct node *node, uint64_t *steps);
/* A node was frozen or thawed. */
void thread_look_again(void);
/* When the earliest wants to run by itself; UINT64_MAX: none. */
uint64_t thread_next_ns(struct world *world);
void thread_print_all(struct world *world);
/* Of the fabric's slow verbs: the thread that runs stops here while time passes. */
void thread_pass_time(void *world, uint64_t ns);

/* net.c */
/* A descriptor that inside_watch watches for it is ready. */
void net_stream_ready(struct world *world, void *stream_end);
/* Delivers what is due; true if anything was. */
bool net_deliver(struct world *world);
uint64_t net_next_ns(void);
void net_cut_changed(struct world *world);
void net_print_all(void);
/* Closes what is left; the number of streams whose ends the nodes did not close. */
unsigned net_done(struct world *world);

/* libc.c */
/* The timer of the current node's loop was set; real_clock: on the wall clock. */
void inside_timer_set(int fd, bool is_real_clock, uint64_t at_ns);
