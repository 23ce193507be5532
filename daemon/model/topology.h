// SPDX-License-Identifier: MIT
#pragma once

/*
 * The daemon's own configuration and the peers that it knows. Plain data.
 */

#include "model/labels.h"
#include "model/limits.h"

/* Defaults of daemon.http.listen and daemon.admin_socket. */
#define TOPOLOGY_HTTP_LISTEN "127.0.0.1:9879"
#define TOPOLOGY_ADMIN_SOCKET "/run/rdmatestd/admin.sock"

struct peer_settings {
	char name[LIMIT_NAME];
	char address[264]; /* host[:port] of its control listener */
	struct labels labels;
	bool is_enabled;
};
extern const struct schema_field peer_fields[];

struct device_settings {
	char name[LIMIT_NAME];
	uint64_t port_num;
	uint64_t gid_index; /* SCHEMA_AUTO: by content */
	uint64_t rail; /* SCHEMA_AUTO: its place in the list */
};

enum allow_disruptive {
	ALLOW_DISRUPTIVE_NEVER,
	ALLOW_DISRUPTIVE_WHEN_IDLE,
	ALLOW_DISRUPTIVE_ALWAYS
};

struct limit_settings {
	uint64_t max_qps; /* of all jobs at once */
	uint64_t max_pinned_bytes; /* likewise */
	uint64_t max_concurrent_jobs; /* as responder and initiator together */
	uint64_t max_duration_ns; /* of one job for a peer */
	uint64_t max_jobs_per_peer; /* at once */
	uint64_t max_peer_time_ns; /* traffic of the jobs of one peer, in an hour, all ports
				      together */
	struct selector accept_from; /* whose runs we take part in, by name and known labels */
	int allow_disruptive; /* enum allow_disruptive */
	uint64_t duty_cycle_ppm; /* of an hour, for disruptive traffic of scheduled runs on a port
				  */
};

enum { LOG_NAMES = 4 };

struct daemon_settings {
	char node_name[LIMIT_NAME]; /* empty in the file: the host name */
	struct labels labels;
	char listen_address[64]; /* control channel */
	uint64_t listen_port;
	char http_listen[264]; /* host:port */
	char admin_socket[108]; /* path */
	char key_file[256]; /* the fleet key; without one no peer can be reached or answered */
	size_t device_count; /* 0: every port that is or was active */
	struct device_settings devices[LIMIT_PORTS];
	struct limit_settings limits;
	uint64_t keep_runs; /* results kept in memory */
	char control_cpus[256]; /* util/cpu_list.h; empty: any */
	int log_level; /* enum log_level */
};
extern const struct schema_field daemon_fields[];
