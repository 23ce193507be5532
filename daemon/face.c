// SPDX-License-Identifier: MIT
#include "face.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "http/records.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/units.h"

static const char *const state_names[] = { "starting", "running", "stopping" };

static size_t count_peers(const struct parts *parts, enum peer_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < peers_count(parts->peers); i++) {
		struct peer_status status;

		peers_status(parts->peers, i, &status);
		count += status.state == state;
	}
	return count;
}

static size_t count_active(const struct inventory *inventory)
{
	size_t count = 0;

	for (size_t i = 0; i < inventory->port_count; i++) {
		count += inventory->ports[i].state == PORT_STATE_ACTIVE;
	}
	return count;
}

/* The scenario that is due first; NULL when none is scheduled. */
static const char *find_next(const struct parts *parts, uint64_t *ret_ns)
{
	const char *name = NULL;

	*ret_ns = CLOCK_NEVER;
	for (size_t i = 0; i < parts->config->scenario_count; i++) {
		uint64_t missed;
		uint64_t in_ns = schedule_next_ns(parts->schedule,
						  parts->config->scenarios[i]->name, &missed);

		if (in_ns < *ret_ns) {
			*ret_ns = in_ns;
			name = parts->config->scenarios[i]->name;
		}
	}
	return name;
}

static json_t *write_status(void *arg)
{
	const struct parts *parts = arg;
	const struct inventory *inventory = engine_inventory(parts->engine);
	struct hang hangs[HANGS_MAX];
	size_t hang_count = engine_hangs(parts->engine, hangs, HANGS_MAX);
	struct records_status status = {
		.node = parts->node_name,
		.version = RDMATESTD_VERSION,
		.state = state_names[parts->state],
		.started_real_ns = parts->started_real_ns,
		.config_path = parts->config->path,
		.config_hash = parts->config->hash,
		.config_generation = parts->config->generation,
		.config_loaded_real_ns = parts->config_loaded_real_ns,
		.is_reload_successful = parts->is_last_reload_ok,
		.pending_restart = parts->needs_restart,
		.peers_up = count_peers(parts, PEER_UP),
		.peers_connecting = count_peers(parts, PEER_CONNECTING),
		.peers_down = count_peers(parts, PEER_DOWN),
		.ports_active = count_active(inventory),
		.ports_other = inventory->port_count - count_active(inventory),
		.scan_error = engine_scan_error(parts->engine),
		.hangs = hangs,
		.hang_count = hang_count,
		.scenarios = parts->config->scenario_count,
		.current = coordinator_active(parts->coordinator),
		.runs_active = coordinator_active(parts->coordinator) != NULL,
		.runs_queued = coordinator_queued(parts->coordinator),
		.runs_waiting = coordinator_waiting(parts->coordinator),
		.runs_kept = history_count(parts->history),
	};

	for (size_t i = 0; i < history_count(parts->history); i++) {
		status.verdicts[history_at(parts->history, i)->verdict]++;
	}
	for (size_t i = 0; i < RECORDS_WAITING; i++) {
		status.waiting[i].run =
			coordinator_waiting_at(parts->coordinator, i, &status.waiting[i].in_use);
	}
	status.next_scenario = find_next(parts, &status.next_ns);
	return records_status(&status);
}

static json_t *write_port(const struct inventory *inventory, size_t index)
{
	return inventory != NULL && index < inventory->port_count
		       ? records_port(&inventory->ports[index])
		       : NULL;
}

static json_t *write_device(void *arg, size_t index)
{
	const struct parts *parts = arg;
	const struct inventory *inventory = engine_inventory(parts->engine);
	struct hang hang;

	if (index >= inventory->port_count) {
		return NULL;
	}
	return records_own_port(&inventory->ports[index],
				engine_is_sick(parts->engine, inventory->ports[index].device, &hang)
					? &hang
					: NULL);
}

static json_t *write_peer(void *arg, size_t index)
{
	const struct parts *parts = arg;
	struct peer_status status;
	struct records_peer record;

	if (index >= peers_count(parts->peers)) {
		return NULL;
	}
	peers_status(parts->peers, index, &status);
	record = (struct records_peer){
		.name = status.settings->name,
		.address = status.settings->address,
		.is_enabled = status.settings->is_enabled,
		.state = peer_state_names[status.state],
		.since_real_ns = status.since_real_ns,
		.inventory = status.inventory,
		.round_trip_ns = status.round_trip_ns,
		.has_offset = status.has_offset,
		.clock_offset_ns = status.clock_offset_ns,
		.clock_error_ns = status.clock_error_ns,
		.last_error = &status.last_error,
	};
	return records_peer_head(&record);
}

static json_t *write_peer_port(void *arg, size_t peer, size_t index)
{
	const struct parts *parts = arg;
	struct peer_status status;

	if (peer >= peers_count(parts->peers)) {
		return NULL;
	}
	peers_status(parts->peers, peer, &status);
	return write_port(status.inventory, index);
}

