// SPDX-License-Identifier: MIT
#include "judge/diagnose.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "judge/delivery_evidence.h"
#include "judge/diagnose_access.h"
#include "judge/diagnose_cm.h"
#include "judge/diagnose_path.h"
#include "judge/diagnose_peer.h"
#include "judge/diagnose_port.h"
#include "judge/driver.h"
#include "judge/host_evidence.h"
#include "judge/port_evidence.h"
#include "judge/verify_evidence.h"
#include "util/units.h"

/* enum ibv_wc_status as far as the rules look at it; judge/ knows no verbs. */
enum {
	STATUS_FLUSH = 5,
	STATUS_RNR_RETRY_EXC = 13,
};

/* What a rule about an error looks at. measurement is NULL for the error of a whole run. */
struct view {
	const struct failure *failure;
	const struct measurement *measurement;
	struct findings *findings;
	const char *evidence;
};

static bool is_call(const struct view *view, const char *call)
{
	return !strcmp(view->failure->error.call, call);
}

static bool is_status(const struct view *view, int status)
{
	return view->failure->error.kind == ERROR_KIND_WC_STATUS &&
	       view->failure->error.number == status;
}

static bool is_errno(const struct view *view, int number)
{
	return view->failure->error.kind == ERROR_KIND_ERRNO &&
	       view->failure->error.number == number;
}

static const char *node_of(const struct view *view)
{
	return view->failure->node[0] ? view->failure->node : "this node";
}

/* --- one rule each: true when it explains the error, with its finding added --- */

static bool find_bug(const struct view *view)
{
	if (view->failure->error.class != ERROR_BUG) {
		return false;
	}
	finding_add(view->findings, FINDING_TESTER_FAULT, CONFIDENCE_CERTAIN, view->evidence,
		    "rdmatestd on %s made a mistake: %s", node_of(view), view->failure->error.text);
	return true;
}

static bool find_abort(const struct view *view)
{
	if (!is_call(view, "abort")) {
		return false;
	}
	finding_add(view->findings, FINDING_RUN_ABORTED, CONFIDENCE_CERTAIN, view->evidence,
		    "the run was %s", view->failure->error.text);
	return true;
}

static bool find_peer(const struct view *view)
{
	char path[DIAGNOSE_PATH_SIZE];

	return diagnose_cm(view->failure, node_of(view),
			   diagnose_path_name(view->measurement, path, sizeof(path)),
			   view->evidence, view->findings) ||
	       diagnose_peer(view->failure, node_of(view), view->evidence, view->findings);
}

static bool find_port(const struct view *view)
{
	return diagnose_port(view->failure, view->measurement, view->evidence, view->findings);
}

static bool find_sick_device(const struct view *view)
{
	if (!is_call(view, "sick")) {
		return false;
	}
	finding_add(view->findings, FINDING_DEVICE_SICK, CONFIDENCE_CERTAIN, view->evidence,
		    "a device of %s hangs: %s", node_of(view), view->failure->error.text);
	return true;
}

static bool find_absent_device(const struct view *view)
{
	if (!is_call(view, "device")) {
		return false;
	}
	finding_add(view->findings, FINDING_DEVICE_ABSENT, CONFIDENCE_CERTAIN, view->evidence,
		    "%s has not what the run needs: %s", node_of(view), view->failure->error.text);
	return true;
}

static bool find_partition(const struct view *view)
{
	if (!is_call(view, "pkey")) {
		return false;
	}
	finding_add(view->findings, FINDING_PARTITION_ABSENT, CONFIDENCE_CERTAIN, view->evidence,
		    "%s: %s", node_of(view), view->failure->error.text);
	return true;
}

static bool find_limit(const struct view *view)
{
	if (!is_call(view, "limit")) {
		return false;
	}
	finding_add(view->findings, FINDING_LIMIT_EXCEEDED, CONFIDENCE_CERTAIN, view->evidence,
		    "the scenario asks for more than %s has: %s", node_of(view),
		    view->failure->error.text);
	return true;
}

static bool find_unsupported(const struct view *view)
{
	if (!is_errno(view, EOPNOTSUPP) && !is_errno(view, ENOSYS) && !is_errno(view, ENOTSUP)) {
		return false;
	}
	finding_add(view->findings, FINDING_UNSUPPORTED, CONFIDENCE_CERTAIN, view->evidence,
		    "%s cannot do it: %s", node_of(view), view->failure->error.text);
	return true;
}

