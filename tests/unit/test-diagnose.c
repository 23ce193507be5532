// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "judge/diagnose.h"
#include "util/memory.h"
#include "util/text.h"

static struct measurement *new_measurement(void)
{
	struct measurement *m = memory_new(sizeof(*m));

	m->first_error = FAILURE_INIT;
	m->initiator.endpoint = (struct endpoint){ "a", "rxe0", 1, 1 };
	m->responder.endpoint = (struct endpoint){ "b", "rxe1", 1, 1 };
	return m;
}

static void set_failure(struct failure *failure, enum error_class class, enum error_stage stage,
			const char *call, enum error_kind kind, int number)
{
	*failure = FAILURE_INIT;
	error_set(&failure->error, -1, class, "the sentence of who saw it");
	failure->error.stage = stage;
	failure->error.kind = kind;
	failure->error.number = number;
	text_copy(failure->error.call, sizeof(failure->error.call), call);
	text_copy(failure->node, sizeof(failure->node), "b");
	failure->at_ns = 3204000000;
	failure->flushed = 127;
}

static const struct {
	enum error_class class;
	enum error_stage stage;
	const char *call;
	enum error_kind kind;
	int number;
	enum finding_code code;
} kinds[] = {
	{ ERROR_PEER, STAGE_RUN, "session", 0, 0, FINDING_PEER_DAEMON_LOST },
	{ ERROR_PEER, STAGE_CONNECT, "session", 0, 0, FINDING_PEER_DAEMON_LOST },
	{ ERROR_PEER, STAGE_RUN, "session", ERROR_KIND_ERRNO, ESTALE, FINDING_HOST_STARVED },
	{ ERROR_PEER, STAGE_RUN, "session", ERROR_KIND_ERRNO, ECANCELED, FINDING_RUN_ABORTED },
	{ ERROR_PEER, STAGE_DISCOVER, "connect", 1, ECONNREFUSED, FINDING_PEER_UNREACHABLE },
	{ ERROR_PEER, STAGE_DISCOVER, "tls", 0, 0, FINDING_PEER_KEY_REFUSED },
	{ ERROR_PEER, STAGE_DISCOVER, "tls", ERROR_KIND_ERRNO, EPROTO, FINDING_PEER_UNREACHABLE },
	{ ERROR_PEER, STAGE_DISCOVER, "tls", ERROR_KIND_ERRNO, ECONNRESET,
	  FINDING_PEER_UNREACHABLE },
	{ ERROR_PEER, STAGE_DISCOVER, "hello", ERROR_KIND_ERRNO, ETIMEDOUT,
	  FINDING_PEER_UNREACHABLE },
	{ ERROR_PEER, STAGE_DISCOVER, "hello", 0, 0, FINDING_PEER_PROTOCOL },
	{ ERROR_PEER, STAGE_RESOURCE, "permit", 0, 0, FINDING_PEER_REFUSED },
	{ ERROR_PEER, STAGE_RESOURCE, "busy", 0, 0, FINDING_PEER_REFUSED },
	{ ERROR_PEER, STAGE_RUN, "", 0, 0, FINDING_PEER_ANSWER_WRONG },
	{ ERROR_PEER, STAGE_RUN, "message", 0, 0, FINDING_PEER_ANSWER_WRONG },
	{ ERROR_INPUT, STAGE_RESOURCE, "assignment", 0, 0, FINDING_ASSIGNMENT_REFUSED },
	{ ERROR_RESOURCE, STAGE_RESOURCE, "permit", 0, 0, FINDING_PEER_REFUSED },
	{ ERROR_DEVICE, STAGE_DISCOVER, "device", 0, 0, FINDING_DEVICE_ABSENT },
	{ ERROR_INPUT, STAGE_RESOURCE, "limit", 0, 0, FINDING_LIMIT_EXCEEDED },
	{ ERROR_DEVICE, STAGE_RUN, "stall", 0, 0, FINDING_STALLED },
	{ ERROR_INPUT, STAGE_RUN, "abort", 0, 0, FINDING_RUN_ABORTED },
	{ ERROR_RESOURCE, STAGE_RUN, "starved", ERROR_KIND_ERRNO, EBUSY, FINDING_HOST_STARVED },
	{ ERROR_DEVICE, STAGE_RUN, "deadline", 0, 0, FINDING_DEADLINE_PASSED },
	{ ERROR_DEVICE, STAGE_CONNECT, "deadline", 0, 0, FINDING_DEADLINE_PASSED },
	{ ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp", ERROR_KIND_ERRNO, ETIMEDOUT,
	  FINDING_PATH_UNRESOLVED },
	{ ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp", ERROR_KIND_ERRNO, EHOSTUNREACH,
	  FINDING_PATH_UNRESOLVED },
	{ ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp", ERROR_KIND_ERRNO, ENODEV,
	  FINDING_PATH_UNRESOLVED },
	{ ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp", ERROR_KIND_ERRNO, EINVAL,
	  FINDING_SETUP_FAILED },
	{ ERROR_INPUT, STAGE_RESOLVE, "", 0, 0, FINDING_PATH_UNRESOLVED },
	{ ERROR_DEVICE, STAGE_RESOLVE, "rdma_resolve_addr", ERROR_KIND_ERRNO, ENODEV,
	  FINDING_PATH_UNRESOLVED },
	{ ERROR_PEER, STAGE_CONNECT, "rdma_connect", ERROR_KIND_CM_REJECT, 28,
	  FINDING_CONNECTION_REJECTED },
	{ ERROR_DEVICE, STAGE_CONNECT, "rdma_connect", ERROR_KIND_CM_REJECT, 26,
	  FINDING_CONNECTION_REJECTED },
	{ ERROR_DEVICE, STAGE_CONNECT, "rdma_connect", ERROR_KIND_ERRNO, ETIMEDOUT,
	  FINDING_CONNECTION_UNANSWERED },
	{ ERROR_PEER, STAGE_CONNECT, "rdma_accept", ERROR_KIND_ERRNO, ECONNRESET,
	  FINDING_CONNECTION_UNANSWERED },
	{ ERROR_DEVICE, STAGE_CONNECT, "rdma_connect", ERROR_KIND_ERRNO, EINVAL,
	  FINDING_SETUP_FAILED },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 12, FINDING_PATH_LOST },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 20, FINDING_PATH_LOST },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 13,
	  FINDING_RECEIVER_NOT_READY },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 10, FINDING_REMOTE_ACCESS },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 4,
	  FINDING_LOCAL_PROTECTION },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 1,
	  FINDING_LOCAL_PROTECTION },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 8,
	  FINDING_LOCAL_PROTECTION },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 2,
	  FINDING_COMPLETION_ERROR },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 9, FINDING_REMOTE_ACCESS },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 11, FINDING_REMOTE_ACCESS },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 21,
	  FINDING_COMPLETION_ERROR },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS, 5,
	  FINDING_COMPLETION_ERROR },
	{ ERROR_RESOURCE, STAGE_RESOURCE, "ibv_reg_mr", ERROR_KIND_ERRNO, ENOMEM,
	  FINDING_RESOURCE_SHORT },
	{ ERROR_RESOURCE, STAGE_RESOURCE, "ibv_open_device", ERROR_KIND_ERRNO, EACCES,
	  FINDING_NO_PERMISSION },
	{ ERROR_DEVICE, STAGE_RESOURCE, "ibv_create_qp", ERROR_KIND_ERRNO, EOPNOTSUPP,
	  FINDING_UNSUPPORTED },
	{ ERROR_DEVICE, STAGE_RESOURCE, "ibv_create_qp", ERROR_KIND_ERRNO, EINVAL,
	  FINDING_SETUP_FAILED },
	{ ERROR_INPUT, STAGE_CONFIG, "", 0, 0, FINDING_INPUT_REFUSED },
	{ ERROR_BUG, STAGE_RUN, "session", 0, 0, FINDING_TESTER_FAULT },
	{ ERROR_DEVICE, STAGE_RUN, "ibv_post_send", ERROR_KIND_ERRNO, EIO,
	  FINDING_COMPLETION_ERROR },
};

