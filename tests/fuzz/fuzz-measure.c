// SPDX-License-Identifier: MIT
/*
 * A coordinator whose two ends say what they like, when they like: run/measure, run/side and the
 * nouns in their answers, up to the verdict. The loop is fuzz/loop.
 *
 * The input is lines. The first may say what the traffic is, instead of a stream with a closed load
 * and a duration: "!=open", "!=drop", "!=pingpong", "!=answered", "!=verify", "!=connect",
 * "!=count". "iJSON" is a message of the initiator's node, "rJSON" of the responder's, "xJSON" of a
 * third one. Besides
 *
 *   !t MS  time passes             !a  the run is aborted        !u  nothing can be sent, or again
 *   !l     the initiator is lost   !m  the responder is lost
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "fuzz/loop.h"
#include "judge/judgement.h"
#include "run/measure.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define INITIATOR "node2"
#define RESPONDER "node1"
#define MS 1000000ull
#define SECOND_NS 1000000000ull
/* Preparing, a peer that stays busy, the traffic, the end: more than all their deadlines. */
#define PATIENCE_NS (400 * SECOND_NS)

static struct coordinator {
	sd_event *event;
	struct run *run;
	struct measure *measure;
	bool is_deaf; /* nothing can be sent */
	bool is_done;
} coordinator;

static bool send_message(void *arg, const char *node, json_t *message)
{
	const char *role = json_string_value(json_object_get(message, "role"));

	assert(!coordinator.is_done);
	assert(strcmp(node, strcmp(role, "initiator") == 0 ? INITIATOR : RESPONDER) == 0);
	assert(json_string_value(json_object_get(message, "kind")));
	json_decref(message);
	return !coordinator.is_deaf;
}

static void on_done(void *arg, struct measure *measure)
{
	assert(!coordinator.is_done && measure == coordinator.measure);
	coordinator.is_done = true;
}

static uint32_t never_ready(void *arg)
{
	return 0;
}

static void place(struct endpoint *endpoint, const char *node)
{
	text_copy(endpoint->node, LIMIT_NAME, node);
	text_copy(endpoint->device, LIMIT_NAME, "rxe0");
	endpoint->port_num = 1;
}

static void shape(struct workload *workload, const char *word)
{
	struct load_settings *load = &workload->workload.load;

	if (strcmp(word, "open") == 0 || strcmp(word, "drop") == 0) {
		load->model = LOAD_OPEN;
		load->ops_rate = 4000;
		load->max_outstanding = 64;
		load->on_full = word[0] == 'd' ? ON_FULL_DROP : ON_FULL_DELAY;
	} else if (strcmp(word, "pingpong") == 0) {
		workload->workload.pattern = PATTERN_PINGPONG;
	} else if (strcmp(word, "answered") == 0) {
		workload->workload.pattern = PATTERN_REQUEST_RESPONSE;
	} else if (strcmp(word, "verify") == 0) {
		workload->workload.verify.method = VERIFY_SEQUENCE;
	} else if (strcmp(word, "connect") == 0) {
		workload->workload.pattern = PATTERN_CONNECT;
		workload->workload.op_count = 0;
		workload->qp.cm = QP_CM_RDMA_CM;
	} else if (strcmp(word, "count") == 0) {
		workload->run.duration_ns = 0;
		workload->run.iterations = 4000;
		/* Else a day: nobody knows how long they take. */
		workload->run.timeout_ns = 60 * SECOND_NS;
	}
}

