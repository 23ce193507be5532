// SPDX-License-Identifier: MIT
#include "cluster/cluster.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "parts.h"
#include "run/history.h"
#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define SETTINGS 8

struct member {
	struct cluster *cluster;
	size_t index;
	struct node *node;
	char name[32];
	char device[32];
	char address[32];
	char keys[SETTINGS][32];
	char values[SETTINGS][128];
	size_t setting_count;
	size_t ghost_count;
	unsigned protocol;
	bool has_device;
	bool is_infiniband;
	uint16_t pkeys[FABRIC_PKEYS];
	struct daemon *daemon;
	bool is_stopped;
	int status;
};

struct cluster {
	struct world *world;
	char directory[64];
	size_t count;
	struct member members[CLUSTER_MAX];
	char run_id[32];
};

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void member_path(const struct member *member, const char *name, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%s.%s", member->cluster->directory, member->name, name);
}

void cluster_write_scenarios(struct cluster *cluster, size_t index, const char *scenarios)
{
	char path[128];
	_cleanup_text_ struct text text = TEXT_INIT;

	member_path(&cluster->members[index], "scenarios.yaml", path, sizeof(path));
	text_format(&text, "version: 1\n%s", scenarios);
	write_file(path, text.data);
}

static const char *setting(const struct member *member, const char *key, const char *fallback)
{
	for (size_t i = 0; i < member->setting_count; i++) {
		if (strcmp(member->keys[i], key) == 0) {
			return member->values[i];
		}
	}
	return fallback;
}

/* Of a node's main file: those that it always has, and those that a test may add. */
static const char *const settled[] = { "admin_socket", "key_file", "log_level" };
static const char *const optional[] = { "limits", "devices", "results" };

static bool is_among(const char *key, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(keys[i], key) == 0) {
			return true;
		}
	}
	return false;
}

static void write_main(const struct member *member)
{
	const struct cluster *cluster = member->cluster;
	char path[128];
	char key[128];
	char socket[128];
	_cleanup_text_ struct text text = TEXT_INIT;

	snprintf(key, sizeof(key), "%s/fleet.key", cluster->directory);
	member_path(member, "admin.sock", socket, sizeof(socket));
	text_format(&text, "version: 1\ninclude: [%s.scenarios.yaml]\ndaemon:\n  node_name: %s\n",
		    member->name, member->name);
	text_format(&text, "  listen: { address: %s, port: 18620 }\n", member->address);
	text_format(&text, "  admin_socket: %s\n  key_file: %s\n  log_level: %s\n",
		    setting(member, "admin_socket", socket), setting(member, "key_file", key),
		    setting(member, "log_level", "error"));
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
		const char *value = setting(member, optional[i], NULL);

		if (value != NULL) {
			text_format(&text, "  %s: %s\n", optional[i], value);
		}
	}
	text_add(&text, "peers:\n");
	for (size_t i = 0; i < cluster->count; i++) {
		text_format(&text, "  - { name: %s, address: %s }\n", cluster->members[i].name,
			    cluster->members[i].address);
	}
	for (size_t i = 0; i < member->ghost_count; i++) {
		text_format(&text, "  - { name: ghost%04zu, address: 10.1.%zu.%zu }\n", i, i / 250,
			    i % 250 + 1);
	}
	member_path(member, "rdmatestd.yaml", path, sizeof(path));
	write_file(path, text.data);
}

void cluster_set(struct cluster *cluster, size_t index, const char *key, const char *value)
{
	struct member *member = &cluster->members[index];

	/* One that nobody writes would change nothing, unseen. */
	assert_true(is_among(key, settled, sizeof(settled) / sizeof(settled[0])) ||
		    is_among(key, optional, sizeof(optional) / sizeof(optional[0])));
	assert_true(member->setting_count < SETTINGS);
	text_copy(member->keys[member->setting_count], sizeof(member->keys[0]), key);
	text_copy(member->values[member->setting_count++], sizeof(member->values[0]), value);
}

void cluster_add_ghosts(struct cluster *cluster, size_t index, size_t count)
{
	cluster->members[index].ghost_count = count;
}