static const struct run *last_of(const struct parts *parts, const char *scenario)
{
	for (size_t i = 0; i < history_count(parts->history); i++) {
		const struct run *run = history_at(parts->history, i);

		if (run->state == RUN_DONE && strcmp(run->scenario->name, scenario) == 0) {
			return run;
		}
	}
	return NULL;
}

static json_t *write_scenario(void *arg, size_t index)
{
	const struct parts *parts = arg;
	const struct scenario *scenario;
	uint64_t next_ns;
	uint64_t missed;

	if (index >= parts->config->scenario_count) {
		return NULL;
	}
	scenario = parts->config->scenarios[index];
	next_ns = schedule_next_ns(parts->schedule, scenario->name, &missed);
	return records_scenario(scenario, next_ns, missed, last_of(parts, scenario->name));
}

static bool fits(const struct run *run, const struct view_query *query)
{
	return (query->scenario[0] == '\0' || strcmp(query->scenario, run->scenario->name) == 0) &&
	       (query->verdict == VERDICT_NONE || query->verdict == run->verdict);
}

static int find_runs(void *arg, const struct view_query *query, struct run **ret_runs,
		     size_t *ret_count, bool *ret_more)
{
	const struct parts *parts = arg;
	size_t count = history_count(parts->history);
	size_t i = 0;

	*ret_more = false;
	*ret_count = 0;
	if (query->before[0] != '\0') {
		while (i < count && strcmp(history_at(parts->history, i)->id, query->before) != 0) {
			i++;
		}
		if (i++ == count) {
			return -ENOENT;
		}
	}
	for (; i < count && !*ret_more; i++) {
		struct run *run = history_at(parts->history, i);

		if (!fits(run, query)) {
			continue;
		}
		if (*ret_count == query->limit) {
			*ret_more = true;
		} else {
			ret_runs[(*ret_count)++] = run_ref(run);
		}
	}
	return 0;
}

static struct run *find_run(void *arg, const char *id)
{
	const struct parts *parts = arg;
	struct run *run = history_find(parts->history, id);

	return run != NULL ? run_ref(run) : NULL;
}

static json_t *write_progress(void *arg, const char *id)
{
	const struct parts *parts = arg;
	const struct run *run = history_find(parts->history, id);

	return run != NULL
		       ? records_progress(run, coordinator_progress(parts->coordinator, run->id))
		       : NULL;
}

/* One sick device does not keep the others from work. */
static bool has_well_port(const struct inventory *inventory, const struct hang *hangs,
			  size_t hang_count)
{
	bool has_active = false;

	for (size_t i = 0; i < inventory->port_count; i++) {
		const struct port *port = &inventory->ports[i];
		bool is_sick = false;

		if (port->state != PORT_STATE_ACTIVE) {
			continue;
		}
		has_active = true;
		for (size_t j = 0; j < hang_count; j++) {
			is_sick = is_sick || strcmp(hangs[j].device, port->device) == 0;
		}
		if (!is_sick) {
			return true;
		}
	}
	return !has_active && hang_count == 0;
}

static void describe_hangs(const struct hang *hangs, size_t count, char *ret, size_t size)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	for (size_t i = 0; i < count; i++) {
		text_format(&text, "%s%s hangs on %s", i > 0 ? "; " : "", hangs[i].call,
			    hangs[i].device);
	}
	text_copy(ret, size, count > 0 ? text.data : "no call hangs");
}

static void describe_ports(struct engine *engine, char *ret, size_t size)
{
	const struct inventory *inventory = engine_inventory(engine);
	const struct error *scan_error = engine_scan_error(engine);
	uint64_t scanned_mono_ns = engine_scanned_mono_ns(engine);
	char age[UNITS_SIZE];

	if (scanned_mono_ns == 0) {
		snprintf(ret, size, "not looked at yet%s%s", error_is_set(scan_error) ? "; " : "",
			 scan_error->text);
		return;
	}
	snprintf(ret, size, "%zu of %zu ports active, %s ago%s%s", count_active(inventory),
		 inventory->port_count,
		 units_format_duration(clock_mono_ns() - scanned_mono_ns, age),
		 error_is_set(scan_error) ? "; " : "", scan_error->text);
}

static bool check(json_t *checks, const char *name, bool is_ok, const char *detail)
{
	json_array_append_new(checks, records_check(name, is_ok, detail));
	return is_ok;
}

