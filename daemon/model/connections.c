// SPDX-License-Identifier: MIT
#include "model/connections.h"

#include <errno.h>
#include <string.h>

#include "util/memory.h"

const char *const connection_phase_names[] = {
	"setup",  "create_qp",	 "resolve_addr", "resolve_route", "connect",
	"accept", "established", "disconnect",	 "destroy",	  NULL
};

void connections_init(struct connections *connections)
{
	*connections = (struct connections){ 0 };
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		histogram_reset(&connections->phases[phase].latency);
	}
}

bool connections_has_phase(bool is_initiator, int phase)
{
	switch (phase) {
	case CONNECTION_RESOLVE_ADDR:
	case CONNECTION_RESOLVE_ROUTE:
	case CONNECTION_CONNECT:
	case CONNECTION_DISCONNECT:
		return is_initiator;
	case CONNECTION_ACCEPT:
		return !is_initiator;
	default:
		return true;
	}
}

uint64_t connections_failed(const struct connections *connections)
{
	uint64_t failed = 0;

	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		failed += connections->phases[phase].failed;
	}
	return failed;
}

json_t *connections_write(const struct connections *connections)
{
	json_t *object, *phases;

	if (!connections) {
		return json_null();
	}
	object = json_object();
	phases = json_array();
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		const struct connection_phase_totals *totals = &connections->phases[phase];
		json_t *item;

		if (totals->failed == 0 && totals->latency.count == 0) {
			continue;
		}
		item = json_object();
		json_set_string(item, "phase", connection_phase_names[phase]);
		json_set_u64(item, "failed", totals->failed);
		json_set_take(item, "latency", histogram_write(&totals->latency));
		json_array_append_new(phases, item);
	}
	json_set_u64(object, "retried", connections->retried);
	json_set_u64(object, "refused", connections->refused);
	json_set_take(object, "phases", phases);
	return object;
}

static int phase_of(const char *name)
{
	for (int phase = 0; phase < CONNECTION_PHASES; phase++) {
		if (!strcmp(connection_phase_names[phase], name)) {
			return phase;
		}
	}
	return -1;
}

static int read_phase(const json_t *json, struct connections *ret, struct error *err)
{
	struct connection_phase_totals *totals;
	char name[32];
	int phase, r;

	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "a phase must be an object");
	}
	if ((r = json_get_string(json, "phase", name, sizeof(name), err)) < 0) {
		return r;
	}
	phase = phase_of(name);
	if (phase < 0) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"phase\": \"%s\" is not one of its words", name);
	}
	totals = &ret->phases[phase];
	if (totals->failed > 0 || totals->latency.count > 0) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"phase\": \"%s\" is there twice",
				 name);
	}
	if ((r = json_get_u64(json, "failed", 0, INT32_MAX, &totals->failed, err)) < 0) {
		return r;
	}
	return histogram_read(json_object_get(json, "latency"), &totals->latency, err);
}

int connections_read(const json_t *json, struct connections **ret, struct error *err)
{
	json_t *phases;
	int r;

	*ret = NULL;
	if (!json || json_is_null(json)) {
		return 0;
	}
	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"connections\" must be an object");
	}
	*ret = memory_try(1, sizeof(**ret));
	if (!*ret) {
		return error_set(err, -ENOMEM, ERROR_RESOURCE,
				 "no memory for the phases of connections");
	}
	connections_init(*ret);
	if ((r = json_get_u64(json, "retried", 0, INT64_MAX, &(*ret)->retried, err)) < 0 ||
	    (r = json_get_u64(json, "refused", 0, INT64_MAX, &(*ret)->refused, err)) < 0 ||
	    (r = json_get_array(json, "phases", CONNECTION_PHASES, &phases, err)) < 0) {
		return r;
	}
	for (size_t i = 0; r == 0 && i < json_array_size(phases); i++) {
		r = read_phase(json_array_get(phases, i), *ret, err);
		if (r < 0) {
			error_prefix(err, "phases[%zu]", i);
		}
	}
	return r;
}
