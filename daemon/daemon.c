// SPDX-License-Identifier: MIT
#include "daemon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "actions.h"
#include "device_log.h"
#include "face.h"
#include "http/server.h"
#include "notify.h"
#include "observer.h"
#include "parts.h"
#include "peer_log.h"
#include "refusal_log.h"
#include "reload.h"
#include "retrier.h"
#include "shutdown.h"
#include "startup.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"
#include "verdict_log.h"

#define SECOND_NS 1000000000ull
#define LOOK_PERIOD_NS (2 * SECOND_NS)
#define END_OF_THREADS_NS (5 * SECOND_NS) /* nothing of them hangs; a host may be busy */
#define MAX_SESSIONS (2 * LIMIT_PEERS)

struct daemon {
	struct parts parts;
	struct daemon_options options;
	struct server *server;
	struct view view;
	struct notify *notify;
	struct reload *reload;
	struct peer_log *peer_log;
	struct device_log *device_log;
	struct refusal_log *refusal_log;
	struct verdict_log *verdict_log;
	struct retrier *retrier;
	struct observer *observer;
	struct startup *startup;
	struct shutdown *shutdown; /* NULL until it begins */
	daemon_reload_fn reload_done;
	void *reload_arg;
	sd_event_source *look_timer; /* looks at the workers and at the last scan */
};

