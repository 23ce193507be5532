// SPDX-License-Identifier: MIT
#pragma once

/*
 * Whole daemons on the fake NIC, as main.c would make them: configuration files in a directory of
 * their own, one fleet key, a device each. In a world: one thread, virtual time, deterministic by
 * seed. Node i is "node01", "node02", ... with device "fake0", "fake1", ...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon.h"
#include "fake/world.h"
#include "fleet/peers.h"
#include "model/run.h"

#define CLUSTER_MAX 16

struct cluster;

/* scenarios: the text of a scenario file that every node gets ("version: 1" is put before it). No
 * daemon runs yet. */
struct cluster *cluster_new(uint64_t seed, size_t nodes, const char *scenarios);
/* Two nodes, half a millisecond apart: a run takes as long as its scenario says, not its loops. */
struct cluster *cluster_new_pair(uint64_t seed, const char *scenarios);
/* Stops what runs, then fails the test if anything is left: verbs objects, threads, sockets. */
void cluster_free(struct cluster *cluster);
struct world *cluster_world(struct cluster *cluster);
struct node *cluster_node(struct cluster *cluster, size_t index);
const char *cluster_device(const struct cluster *cluster, size_t index);

/* Replaces a line of a node's main file before it starts: key "key_file" with value "...", below
 * daemon. */
void cluster_set(struct cluster *cluster, size_t index, const char *key, const char *value);
void cluster_set_protocol(struct cluster *cluster, size_t index, unsigned protocol);
/* Replaces the first `old` in the main file of a node that runs: for a reload. */
void cluster_edit(struct cluster *cluster, size_t index, const char *old, const char *new);
/* Another scenario file for one node. */
void cluster_write_scenarios(struct cluster *cluster, size_t index, const char *scenarios);
/* Whether the node's device is on the fabric; it is, unless told before cluster_start. */
void cluster_set_device(struct cluster *cluster, size_t index, bool is_there);

/* Another device in its place: of InfiniBand, with that P_Key table (FABRIC_PKEYS entries). */
void cluster_set_infiniband(struct cluster *cluster, size_t index, const uint16_t *pkeys);

/* Peers that are configured and exist nowhere, before it starts: "ghost0001", ... */
void cluster_add_ghosts(struct cluster *cluster, size_t index, size_t count);

void cluster_start(struct cluster *cluster, size_t index);
/* Starts all, and lets them find each other. */
void cluster_start_all(struct cluster *cluster);
struct daemon *cluster_daemon(struct cluster *cluster, size_t index);
/* SIGTERM: begins to stop; cluster_wait_stopped lets it end, and frees it. */
void cluster_stop(struct cluster *cluster, size_t index);
void cluster_wait_stopped(struct cluster *cluster, size_t index);
/* kill -9, as others see it: connections reset, queue pairs silent, nothing moves there any more.
 */
void cluster_kill(struct cluster *cluster, size_t index);
/* The whole host is gone: nothing answers, and nothing says so. */
void cluster_vanish(struct cluster *cluster, size_t index);
/* Clears the dead one away and starts a fresh daemon in its place. */
void cluster_restart(struct cluster *cluster, size_t index);

/* Asks node `index` to run a scenario by hand; the id stays valid until the next call. */
const char *cluster_run(struct cluster *cluster, size_t index, const char *scenario);
/* Until the run is done (virtual 10 minutes at most); the daemon's record. */
const struct run *cluster_wait_run(struct cluster *cluster, size_t index, const char *id);
/* Until the first measurement of the run is in this phase ("measuring"). */
void cluster_wait_phase(struct cluster *cluster, size_t index, const char *id, const char *phase);
/* The record as the API gives it; caller frees. */
char *cluster_record(const struct run *run);

/* Until the first of the peers that node `index` has is in this state (virtual 2 minutes at most).
 */
void cluster_wait_peer(struct cluster *cluster, size_t index, enum peer_state state);

/* Fails the test with the whole record unless it is so. finding: "RDT-0101", expected first; NULL:
 * no finding above `possible`. */
void cluster_expect(const struct run *run, enum verdict verdict, enum error_class class,
		    enum error_stage stage, const char *call, const char *finding);
/* Runs it on node `index`, and expects that it passes. */
void cluster_expect_pass(struct cluster *cluster, size_t index, const char *scenario);
