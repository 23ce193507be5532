// SPDX-License-Identifier: MIT
#pragma once

/*
 * Files that people write -> one immutable snapshot, or every error in them. Opens no device, needs
 * no root, touches no network.
 *
 * A snapshot is reference-counted on the control thread only. The old one stays whole when a new
 * one does not come to be.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/scenario.h"
#include "model/topology.h"
#include "util/document.h"

struct config {
	unsigned references;
	uint64_t generation; /* set by the owner */
	char path[256]; /* of the main file */
	char hash[24]; /* "fnv:" and 16 hex digits over the effective scenarios: equal on nodes with
			  equal ones */
	struct daemon_settings daemon;
	size_t peer_count;
	struct peer_settings *peers;
	size_t scenario_count;
	struct scenario **scenarios; /* in order of name */
	size_t file_count;
	char **files;
};

/*
 * Reads the main file and what it includes. NULL when there is any error; problems then holds all
 * of them (and the warnings in any case). fallback node name: used when daemon.node_name is absent
 * (the host name, lower case).
 */
struct config *config_load(const char *path, const char *host_name, struct problems *problems);
struct config *config_ref(struct config *config);
void config_unref(struct config *config); /* NULL too */
const struct scenario *config_scenario(const struct config *config, const char *name); /* NULL when
											  unknown */
/* Keys whose change needs a restart (node_name, listen, http.listen, admin_socket, key_file,
 * control_cpus): their names into out, comma separated; true if any. */
bool config_needs_restart(const struct config *old, const struct config *new, struct text *out);
/* The generated field reference (scenarios/README.md between its marks; rdmatestd --print-fields).
 */
void config_print_fields(struct text *out);
