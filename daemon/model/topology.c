// SPDX-License-Identifier: MIT
#include "model/topology.h"

#include "util/log.h"

#define LATER(name, instead)                                      \
	{                                                         \
		.key = name, .type = SCHEMA_LATER, .doc = instead \
	}
#define RANGE(low, high) .min = (low), .max = (high)
#define DAEMON(member) .offset = offsetof(struct daemon_settings, member)
#define TEXT_AT(noun, member) \
	.offset = offsetof(struct noun, member), .size = sizeof(((struct noun *)0)->member)

#define LABELS_AT(noun, member)                                                 \
	.offset = offsetof(struct noun, member), .size = sizeof(struct labels), \
	.parse = labels_parse, .write = labels_write, .read = labels_read

static const char *const log_level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
	NULL,
};

static const char *const allow_disruptive_names[] = { "never", "when_idle", "always", NULL };

const struct schema_field peer_fields[] = {
	{ .key = "name",
	  .type = SCHEMA_NAME,
	  .is_required = true,
	  .example = "name: host2",
	  TEXT_AT(peer_settings, name),
	  .doc = "Its daemon.node_name." },
	{ .key = "address",
	  .type = SCHEMA_STRING,
	  .is_required = true,
	  .example = "address: host2.example.net",
	  TEXT_AT(peer_settings, address),
	  .doc = "host[:port] of its control listener; the port is 18620 when left out." },
	{ .key = "labels",
	  .type = SCHEMA_CUSTOM,
	  LABELS_AT(peer_settings, labels),
	  .doc = "Map of labels that selectors choose by; name is implicit." },
	{ .key = "enabled",
	  .type = SCHEMA_BOOL,
	  .offset = offsetof(struct peer_settings, is_enabled),
	  .fallback = "true",
	  .doc = "false: as if it were not listed." },
	LATER("rails", "leave it out: data paths are found by GID"),
	{ 0 },
};

static const struct schema_field device_fields[] = {
	{ .key = "name",
	  .type = SCHEMA_STRING,
	  .is_required = true,
	  .example = "name: mlx5_0",
	  TEXT_AT(device_settings, name),
	  .doc = "As in `rdma link` and ibv_devices: mlx5_0, rxe0." },
	{ .key = "port_num",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct device_settings, port_num),
	  RANGE(1, 255),
	  .fallback = "1",
	  .doc = "Its port." },
	{ .key = "gid_index",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  .offset = offsetof(struct device_settings, gid_index),
	  RANGE(0, 255),
	  .fallback = "auto",
	  .doc = "GID of this port for every scenario that does not say; auto: by content." },
	{ .key = "rail",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  .offset = offsetof(struct device_settings, rail),
	  RANGE(0, 255),
	  .fallback = "auto",
	  .doc = "Ports of the same rail are paired; auto: its place in this list." },
	LATER("numa", "leave it out: the kernel says it"),
	{ 0 },
};

static const struct schema_field listen_fields[] = {
	{ .key = "address",
	  .type = SCHEMA_STRING,
	  TEXT_AT(daemon_settings, listen_address),
	  .fallback = "::",
	  .doc = "Of the control channel; :: is every address, IPv4 too." },
	{ .key = "port",
	  .type = SCHEMA_INTEGER,
	  DAEMON(listen_port),
	  RANGE(1, 65535),
	  .fallback = "18620",
	  .doc = "TCP port of the control channel." },
	{ 0 },
};

static const struct schema_field http_fields[] = {
	{ .key = "listen",
	  .type = SCHEMA_STRING,
	  TEXT_AT(daemon_settings, http_listen),
	  .fallback = TOPOLOGY_HTTP_LISTEN,
	  .doc = "host:port of metrics, health, API and page; [::]:9879 for every address. With the units of the package rdmatestd-http.socket says it instead." },
	LATER("max_connections", "leave it out: it is fixed"),
	LATER("read_only", "leave it out: what changes something goes through daemon.admin_socket"),
	LATER("token_file", "use daemon.admin_socket for what changes something"),
	{ 0 },
};

#define LIMIT_AT(member) .offset = offsetof(struct limit_settings, member)

