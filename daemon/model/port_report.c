// SPDX-License-Identifier: MIT
#include "model/port_report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "model/inventory.h"

const char *const port_event_names[] = {
	"port_err",   "port_active",	   "gid_change",   "lid_change",     "pkey_change",
	"sm_change",  "client_reregister", "device_fatal", "device_removed", "qp_fatal",
	"qp_req_err", "qp_access_err",	   "cq_err",	   "srq_err",	     NULL,
};

void port_report_add(struct port_report *report, const struct port_event *event)
{
	if (report->event_count == LIMIT_EVENTS) {
		report->more_events++;
		return;
	}
	report->events[report->event_count++] = *event;
}

const struct port_event *port_report_find(const struct port_report *report,
					  enum port_event_kind kind)
{
	for (size_t i = 0; i < report->event_count; i++) {
		if (report->events[i].kind == (int)kind) {
			return &report->events[i];
		}
	}
	return NULL;
}

/* --- JSON --- */

static json_t *write_event(const struct port_event *event)
{
	json_t *object = json_object();

	json_set_string(object, "kind", port_event_names[event->kind]);
	json_set_u64(object, "port_num", event->port_num);
	json_set_u64(object, "qp_num", event->qp_num);
	json_set_u64(object, "at_ns", event->at_ns);
	return object;
}

static json_t *write_after(const struct port_after *after)
{
	json_t *object;

	if (!after->is_known) {
		return json_null();
	}
	object = json_object();
	json_set_bool(object, "is_present", after->is_present);
	json_set_string(object, "state", port_state_names[after->state]);
	json_set_u64(object, "active_mtu_bytes", after->active_mtu_bytes);
	json_set_u64(object, "link_rate_bps", after->link_rate_bps);
	json_set_u64(object, "link_width", after->link_width);
	json_set_string(object, "gid", after->gid[0] ? after->gid : NULL);
	return object;
}

json_t *port_report_write(const struct port_report *report)
{
	json_t *object = json_object();
	json_t *events = json_array();

	for (size_t i = 0; i < report->event_count; i++) {
		json_array_append_new(events, write_event(&report->events[i]));
	}
	json_set_take(object, "events", events);
	json_set_u64(object, "more_events", report->more_events);
	json_set_take(object, "after", write_after(&report->after));
	return object;
}

static int read_word(const json_t *json, const char *key, const char *const *names, int *ret,
		     struct error *err)
{
	char word[32];
	int r = json_get_string(json, key, word, sizeof(word), err);

	for (int i = 0; r == 0 && names[i]; i++) {
		if (strcmp(names[i], word) == 0) {
			*ret = i;
			return 0;
		}
	}
	return r < 0 ? r
		     : error_set(err, -EINVAL, ERROR_INPUT,
				 "\"%s\": \"%s\" is not one of its words", key, word);
}

static int read_event(const json_t *json, struct port_event *ret, struct error *err)
{
	int r;

	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "an event must be an object");
	}
	if ((r = read_word(json, "kind", port_event_names, &ret->kind, err)) < 0 ||
	    (r = json_get_u64(json, "port_num", 0, UINT8_MAX, &ret->port_num, err)) < 0 ||
	    (r = json_get_u64(json, "qp_num", 0, UINT32_MAX, &ret->qp_num, err)) < 0) {
		return r;
	}
	return json_get_u64(json, "at_ns", 0, INT64_MAX, &ret->at_ns, err);
}

static int read_events(const json_t *json, struct port_report *ret, struct error *err)
{
	json_t *list;
	int r = json_get_array(json, "events", LIMIT_EVENTS, &list, err);

	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		r = read_event(json_array_get(list, i), &ret->events[ret->event_count++], err);
		if (r < 0) {
			error_prefix(err, "events[%zu]", i);
		}
	}
	return r;
}

static int read_after(const json_t *json, struct port_after *ret, struct error *err)
{
	const json_t *object = json_object_get(json, "after");
	struct in6_addr address;
	int r;

	if (!object || json_is_null(object)) {
		return 0;
	}
	if (!json_is_object(object)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"after\" must be an object or null");
	}
	ret->is_known = true;
	if ((r = json_get_bool(object, "is_present", &ret->is_present, err)) < 0 ||
	    (r = read_word(object, "state", port_state_names, &ret->state, err)) < 0 ||
	    (r = json_get_u64(object, "active_mtu_bytes", 0, UINT32_MAX, &ret->active_mtu_bytes,
			      err)) < 0 ||
	    (r = json_get_u64_or(object, "link_rate_bps", 0, INT64_MAX, &ret->link_rate_bps, err)) <
		    0 ||
	    (r = json_get_u64_or(object, "link_width", 0, UINT8_MAX, &ret->link_width, err)) < 0 ||
	    (r = json_get_string_or(object, "gid", ret->gid, sizeof(ret->gid), err)) < 0) {
		return r;
	}
	if (ret->gid[0] && inet_pton(AF_INET6, ret->gid, &address) != 1) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "\"gid\": \"%s\" is not an IPv6 address", ret->gid);
	}
	return 0;
}

int port_report_read(const json_t *json, struct port_report *ret, struct error *err)
{
	struct port_report report = { 0 };
	int r;

	if (!json || json_is_null(json)) {
		*ret = report;
		return 0;
	}
	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"port_report\" must be an object");
	}
	if ((r = read_events(json, &report, err)) < 0 ||
	    (r = json_get_u64_or(json, "more_events", 0, INT64_MAX, &report.more_events, err)) <
		    0 ||
	    (r = read_after(json, &report.after, err)) < 0) {
		return r;
	}
	*ret = report;
	return 0;
}
