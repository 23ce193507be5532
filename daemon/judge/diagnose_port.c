// SPDX-License-Identifier: MIT
#include "judge/diagnose_port.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "judge/driver.h"
#include "util/text.h"
#include "util/units.h"

/* An event that is read so much later than the error came too late to be its cause. */
#define LATE_NS 1000000000ull
/* Of one end, in the evidence. */
#define EVENTS_SHOWN 4

struct view {
	const struct failure *failure;
	const struct measurement *m;
	struct findings *findings;
	const char *evidence;
};

static const struct port_report *report_of(const struct participant *end)
{
	return &end->totals.port_report; /* empty without totals */
}

static const struct port_after *after_of(const struct participant *end)
{
	return &report_of(end)->after;
}

/* The end that saw the failure; the initiator if it names neither. */
static const struct participant *end_of(const struct view *view)
{
	const struct endpoint *responder = &view->m->responder.endpoint;
	const struct endpoint *initiator = &view->m->initiator.endpoint;
	bool is_one_node = strcmp(responder->node, initiator->node) == 0;

	if (strcmp(view->failure->node, responder->node) == 0 &&
	    (!is_one_node || strcmp(view->failure->device, responder->device) == 0)) {
		return &view->m->responder;
	}
	return &view->m->initiator;
}

/* Whether the failure, as seen on the device of its end, can be due to that. */
static bool may_mean(const struct view *view, enum driver_meaning meaning)
{
	const struct error *error = &view->failure->error;

	if (error->class != ERROR_DEVICE || error->stage != STAGE_RUN) {
		return false;
	}
	if (error->kind == ERROR_KIND_WC_STATUS) {
		return driver_may_mean(end_of(view)->port.driver, error->number, meaning);
	}
	/* Nothing came any more; or a call was refused, or a queue pair failed. */
	return strcmp(error->call, "stall") == 0 || text_starts_with(error->call, "ibv_");
}

/* --- words --- */

static void describe_end(const struct participant *end, struct text *out)
{
	const struct port_report *report = report_of(end);
	const struct port_after *after = after_of(end);
	char at[UNITS_SIZE];

	if (report->event_count == 0 && !after->is_known) {
		return;
	}
	text_format(out, "%s%s/%s:", out->length ? "; " : "", end->endpoint.node,
		    end->endpoint.device);
	for (size_t i = 0; i < report->event_count && i < EVENTS_SHOWN; i++) {
		text_format(out, " %s at +%s,", port_event_names[report->events[i].kind],
			    units_format_duration(report->events[i].at_ns, at));
	}
	if (after->is_known) {
		text_format(out, " %s afterwards",
			    after->is_present ? port_state_names[after->state] : "removed");
	} else {
		text_add(out, " not known afterwards");
	}
}

/* What both devices told, before what is known besides. Caller: text_done. */
static struct text evidence_of(const struct view *view)
{
	struct text text = TEXT_INIT;

	describe_end(&view->m->initiator, &text);
	describe_end(&view->m->responder, &text);
	if (view->evidence && view->evidence[0]) {
		text_format(&text, "%s%s", text.length ? "; " : "", view->evidence);
	}
	return text;
}

/* --- a port that is down --- */

static bool is_down_after(const struct participant *end)
{
	const struct port_after *after = after_of(end);

	return after->is_known && after->is_present && after->state != PORT_STATE_ACTIVE &&
	       after->state != PORT_STATE_UNKNOWN;
}

/* The end whose port went down first, with its event; or is down, without one. NULL: neither. */
static const struct participant *down_end(const struct measurement *m,
					  const struct port_event **ret_event)
{
	const struct port_event *a =
		port_report_find(report_of(&m->initiator), PORT_EVENT_PORT_ERR);
	const struct port_event *b =
		port_report_find(report_of(&m->responder), PORT_EVENT_PORT_ERR);
	bool is_b = b && (!a || b->at_ns < a->at_ns);

	*ret_event = is_b ? b : a;
	if (*ret_event) {
		return is_b ? &m->responder : &m->initiator;
	}
	return is_down_after(&m->initiator)   ? &m->initiator
	       : is_down_after(&m->responder) ? &m->responder
					      : NULL;
}

/* Since when it was active again at that moment, or NULL if it was not. */
static const struct port_event *active_again(const struct participant *end, uint64_t at_ns)
{
	const struct port_report *report = report_of(end);
	const struct port_event *last = NULL;

	for (size_t i = 0; i < report->event_count && report->events[i].at_ns <= at_ns; i++) {
		int kind = report->events[i].kind;

		/* Some drivers tell twice that a port is active. */
		if (kind == PORT_EVENT_PORT_ERR) {
			last = NULL;
		} else if (kind == PORT_EVENT_PORT_ACTIVE && !last) {
			last = &report->events[i];
		}
	}
	return last;
}

