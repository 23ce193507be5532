// SPDX-License-Identifier: MIT
#pragma once

/*
 * The composition root: one daemon, put together and taken apart. main.c makes one; tests make many
 * in one process. Loop thread. No globals but the log.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "config/config.h"
#include "util/error.h"

struct daemon;
struct parts;

struct daemon_options {
	sd_event *event;
	struct config *config; /* a reference is taken */
	const char *host_name; /* for reloads */
	const char *sys_root; /* "" in production */
	int http_fd; /* inherited listening sockets, or -1: then http.listen and admin_socket are
			made */
	int admin_fd;
	unsigned protocol; /* of the control channel: SESSION_PROTOCOL; tests say another */
	/* Everything is down; the loop may end. */
	void (*stopped)(void *arg, int status);
	void *arg;
};

/* Listeners stand when it returns 0; devices and peers come up by themselves. */
int daemon_new(struct daemon **ret, const struct daemon_options *options, struct error *err);
/*
 * Refuses new work, aborts runs and tells the peers why, releases everything, then calls `stopped`;
 * after 10 s it says what hung and calls `stopped` with status 1.
 */
void daemon_stop(struct daemon *daemon, const char *reason);
/* After `stopped`. */
void daemon_free(struct daemon *daemon);

/* Reads the files again on a thread of its own; any error keeps the old configuration and is told
 * by done(arg, problems text or NULL). */
typedef void (*daemon_reload_fn)(void *arg, bool is_ok, const char *problems);
void daemon_reload(struct daemon *daemon, daemon_reload_fn done, void *arg);

/* For tests and the composition above. */
const struct parts *daemon_parts(const struct daemon *daemon);
/* Begins a run by hand; -ENOENT for an unknown name. ret_id: 32 bytes. */
int daemon_run(struct daemon *daemon, const char *scenario, char *ret_id, struct error *err);