static const struct schema_field limit_fields[] = {
	{ .key = "max_qps",
	  .type = SCHEMA_INTEGER,
	  LIMIT_AT(max_qps),
	  RANGE(1, 65536),
	  .fallback = "4096",
	  .doc = "Queue pairs of all jobs at once." },
	{ .key = "max_pinned_memory",
	  .json_key = "max_pinned_memory_bytes",
	  .type = SCHEMA_SIZE,
	  LIMIT_AT(max_pinned_bytes),
	  RANGE(4096, 1ull << 40),
	  .fallback = "1GiB",
	  .doc = "Registered memory of all jobs at once; needs LimitMEMLOCK as large." },
	{ .key = "max_concurrent_jobs",
	  .type = SCHEMA_INTEGER,
	  LIMIT_AT(max_concurrent_jobs),
	  RANGE(1, 64),
	  .fallback = "4",
	  .doc = "Jobs at once, as initiator and responder together." },
	{ .key = "max_duration",
	  .json_key = "max_duration_ns",
	  .type = SCHEMA_DURATION,
	  LIMIT_AT(max_duration_ns),
	  RANGE(1000000000ull, LIMIT_RUN_DURATION_NS),
	  .fallback = "1h",
	  .doc = "Of one job that a peer asks for." },
	{ .key = "accept_from",
	  .type = SCHEMA_CUSTOM,
	  LIMIT_AT(accept_from),
	  .size = sizeof(struct selector),
	  .parse = labels_parse_selector,
	  .write = labels_write_selector,
	  .read = labels_read_selector,
	  .fallback = "*",
	  .doc = "Whose runs this node takes part in: a selector over names and labels of peers." },
	{ .key = "allow_disruptive",
	  .type = SCHEMA_ENUM,
	  LIMIT_AT(allow_disruptive),
	  .names = allow_disruptive_names,
	  .fallback = "when_idle",
	  .doc = "Disruptive scenarios on its ports, its own too; when_idle: under 1 % of the port's rate moves and no queue pair of others is connected." },
	{ .key = "duty_cycle",
	  .json_key = "duty_cycle_ppm",
	  .type = SCHEMA_RATIO,
	  LIMIT_AT(duty_cycle_ppm),
	  RANGE(0, 1000000),
	  .fallback = "5%",
	  .doc = "Of each hour, that a port may have disruptive traffic before a scheduled run has to wait; runs by hand count and do not wait." },
	LATER("max_concurrent_runs", "use max_concurrent_jobs"),
	LATER("max_rate", "use max_duration and max_qps"),
	{ 0 },
};

static const struct schema_field results_fields[] = {
	{ .key = "keep_runs",
	  .type = SCHEMA_INTEGER,
	  DAEMON(keep_runs),
	  RANGE(1, 100000),
	  .fallback = "256",
	  .doc = "Results kept in memory, 256 MiB of them at most; the oldest go first." },
	LATER("max_bytes", "use keep_runs"),
	LATER("jsonl", "use rdmatestctl results --json"),
	{ 0 },
};

const struct schema_field daemon_fields[] = {
	{ .key = "node_name",
	  .type = SCHEMA_NAME,
	  TEXT_AT(daemon_settings, node_name),
	  .doc = "This node in peers lists, results and metrics; the host name when left out. Restart required." },
	{ .key = "labels",
	  .type = SCHEMA_CUSTOM,
	  LABELS_AT(daemon_settings, labels),
	  .doc = "Map of labels of this node." },
	{ .key = "listen",
	  .type = SCHEMA_MAP,
	  .fields = listen_fields,
	  .doc = "Where other daemons connect. Restart required." },
	{ .key = "http",
	  .type = SCHEMA_MAP,
	  .fields = http_fields,
	  .doc = "Where people look. Restart required." },
	{ .key = "admin_socket",
	  .type = SCHEMA_STRING,
	  TEXT_AT(daemon_settings, admin_socket),
	  .fallback = TOPOLOGY_ADMIN_SOCKET,
	  .doc = "Unix socket for what starts, stops or changes something. Restart required." },
	{ .key = "key_file",
	  .type = SCHEMA_STRING,
	  TEXT_AT(daemon_settings, key_file),
	  .doc = "The fleet's key, the same on every node; without one no peer is reached or answered. "
		 "Restart required." },
	{ .key = "devices",
	  .type = SCHEMA_LIST,
	  DAEMON(devices),
	  .fields = device_fields,
	  .item_size = sizeof(struct device_settings),
	  .count_offset = offsetof(struct daemon_settings, device_count),
	  .max_items = LIMIT_PORTS,
	  .doc = "Ports to use; when left out, every port that is active or was since the daemon started." },
	{ .key = "limits",
	  .type = SCHEMA_MAP,
	  DAEMON(limits),
	  .fields = limit_fields,
	  .doc = "What all runs together may take of this node." },
	{ .key = "results", .type = SCHEMA_MAP, .fields = results_fields, .doc = "What is kept." },
	{ .key = "log_level",
	  .type = SCHEMA_ENUM,
	  DAEMON(log_level),
	  .names = log_level_names,
	  .fallback = "info",
	  .doc = "Lines below it are not written." },
	LATER("state_dir", "leave it out: results are kept in memory"),
	LATER("clock",
	      "leave it out: the counter is used where it is reliable, and each result names its clock"),
	{ 0 },
};