static void write_down(const struct participant *end, const struct port_event *event, char *out,
		       size_t size)
{
	char at[UNITS_SIZE];
	int length = snprintf(out, size, "port %" PRIu64 " of %s/%s ", end->endpoint.port_num,
			      end->endpoint.node, end->endpoint.device);

	if (!event) {
		snprintf(out + length, size - (size_t)length, "was %s when the run was over",
			 port_state_names[after_of(end)->state]);
	} else if (event->at_ns == 0) {
		snprintf(out + length, size - (size_t)length, "went down before the traffic began");
	} else {
		snprintf(out + length, size - (size_t)length,
			 "went down at +%s, while the run went on",
			 units_format_duration(event->at_ns, at));
	}
}

static bool find_down_at_start(const struct view *view)
{
	const struct error *error = &view->failure->error;

	if (error->class != ERROR_DEVICE || strcmp(error->call, "device") != 0 ||
	    error->kind != ERROR_KIND_ERRNO || error->number != ENETDOWN) {
		return false;
	}
	finding_add(view->findings, FINDING_PORT_DOWN, CONFIDENCE_CERTAIN, view->evidence,
		    "a port was down when the run was to begin: %s", error->text);
	return true;
}

static bool find_down(const struct view *view)
{
	const struct port_event *event;
	const struct participant *end = down_end(view->m, &event);
	enum driver_meaning meaning;
	const struct port_event *again;
	bool is_late, is_cause;
	char text[LIMIT_TEXT], at[UNITS_SIZE];

	if (!end || view->failure->error.class != ERROR_DEVICE ||
	    view->failure->error.stage != STAGE_RUN) {
		return false;
	}
	meaning = end == end_of(view) ? DRIVER_PORT_DOWN : DRIVER_SILENCE;
	/* Both ends of one cable go down together: the one that saw the failure may be the later.
	 */
	is_cause = may_mean(view, meaning) || may_mean(view, DRIVER_PORT_DOWN);
	is_late = event && event->at_ns > view->failure->at_ns + LATE_NS;
	again = active_again(end, view->failure->at_ns);

	_cleanup_text_ struct text evidence = evidence_of(view);
	write_down(end, event, text, sizeof(text));
	finding_add(view->findings, FINDING_PORT_DOWN,
		    !is_cause			  ? CONFIDENCE_POSSIBLE
		    : event && !is_late && !again ? CONFIDENCE_CERTAIN
						  : CONFIDENCE_LIKELY,
		    evidence.data, "%s", text);
	if (!event) {
		finding_doubt(view->findings, FINDING_PORT_DOWN,
			      "no event tells when it went down");
	}
	if (is_late) {
		finding_doubt(view->findings, FINDING_PORT_DOWN,
			      "the first error came before, at +%s",
			      units_format_duration(view->failure->at_ns, at));
	}
	if (again) {
		finding_doubt(view->findings, FINDING_PORT_DOWN,
			      "it was active again at +%s, before the first error",
			      units_format_duration(again->at_ns, at));
	}
	if (!is_cause) {
		finding_doubt(view->findings, FINDING_PORT_DOWN,
			      "the first error is none that a port which is down leads to");
	}
	return is_cause;
}

/* --- what else went away --- */

static bool is_gone(const struct participant *end)
{
	const struct port_report *report = report_of(end);

	return (report->after.is_known && !report->after.is_present) ||
	       port_report_find(report, PORT_EVENT_DEVICE_FATAL) ||
	       port_report_find(report, PORT_EVENT_DEVICE_REMOVED);
}

static bool find_gone_device(const struct view *view)
{
	const struct participant *const ends[] = { &view->m->initiator, &view->m->responder };

	for (size_t i = 0; i < 2; i++) {
		if (!is_gone(ends[i]) ||
		    !may_mean(view,
			      ends[i] == end_of(view) ? DRIVER_DEVICE_GONE : DRIVER_SILENCE)) {
			continue;
		}
		_cleanup_text_ struct text evidence = evidence_of(view);
		finding_add(view->findings, FINDING_DEVICE_ABSENT, CONFIDENCE_CERTAIN,
			    evidence.data, "RDMA device %s/%s went away while the run went on",
			    ends[i]->endpoint.node, ends[i]->endpoint.device);
		return true;
	}
	return false;
}

static bool has_lost_address(const struct participant *end)
{
	const struct port_after *after = after_of(end);

	return after->is_known && after->is_present && after->gid[0] && end->info &&
	       end->info->gid[0] && strcmp(after->gid, end->info->gid) != 0;
}

/* An error that may mean that packets do not leave, or do not arrive. */
static bool is_without_way(const struct view *view)
{
	return may_mean(view, DRIVER_NO_WAY) || may_mean(view, DRIVER_SILENCE);
}

