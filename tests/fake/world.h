// SPDX-License-Identifier: MIT
#pragma once

/*
 * Several daemons in one process and one thread, under virtual time: each node has an sd-event
 * loop, a name, an address, clock offsets, and the threads that its code starts (util/thread.h),
 * which are step functions here. Nodes talk through util/net.h, which is a small network with
 * latency here.
 *
 * While a world exists, util/clock, util/thread, util/net, util/random, and sd-event's own sense of
 * time are its; without one they are the product's. The same seed and the same test give the same
 * run.
 *
 * A round runs every loop that has something to do and steps every thread that may run. When
 * nothing can be done, time moves to the earliest timer, thread deadline, packet or message. When
 * nothing will ever happen, or a million steps do not move time, the test ends with what every
 * part waits for.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "fake/fabric.h"

struct world;
struct node;

struct node_options {
	const char *name; /* also the host of its devices (fabric_device_config.host), and
			     resolvable */
	const char *address; /* "10.0.0.1": for util/net and nothing else */
	uint64_t mono_offset_ns; /* its monotonic clock is ahead by this */
	int64_t real_offset_ns; /* its real clock is wrong by this, besides */
};

/* Begins virtual time at 1000 s and makes the fabric, current. One at a time. */
struct world *world_new(uint64_t seed);
/* What the nodes' code made must be gone: threads joined, sockets closed, verbs objects destroyed.
 */
void world_free(struct world *world);
struct fabric *world_fabric(struct world *world);

/* Strings are copied. */
struct node *world_add_node(struct world *world, const struct node_options *options);
/* Borrowed; give it to what runs on that node. */
sd_event *world_event(struct node *node);
/* Code from here on runs as that node (its devices, clock, network); NULL: as nobody. Returns who
 * was before. */
struct node *world_enter(struct node *node);
/* SIGSTOP and SIGCONT of the whole node. */
void world_freeze(struct node *node, bool is_frozen);

/* Its thread of this name gets no further, as in a call to a disk that does not answer; NULL: all
 * do again. */
void world_hold(struct node *node, const char *thread_name);

/* Of the network of util/net, one way; 100 us at first. */
void world_set_latency(struct world *world, uint64_t latency_ns);
enum world_cut {
	WORLD_WHOLE,
	WORLD_SILENT, /* nothing arrives; when whole again it does */
	WORLD_RESET, /* connections break; new ones are refused */
};
/* Between two nodes, or (NULL) between `a` and all others. */
void world_cut(struct world *world, struct node *a, struct node *b, enum world_cut cut);

/* Runs until is_true(arg), looked at after each round. False: timeout_ns passed. */
bool world_run_until(struct world *world, bool (*is_true)(void *arg), void *arg,
		     uint64_t timeout_ns);
/* Lets time pass. */
void world_run(struct world *world, uint64_t ns);
/* Rounds that found something to do, so far: a measure of cost. */
uint64_t world_rounds(const struct world *world);