static bool find_deadline(const struct view *view)
{
	if (!is_call(view, "deadline")) {
		return false;
	}
	finding_add(view->findings, FINDING_DEADLINE_PASSED, CONFIDENCE_CERTAIN, view->evidence,
		    "the measurement did not come to its end in time: %s",
		    view->failure->error.text);
	return true;
}

/* What a host that is short of CPU does by itself is not the fabric's. */
static bool is_host(const struct view *view)
{
	return view->measurement && host_evidence_explains_error(view->measurement);
}

static enum confidence confidence_of(const struct view *view)
{
	return is_host(view) ? CONFIDENCE_POSSIBLE : CONFIDENCE_CERTAIN;
}

static void doubt_host(const struct view *view, enum finding_code code)
{
	if (is_host(view)) {
		finding_doubt(view->findings, code,
			      "a host was short of CPU, so that the tester may have caused it");
	}
}

static bool find_stall(const struct view *view)
{
	char path[DIAGNOSE_PATH_SIZE];

	if (!is_call(view, "stall")) {
		return false;
	}
	finding_add(view->findings, FINDING_STALLED, confidence_of(view), view->evidence,
		    "traffic from %s stood still with work outstanding",
		    diagnose_path_name(view->measurement, path, sizeof(path)));
	doubt_host(view, FINDING_STALLED);
	return true;
}

static bool find_starved(const struct view *view)
{
	if (!is_call(view, "starved")) {
		return false;
	}
	finding_add(view->findings, FINDING_HOST_STARVED, CONFIDENCE_CERTAIN, view->evidence,
		    "%s ended the run to spare its host: %s", node_of(view),
		    view->failure->error.text);
	return true;
}

static bool find_path(const struct view *view)
{
	return diagnose_path(view->failure, view->measurement, view->evidence, view->findings);
}

static bool find_receiver(const struct view *view)
{
	if (!is_status(view, STATUS_RNR_RETRY_EXC)) {
		return false;
	}
	finding_add(view->findings, FINDING_RECEIVER_NOT_READY, confidence_of(view), view->evidence,
		    "the receiver had no buffer posted until the retries of %s were used up",
		    node_of(view));
	doubt_host(view, FINDING_RECEIVER_NOT_READY);
	return true;
}

static bool find_access(const struct view *view)
{
	return diagnose_access(view->failure, view->measurement, node_of(view), view->evidence,
			       view->findings);
}

static bool find_completion(const struct view *view)
{
	if (view->failure->error.kind != ERROR_KIND_WC_STATUS) {
		return false;
	}
	finding_add(view->findings, FINDING_COMPLETION_ERROR,
		    is_status(view, STATUS_FLUSH) ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY,
		    view->evidence, "an operation ended with %s on %s",
		    failure_wc_status_name(view->failure->error.number), node_of(view));
	return true;
}

static bool find_no_permission(const struct view *view)
{
	const struct error *error = &view->failure->error;

	if (error->class != ERROR_RESOURCE || error->kind != ERROR_KIND_ERRNO ||
	    (error->number != EACCES && error->number != EPERM)) {
		return false;
	}
	finding_add(view->findings, FINDING_NO_PERMISSION, CONFIDENCE_CERTAIN, view->evidence,
		    "rdmatestd on %s may not use what it needs: %s", node_of(view), error->text);
	return true;
}

static bool find_resource(const struct view *view)
{
	if (view->failure->error.class != ERROR_RESOURCE) {
		return false;
	}
	finding_add(view->findings, FINDING_RESOURCE_SHORT, CONFIDENCE_CERTAIN, view->evidence,
		    "%s ran out of a resource: %s", node_of(view), view->failure->error.text);
	return true;
}

static bool find_input(const struct view *view)
{
	if (view->failure->error.class != ERROR_INPUT) {
		return false;
	}
	finding_add(view->findings, FINDING_INPUT_REFUSED, CONFIDENCE_CERTAIN, view->evidence, "%s",
		    view->failure->error.text);
	return true;
}