void cluster_edit(struct cluster *cluster, size_t index, const char *old, const char *new)
{
	const char *path = daemon_parts(cluster_daemon(cluster, index))->config->path;
	_cleanup_text_ struct text text = TEXT_INIT;
	char before[4096];
	char *at;
	FILE *file = fopen(path, "re");
	size_t length;

	assert_non_null(file);
	length = fread(before, 1, sizeof(before) - 1, file);
	fclose(file);
	before[length] = '\0';
	at = strstr(before, old);
	assert_non_null(at);
	*at = '\0';
	text_format(&text, "%s%s%s", before, new, at + strlen(old));
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.length, file), text.length);
	fclose(file);
}

void cluster_set_protocol(struct cluster *cluster, size_t index, unsigned protocol)
{
	cluster->members[index].protocol = protocol;
}

void cluster_set_device(struct cluster *cluster, size_t index, bool is_there)
{
	struct member *member = &cluster->members[index];
	struct fabric_device_config config = {
		.name = member->device,
		.host = member->name,
		.address = member->is_infiniband ? NULL : member->address,
		.is_infiniband = member->is_infiniband,
	};

	memcpy(config.pkeys, member->pkeys, sizeof(config.pkeys));

	if (is_there == member->has_device) {
		return;
	}
	if (is_there) {
		fabric_add_device(world_fabric(cluster->world), &config);
	} else {
		fabric_remove_device(world_fabric(cluster->world), member->device);
	}
	member->has_device = is_there;
}

void cluster_set_infiniband(struct cluster *cluster, size_t index, const uint16_t *pkeys)
{
	struct member *member = &cluster->members[index];

	cluster_set_device(cluster, index, false);
	member->is_infiniband = true;
	memcpy(member->pkeys, pkeys, sizeof(member->pkeys));
	cluster_set_device(cluster, index, true);
}

struct cluster *cluster_new(uint64_t seed, size_t nodes, const char *scenarios)
{
	struct cluster *cluster = memory_new(sizeof(*cluster));
	char path[128];

