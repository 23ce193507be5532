// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the device of an end told and showed beside the traffic: its asynchronous events while the
 * job ran, and its port as it was right after. Plain data; part of the totals.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/limits.h"
#include "util/error.h"
#include "util/json.h"

/* Words of verbs (ibv_get_async_event(3)), but the one that says what no event does. */
enum port_event_kind {
	PORT_EVENT_PORT_ERR, /* it went down */
	PORT_EVENT_PORT_ACTIVE,
	PORT_EVENT_GID_CHANGE,
	PORT_EVENT_LID_CHANGE,
	PORT_EVENT_PKEY_CHANGE,
	PORT_EVENT_SM_CHANGE,
	PORT_EVENT_CLIENT_REREGISTER,
	PORT_EVENT_DEVICE_FATAL,
	PORT_EVENT_DEVICE_REMOVED, /* it is not in the list of devices any more */
	PORT_EVENT_QP_FATAL,
	PORT_EVENT_QP_REQ_ERR,
	PORT_EVENT_QP_ACCESS_ERR,
	PORT_EVENT_CQ_ERR,
	PORT_EVENT_SRQ_ERR,
	PORT_EVENT_KINDS
};
extern const char *const port_event_names[];

struct port_event {
	int kind; /* enum port_event_kind */
	uint64_t port_num; /* 0: of the whole device, or of a queue */
	uint64_t qp_num; /* 0: not of a queue pair */
	uint64_t at_ns; /* read, since the traffic started; 0: before */
};

/* Right after the traffic, as the device answers then. */
struct port_after {
	bool is_known; /* it was asked, and answered */
	bool is_present; /* in the list of devices; if not, nothing below is known */
	int state; /* enum port_state */
	uint64_t active_mtu_bytes; /* 0: not known */
	uint64_t link_rate_bps; /* 0: not known */
	uint64_t link_width; /* lanes; 0: not known */
	char gid[48]; /* what is at the gid_index of the job now; "::" nothing, "" not known */
};

struct port_report {
	size_t event_count;
	struct port_event events[LIMIT_EVENTS]; /* the first ones, in the order in which they came
						 */
	uint64_t more_events; /* that came when it was full */
	struct port_after after;
};

void port_report_add(struct port_report *report, const struct port_event *event);
/* The first of this kind, or NULL. */
const struct port_event *port_report_find(const struct port_report *report,
					  enum port_event_kind kind);
/* The same object travels and stands in the record. New reference. */
json_t *port_report_write(const struct port_report *report);
/* From a peer; NULL or null is an empty one. 0, or -EINVAL with err. */
int port_report_read(const json_t *json, struct port_report *ret, struct error *err);
