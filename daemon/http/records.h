// SPDX-License-Identifier: MIT
#pragma once

/*
 * The small records of the API, written in one place so that handlers, page and api/openapi.yaml
 * agree. Runs and measurements are written by model/run. Pure; each returns a new reference.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/hang.h"
#include "model/inventory.h"
#include "model/run.h"
#include "util/error.h"
#include "util/json.h"

/* A run that waits for ports that others use. */
struct records_waiting {
	const struct run *run;
	const char *in_use; /* what and by whom; NULL: not known any more */
};
#define RECORDS_WAITING 16 /* of them that the status names */

struct records_status {
	const char *node;
	const char *version;
	const char *state; /* "starting", "running", "stopping" */
	int64_t started_real_ns;
	const char *config_path;
	const char *config_hash;
	uint64_t config_generation;
	int64_t config_loaded_real_ns;
	bool is_reload_successful;
	const char *pending_restart; /* comma separated keys, or "" */
	uint64_t peers_up;
	uint64_t peers_connecting;
	uint64_t peers_down;
	uint64_t ports_active;
	uint64_t ports_other;
	const struct error *scan_error; /* why not all devices could be asked; NULL or not set: none
					 */
	const struct hang *hangs; /* calls to drivers that do not return */
	size_t hang_count;
	uint64_t scenarios;
	const struct run *current; /* that goes on, or NULL */
	uint64_t runs_active;
	uint64_t runs_queued;
	uint64_t runs_waiting; /* all of them */
	struct records_waiting waiting[RECORDS_WAITING]; /* the first ones; run NULL behind the last
							  */
	uint64_t runs_kept;
	uint64_t verdicts[VERDICT_COUNT]; /* of the runs kept */
	const char *next_scenario; /* the next by schedule, or NULL */
	uint64_t next_ns; /* until then */
};
json_t *records_status(const struct records_status *status);

struct records_peer {
	const char *name;
	const char *address;
	bool is_enabled;
	const char *state; /* "up", "connecting", "down" */
	int64_t since_real_ns;
	const struct inventory *inventory; /* NULL: never seen */
	uint64_t round_trip_ns; /* 0: not known */
	bool has_offset;
	int64_t clock_offset_ns;
	int64_t clock_error_ns;
	const struct error *last_error; /* NULL or not set: none */
};
/* With every port of the inventory. */
json_t *records_peer(const struct records_peer *peer);
/* The same with no port in the array that is its last member, which is null without an inventory.
 */
json_t *records_peer_head(const struct records_peer *peer);

json_t *records_port(const struct port *port);
/* The same of this node, with `sick`: hang, or null when the device is well. */
json_t *records_own_port(const struct port *port, const struct hang *hang);
/* Every port, an array. */
json_t *records_devices(const struct inventory *inventory);

/* next_ns: until the next tick, CLOCK_NEVER when there is none; last: its newest finished run or
 * NULL. */
json_t *records_scenario(const struct scenario *scenario, uint64_t next_ns, uint64_t missed,
			 const struct run *last);

/* {id, scenario, state, verdict, measurements, progress}; takes `progress` (coordinator_progress),
 * which may be NULL. */
json_t *records_progress(const struct run *run, json_t *progress);

/* "listen, http.listen" -> an array of both; "" -> an empty one. */
json_t *records_words(const char *words);

/* One line of /readyz; detail may be NULL. */
json_t *records_check(const char *name, bool is_ok, const char *detail);
