// SPDX-License-Identifier: MIT
#pragma once

/*
 * Reads the configuration files on a thread of its own, so that a slow disk never holds up the
 * loop. One at a time. A disk that does not answer within RELOAD_TIMEOUT_NS has the reload refused,
 * and later ones too until it does; what it gives then is thrown away.
 */

#include <systemd/sd-event.h>

#include "config/config.h"
#include "control/tls.h"
#include "util/json.h"

#define RELOAD_TIMEOUT_NS 10000000000ull

struct reload;

struct reload_result {
	struct config *config; /* NULL: refused; else the receiver owns the reference */
	const char *errors; /* lines as problems_print_errors gives them, "" for none; borrowed */
	const char *warnings; /* likewise */
	const char *unread; /* why nothing is known of the files (then no lines); NULL: they were
			       read */
	const struct tls_key *key; /* as its file has it now; NULL: without one, or refused */
};

/* Never from inside a call. */
typedef void (*reload_done_fn)(void *arg, const struct reload_result *result);

int reload_new(struct reload **ret, sd_event *event, const char *host_name, reload_done_fn done,
	       void *arg, struct error *err);
/* False when one goes on already: the files are read once more behind it, and only that result is
 * told. */
bool reload_start(struct reload *reload, const char *path);
/* A reading goes on, one that hangs included. */
bool reload_is_busy(const struct reload *reload);
/* Waits for a reading that goes on, at most until the deadline; past it the thread is left behind.
 */
void reload_free(struct reload *reload, uint64_t deadline_mono_ns);

/* The problems as an array of lines, for the API and the log. New reference. */
json_t *reload_split(const char *problems);
/* What it says of the files, a line each. */
void reload_log(const struct reload_result *result);
