// SPDX-License-Identifier: MIT
#pragma once

/*
 * HTTP on two listeners inside the daemon's event loop: TCP, which only reads, and the admin
 * socket, which also acts (who may open it is a matter of its file mode). Metrics and health are
 * for anyone; everything else on TCP is for this host alone. No TLS, no cookies, no request body is
 * ever used.
 *
 * Requests are hostile: bounds on bytes, connections, and on the total time of a request and of an
 * answer. Loop thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "http/metrics.h"
#include "http/view.h"
#include "util/error.h"
#include "util/json.h"

#define SERVER_PORT 9879
#define SERVER_MAX_CONNECTIONS 32
#define SERVER_MAX_CONNECTIONS_PER_ADDRESS 16
/* Requests that wait for the end of a run at one time; one more is answered at once. */
#define SERVER_MAX_RUN_WAITERS 8

struct server;

struct server_options {
	const char *listen; /* "host:port"; NULL: not by name */
	int listen_fd; /* inherited listening socket, taken; -1: none. Neither: no TCP listener */
	const char *admin_path; /* made with mode 0660, removed at the end; a dead socket in its
				   place is replaced; NULL: not by name */
	int admin_fd; /* inherited, taken; -1: none. Neither: no admin socket */
	const char *node_name; /* also accepted as Host; borrowed */
	const struct view *view; /* borrowed */
	struct metrics *metrics; /* borrowed */
	/* For tests; 0 = the defaults, 10 s and 60 s. */
	uint64_t request_timeout_ns; /* from connecting, or from the answer before, to a whole
					request */
	uint64_t answer_timeout_ns; /* from there to the answer read by the client */
};

/* 0 and *ret, or -errno with err (class INPUT or RESOURCE). Descriptors are closed in either case.
 */
int server_new(struct server **ret, sd_event *event, const struct server_options *options,
	       struct error *err);
/* Answers what waits (503), closes everything. NULL too. */
void server_free(struct server *server);

/* New requests that act are refused with 503 from now on; reading goes on. */
void server_stop_actions(struct server *server);

/* Port of the TCP listener (listen port 0: which it became), 0 if there is none. */
uint16_t server_port(const struct server *server);

/* A run is over: who waits for it is answered in the next turn of the loop. id: whole. */
void server_run_done(struct server *server, const char *id);

struct server_reload {
	uint64_t generation; /* in force */
	const char *needs_restart; /* keys that changed but need a restart, comma separated, or ""
				    */
	bool is_refused;
	const char *unread; /* of a refusal: why nothing is known of the files; or NULL */
	const json_t *errors; /* arrays of strings, a line each; borrowed; NULL: none */
	const json_t *warnings;
};

/* The end of a reload: answers all who wait for it. */
void server_reload_done(struct server *server, const struct server_reload *reload);
