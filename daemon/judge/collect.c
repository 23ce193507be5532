// SPDX-License-Identifier: MIT
#include "judge/collect.h"

#include <errno.h>
#include <string.h>

#include "util/text.h"

/* enum ibv_wc_status as far as the rules look at it; judge/ knows no verbs. */
enum {
	STATUS_LOC_LEN = 1,
	STATUS_LOC_QP_OP = 2,
	STATUS_LOC_PROT = 4,
	STATUS_FLUSH = 5,
	STATUS_LOC_ACCESS = 8,
	STATUS_REM_INV_REQ = 9,
	STATUS_REM_ACCESS = 10,
	STATUS_REM_OP = 11,
	STATUS_RETRY_EXC = 12,
	STATUS_REM_ABORT = 16,
	STATUS_RESP_TIMEOUT = 20,
};

#define SESSION_GRACE_NS 2000000000ull
/* A session that broke by silence was silent for so long before that was noticed
 * (api/control-protocol.md). */
#define SESSION_SILENCE_NS 6000000000ull
/* The clocks of both ends' traffic start apart by a message; what is nearer than this has no order.
 */
#define SKEW_NS 100000000ull
/* A device that was removed without an event is missed when its port is looked at, or by the next
 * scan, every 2 s. */
#define REMOVAL_NS 3000000000ull
/* So much later an event of a port may be read than the error it caused. */
#define EVENT_NS 1000000000ull

#define CANDIDATES 5

struct candidates {
	size_t count;
	struct failure items[CANDIDATES];
	bool is_responder[CANDIDATES];
	bool has_port_down[CANDIDATES]; /* its own port went down before */
};

static bool is_call(const struct failure *failure, const char *call)
{
	return !strcmp(failure->error.call, call);
}

static bool is_status(const struct failure *failure, int status)
{
	return failure->error.kind == ERROR_KIND_WC_STATUS && failure->error.number == status;
}

static bool is_session_loss(const struct failure *failure)
{
	return failure->error.class == ERROR_PEER && is_call(failure, "session");
}

/* Since when the peer may have been gone: silence is noticed late. */
static uint64_t lost_by_ns(const struct failure *failure)
{
	if (failure->error.kind != ERROR_KIND_ERRNO || failure->error.number != ETIMEDOUT) {
		return failure->at_ns;
	}
	return failure->at_ns > SESSION_SILENCE_NS ? failure->at_ns - SESSION_SILENCE_NS : 0;
}

static bool is_device_loss(const struct failure *failure)
{
	return failure->error.class == ERROR_DEVICE && is_call(failure, "device") &&
	       failure->error.stage == STAGE_RUN;
}

/* A queue pair of that end failed, as its device told by an event. */
static bool is_queue_event(const struct failure *failure)
{
	return failure->error.class == ERROR_DEVICE && is_call(failure, "ibv_get_async_event");
}

/* Of the traffic of pattern connect: the other end, or its daemon, was not there any more. */
static bool is_lost_connection(const struct failure *failure)
{
	return failure->error.stage == STAGE_RUN &&
	       (failure->error.kind == ERROR_KIND_CM_REJECT ||
		(!strncmp(failure->error.call, "rdma_", strlen("rdma_")) &&
		 failure->error.kind == ERROR_KIND_ERRNO));
}

/* The other end did not answer. */
static bool is_silence(const struct failure *failure)
{
	return is_status(failure, STATUS_RETRY_EXC) || is_status(failure, STATUS_RESP_TIMEOUT) ||
	       is_call(failure, "stall") || is_lost_connection(failure);
}

static bool is_local_status(const struct failure *failure)
{
	return is_status(failure, STATUS_LOC_LEN) || is_status(failure, STATUS_LOC_QP_OP) ||
	       is_status(failure, STATUS_LOC_PROT) || is_status(failure, STATUS_LOC_ACCESS);
}

static bool is_remote_status(const struct failure *failure)
{
	return is_status(failure, STATUS_REM_INV_REQ) || is_status(failure, STATUS_REM_ACCESS) ||
	       is_status(failure, STATUS_REM_OP) || is_status(failure, STATUS_REM_ABORT);
}

/* An end whose own port went down needs no lost daemon to explain that nothing came back. */
static bool has_port_down(const struct participant *end, uint64_t at_ns)
{
	const struct port_event *event =
		end ? port_report_find(&end->totals.port_report, PORT_EVENT_PORT_ERR) : NULL;

	return event && event->at_ns <= at_ns + EVENT_NS;
}

static void add_candidate(struct candidates *candidates, const struct failure *failure,
			  const struct participant *end, bool is_responder)
{
	struct failure *item;

	if (!error_is_set(&failure->error)) {
		return;
	}
	item = &candidates->items[candidates->count];
	*item = *failure;
	if (end && !item->node[0]) {
		text_copy(item->node, sizeof(item->node), end->endpoint.node);
	}
	if (end && !item->device[0] && item->error.class == ERROR_DEVICE) {
		text_copy(item->device, sizeof(item->device), end->endpoint.device);
	}
	candidates->has_port_down[candidates->count] = has_port_down(end, item->at_ns);
	candidates->is_responder[candidates->count++] = is_responder;
}

/* Errors of the set-up come before any traffic, whatever their time says. */
static bool is_setup(const struct failure *failure)
{
	return failure->error.stage < STAGE_RUN;
}

static bool is_earlier(const struct failure *a, const struct failure *b)
{
	if (is_setup(a) != is_setup(b)) {
		return is_setup(a);
	}
	return a->at_ns < b->at_ns;
}