static bool find_lost_address(const struct view *view)
{
	const struct participant *const ends[] = { &view->m->initiator, &view->m->responder };
	char at[UNITS_SIZE];

	for (size_t i = 0; i < 2 && is_without_way(view); i++) {
		const struct port_event *event =
			port_report_find(report_of(ends[i]), PORT_EVENT_GID_CHANGE);

		if (!has_lost_address(ends[i])) {
			continue;
		}
		_cleanup_text_ struct text evidence = evidence_of(view);
		finding_add(view->findings, FINDING_ADDRESS_LOST,
			    event ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY, evidence.data,
			    "the address %s of %s/%s port %" PRIu64
			    " went away while the run went on%s%s",
			    ends[i]->info->gid, ends[i]->endpoint.node, ends[i]->endpoint.device,
			    ends[i]->endpoint.port_num, event ? ", at +" : "",
			    event ? units_format_duration(event->at_ns, at) : "");
		if (!event) {
			finding_doubt(view->findings, FINDING_ADDRESS_LOST,
				      "no event tells when it went away");
		}
		return true;
	}
	return false;
}

static bool find_shrunk_mtu(const struct view *view)
{
	const struct participant *const ends[] = { &view->m->initiator, &view->m->responder };
	uint64_t path_mtu = view->m->assignment.workload.qp.path_mtu;

	for (size_t i = 0; i < 2 && path_mtu != SCHEMA_AUTO && is_without_way(view); i++) {
		const struct port_after *after = after_of(ends[i]);

		if (!after->is_known || !after->is_present || after->active_mtu_bytes == 0 ||
		    after->active_mtu_bytes >= path_mtu) {
			continue;
		}
		_cleanup_text_ struct text evidence = evidence_of(view);
		finding_add(view->findings, FINDING_MTU_SHRUNK, CONFIDENCE_LIKELY, evidence.data,
			    "the active MTU of %s/%s port %" PRIu64 " is %" PRIu64
			    " now, and the run was planned with a path MTU of %" PRIu64,
			    ends[i]->endpoint.node, ends[i]->endpoint.device,
			    ends[i]->endpoint.port_num, after->active_mtu_bytes, path_mtu);
		return true;
	}
	return false;
}

bool diagnose_port(const struct failure *failure, const struct measurement *measurement,
		   const char *evidence, struct findings *findings)
{
	struct view view = { failure, measurement, findings, evidence };

	return find_down_at_start(&view) ||
	       (measurement && (find_gone_device(&view) || find_down(&view) ||
				find_lost_address(&view) || find_shrunk_mtu(&view)));
}

void diagnose_port_flaps(struct measurement *measurement)
{
	struct view view = { &measurement->first_error, measurement, &measurement->findings, NULL };
	const struct port_event *event;
	const struct participant *end;
	char text[LIMIT_TEXT];

	if (error_is_set(&measurement->first_error.error) ||
	    !(end = down_end(measurement, &event))) {
		return;
	}
	_cleanup_text_ struct text evidence = evidence_of(&view);
	write_down(end, event, text, sizeof(text));
	finding_add(&measurement->findings, FINDING_PORT_DOWN,
		    event ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY, evidence.data, "%s", text);
	finding_doubt(&measurement->findings, FINDING_PORT_DOWN,
		      "the run came to its end without an error all the same");
}

static void write_link(uint64_t rate_bps, uint64_t width, char *out, size_t size)
{
	char rate[UNITS_SIZE];

	snprintf(out, size, "%s", units_format_rate((double)rate_bps, rate));
	if (width > 0) {
		snprintf(out + strlen(out), size - strlen(out), " (%" PRIu64 " lanes)", width);
	}
}

/* Both moments are asked in the same way; what either does not tell says nothing. */
void diagnose_port_links(struct measurement *measurement)
{
	const struct participant *const ends[] = { &measurement->initiator,
						   &measurement->responder };
	char before[UNITS_SIZE + 32], now[UNITS_SIZE + 32], evidence[LIMIT_TEXT];

	for (size_t i = 0; i < 2; i++) {
		const struct port *port = &ends[i]->port;
		const struct port_after *after = after_of(ends[i]);

		/* A port that is down has no rate to speak of. */
		if (!after->is_known || !after->is_present || after->state != PORT_STATE_ACTIVE ||
		    after->link_rate_bps == 0 || after->link_rate_bps >= port->link_rate_bps) {
			continue;
		}
		write_link(port->link_rate_bps, port->link_width, before, sizeof(before));
		write_link(after->link_rate_bps, after->link_width, now, sizeof(now));
		snprintf(evidence, sizeof(evidence), "%s when it was planned, %s afterwards",
			 before, now);
		finding_add(&measurement->findings, FINDING_LINK_SLOWER, CONFIDENCE_CERTAIN,
			    evidence, "the link of %s/%s port %" PRIu64 " came down to %s",
			    ends[i]->endpoint.node, ends[i]->endpoint.device,
			    ends[i]->endpoint.port_num, now);
		return;
	}
}
