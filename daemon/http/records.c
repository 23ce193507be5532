// SPDX-License-Identifier: MIT
#include "http/records.h"

#include "util/clock.h"

static void set_known(json_t *object, const char *key, bool is_known, uint64_t value)
{
	json_set_u64(object, key, is_known ? value : UINT64_MAX);
}

static json_t *write_verdicts(const uint64_t *counts)
{
	json_t *object = json_object();

	for (int verdict = VERDICT_PASS; verdict < VERDICT_COUNT; verdict++) {
		json_set_u64(object, verdict_names[verdict], counts[verdict]);
	}
	return object;
}

json_t *records_words(const char *words)
{
	json_t *list = json_array();
	size_t length;

	for (; *words; words += length + (words[length] != '\0')) {
		words += *words == ' ';
		length = 0;
		while (words[length] && words[length] != ',') {
			length++;
		}
		json_array_append_new(list, json_stringn(words, length));
	}
	return list;
}

static json_t *write_config(const struct records_status *status)
{
	json_t *object = json_object();

	json_set_string(object, "path", status->config_path);
	json_set_string(object, "hash", status->config_hash);
	json_set_u64(object, "generation", status->config_generation);
	json_set_time(object, "loaded_at", status->config_loaded_real_ns);
	json_set_bool(object, "is_last_reload_ok", status->is_reload_successful);
	json_set_take(object, "pending_restart",
		      records_words(status->pending_restart ? status->pending_restart : ""));
	return object;
}

static json_t *write_next(const struct records_status *status)
{
	json_t *object;

	if (!status->next_scenario) {
		return json_null();
	}
	object = json_object();
	json_set_string(object, "scenario", status->next_scenario);
	json_set_u64(object, "in_ns", status->next_ns);
	return object;
}

static json_t *write_current(const struct run *run)
{
	json_t *object;

	if (!run) {
		return json_null();
	}
	object = json_object();
	json_set_string(object, "id", run->id);
	json_set_string(object, "scenario", run->scenario->name);
	return object;
}