static bool is_ready(void *arg, json_t **ret_checks)
{
	const struct parts *parts = arg;
	const struct inventory *inventory = engine_inventory(parts->engine);
	struct hang hangs[HANGS_MAX];
	size_t hang_count = engine_hangs(parts->engine, hangs, HANGS_MAX);
	json_t *checks = json_array();
	const struct error *scan_error = engine_scan_error(parts->engine);
	char text[sizeof(scan_error->text) + 128];
	bool is_good = true;

	is_good &= check(checks, "configuration", true,
			 parts->is_last_reload_ok ? "in force"
						  : "in force; the last reload was refused");
	is_good &=
		check(checks, "running", parts->state == DAEMON_RUNNING, state_names[parts->state]);
	describe_ports(parts->engine, text, sizeof(text));
	is_good &= check(checks, "devices", count_active(inventory) > 0, text);
	describe_hangs(hangs, hang_count, text, sizeof(text));
	is_good &= check(checks, "driver", has_well_port(inventory, hangs, hang_count), text);
	*ret_checks = checks;
	return is_good;
}

static bool is_alive(void *arg)
{
	const struct parts *parts = arg;

	return parts->is_progressing;
}

_Static_assert(SESSION_REFUSALS <= METRICS_REFUSALS, "each reason has its place");

static bool has_device(const struct metrics_gauges *gauges, const char *device)
{
	for (size_t i = 0; i < gauges->device_count; i++) {
		if (strcmp(gauges->devices[i].device, device) == 0) {
			return true;
		}
	}
	return false;
}

static void add_device(struct metrics_gauges *gauges, const char *device, bool is_sick)
{
	struct metrics_device *added;

	if (gauges->device_count < METRICS_DEVICES) {
		added = &gauges->devices[gauges->device_count++];
		text_copy(added->device, sizeof(added->device), device);
		added->is_sick = is_sick;
	}
}

/* Those with ports, and those that hang before they could be asked for them. */
static void fill_devices(const struct parts *parts, struct metrics_gauges *ret)
{
	struct hang hangs[HANGS_MAX];
	const struct inventory *inventory = engine_inventory(parts->engine);
	size_t hang_count = engine_hangs(parts->engine, hangs, HANGS_MAX);

	for (size_t i = 0; i < hang_count; i++) {
		add_device(ret, hangs[i].device, true);
	}
	for (size_t i = 0; i < inventory->port_count; i++) {
		const char *device = inventory->ports[i].device;

		if (!has_device(ret, device)) {
			add_device(ret, device, false);
		}
	}
}

static void fill_gauges(void *arg, struct metrics_gauges *ret)
{
	const struct parts *parts = arg;
	const struct inventory *inventory = engine_inventory(parts->engine);
	struct engine_usage usage;
	struct session_listener_status control;

	engine_usage(parts->engine, &usage);
	session_listener_status(parts->listener, &control);
	*ret = (struct metrics_gauges){
		.version = RDMATESTD_VERSION,
		.config_generation = parts->config->generation,
		.is_reload_successful = parts->is_last_reload_ok,
		.reload_success_real_ns = parts->config_loaded_real_ns,
		.runs_active = coordinator_active(parts->coordinator) != NULL,
		.runs_queued = coordinator_queued(parts->coordinator),
		.runs_waiting = coordinator_waiting(parts->coordinator),
		.peers_up = count_peers(parts, PEER_UP),
		.peers_connecting = count_peers(parts, PEER_CONNECTING),
		.peers_down = count_peers(parts, PEER_DOWN),
		.control_sessions = count_peers(parts, PEER_UP) + guest_count(parts->guests),
		.jobs_active = usage.jobs,
		.pinned_bytes = usage.pinned_bytes,
	};
	for (size_t i = 0; i < parts->config->scenario_count; i++) {
		uint64_t missed;

		schedule_next_ns(parts->schedule, parts->config->scenarios[i]->name, &missed);
		ret->schedule_missed += missed;
	}
	for (size_t i = 0; session_listener_reasons[i] != NULL; i++) {
		ret->control_refused[ret->control_refused_count++] = (struct metrics_refusal){
			.reason = session_listener_reasons[i],
			.count = control.refused[i],
		};
	}
	fill_devices(parts, ret);
	for (size_t i = 0; i < inventory->port_count && ret->port_count < METRICS_PORTS; i++) {
		ret->ports[ret->port_count++] = (struct metrics_port){
			.device = inventory->ports[i].device,
			.port_num = (unsigned)inventory->ports[i].port_num,
			.state = (enum port_state)inventory->ports[i].state,
			.link_rate_bps = inventory->ports[i].link_rate_bps,
			.disruptive_ns = agent_disruptive_ns(parts->agent,
							     inventory->ports[i].device,
							     inventory->ports[i].port_num),
		};
	}
}

void face_fill_view(struct view *view)
{
	view->status = write_status;
	view->device = write_device;
	view->peer = write_peer;
	view->peer_port = write_peer_port;
	view->scenario = write_scenario;
	view->runs = find_runs;
	view->run = find_run;
	view->progress = write_progress;
	view->is_ready = is_ready;
	view->is_alive = is_alive;
	view->gauges = fill_gauges;
}
