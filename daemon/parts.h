// SPDX-License-Identifier: MIT
#pragma once

/*
 * The parts of one daemon, as the composition root (daemon.c) put them together: what face.c reads
 * to answer and notify.c to tell systemd. Not for the folders below: they never see it.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "config/config.h"
#include "control/session.h"
#include "engine/engine.h"
#include "fleet/peers.h"
#include "http/metrics.h"
#include "run/agent.h"
#include "run/coordinator.h"
#include "run/guest.h"
#include "run/history.h"
#include "run/occupancy.h"
#include "run/schedule.h"

enum daemon_state { DAEMON_STARTING, DAEMON_RUNNING, DAEMON_STOPPING };

struct parts {
	sd_event *event;
	char node_name[LIMIT_NAME];
	struct labels labels; /* of this node, as started with */
	enum daemon_state state;
	int64_t started_real_ns;
	struct config *config;
	struct config *started_config; /* of the start: what a reload cannot change is still as it
					  says */
	bool is_progressing; /* the workers made steps when last looked at (notify) */
	int64_t config_loaded_real_ns;
	bool is_last_reload_ok;
	char reload_problem[512]; /* of the last refused reload */
	char needs_restart[256]; /* keys of the last reload that wait for a restart */
	struct inventory inventory; /* ours, as told to peers */
	struct session_identity identity;
	struct engine *engine;
	struct peers *peers;
	struct session_listener *listener;
	struct occupancy *occupancy;
	struct agent *agent;
	struct guests *guests;
	struct history *history;
	struct coordinator *coordinator;
	struct schedule_table *schedule;
	struct metrics *metrics;
};