	text_copy(cluster->directory, sizeof(cluster->directory), "/tmp/rdmatestd-cluster-XXXXXX");
	assert_non_null(mkdtemp(cluster->directory));
	snprintf(path, sizeof(path), "%s/fleet.key", cluster->directory);
	write_file(path, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
	chmod(path, 0600);
	cluster->world = world_new(seed);
	cluster->count = nodes;
	for (size_t i = 0; i < nodes; i++) {
		struct member *member = &cluster->members[i];
		struct node_options options = {
			.name = member->name,
			.address = member->address,
			.mono_offset_ns = i * 3 * SECOND_NS,
			.real_offset_ns = (int64_t)i * 1000000 - 5000000,
		};

		member->cluster = cluster;
		member->index = i;
		member->protocol = SESSION_PROTOCOL;
		snprintf(member->name, sizeof(member->name), "node%02zu", i + 1);
		snprintf(member->device, sizeof(member->device), "fake%zu", i);
		snprintf(member->address, sizeof(member->address), "10.0.0.%zu", i + 1);
		member->node = world_add_node(cluster->world, &options);
		cluster_set_device(cluster, i, true);
		cluster_write_scenarios(cluster, i, scenarios);
	}
	return cluster;
}

static void on_stopped(void *arg, int status)
{
	struct member *member = arg;

	member->is_stopped = true;
	member->status = status;
}

/* Any free port: what systemd would hand over. */
static int http_socket(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static struct config *load(const struct member *member)
{
	struct problems problems;
	_cleanup_text_ struct text text = TEXT_INIT;
	struct config *config;
	char path[128];

	write_main(member);
	member_path(member, "rdmatestd.yaml", path, sizeof(path));
	problems_init(&problems);
	config = config_load(path, member->name, &problems);
	if (config == NULL) {
		problems_print(&problems, 20, &text);
		fail_msg("%s", text.data);
	}
	problems_done(&problems);
	return config;
}

void cluster_start(struct cluster *cluster, size_t index)
{
	struct member *member = &cluster->members[index];
	struct node *before = world_enter(member->node);
	struct config *config = load(member);
	struct daemon_options options = {
		.event = world_event(member->node),
		.config = config,
		.host_name = member->name,
		.sys_root = cluster->directory,
		.http_fd = http_socket(),
		.admin_fd = -1,
		.protocol = member->protocol,
		.stopped = on_stopped,
		.arg = member,
	};
	struct error err = ERROR_INIT;

	member->is_stopped = false;
	if (daemon_new(&member->daemon, &options, &err) < 0) {
		fail_msg("%s: %s", member->name, err.text);
	}
	config_unref(config);
	world_enter(before);
}

struct daemon *cluster_daemon(struct cluster *cluster, size_t index)
{
	return cluster->members[index].daemon;
}

struct world *cluster_world(struct cluster *cluster)
{
	return cluster->world;
}

struct node *cluster_node(struct cluster *cluster, size_t index)
{
	return cluster->members[index].node;
}

const char *cluster_device(const struct cluster *cluster, size_t index)
{
	return cluster->members[index].device;
}

static bool all_know_each_other(void *arg)
{
	struct cluster *cluster = arg;

	for (size_t i = 0; i < cluster->count; i++) {
		const struct parts *parts = daemon_parts(cluster->members[i].daemon);

		if (!engine_has_scanned(parts->engine)) {
			return false;
		}
		for (size_t j = 0; j < peers_count(parts->peers); j++) {
			struct peer_status status;

			peers_status(parts->peers, j, &status);
			if (status.state != PEER_UP || status.inventory == NULL ||
			    status.inventory->port_count == 0) {
				return false;
			}
		}
	}
	return true;
}

void cluster_start_all(struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->count; i++) {
		cluster_start(cluster, i);
	}
	assert_true(world_run_until(cluster->world, all_know_each_other, cluster, 60 * SECOND_NS));
}

void cluster_stop(struct cluster *cluster, size_t index)
{
	struct member *member = &cluster->members[index];
	struct node *before = world_enter(member->node);

	daemon_stop(member->daemon, "the test says so");
	world_enter(before);
}

static bool is_stopped(void *arg)
{
	struct member *member = arg;

	return member->is_stopped;
}

void cluster_wait_stopped(struct cluster *cluster, size_t index)
{
	struct member *member = &cluster->members[index];
	struct node *before;

	assert_true(world_run_until(cluster->world, is_stopped, member, 30 * SECOND_NS));
	assert_int_equal(member->status, 0);
	before = world_enter(member->node);
	daemon_free(take(member->daemon));
	world_enter(before);
}

static void black_hole(struct cluster *cluster, size_t index, bool is_on)
{
	for (size_t i = 0; i < cluster->count; i++) {
		if (i != index && cluster->members[i].has_device) {
			fabric_set_black_hole(world_fabric(cluster->world),
					      cluster->members[index].device,
					      cluster->members[i].device, is_on);
		}
	}
}

static void end_node(struct cluster *cluster, size_t index, enum world_cut cut)
{
	struct member *member = &cluster->members[index];

	world_cut(cluster->world, member->node, NULL, cut);
	black_hole(cluster, index, true);
	world_freeze(member->node, true);
}

void cluster_kill(struct cluster *cluster, size_t index)
{
	end_node(cluster, index, WORLD_RESET);
}

void cluster_vanish(struct cluster *cluster, size_t index)
{
	end_node(cluster, index, WORLD_SILENT);
}

void cluster_restart(struct cluster *cluster, size_t index)
{
	struct member *member = &cluster->members[index];

	world_freeze(member->node, false);
	cluster_stop(cluster, index);
	cluster_wait_stopped(cluster, index);
	black_hole(cluster, index, false);
	world_cut(cluster->world, member->node, NULL, WORLD_WHOLE);
	cluster_start(cluster, index);
}

struct cluster *cluster_new_pair(uint64_t seed, const char *scenarios)
{
	struct cluster *cluster = cluster_new(seed, 2, scenarios);
	struct fabric_link link = { .latency_ns = 500000 };