/* Whether `a`, against the order of time or where there is none, is the cause of `b`. */
static bool explains(const struct candidates *candidates, size_t a, size_t b)
{
	const struct failure *cause = &candidates->items[a];
	const struct failure *effect = &candidates->items[b];

	if (is_status(cause, STATUS_FLUSH) || is_setup(cause) != is_setup(effect)) {
		return false;
	}
	if (is_status(effect, STATUS_FLUSH)) {
		return true;
	}
	if (is_session_loss(cause) && is_silence(effect)) {
		return !candidates->has_port_down[b] &&
		       lost_by_ns(cause) <= effect->at_ns + SESSION_GRACE_NS;
	}
	if (is_device_loss(cause) && is_silence(effect)) {
		return cause->at_ns <= effect->at_ns + REMOVAL_NS;
	}
	/* With direction: both either end may be the one that asked. */
	if (is_local_status(cause) && is_remote_status(effect) &&
	    candidates->is_responder[a] != candidates->is_responder[b]) {
		return cause->at_ns <= effect->at_ns + SKEW_NS;
	}
	/* The device that refuses a request tells of its queue pair; the one that asked learns why.
	 */
	if (is_remote_status(cause) && is_queue_event(effect) &&
	    candidates->is_responder[a] != candidates->is_responder[b]) {
		return cause->at_ns <= effect->at_ns + SKEW_NS;
	}
	/* An end is told to stop after the other one reported; clocks apart may turn that round. */
	if (is_call(effect, "abort") && !is_call(cause, "abort")) {
		return cause->at_ns <= effect->at_ns + SKEW_NS;
	}
	return false;
}

static bool precedes(const struct candidates *candidates, size_t a, size_t b)
{
	if (explains(candidates, a, b)) {
		return true;
	}
	return !explains(candidates, b, a) &&
	       is_earlier(&candidates->items[a], &candidates->items[b]);
}

/* The same failure may have come twice, alone and with the totals. */
static uint64_t flushed_of(const struct participant *end)
{
	uint64_t alone = end->failure.flushed, with_totals = end->totals.failure.flushed;

	return alone > with_totals ? alone : with_totals;
}

/* Whose first error it is already, when it is collected again. */
static const struct participant *named_end(const struct measurement *measurement)
{
	const struct participant *const ends[] = { &measurement->initiator,
						   &measurement->responder };

	for (size_t i = 0; i < 2; i++) {
		if (strcmp(ends[i]->endpoint.node, measurement->first_error.node) == 0) {
			return ends[i];
		}
	}
	return NULL;
}

static bool is_of_teardown(const struct failure *failure)
{
	return error_is_set(&failure->error) && failure->error.stage == STAGE_TEARDOWN;
}

static bool is_measured(const struct measurement *measurement)
{
	const struct totals *totals = &measurement->initiator.totals;

	return measurement->initiator.has_totals && measurement->responder.has_totals &&
	       (totals->end == END_DURATION || totals->end == END_ITERATIONS) &&
	       !error_is_set(&totals->failure.error) &&
	       !error_is_set(&measurement->responder.totals.failure.error);
}

static void collect_teardown(struct measurement *measurement)
{
	struct participant *const ends[] = { &measurement->initiator, &measurement->responder };

	if (!is_measured(measurement)) {
		return;
	}
	if (is_of_teardown(&measurement->first_error)) {
		measurement->teardown = measurement->first_error;
		measurement->first_error = FAILURE_INIT;
	}
	for (size_t i = 0; i < 2; i++) {
		if (is_of_teardown(&ends[i]->failure) &&
		    !error_is_set(&measurement->teardown.error)) {
			struct candidates candidate = { 0 };

			add_candidate(&candidate, &ends[i]->failure, ends[i], i == 1);
			measurement->teardown = candidate.items[0];
		}
	}
}

void collect_first_error(struct measurement *measurement)
{
	struct candidates candidates = { 0 };
	const struct participant *initiator = &measurement->initiator;
	const struct participant *responder = &measurement->responder;
	bool has_teardown;
	uint64_t flushed;
	size_t first = 0;

	collect_teardown(measurement);
	has_teardown = error_is_set(&measurement->teardown.error);
	add_candidate(&candidates, &measurement->first_error, NULL, false);
	if (candidates.count > 0) {
		candidates.has_port_down[0] =
			has_port_down(named_end(measurement), candidates.items[0].at_ns);
	}
	if (!has_teardown || !is_of_teardown(&initiator->failure)) {
		add_candidate(&candidates, &initiator->failure, initiator, false);
	}
	add_candidate(&candidates, &initiator->totals.failure, initiator, false);
	if (!has_teardown || !is_of_teardown(&responder->failure)) {
		add_candidate(&candidates, &responder->failure, responder, true);
	}
	add_candidate(&candidates, &responder->totals.failure, responder, true);
	if (candidates.count == 0) {
		return;
	}
	for (size_t i = 1; i < candidates.count; i++) {
		if (precedes(&candidates, i, first)) {
			first = i;
		}
	}
	flushed = flushed_of(initiator) + flushed_of(responder);
	if (flushed < candidates.items[first].flushed) {
		flushed = candidates.items[first].flushed;
	}
	measurement->first_error = candidates.items[first];
	measurement->first_error.flushed = flushed;
}

void collect_counts(struct run *run)
{
	memset(run->counts, 0, sizeof(run->counts));
	for (size_t i = 0; i < run->measurement_count; i++) {
		int verdict = run->measurements[i]->verdict;

		if (verdict > VERDICT_NONE && verdict < VERDICT_COUNT) {
			run->counts[verdict]++;
		}
	}
}
