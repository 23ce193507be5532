// SPDX-License-Identifier: MIT
#pragma once

/*
 * When this node begins runs by itself: at startup, and every so often. Pure in what it decides:
 * the phase, and the place within the jitter, are hashes of node and scenario, the same at each
 * tick: a fleet spreads itself out, a restart does not bunch it up, and the period of each node is
 * exact. Loop thread.
 *
 * A tick at which the scenario's last run still waits or goes on is missed, counted, not made up
 * for. A run at startup that finds no place is begun some seconds later.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "config/config.h"
#include "model/run.h"

struct schedule_table;

struct schedule_events {
	/* Begin a run. True if it was accepted; false counts the tick as missed, and asks for a run
	 * at startup again. */
	bool (*due)(void *arg, const struct scenario *scenario, enum run_trigger trigger);
};

struct schedule_table *schedule_new(sd_event *event, const char *node_name,
				    const struct schedule_events *events, void *arg);
void schedule_free(struct schedule_table *table);
/* Scenarios that did not change keep their phase; startup runs happen once, at the first call after
 * schedule_begin. */
void schedule_configure(struct schedule_table *table, struct config *config);
/* Devices and peers had their chance: startup runs may begin. */
void schedule_begin(struct schedule_table *table);
void schedule_stop(struct schedule_table *table);

/* Time until the next tick of a scenario, CLOCK_NEVER when it has none; ticks missed so far. */
uint64_t schedule_next_ns(const struct schedule_table *table, const char *scenario,
			  uint64_t *ret_missed);