static json_t *write_waiting(const struct records_status *status)
{
	json_t *array = json_array();

	for (size_t i = 0; i < RECORDS_WAITING && status->waiting[i].run != NULL; i++) {
		json_t *object = write_current(status->waiting[i].run);

		json_set_string(object, "in_use", status->waiting[i].in_use);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *write_hangs(const struct records_status *status)
{
	json_t *list = json_array();

	for (size_t i = 0; i < status->hang_count; i++) {
		json_array_append_new(list, hang_write(&status->hangs[i], clock_mono_ns()));
	}
	return list;
}

json_t *records_status(const struct records_status *status)
{
	json_t *object = json_object();
	json_t *peers = json_object();
	json_t *ports = json_object();
	json_t *runs = json_object();

	json_set_string(object, "node", status->node);
	json_set_string(object, "version", status->version);
	json_set_string(object, "state", status->state);
	json_set_time(object, "started_at", status->started_real_ns);
	json_set_time(object, "now", clock_real_ns());
	json_set_take(object, "config", write_config(status));
	json_set_u64(peers, "up", status->peers_up);
	json_set_u64(peers, "connecting", status->peers_connecting);
	json_set_u64(peers, "down", status->peers_down);
	json_set_take(object, "peers", peers);
	json_set_u64(ports, "active", status->ports_active);
	json_set_u64(ports, "other", status->ports_other);
	json_set_string(ports, "error",
			status->scan_error && error_is_set(status->scan_error)
				? status->scan_error->text
				: NULL);
	json_set_take(object, "ports", ports);
	json_set_take(object, "sick", write_hangs(status));
	json_set_u64(object, "scenarios", status->scenarios);
	json_set_u64(runs, "active", status->runs_active);
	json_set_take(runs, "current", write_current(status->current));
	json_set_u64(runs, "queued", status->runs_queued);
	json_set_u64(runs, "waiting", status->runs_waiting);
	json_set_take(runs, "waiting_for_ports", write_waiting(status));
	json_set_u64(runs, "kept", status->runs_kept);
	json_set_take(runs, "verdicts", write_verdicts(status->verdicts));
	json_set_take(object, "runs", runs);
	json_set_take(object, "next", write_next(status));
	return object;
}

static json_t *write_offset(const struct records_peer *peer)
{
	json_t *object;

	if (!peer->has_offset) {
		return json_null();
	}
	object = json_object();
	json_set_i64(object, "offset_ns", peer->clock_offset_ns);
	json_set_i64(object, "error_ns", peer->clock_error_ns);
	return object;
}

json_t *records_peer_head(const struct records_peer *peer)
{
	const struct inventory *inventory = peer->inventory;
	bool has_error = peer->last_error && error_is_set(peer->last_error);
	json_t *object = json_object();

	json_set_string(object, "name", peer->name);
	json_set_string(object, "address", peer->address);
	json_set_bool(object, "is_enabled", peer->is_enabled);
	json_set_string(object, "state", peer->state);
	json_set_time(object, "since", peer->since_real_ns);
	json_set_string(object, "version", inventory ? inventory->version : NULL);
	set_known(object, "round_trip_ns", peer->round_trip_ns > 0, peer->round_trip_ns);
	json_set_take(object, "clock", write_offset(peer));
	json_set_string(object, "error", has_error ? peer->last_error->text : NULL);
	json_set_take(object, "ports", inventory ? json_array() : NULL);
	return object;
}

json_t *records_peer(const struct records_peer *peer)
{
	json_t *object = records_peer_head(peer);

	if (peer->inventory) {
		json_set_take(object, "ports", records_devices(peer->inventory));
	}
	return object;
}

static json_t *write_gids(const struct port *port)
{
	json_t *list = json_array();

	for (size_t i = 0; i < port->gid_count; i++) {
		const struct gid_entry *gid = &port->gids[i];
		json_t *object = json_object();

		json_set_u64(object, "index", gid->index);
		json_set_string(object, "type", gid_type_names[gid->type]);
		json_set_string(object, "gid", gid->gid);
		json_set_string(object, "netdev", gid->netdev[0] ? gid->netdev : NULL);
		set_known(object, "vlan", gid->vlan > 0, gid->vlan);
		json_array_append_new(list, object);
	}
	return list;
}

json_t *records_port(const struct port *port)
{
	const struct device_limits *limits = &port->limits;
	json_t *object = json_object();
	json_t *most = json_object();

	json_set_string(object, "device", port->device);
	json_set_u64(object, "port_num", port->port_num);
	json_set_string(object, "state", port_state_names[port->state]);
	json_set_string(object, "link_layer", link_layer_names[port->link_layer]);
	set_known(object, "link_rate_bps", port->link_rate_bps > 0, port->link_rate_bps);
	set_known(object, "link_width", port->link_width > 0, port->link_width);
	json_set_u64(object, "active_mtu_bytes", port->active_mtu_bytes);
	json_set_u64(object, "max_mtu_bytes", port->max_mtu_bytes);
	json_set_u64(object, "lid", port->lid);
	json_set_u64(object, "rail", port->rail);
	json_set_u64(object, "numa_node", port->numa_node);
	json_set_string(object, "driver", port->driver[0] ? port->driver : NULL);
	json_set_string(object, "firmware", port->firmware[0] ? port->firmware : NULL);
	json_set_string(object, "node_guid", port->node_guid[0] ? port->node_guid : NULL);
	json_set_take(object, "gids", write_gids(port));
	json_set_u64(most, "max_qp", limits->max_qp);
	json_set_u64(most, "max_qp_wr", limits->max_qp_wr);
	json_set_u64(most, "max_cqe", limits->max_cqe);
	json_set_u64(most, "max_mr_bytes", limits->max_mr_bytes);
	json_set_u64(most, "max_qp_rd_atom", limits->max_qp_rd_atom);
	json_set_u64(most, "max_qp_init_rd_atom", limits->max_qp_init_rd_atom);
	json_set_u64(most, "max_msg_bytes", limits->max_msg_bytes);
	json_set_take(object, "limits", most);
	return object;
}

json_t *records_own_port(const struct port *port, const struct hang *hang)
{
	json_t *object = records_port(port);

	json_set_take(object, "sick", hang ? hang_write(hang, clock_mono_ns()) : NULL);
	return object;
}

json_t *records_devices(const struct inventory *inventory)
{
	json_t *list = json_array();

	for (size_t i = 0; i < inventory->port_count; i++) {
		json_array_append_new(list, records_port(&inventory->ports[i]));
	}
	return list;
}

static json_t *write_schedule(const struct schedule *schedule, uint64_t next_ns, uint64_t missed)
{
	json_t *object = json_object();

	json_set_bool(object, "is_manual", schedule->on & SCHEDULE_MANUAL);
	json_set_bool(object, "is_at_startup", schedule->on & SCHEDULE_STARTUP);
	set_known(object, "every_ns", schedule->every_ns > 0, schedule->every_ns);
	set_known(object, "next_in_ns", next_ns != CLOCK_NEVER, next_ns);
	json_set_u64(object, "missed", missed);
	return object;
}

json_t *records_scenario(const struct scenario *scenario, uint64_t next_ns, uint64_t missed,
			 const struct run *last)
{
	json_t *object = json_object();

	json_set_string(object, "name", scenario->name);
	json_set_string(object, "description",
			scenario->description[0] ? scenario->description : NULL);
	json_set_take(object, "labels", labels_write(NULL, &scenario->labels));
	json_set_bool(object, "is_enabled", scenario->is_enabled);
	json_set_bool(object, "is_disruptive", scenario->is_disruptive);
	json_set_string(object, "source", scenario->source[0] ? scenario->source : NULL);
	json_set_take(object, "schedule", write_schedule(&scenario->schedule, next_ns, missed));
	json_set_take(object, "last", last ? run_write_summary(last) : NULL);
	return object;
}

json_t *records_progress(const struct run *run, json_t *progress)
{
	json_t *object = json_object();

	json_set_string(object, "id", run->id);
	json_set_string(object, "scenario", run->scenario->name);
	json_set_string(object, "state", run_state_names[run->state]);
	json_set_string(object, "verdict",
			run->verdict == VERDICT_NONE ? NULL : verdict_names[run->verdict]);
	json_set_take(object, "progress", progress);
	return object;
}

json_t *records_check(const char *name, bool is_ok, const char *detail)
{
	json_t *object = json_object();

	json_set_string(object, "name", name);
	json_set_bool(object, "is_ok", is_ok);
	json_set_string(object, "detail", detail);
	return object;
}