static void rearm(sd_event_source *timer, uint64_t after_ns)
{
	sd_event_source_set_time(timer, (clock_mono_ns() + after_ns) / 1000);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* Events that come up from the parts. */

static void on_inventory(void *arg, const struct inventory *inventory)
{
	struct daemon *daemon = arg;
	struct parts *parts = &daemon->parts;

	parts->inventory = *inventory;
	text_copy(parts->inventory.node, sizeof(parts->inventory.node), parts->node_name);
	parts->identity.inventory_changes++;
	if (parts->peers != NULL) {
		peers_send_inventory(parts->peers);
	}
	if (parts->guests != NULL) {
		guest_send_inventory(parts->guests);
	}
}

static void on_device_health(void *arg, const struct hang *hang, bool is_sick)
{
	device_log_health(hang, is_sick, clock_mono_ns());
}

static void on_peer_changed(void *arg, const char *name)
{
	struct daemon *daemon = arg;
	struct peer_status status;

	if (peers_find(daemon->parts.peers, name, &status) < 0) {
		return;
	}
	session_listener_know(daemon->parts.listener, status.host);
	if (status.state == PEER_UP) {
		peer_log_tell(daemon->peer_log, name, "");
	} else if (status.state == PEER_DOWN) {
		peer_log_tell(daemon->peer_log, name, status.last_error.text);
	}
}

static void on_peer_lost(void *arg, const char *name, const struct error *why)
{
	struct daemon *daemon = arg;

	coordinator_lost(daemon->parts.coordinator, name, why);
}

static void on_peer_message(void *arg, const char *name, const char *kind, const json_t *message)
{
	struct daemon *daemon = arg;

	coordinator_message(daemon->parts.coordinator, name, kind, message);
}

static const struct peers_events peers_events = {
	.changed = on_peer_changed,
	.lost = on_peer_lost,
	.message = on_peer_message,
};

static const struct labels *find_labels(void *arg, const char *node)
{
	struct daemon *daemon = arg;
	struct peer_status status;

	return peers_find(daemon->parts.peers, node, &status) == 0 ? &status.settings->labels
								   : NULL;
}

static void on_run_changed(void *arg, const struct run *run)
{
	struct daemon *daemon = arg;

	if (run->state == RUN_DONE) {
		observer_add(daemon->observer, history_find(daemon->parts.history, run->id));
	}
}

static void on_run_counted(void *arg, const struct run *run)
{
	struct daemon *daemon = arg;

	server_run_done(daemon->server, run->id);
	verdict_log_tell(daemon->verdict_log, run, clock_mono_ns());
	retrier_run_done(daemon->retrier, run);
}

static bool on_due(void *arg, const struct scenario *scenario, enum run_trigger trigger)
{
	struct daemon *daemon = arg;
	struct error err = ERROR_INIT;
	char id[32];

	/* Runs in which this node initiates nothing would only fill the history. */
	if (!coordinator_initiates(daemon->parts.coordinator, scenario)) {
		return true;
	}
	if (coordinator_has(daemon->parts.coordinator, scenario->name)) {
		return false;
	}
	if (coordinator_submit(daemon->parts.coordinator, scenario, trigger,
			       daemon->parts.config->generation, id, &err) < 0) {
		verdict_log_refused(daemon->verdict_log, scenario->name, err.text, clock_mono_ns());
		return false;
	}
	return true;
}

static const struct schedule_events schedule_events = { .due = on_due };

static int on_look(sd_event_source *source, uint64_t usec, void *arg)
{
	struct daemon *daemon = arg;
	struct session_listener_status control;

	daemon->parts.is_progressing = engine_is_progressing(daemon->parts.engine);
	device_log_tell(daemon->device_log, engine_scan_error(daemon->parts.engine));
	session_listener_status(daemon->parts.listener, &control);
	refusal_log_tell(daemon->refusal_log, &control, clock_mono_ns());
	rearm(source, LOOK_PERIOD_NS);
	return 0;
}

/* Reload. */

/* Without the key nobody can be reached: the peers stay unknown rather than be asked in vain. */
static void configure_peers(struct parts *parts)
{
	if (parts->identity.key.count > 0) {
		peers_configure(parts->peers, parts->config->peers, parts->config->peer_count);
	}
}

static void configure(struct daemon *daemon)
{
	struct parts *parts = &daemon->parts;
	const struct config *config = parts->config;

	log_set_level((enum log_level)config->daemon.log_level);
	engine_configure(parts->engine, &config->daemon);
	parts->labels = config->daemon.labels;
	configure_peers(parts);
	peer_log_configure(daemon->peer_log, parts->peers);
	verdict_log_configure(daemon->verdict_log, config);
	guest_configure(parts->guests);
	agent_configure(parts->agent, &config->daemon.limits);
	history_configure(parts->history, config->daemon.keep_runs);
	metrics_configure(parts->metrics, config);
	schedule_configure(parts->schedule, parts->config);
}

static void take_config(struct daemon *daemon, struct config *config, bool has_other_key)
{
	struct parts *parts = &daemon->parts;
	_cleanup_text_ struct text keys = TEXT_INIT;

	parts->needs_restart[0] = '\0';
	(void)config_needs_restart(parts->started_config, config, &keys);
	if (has_other_key && (keys.data == NULL || strstr(keys.data, "key_file") == NULL)) {
		text_format(&keys, "%skey_file", keys.length > 0 ? ", " : "");
	}
	if (keys.length > 0) {
		text_copy(parts->needs_restart, sizeof(parts->needs_restart), keys.data);
		log_warning("changed, but in force only after a restart: %s", keys.data);
	}
	config->generation = parts->config->generation + 1;
	config_unref(parts->config);
	parts->config = config;
	parts->config_loaded_real_ns = clock_real_ns();
	parts->is_last_reload_ok = true;
	configure(daemon);
	log_info("configuration %s read again: generation %llu, %zu scenarios", config->path,
		 (unsigned long long)config->generation, config->scenario_count);
}

/* The key is read once, at the start: sessions stand by it. */
static bool has_other_key(const struct parts *parts, const struct tls_key *key)
{
	const struct tls_key *own = &parts->identity.key;

	return key != NULL &&
	       (key->count != own->count || memcmp(key->bytes, own->bytes, own->count) != 0);
}

static void refuse_config(struct parts *parts, const struct reload_result *result)
{
	parts->is_last_reload_ok = false;
	text_copy(parts->reload_problem, sizeof(parts->reload_problem),
		  result->unread != NULL ? result->unread : result->errors);
	log_error("the configuration was not reloaded; generation %llu stays in force",
		  (unsigned long long)parts->config->generation);
}

static void on_reloaded(void *arg, const struct reload_result *result)
{
	struct daemon *daemon = arg;
	struct parts *parts = &daemon->parts;
	_cleanup_json_ json_t *errors = reload_split(result->errors);
	_cleanup_json_ json_t *warnings = reload_split(result->warnings);
	bool is_ok = result->config != NULL;

	if (parts->state == DAEMON_STOPPING) {
		config_unref(result->config);
		return;
	}
	reload_log(result);
	if (is_ok) {
		take_config(daemon, result->config, has_other_key(parts, result->key));
	} else {
		refuse_config(parts, result);
	}
	notify_ready(daemon->notify);
	server_reload_done(daemon->server,
			   &(struct server_reload){ .generation = parts->config->generation,
						    .needs_restart = parts->needs_restart,
						    .is_refused = !is_ok,
						    .unread = result->unread,
						    .errors = errors,
						    .warnings = warnings });
	if (daemon->reload_done != NULL) {
		daemon->reload_done(daemon->reload_arg, is_ok,
				    is_ok ? result->warnings : parts->reload_problem);
		daemon->reload_done = NULL;
	}
}

void daemon_reload(struct daemon *daemon, daemon_reload_fn done, void *arg)
{
	if (daemon->parts.state == DAEMON_STOPPING) {
		return;
	}
	if (done != NULL) {
		daemon->reload_done = done;
		daemon->reload_arg = arg;
	}
	notify_reloading(daemon->notify);
	reload_start(daemon->reload, daemon->parts.config->path);
}

/* `arg` of the view is the parts, which are the beginning of the daemon. */

static struct daemon *daemon_of(void *arg)
{
	return (struct daemon *)((char *)arg - offsetof(struct daemon, parts));
}

int daemon_run(struct daemon *daemon, const char *scenario, char *ret_id, struct error *err)
{
	return actions_run(&daemon->parts, scenario, ret_id, err);
}

static void on_reload_request(void *arg)
{
	daemon_reload(daemon_of(arg), NULL, NULL);
}

/* Making and unmaking. */

static int read_key(struct daemon *daemon, struct error *err)
{
	const char *path = daemon->parts.config->daemon.key_file;

	if (path[0] == '\0') {
		return 0;
	}
	return tls_key_read(path, &daemon->parts.identity.key, err);
}

static const struct inventory *find_inventory(void *arg)
{
	struct daemon *daemon = arg;

	return engine_inventory(daemon->parts.engine);
}

static int make_engine(struct daemon *daemon, struct error *err)
{
	struct engine_options options = {
		.event = daemon->parts.event,
		.sys_root = daemon->options.sys_root,
		.inventory = on_inventory,
		.health = on_device_health,
		.arg = daemon,
	};

	struct occupancy_options occupancy = {
		.event = daemon->parts.event,
		.sys_root = daemon->options.sys_root,
		.inventory = find_inventory,
		.arg = daemon,
	};
	int r = engine_new(&daemon->parts.engine, &options, &daemon->parts.config->daemon, err);

	return r < 0 ? r : occupancy_new(&daemon->parts.occupancy, &occupancy, err);
}

static void make_runs(struct daemon *daemon)
{
	struct parts *parts = &daemon->parts;
	struct agent_options agent = {
		.event = parts->event,
		.engine = parts->engine,
		.occupancy = parts->occupancy,
		.node_name = parts->node_name,
	};
	struct coordinator_options coordinator = {
		.event = parts->event,
		.engine = parts->engine,
		.node_name = parts->node_name,
		.labels = &parts->labels,
		.changed = on_run_changed,
		.arg = daemon,
	};

	parts->agent = agent_new(&agent, &parts->config->daemon.limits);
	parts->guests = guest_new(parts->agent, find_labels, daemon);
	parts->history = history_new(parts->event, parts->config->daemon.keep_runs);
	coordinator.peers = parts->peers;
	coordinator.agent = parts->agent;
	coordinator.history = parts->history;
	parts->coordinator = coordinator_new(&coordinator);
	parts->schedule = schedule_new(parts->event, parts->node_name, &schedule_events, daemon);
}

static int make_listener(struct daemon *daemon, struct error *err)
{
	struct parts *parts = &daemon->parts;
	const struct daemon_settings *settings = &parts->config->daemon;

	if (settings->key_file[0] == '\0') {
		log_warning("daemon.key_file is not set: no other node can take part in runs; "
			    "see README.md, \"Install\"");
		return 0;
	}
	return session_listen(&parts->listener, parts->event, settings->listen_address,
			      (uint16_t)settings->listen_port, MAX_SESSIONS, &parts->identity,
			      guest_accept, parts->guests, err);
}

static int make_server(struct daemon *daemon, struct error *err)
{
	const struct daemon_settings *settings = &daemon->parts.config->daemon;
	struct server_options options = {
		.listen = daemon->options.http_fd < 0 ? settings->http_listen : NULL,
		.listen_fd = daemon->options.http_fd,
		.admin_path = daemon->options.admin_fd < 0 ? settings->admin_socket : NULL,
		.admin_fd = daemon->options.admin_fd,
		.node_name = daemon->parts.node_name,
		.view = &daemon->view,
		.metrics = daemon->parts.metrics,
	};

	daemon->view = (struct view){
		.arg = &daemon->parts,
		.reload = on_reload_request,
	};
	face_fill_view(&daemon->view);
	actions_fill_view(&daemon->view);
	return server_new(&daemon->server, daemon->parts.event, &options, err);
}

static void init_parts(struct daemon *daemon)
{
	struct parts *parts = &daemon->parts;

	parts->event = sd_event_ref(daemon->options.event);
	parts->config = config_ref(daemon->options.config);
	parts->started_config = config_ref(daemon->options.config);
	parts->config->generation = 1;
	parts->config_loaded_real_ns = clock_real_ns();
	parts->is_last_reload_ok = true;
	parts->is_progressing = true;
	parts->started_real_ns = clock_real_ns();
	parts->labels = parts->config->daemon.labels;
	text_copy(parts->node_name, sizeof(parts->node_name), parts->config->daemon.node_name);
	text_copy(parts->inventory.node, sizeof(parts->inventory.node), parts->node_name);
	text_copy(parts->inventory.version, sizeof(parts->inventory.version), RDMATESTD_VERSION);
	parts->identity.node_name = parts->node_name;
	parts->identity.version = RDMATESTD_VERSION;
	parts->identity.inventory = &parts->inventory;
	parts->identity.protocol = daemon->options.protocol;
}

/*
 * The first timer of a loop needs a descriptor, those behind it share it: whoever else adds one can
 * only run out of memory.
 */
static int make_look_timer(struct daemon *daemon, struct error *err)
{
	int r = sd_event_add_time(daemon->parts.event, &daemon->look_timer, CLOCK_MONOTONIC, 0,
				  1000, on_look, daemon);

	if (r < 0) {
		return error_set_call(err, -r, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add_time",
				      "the timers of the event loop cannot be made");
	}
	sd_event_source_set_enabled(daemon->look_timer, SD_EVENT_OFF);
	return 0;
}

static int make_reload(struct daemon *daemon, struct error *err)
{
	return reload_new(&daemon->reload, daemon->parts.event, daemon->options.host_name,
			  on_reloaded, daemon, err);
}

static void begin(struct daemon *daemon)
{
	struct parts *parts = &daemon->parts;

	daemon->notify = notify_new(parts);
	daemon->startup = startup_new(parts);
	rearm(daemon->look_timer, LOOK_PERIOD_NS);
	metrics_configure(parts->metrics, parts->config);
	schedule_configure(parts->schedule, parts->config);
	configure_peers(parts);
	parts->state = DAEMON_RUNNING;
	notify_ready(daemon->notify);
	log_info("rdmatestd %s: node \"%s\", %zu scenarios, %zu peers", RDMATESTD_VERSION,
		 parts->node_name, parts->config->scenario_count, peers_count(parts->peers));
}

int daemon_new(struct daemon **ret, const struct daemon_options *options, struct error *err)
{
	struct daemon *daemon = memory_new(sizeof(*daemon));
	int r;

	daemon->options = *options;
	init_parts(daemon);
	daemon->peer_log = peer_log_new();
	daemon->device_log = device_log_new();
	daemon->refusal_log = refusal_log_new();
	daemon->verdict_log = verdict_log_new();
	daemon->retrier = retrier_new(&daemon->parts);
	if ((r = make_look_timer(daemon, err)) < 0 || (r = make_reload(daemon, err)) < 0 ||
	    (r = read_key(daemon, err)) < 0 || (r = make_engine(daemon, err)) < 0) {
		daemon_free(daemon);
		return r;
	}
	daemon->parts.metrics = metrics_new(daemon->parts.node_name);
	daemon->observer =
		observer_new(daemon->parts.event, daemon->parts.metrics, on_run_counted, daemon);
	daemon->parts.peers =
		peers_new(daemon->parts.event, &daemon->parts.identity, &peers_events, daemon);
	make_runs(daemon);
	if ((r = make_server(daemon, err)) < 0 || (r = make_listener(daemon, err)) < 0) {
		daemon_free(daemon);
		return r;
	}
	begin(daemon);
	*ret = daemon;
	return 0;
}

void daemon_stop(struct daemon *daemon, const char *reason)
{
	struct parts *parts = &daemon->parts;

	if (parts->state == DAEMON_STOPPING) {
		return;
	}
	log_info("stopping: %s", reason);
	parts->state = DAEMON_STOPPING;
	notify_stopping(daemon->notify, reason);
	server_stop_actions(daemon->server);
	retrier_stop(daemon->retrier);
	daemon->shutdown =
		shutdown_new(parts, reason, daemon->options.stopped, daemon->options.arg);
}

/* Its threads use what would be freed. */
static _Noreturn void leave_hanging(const struct daemon *daemon)
{
	char call[SHUTDOWN_CALL_SIZE];

	shutdown_name_call(daemon->parts.engine, call, sizeof(call));
	log_error("%s; leaving it behind", call);
	_Exit(EXIT_FAILURE);
}

void daemon_free(struct daemon *daemon)
{
	struct parts *parts;
	uint64_t deadline;

	if (daemon == NULL) {
		return;
	}
	parts = &daemon->parts;
	if (parts->agent != NULL && !agent_is_idle(parts->agent)) {
		leave_hanging(daemon);
	}
	deadline = clock_mono_ns() + END_OF_THREADS_NS;
	sd_event_source_disable_unref(daemon->look_timer);
	startup_free(daemon->startup);
	shutdown_free(daemon->shutdown);
	reload_free(daemon->reload, deadline);
	notify_free(daemon->notify);
	server_free(daemon->server);
	session_listener_free(parts->listener);
	retrier_free(daemon->retrier);
	schedule_free(parts->schedule);
	coordinator_free(parts->coordinator);
	guest_free(parts->guests);
	agent_free(parts->agent);
	peers_free(parts->peers);
	if (occupancy_free(parts->occupancy, deadline) < 0 ||
	    (parts->engine != NULL && engine_free(parts->engine, deadline) < 0)) {
		leave_hanging(daemon);
	}
	observer_free(daemon->observer);
	history_free(parts->history);
	metrics_free(parts->metrics);
	peer_log_free(daemon->peer_log);
	device_log_free(daemon->device_log);
	refusal_log_free(daemon->refusal_log);
	verdict_log_free(daemon->verdict_log);
	config_unref(parts->config);
	config_unref(parts->started_config);
	sd_event_unref(parts->event);
	free(daemon);
}

const struct parts *daemon_parts(const struct daemon *daemon)
{
	return &daemon->parts;
}