static bool find_setup(const struct view *view)
{
	if (view->failure->error.class != ERROR_DEVICE || view->failure->error.stage >= STAGE_RUN) {
		return false;
	}
	finding_add(view->findings, FINDING_SETUP_FAILED, CONFIDENCE_CERTAIN, view->evidence,
		    "set-up failed on %s: %s", node_of(view), view->failure->error.text);
	return true;
}

static bool find_anything(const struct view *view)
{
	finding_add(view->findings, FINDING_COMPLETION_ERROR, CONFIDENCE_POSSIBLE, view->evidence,
		    "%s", view->failure->error.text);
	return true;
}

/* The first that explains the error ends the search: the special before the general. */
static bool (*const error_rules[])(const struct view *view) = {
	find_bug,	    find_abort,		find_peer,     find_sick_device, find_port,
	find_absent_device, find_partition,	find_limit,    find_unsupported, find_deadline,
	find_stall,	    find_starved,	find_path,     find_receiver,	 find_access,
	find_completion,    find_no_permission, find_resource, find_input,	 find_setup,
	find_anything,
};

static void write_end_evidence(const struct participant *end, const char *name, char *out,
			       size_t size)
{
	if (end->has_totals) {
		snprintf(out, size,
			 "%s %s: %" PRIu64 " completed, %" PRIu64 " in error, ended by %s", name,
			 end->endpoint.node, end->totals.operations + end->totals.receives,
			 end->totals.errors, sample_end_names[end->totals.end]);
	} else {
		snprintf(out, size, "%s %s: no totals", name, end->endpoint.node);
	}
}

static void diagnose_failure(const struct failure *failure, const struct measurement *measurement,
			     struct findings *findings)
{
	char evidence[3 * LIMIT_TEXT] = "", pauses[LIMIT_TEXT] = "", path[LIMIT_TEXT / 2] = "",
			  initiator[LIMIT_TEXT / 2], responder[LIMIT_TEXT / 2], at[UNITS_SIZE];
	struct view view = { failure, measurement, findings, evidence };

	if (!error_is_set(&failure->error)) {
		return;
	}
	if (measurement) {
		port_evidence_path(measurement, path, sizeof(path));
		port_evidence_pauses(measurement, pauses, sizeof(pauses));
		write_end_evidence(&measurement->initiator, "initiator", initiator,
				   sizeof(initiator));
		write_end_evidence(&measurement->responder, "responder", responder,
				   sizeof(responder));
		if (failure->error.stage == STAGE_RUN) {
			snprintf(evidence, sizeof(evidence),
				 "%s%s%s%sat +%s on %s; %" PRIu64 " flushed behind it; %s; %s",
				 path, path[0] ? "; " : "", pauses, pauses[0] ? "; " : "",
				 units_format_duration(failure->at_ns, at),
				 failure->node[0] ? failure->node : "?", failure->flushed,
				 initiator, responder);
		} else {
			snprintf(evidence, sizeof(evidence), "in stage %s on %s, %s",
				 error_stage_name(failure->error.stage),
				 failure->node[0] ? failure->node : "?",
				 failure->error.stage < STAGE_RUN ? "before any traffic"
								  : "after the traffic");
		}
	}
	for (size_t i = 0; i < sizeof(error_rules) / sizeof(error_rules[0]); i++) {
		if (error_rules[i](&view)) {
			return;
		}
	}
}

/* --- rules that need no error --- */

static const char *write_value(const struct expectation_result *result, double value, char *buf)
{
	switch (result->expectation.metric) {
	case METRIC_LATENCY:
	case METRIC_SERVICE_LATENCY:
		return units_format_duration((uint64_t)value, buf);
	case METRIC_BANDWIDTH:
		return units_format_rate(value, buf);
	case METRIC_OPS_RATE:
		return units_format_ops_rate(value, buf);
	case METRIC_LATE_OPS:
	case METRIC_LOST_OPS:
		if (result->expectation.statistic != STATISTIC_RATIO) {
			snprintf(buf, UNITS_SIZE, "%.0f", value);
			return buf;
		}
		snprintf(buf, UNITS_SIZE, "%.3g %%", value * 100);
		return buf;
	default:
		snprintf(buf, UNITS_SIZE, "%.0f", value);
		return buf;
	}
}