static void begin(const char *word)
{
	_cleanup_free_ struct scenario *scenario = memory_new(sizeof(*scenario));
	struct measure_options options = { .send = send_message, .done = on_done };
	struct measurement *measurement;
	struct assignment *assignment;

	coordinator = (struct coordinator){ .event = loop_new(never_ready, NULL) };
	schema_defaults(scenario_fields, scenario);
	scenario->workload.workload.op_count = 2;
	scenario->workload.workload.ops[0] = (struct operation){
		.kind = OPERATION_WRITE, .weight = 1, .size_count = 1, .sizes = { { 4096, 1 } }
	};
	scenario->workload.workload.ops[1] = scenario->workload.workload.ops[0];
	scenario->workload.workload.ops[1].kind = OPERATION_READ;
	scenario->workload.workload.pattern = PATTERN_STREAM;
	scenario->workload.run.duration_ns = 1000 * MS;
	scenario->workload.run.interval_ns = 300 * MS;
	assert(!expectation_parse("write.latency.p99 <= 5us", &scenario->expect.items[0]));
	assert(!expectation_parse("bandwidth.mean >= 100Mbps", &scenario->expect.items[1]));
	scenario->expect.count = 2;
	shape(&scenario->workload, word);
	workload_complete(&scenario->workload);
	coordinator.run = run_new(scenario);
	measurement = run_add_measurement(coordinator.run);
	assignment = &measurement->assignment;
	assignment->workload = scenario->workload;
	text_copy(assignment->run_id, sizeof(assignment->run_id), "R1");
	place(&assignment->initiator, INITIATOR);
	place(&assignment->responder, RESPONDER);
	measurement->initiator.endpoint = assignment->initiator;
	measurement->responder.endpoint = assignment->responder;
	options.event = coordinator.event;
	options.accepted_mono_ns = clock_mono_ns();
	options.in_use_deadline_mono_ns = clock_mono_ns() + 60 * SECOND_NS;
	coordinator.measure = measure_new(&options, measurement);
	measure_start(coordinator.measure);
	loop_settle(coordinator.event, 100);
}

static void lose(const char *node)
{
	struct error why = ERROR_INIT;

	error_set(&why, -1, ERROR_PEER, "the session is gone");
	measure_lost(coordinator.measure, node, &why);
}

static void act(const char *what)
{
	switch (what[0]) {
	case 't':
		loop_pass(coordinator.event, fuzz_number(what + 1, 100000) * MS);
		break;
	case 'a':
		measure_abort(coordinator.measure, "told to");
		break;
	case 'u':
		coordinator.is_deaf = !coordinator.is_deaf;
		break;
	case 'l':
		lose(INITIATOR);
		break;
	case 'm':
		lose(RESPONDER);
		break;
	default:
		break;
	}
}

static void say(char who, const char *body, size_t length)
{
	struct error err = ERROR_INIT;
	_cleanup_json_ json_t *message = json_read(body, length, &err);
	const char *kind = json_string_value(json_object_get(message, "kind"));

	/* Without a kind it would have ended the session. */
	if (kind) {
		measure_message(coordinator.measure,
				who == 'i'   ? INITIATOR
				: who == 'r' ? RESPONDER
					     : "node3",
				kind, message);
	}
}

/* Whatever was said and left unsaid: it is over in time, judged, and can be told. */
static void end(void)
{
	_cleanup_json_ json_t *record = NULL;
	struct run *run = coordinator.run;

	loop_pass(coordinator.event, PATIENCE_NS);
	assert(coordinator.is_done);
	measure_free(coordinator.measure);
	judgement_complete(run);
	run->state = RUN_DONE;
	assert(run->verdict > VERDICT_NONE && run->verdict < VERDICT_COUNT);
	if (run->verdict == VERDICT_PASS) {
		fuzz_accept();
	}
	record = run_write(run, true);
	fuzz_expect_json(record);
	run_free(run);
	loop_free(coordinator.event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_lines lines = fuzz_lines(data, size);
	size_t length;
	char *line;

	line = fuzz_lines_next(&lines, &length);
	begin(line && strncmp(line, "!=", 2) == 0 ? line + 2 : "");
	for (; line; line = coordinator.is_done ? NULL : fuzz_lines_next(&lines, &length)) {
		if (line[0] == '!') {
			act(line + 1);
		} else if (length > 1) {
			say(line[0], line + 1, length - 1);
		}
		free(line);
		loop_settle(coordinator.event, 100);
		assert(measure_phase(coordinator.measure));
	}
	end();
	return 0;
}