static void every_kind_of_error_has_its_finding(void **state)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct measurement *m = new_measurement();
		struct run *run = memory_new(sizeof(*run));

		set_failure(&m->first_error, kinds[i].class, kinds[i].stage, kinds[i].call,
			    kinds[i].kind, kinds[i].number);
		diagnose_measurement(m);
		if (m->findings.count != 1 || m->findings.items[0].code != kinds[i].code) {
			fail_msg("row %zu (%s): %zu findings, first %s", i, kinds[i].call,
				 m->findings.count,
				 m->findings.count ? finding_info(m->findings.items[0].code)->slug
						   : "none");
		}
		assert_true(strlen(m->findings.items[0].text) > 10);
		assert_non_null(
			strstr(m->findings.items[0].evidence,
			       kinds[i].stage == STAGE_RUN ? "127 flushed" : "before any traffic"));
		/* the same error of a whole run */
		run->error = m->first_error;
		diagnose_run(run);
		assert_int_equal(run->findings.count, 1);
		assert_int_equal(run->findings.items[0].code, kinds[i].code);
		free(run);
		free(m);
	}
}

static void an_event_of_a_queue_pair_tells_what_was_refused(void **state)
{
	static const struct {
		int number;
		enum finding_code code;
		enum confidence confidence;
	} rows[] = {
		{ EACCES, FINDING_REMOTE_ACCESS, CONFIDENCE_LIKELY },
		{ EPROTO, FINDING_REMOTE_ACCESS, CONFIDENCE_LIKELY },
		{ EIO, FINDING_COMPLETION_ERROR, CONFIDENCE_POSSIBLE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct measurement *m = new_measurement();

		set_failure(&m->first_error, ERROR_DEVICE, STAGE_RUN, "ibv_get_async_event",
			    ERROR_KIND_ERRNO, rows[i].number);
		diagnose_measurement(m);
		assert_int_equal(m->findings.items[0].code, rows[i].code);
		assert_int_equal(m->findings.items[0].confidence, rows[i].confidence);
		free(m);
	}
}

static void text_never_decides(void **state)
{
	struct measurement *m = new_measurement();

	set_failure(&m->first_error, ERROR_RESOURCE, STAGE_RESOURCE, "ibv_reg_mr", ERROR_KIND_ERRNO,
		    ENOMEM);
	text_copy(m->first_error.error.text, sizeof(m->first_error.error.text),
		  "session lost, retry exceeded, stall, abort");
	diagnose_measurement(m);
	assert_int_equal(m->findings.items[0].code, FINDING_RESOURCE_SHORT);
	free(m);
}

/* The one finding about a session that did not come to be. */
static void expect_session(const char *call, int number, enum finding_code code,
			   enum confidence confidence, const char *sentence)
{
	struct measurement *m = new_measurement();
	const struct finding *finding = &m->findings.items[0];

	set_failure(&m->first_error, ERROR_PEER, STAGE_DISCOVER, call,
		    number != 0 ? ERROR_KIND_ERRNO : ERROR_KIND_NONE, number);
	text_copy(m->first_error.error.text, sizeof(m->first_error.error.text),
		  "10.1.2.3:4711: the sentence of who saw it");
	diagnose_measurement(m);
	assert_int_equal(m->findings.count, 1);
	assert_int_equal(finding->code, code);
	assert_int_equal(finding->confidence, confidence);
	if (strstr(finding->text, sentence) == NULL) {
		fail_msg("\"%s\" does not say \"%s\"", finding->text, sentence);
	}
	/* Whoever is to look there knows where. */
	assert_non_null(strstr(finding->text, "10.1.2.3:4711"));
	free(m);
}

static void an_invalid_hello_is_not_another_version(void **state)
{
	expect_session("hello", EPROTONOSUPPORT, FINDING_PEER_PROTOCOL, CONFIDENCE_CERTAIN,
		       "another version");
	expect_session("hello", EBADMSG, FINDING_PEER_PROTOCOL, CONFIDENCE_LIKELY, "invalid hello");
	expect_session("hello", 0, FINDING_PEER_PROTOCOL, CONFIDENCE_LIKELY, "invalid hello");
	expect_session("hello", ECONNREFUSED, FINDING_PEER_PROTOCOL, CONFIDENCE_LIKELY,
		       "hello of this one");
	expect_session("hello", ECONNRESET, FINDING_PEER_UNREACHABLE, CONFIDENCE_LIKELY,
		       "broke off");
}

static void who_cannot_be_reached_is_told_with_the_address_that_was_tried(void **state)
{
	expect_session("connect", ECONNREFUSED, FINDING_PEER_UNREACHABLE, CONFIDENCE_CERTAIN,
		       "cannot be reached");
	/* The port is the configuration's matter, not the explanation's. */
	assert_null(strstr(finding_info(FINDING_PEER_UNREACHABLE)->cure, "18620"));
	assert_null(strstr(finding_info(FINDING_PEER_UNREACHABLE)->explanation, "18620"));
}

static void a_key_that_differs_is_certain_only_when_the_handshake_says_so(void **state)
{
	expect_session("tls", EKEYREJECTED, FINDING_PEER_KEY_REFUSED, CONFIDENCE_CERTAIN,
		       "fleet key");
	expect_session("tls", 0, FINDING_PEER_KEY_REFUSED, CONFIDENCE_LIKELY, "fleet key");
	expect_session("tls", EPROTO, FINDING_PEER_UNREACHABLE, CONFIDENCE_LIKELY,
		       "not what answers");
}

static void an_assignment_that_is_not_accepted_has_its_own_sentence(void **state)
{
	struct measurement *m = new_measurement();

	set_failure(&m->first_error, ERROR_INPUT, STAGE_RESOURCE, "assignment", 0, 0);
	diagnose_measurement(m);
	assert_int_equal(m->findings.items[0].code, FINDING_ASSIGNMENT_REFUSED);
	assert_non_null(strstr(m->findings.items[0].text,
			       "the daemon on b did not accept the assignment that it was sent"));
	free(m);
}

static void messages_that_did_not_arrive_are_told_unless_so_many_may_be_lost(void **state)
{
	struct measurement *m = new_measurement();
	struct expectation_result *result = &m->expectations[0];

	(void)state;
	m->assignment.workload.qp.qp_type = QP_TYPE_UC;
	m->assignment.workload.workload.pattern = PATTERN_STREAM;
	m->initiator.has_totals = m->responder.has_totals = true;
	m->initiator.totals.end = END_DURATION;
	m->initiator.totals.traffic_operations = 1000;
	m->responder.totals.receives = 1000;
	diagnose_measurement(m);
	assert_int_equal(m->findings.count, 0);

	m->responder.totals.receives = 988;
	m->expectation_count = 1;
	assert_null(expectation_parse("lost_ops.ratio <= 2%", &result->expectation));
	result->outcome = OUTCOME_MET;
	diagnose_measurement(m);
	assert_int_equal(m->findings.count, 0);

	/* A receiver without a CPU may have had no receive posted: neither finding is sure then. */
	assert_null(expectation_parse("lost_ops == 0", &result->expectation));
	result->outcome = OUTCOME_MISSED;
	m->responder.totals.window_ns = 1000000000;
	m->responder.totals.worker_cpu_ns = 500000000;
	diagnose_measurement(m);
	assert_false(finding_has(&m->findings, FINDING_MESSAGES_LOST, CONFIDENCE_LIKELY));
	assert_true(finding_has(&m->findings, FINDING_MESSAGES_LOST, CONFIDENCE_POSSIBLE));
	assert_false(finding_has(&m->findings, FINDING_EXPECTATION_MISSED, CONFIDENCE_LIKELY));
	assert_true(finding_has(&m->findings, FINDING_EXPECTATION_MISSED, CONFIDENCE_POSSIBLE));
	memset(&m->findings, 0, sizeof(m->findings));
	m->responder.totals.window_ns = 0;

	m->expectation_count = 0;
	diagnose_measurement(m);
	assert_int_equal(m->findings.count, 1);
	assert_int_equal(m->findings.items[0].code, FINDING_MESSAGES_LOST);
	assert_int_equal(m->findings.items[0].confidence, CONFIDENCE_CERTAIN);
	assert_non_null(strstr(m->findings.items[0].text, "12 of 1000 messages (1.2 %)"));
	free(m);
}

static void a_lost_path_is_certain_when_the_responder_was_heard_to_the_end(void **state)
{
	struct measurement *m = new_measurement();

	set_failure(&m->first_error, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS,
		    12);
	diagnose_measurement(m);
	assert_int_equal(m->findings.items[0].confidence, CONFIDENCE_LIKELY);
	assert_non_null(strstr(m->findings.items[0].against, "sent no totals"));
	m->findings.count = 0;
	m->responder.has_totals = true;
	diagnose_measurement(m);
	assert_int_equal(m->findings.items[0].confidence, CONFIDENCE_CERTAIN);
	assert_non_null(strstr(m->findings.items[0].text, "a/rxe0 to b/rxe1"));
	free(m);
}

static void C16_what_is_lost_above_a_size_is_told_apart_from_a_lost_path(void **state)
{
	static const struct {
		uint64_t completed_bytes, size_bytes;
		bool has_totals;
		enum finding_code code;
	} rows[] = {
		{ 64, 4096, true, FINDING_SIZE_THRESHOLD },
		{ 0, 64, true, FINDING_SIZE_THRESHOLD },
		{ 1023, 1 << 20, true, FINDING_SIZE_THRESHOLD },
		/* Full packets got through before. */
		{ 1024, 1 << 20, true, FINDING_PATH_LOST },
		{ 4096, 64, true, FINDING_PATH_LOST },
		{ 64, 64, true, FINDING_PATH_LOST },
		{ 64, 4096, false, FINDING_PATH_LOST },
		{ FAILURE_UNKNOWN, 4096, true, FINDING_PATH_LOST },
		{ 64, FAILURE_UNKNOWN, true, FINDING_PATH_LOST },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct measurement *m = new_measurement();

		set_failure(&m->first_error, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq",
			    ERROR_KIND_WC_STATUS, 12);
		m->assignment.workload.qp.path_mtu = 1024;
		m->first_error.size_bytes = rows[i].size_bytes;
		m->first_error.completed_bytes = rows[i].completed_bytes;
		m->responder.has_totals = rows[i].has_totals;
		diagnose_measurement(m);
		assert_int_equal(m->findings.count, 1);
		if (m->findings.items[0].code != rows[i].code) {
			fail_msg("row %zu: %s", i, finding_info(m->findings.items[0].code)->slug);
		}
		free(m);
	}
}

static void a_size_threshold_names_both_sizes_of_packets(void **state)
{
	struct measurement *m = new_measurement();

	(void)state;
	set_failure(&m->first_error, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS,
		    12);
	m->assignment.workload.qp.path_mtu = 4096;
	m->first_error.size_bytes = 1 << 20;
	m->first_error.completed_bytes = 1024;
	text_copy(m->first_error.node, sizeof(m->first_error.node), "a");
	m->responder.has_totals = true;
	diagnose_measurement(m);
	assert_int_equal(m->findings.items[0].confidence, CONFIDENCE_LIKELY);
	assert_non_null(
		strstr(m->findings.items[0].text, "up to 1KiB get through from a/rxe0 to b/rxe1"));
	assert_non_null(strstr(m->findings.items[0].text, "those of 4KiB do not"));
	memset(&m->findings, 0, sizeof(m->findings));
	m->first_error.operation = OPERATION_READ;
	diagnose_measurement(m);
	assert_non_null(strstr(m->findings.items[0].text, "from b/rxe1 to a/rxe0"));
	memset(&m->findings, 0, sizeof(m->findings));
	text_copy(m->first_error.node, sizeof(m->first_error.node), "b");
	diagnose_measurement(m);
	assert_non_null(strstr(m->findings.items[0].text, "from a/rxe0 to b/rxe1"));
	free(m);
}

static struct expectation_result *add_result(struct measurement *m, const char *text, int outcome,
					     double actual)
{
	struct expectation_result *result = &m->expectations[m->expectation_count++];

	assert_null(expectation_parse(text, &result->expectation));
	result->outcome = outcome;
	result->has_actual = true;
	result->actual = actual;
	result->limit = result->expectation.limit;
	return result;
}

static void a_missed_expectation_is_named_with_its_value(void **state)
{
	struct measurement *m = new_measurement();

	add_result(m, "errors == 0", OUTCOME_MET, 0);
	diagnose_measurement(m);
	assert_int_equal(m->findings.count, 0);
	add_result(m, "write.latency.p99 <= 5ms", OUTCOME_MISSED, 6e6);
	add_result(m, "bandwidth.mean >= 90Gbps", OUTCOME_MISSED, 1e9);
	diagnose_measurement(m);
	assert_int_equal(m->findings.count, 1);
	assert_int_equal(m->findings.items[0].code, FINDING_EXPECTATION_MISSED);
	assert_non_null(strstr(m->findings.items[0].text, "write.latency.p99 <= 5ms was not met"));
	assert_non_null(strstr(m->findings.items[0].text, "and 1 more"));
	assert_non_null(strstr(m->findings.items[0].evidence, "actual 6"));
	free(m);
}

static void too_few_samples_are_told_unless_an_error_is_the_reason(void **state)
{
	struct measurement *m = new_measurement();
	struct expectation_result *result =
		add_result(m, "latency.p99.9 <= 5ms", OUTCOME_INCONCLUSIVE, 0);

	text_copy(result->reason, sizeof(result->reason), "20 samples; p99.9 needs 10000");
	diagnose_measurement(m);
	assert_int_equal(m->findings.items[0].code, FINDING_TOO_FEW_SAMPLES);
	assert_non_null(strstr(m->findings.items[0].text, "20 samples"));
	m->findings.count = 0;
	set_failure(&m->first_error, ERROR_PEER, STAGE_RUN, "session", 0, 0);
	diagnose_measurement(m);
	assert_int_equal(m->findings.count, 1);
	assert_int_equal(m->findings.items[0].code, FINDING_PEER_DAEMON_LOST);
	free(m);
}

static void expect_starved(uint64_t cpu_ns, uint64_t switches, uint64_t window_ns, int confidence)
{
	struct measurement *m = new_measurement();

	m->initiator.has_totals = true;
	m->initiator.totals.window_ns = window_ns;
	m->initiator.totals.worker_cpu_ns = cpu_ns;
	m->initiator.totals.involuntary_switches = switches;
	diagnose_measurement(m);
	if (confidence < 0) {
		assert_int_equal(m->findings.count, 0);
	} else {
		assert_int_equal(m->findings.count, 1);
		assert_int_equal(m->findings.items[0].code, FINDING_HOST_STARVED);
		assert_int_equal(m->findings.items[0].confidence, confidence);
	}
	free(m);
}

static struct measurement *new_starved(void)
{
	struct measurement *m = new_measurement();

	m->initiator.has_totals = true;
	m->initiator.totals.window_ns = 10000000000;
	m->initiator.totals.worker_cpu_ns = 5000000000;
	return m;
}

static void numbers_of_a_starved_worker_are_doubtful_and_errors_are_not(void **state)
{
	struct measurement *m = new_starved();

	add_result(m, "write.latency.p99 <= 5ms", OUTCOME_MISSED, 6e6);
	diagnose_measurement(m);
	assert_int_equal(m->findings.count, 2);
	assert_int_equal(m->findings.items[0].code, FINDING_HOST_STARVED);
	assert_int_equal(m->findings.items[1].code, FINDING_EXPECTATION_MISSED);
	assert_int_equal(m->findings.items[1].confidence, CONFIDENCE_POSSIBLE);
	assert_non_null(strstr(m->findings.items[1].against, "short of CPU"));
	free(m);
	m = new_starved();
	add_result(m, "errors == 0", OUTCOME_MISSED, 3);
	diagnose_measurement(m);
	assert_int_equal(m->findings.items[0].code, FINDING_EXPECTATION_MISSED);
	assert_int_equal(m->findings.items[0].confidence, CONFIDENCE_CERTAIN);
	free(m);
}

static void a_starved_worker_is_told_by_its_share_and_switches(void **state)
{
	expect_starved(9999000000, 3, 10000000000, -1);
	expect_starved(9850000000, 199, 10000000000, -1);
	expect_starved(9850000000, 200, 10000000000, CONFIDENCE_POSSIBLE);
	expect_starved(9700000000, 3, 10000000000, CONFIDENCE_POSSIBLE);
	expect_starved(8900000000, 3, 10000000000, CONFIDENCE_LIKELY);
	expect_starved(0, 0, 10000000000, -1); /* a passive end, or not known */
	expect_starved(1, 1000, 99000000, -1); /* too short a window to say */
	expect_starved(1, 0, 0, -1);
}

static void a_good_measurement_has_no_finding(void **state)
{
	struct measurement *m = new_measurement();
	struct run *run = memory_new(sizeof(*run));

	m->initiator.has_totals = true;
	m->initiator.totals.operations = 5;
	diagnose_measurement(m);
	assert_int_equal(m->findings.count, 0);
	diagnose_run(run);
	assert_int_equal(run->findings.count, 0);
	free(run);
	free(m);
}

static void expect_vlans(uint64_t from, uint64_t to, const char *sentence)
{
	struct measurement *m = new_measurement();

	m->initiator.port.gids[0] = (struct gid_entry){
		.index = 1, .gid = "::ffff:10.0.0.1", .netdev = "eth0", .vlan = from
	};
	m->responder.port.gids[0] = (struct gid_entry){
		.index = 1, .gid = "::ffff:10.0.0.2", .netdev = "eth1", .vlan = to
	};
	m->initiator.port.gid_count = m->responder.port.gid_count = 1;
	set_failure(&m->first_error, ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp",
		    ERROR_KIND_ERRNO, ETIMEDOUT);
	diagnose_measurement(m);
	assert_int_equal(m->findings.items[0].code, FINDING_PATH_UNRESOLVED);
	assert_string_equal(m->findings.items[0].text, sentence);
	free(m);
}

static void C13_a_neighbour_that_is_silent_is_told_with_the_vlans(void **state)
{
#define SILENT "b got no answer for ::ffff:10.0.0.1 of a/rxe0 through eth1"
	expect_vlans(0, 0, SILENT);
	expect_vlans(10, 10, SILENT ", which both have in VLAN 10 (eth0, eth1)");
	expect_vlans(10, 20, SILENT ": a is in VLAN 10 (eth0), b in VLAN 20 (eth1)");
	expect_vlans(10, 0, SILENT ": a is in VLAN 10 (eth0), b in no VLAN (eth1)");
	expect_vlans(0, 4094, SILENT ": a is in no VLAN (eth0), b in VLAN 4094 (eth1)");
#undef SILENT
}

/* An address that is not known any more is that of the other end. */
static void a_neighbour_without_a_known_address_is_the_other_end(void **state)
{
	struct measurement *m = new_measurement();

	set_failure(&m->first_error, ERROR_DEVICE, STAGE_MODIFY_QP, "ibv_modify_qp",
		    ERROR_KIND_ERRNO, ETIMEDOUT);
	diagnose_measurement(m);
	assert_string_equal(m->findings.items[0].text,
			    "b got no answer for the address of the other end of a/rxe0 to b/rxe1");
	free(m);
}

/* C33 */
static void a_read_that_is_an_invalid_request_is_one_too_many(void **state)
{
	struct measurement *m = new_measurement();

	set_failure(&m->first_error, ERROR_DEVICE, STAGE_RUN, "ibv_poll_cq", ERROR_KIND_WC_STATUS,
		    9);
	m->first_error.operation = OPERATION_READ;
	m->assignment.workload.qp.max_rd_atomic = 16;
	diagnose_measurement(m);
	assert_int_equal(m->findings.items[0].code, FINDING_REMOTE_ACCESS);
	assert_non_null(strstr(m->findings.items[0].text, "a read was refused"));
	assert_non_null(strstr(m->findings.items[0].text, "qp.max_rd_atomic: 16"));
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_error_has_its_finding),
		cmocka_unit_test(C13_a_neighbour_that_is_silent_is_told_with_the_vlans),
		cmocka_unit_test(a_neighbour_without_a_known_address_is_the_other_end),
		cmocka_unit_test(a_read_that_is_an_invalid_request_is_one_too_many),
		cmocka_unit_test(an_event_of_a_queue_pair_tells_what_was_refused),
		cmocka_unit_test(text_never_decides),
		cmocka_unit_test(an_invalid_hello_is_not_another_version),
		cmocka_unit_test(who_cannot_be_reached_is_told_with_the_address_that_was_tried),
		cmocka_unit_test(a_key_that_differs_is_certain_only_when_the_handshake_says_so),
		cmocka_unit_test(an_assignment_that_is_not_accepted_has_its_own_sentence),
		cmocka_unit_test(messages_that_did_not_arrive_are_told_unless_so_many_may_be_lost),
		cmocka_unit_test(a_lost_path_is_certain_when_the_responder_was_heard_to_the_end),
		cmocka_unit_test(C16_what_is_lost_above_a_size_is_told_apart_from_a_lost_path),
		cmocka_unit_test(a_size_threshold_names_both_sizes_of_packets),
		cmocka_unit_test(a_missed_expectation_is_named_with_its_value),
		cmocka_unit_test(too_few_samples_are_told_unless_an_error_is_the_reason),
		cmocka_unit_test(numbers_of_a_starved_worker_are_doubtful_and_errors_are_not),
		cmocka_unit_test(a_starved_worker_is_told_by_its_share_and_switches),
		cmocka_unit_test(a_good_measurement_has_no_finding),
	};

	return cmocka_run_group_tests_name("diagnose", tests, NULL, NULL);
}