static const struct expectation_result *first_with(const struct measurement *measurement,
						   int outcome, size_t *ret_count)
{
	const struct expectation_result *first = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < measurement->expectation_count; i++) {
		if (measurement->expectations[i].outcome == outcome) {
			first = first ? first : &measurement->expectations[i];
			++*ret_count;
		}
	}
	return first;
}

/* Errors are errors on any host; what was lost has its own finding. */
static bool is_about_speed(const struct expectation_result *result)
{
	return result->expectation.metric != METRIC_ERRORS &&
	       result->expectation.metric != METRIC_VERIFY_ERRORS &&
	       result->expectation.metric != METRIC_LOST_OPS;
}

/* The first of them that is about a rate, and what it came to. */
static void find_bus(struct measurement *measurement)
{
	for (size_t i = 0; i < measurement->expectation_count; i++) {
		const struct expectation_result *result = &measurement->expectations[i];

		if (result->outcome == OUTCOME_MISSED &&
		    result->expectation.metric == METRIC_BANDWIDTH) {
			/* Of one way: a bus carries as much each way, too. */
			host_evidence_find_bus(measurement,
					       (result->has_actual ? result->actual : 0) /
						       (run_is_mutual(measurement) ? 2 : 1));
			return;
		}
	}
}

static void find_missed(struct measurement *measurement)
{
	size_t count;
	enum confidence confidence = CONFIDENCE_CERTAIN;
	const struct expectation_result *result = first_with(measurement, OUTCOME_MISSED, &count);
	char actual[UNITS_SIZE], limit[UNITS_SIZE], evidence[3 * LIMIT_TEXT];
	char more[40] = "", pauses[LIMIT_TEXT] = "", hosts[LIMIT_TEXT] = "";

	if (!result) {
		return;
	}
	/* A slow tester makes slow numbers, a slow receiver loses; errors are errors all the same.
	 */
	if ((is_about_speed(result) &&
	     finding_has(&measurement->findings, FINDING_HOST_STARVED, CONFIDENCE_LIKELY)) ||
	    (result->expectation.metric == METRIC_LOST_OPS &&
	     host_evidence_is_starved_receiver(measurement))) {
		confidence = CONFIDENCE_POSSIBLE;
	}
	if (count > 1) {
		snprintf(more, sizeof(more), "; and %zu more", count - 1);
	}
	if (is_about_speed(result)) {
		port_evidence_pauses(measurement, pauses, sizeof(pauses));
		host_evidence_say(measurement, hosts, sizeof(hosts));
	}
	snprintf(evidence, sizeof(evidence), "actual %s, limit %s, %" PRIu64 " samples%s%s%s%s",
		 write_value(result, result->actual, actual),
		 write_value(result, result->limit, limit), result->samples, pauses[0] ? "; " : "",
		 pauses, hosts[0] ? "; " : "", hosts);
	finding_add(&measurement->findings, FINDING_EXPECTATION_MISSED, confidence, evidence,
		    "%s was not met: %s%s", result->expectation.text, actual, more);
	if (confidence == CONFIDENCE_POSSIBLE) {
		finding_doubt(
			&measurement->findings, FINDING_EXPECTATION_MISSED,
			"the host was short of CPU, so that the tester itself may have been too slow");
	}
}

static void find_too_few(struct measurement *measurement)
{
	size_t count;
	const struct expectation_result *result =
		first_with(measurement, OUTCOME_INCONCLUSIVE, &count);

	/* With an error, that is the reason, and said already. */
	if (!result || error_is_set(&measurement->first_error.error)) {
		return;
	}
	finding_add(&measurement->findings, FINDING_TOO_FEW_SAMPLES, CONFIDENCE_CERTAIN, NULL,
		    "%s could not be judged: %s", result->expectation.text, result->reason);
}

void diagnose_measurement(struct measurement *measurement)
{
	diagnose_failure(&measurement->first_error, measurement, &measurement->findings);
	diagnose_failure(&measurement->teardown, measurement, &measurement->findings);
	host_evidence_find(measurement);
	verify_evidence_find(measurement);
	delivery_evidence_find(measurement);
	find_missed(measurement);
	find_bus(measurement);
	find_too_few(measurement);
	port_evidence_find(measurement);
	diagnose_port_flaps(measurement);
	diagnose_port_links(measurement);
}

void diagnose_run(struct run *run)
{
	diagnose_failure(&run->error, NULL, &run->findings);
}