	fabric_set_link(world_fabric(cluster->world), NULL, NULL, &link);
	return cluster;
}

void cluster_free(struct cluster *cluster)
{
	char command[128];

	for (size_t i = 0; i < cluster->count; i++) {
		if (cluster->members[i].daemon != NULL) {
			world_freeze(cluster->members[i].node, false);
			cluster_stop(cluster, i);
		}
	}
	for (size_t i = 0; i < cluster->count; i++) {
		if (cluster->members[i].daemon != NULL) {
			cluster_wait_stopped(cluster, i);
		}
	}
	if (fabric_objects(world_fabric(cluster->world)) != 0) {
		fabric_print_objects(world_fabric(cluster->world), stderr);
		fail_msg("verbs objects are left");
	}
	world_free(cluster->world);
	for (size_t i = 0; i < cluster->count; i++) {
		static const char *const names[] = { "scenarios.yaml", "rdmatestd.yaml",
						     "admin.sock" };

		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
			member_path(&cluster->members[i], names[j], command, sizeof(command));
			unlink(command);
		}
	}
	snprintf(command, sizeof(command), "%s/fleet.key", cluster->directory);
	unlink(command);
	rmdir(cluster->directory);
	free(cluster);
}

const char *cluster_run(struct cluster *cluster, size_t index, const char *scenario)
{
	struct member *member = &cluster->members[index];
	struct node *before = world_enter(member->node);
	struct error err = ERROR_INIT;

	if (daemon_run(member->daemon, scenario, cluster->run_id, &err) < 0) {
		fail_msg("%s", err.text);
	}
	world_enter(before);
	return cluster->run_id;
}

struct wait {
	const struct run *run;
	struct daemon *daemon;
	const char *phase;
};

static bool is_done(void *arg)
{
	struct wait *wait = arg;

	return wait->run->state == RUN_DONE;
}

static const struct run *find_run(struct cluster *cluster, size_t index, const char *id)
{
	const struct run *run =
		history_find(daemon_parts(cluster->members[index].daemon)->history, id);

	assert_non_null(run);
	return run;
}

const struct run *cluster_wait_run(struct cluster *cluster, size_t index, const char *id)
{
	struct wait wait = { .run = find_run(cluster, index, id) };

	assert_true(world_run_until(cluster->world, is_done, &wait, 600 * SECOND_NS));
	return wait.run;
}

static bool is_in_phase(void *arg)
{
	struct wait *wait = arg;
	const struct parts *parts = daemon_parts(wait->daemon);
	_cleanup_json_ json_t *progress = coordinator_progress(parts->coordinator, wait->run->id);
	const json_t *active = json_object_get(progress, "active");
	const char *phase = json_string_value(json_object_get(json_array_get(active, 0), "phase"));

	return phase != NULL && strcmp(phase, wait->phase) == 0;
}

void cluster_wait_phase(struct cluster *cluster, size_t index, const char *id, const char *phase)
{
	struct wait wait = {
		.run = find_run(cluster, index, id),
		.daemon = cluster->members[index].daemon,
		.phase = phase,
	};

	assert_true(world_run_until(cluster->world, is_in_phase, &wait, 60 * SECOND_NS));
}

void cluster_expect_pass(struct cluster *cluster, size_t index, const char *scenario)
{
	cluster_expect(cluster_wait_run(cluster, index, cluster_run(cluster, index, scenario)),
		       VERDICT_PASS, ERROR_NONE, STAGE_NONE, "", NULL);
}

struct peer_wait {
	struct daemon *daemon;
	enum peer_state state;
};

static bool peer_is(void *arg)
{
	struct peer_wait *wait = arg;
	struct peer_status status;

	peers_status(daemon_parts(wait->daemon)->peers, 0, &status);
	return status.state == wait->state;
}

void cluster_wait_peer(struct cluster *cluster, size_t index, enum peer_state state)
{
	struct peer_wait wait = { .daemon = cluster->members[index].daemon, .state = state };

	assert_true(world_run_until(cluster->world, peer_is, &wait, 120 * SECOND_NS));
}
