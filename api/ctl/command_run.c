// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctl/command.h"
#include "ctl/field.h"
#include "ctl/result.h"
#include "ctl/run_name.h"
#include "ctl/verdict_word.h"
#include "ctl/watch.h"
#include "util/clock.h"

#define HTTP_NOT_FOUND 404
#define MAX_NAMES 256

struct wish {
	uint64_t wait_ns; /* CLOCK_NEVER: until it is over */
	bool is_no_wait;
	bool accepts_degraded;
	bool is_full;
};

static int parse_wait(const char *value, uint64_t *ret_ns, struct error *err)
{
	const char *reason = units_parse_duration(value, ret_ns);
	char quoted[TEXT_QUOTED_SIZE];

	if (reason != NULL) {
		return error_set(err, -EINVAL, ERROR_INPUT, "--wait \"%s\" %s",
				 text_quote(quoted, value), reason);
	}
	return 0;
}

static int parse_wish(const struct option_values *values, struct wish *wish, struct error *err)
{
	const char *wait = option_get(values, "wait");
	const char *accept = option_get(values, "accept");
	char quoted[TEXT_QUOTED_SIZE];

	*wish = (struct wish){
		.wait_ns = CLOCK_NEVER,
		.is_no_wait = option_get(values, "no-wait") != NULL,
		.accepts_degraded = accept != NULL,
		.is_full = option_get(values, "full") != NULL,
	};
	if (accept != NULL && strcmp(accept, "degraded") != 0) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "--accept \"%s\": only \"degraded\" can be accepted as good",
				 text_quote(quoted, accept));
	}
	if (wait != NULL && wish->is_no_wait) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "--wait and --no-wait cannot both be given");
	}
	return wait != NULL ? parse_wait(wait, &wish->wait_ns, err) : 0;
}

/* There is no such scenario: says which there are, and which was meant. */
static int refuse_scenario(struct client *client, const char *name, struct error *err)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_text_ struct text list = TEXT_INIT;
	const char *names[MAX_NAMES];
	const json_t *scenarios;
	const char *closest;
	char quoted[TEXT_QUOTED_SIZE];
	size_t count = 0;

	if (client_get(client, "/v1/scenarios", command_wants_scenarios, &reply, err) < 0) {
		return COMMAND_ERROR;
	}
	scenarios = field_array(reply.json, "scenarios");
	for (size_t i = 0; i < json_array_size(scenarios) && count < MAX_NAMES; i++) {
		names[count] = field_string(json_array_get(scenarios, i), "name", NULL);
		if (names[count] != NULL) {
			text_format(&list, "%s%s", count > 0 ? ", " : "", names[count]);
			count++;
		}
	}
	closest = text_closest(name, names, count);
	error_set(err, -ENOENT, ERROR_INPUT, "unknown scenario \"%s\"%s%s%s This daemon has %s",
		  text_quote(quoted, name), closest ? "; did you mean " : ".",
		  closest ? closest : "", closest ? "?" : "",
		  count > 0 ? list.data : "none: its configuration names no scenario");
	return COMMAND_USAGE;
}

static const char *id_of(const struct client_reply *reply)
{
	return field_string(reply->json, "id", "");
}

static const struct field_wanted wanted[] = { { "id", FIELD_STRING }, { 0 } };

/* COMMAND_OK and the id, or a status with err. */
static int start(struct client *client, const char *name, struct client_reply *reply,
		 struct error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;

	if (!text_is_name(name)) {
		return refuse_scenario(client, name, err);
	}
	text_add(&path, "/v1/scenarios/");
	client_add_escaped(&path, name);
	text_add(&path, "/runs");
	if (client_request(client, "POST", path.data, reply, err) < 0) {
		return COMMAND_ERROR;
	}
	if (reply->status == HTTP_NOT_FOUND) {
		return refuse_scenario(client, name, err);
	}
	if (client_reply_check(reply, wanted, err) < 0) {
		return COMMAND_ERROR;
	}
	return COMMAND_OK;
}

static int status_of(const json_t *record, const struct wish *wish)
{
	enum verdict verdict = verdict_word_parse(field_string(record, "verdict", ""));

	if (verdict == VERDICT_NONE) {
		return strcmp(field_string(record, "state", ""), "done") == 0 ? COMMAND_ERROR
									      : COMMAND_UNKNOWN;
	}
	if (verdict == VERDICT_DEGRADED && wish->accepts_degraded) {
		return COMMAND_OK;
	}
	return verdict_exit_status(verdict);
}

/* The record as it is now; returns the exit status by its verdict. */
static int show_record(struct client *client, const struct command_caller *caller, const char *id,
		       const struct wish *wish)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_paper_ struct paper paper = command_paper(caller);
	_cleanup_text_ struct text path = TEXT_INIT;
	struct error err = ERROR_INIT;
	int status;

	command_add_run_path(caller, id, &path);
	if (client_request(client, "GET", path.data, &reply, &err) == 0 &&
	    reply.status == HTTP_NOT_FOUND) {
		error_set(
			&err, -ENOENT, ERROR_PEER,
			"the daemon does not know run %s any more: it was started anew meanwhile, "
			"and results are kept in its memory; `journalctl -u rdmatestd` tells why",
			id);
	} else if (!error_is_set(&err)) {
		client_reply_check(&reply, command_wants_run, &err);
	}
	if (error_is_set(&err)) {
		return command_fail(&err, COMMAND_ERROR);
	}
	if (caller->is_json) {
		status = command_print_reply(&reply);
	} else {
		result_print(reply.json, wish->is_full, &paper);
		status = command_print(&paper);
	}
	return status != COMMAND_OK ? status : status_of(reply.json, wish);
}

static void say_how_to_get_it(const char *id, const char *what)
{
	char name[RUN_NAME_SIZE];

	run_name_short(id, name);
	fprintf(stderr,
		"%s; rdmatestctl results %s shows its result, rdmatestctl cancel %s ends it\n",
		what, name, name);
}

static int follow(struct client *client, const struct command_caller *caller, const char *name,
		  const char *id, int signal_fd, const struct wish *wish)
{
	struct error err = ERROR_INIT;
	struct watch watch = {
		.client = client,
		.caller = caller,
		.id = id,
		.scenario = name,
		.wait_ns = wish->wait_ns,
		.signal_fd = signal_fd,
	};
	int status;

	switch (watch_run(&watch, &err)) {
	case WATCH_WAITED:
		say_how_to_get_it(id, "the run still goes on after the time of --wait");
		return caller->is_json ? show_record(client, caller, id, wish) : COMMAND_UNKNOWN;
	case WATCH_LEFT:
		return COMMAND_INTERRUPTED;
	case WATCH_FAILED:
		error_prefix(&err, "run %s", id);
		return command_fail(&err, COMMAND_ERROR);
	case WATCH_DONE:
		break;
	}
	status = show_record(client, caller, id, wish);
	return watch.is_cancelled ? COMMAND_INTERRUPTED : status;
}

static int print_started(const struct command_caller *caller, const struct client_reply *reply,
			 const char *name)
{
	_cleanup_paper_ struct paper paper = command_paper(caller);
	char id[RUN_NAME_SIZE];

	if (caller->is_json) {
		return command_print_reply(reply);
	}
	paper_format(&paper, PAPER_PLAIN, "%s is started; rdmatestctl results %s shows its result",
		     name, run_name_short(id_of(reply), id));
	paper_newline(&paper);
	return command_print(&paper);
}

static int run(const struct command_caller *caller, const struct option_values *values)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_client_ struct client *client = NULL;
	_cleanup_close_ int signal_fd = -1;
	const char *name = values->positionals[0];
	struct error err = ERROR_INIT;
	struct wish wish;
	int status;

	if (parse_wish(values, &wish, &err) < 0) {
		return command_usage("run", &err);
	}
	client = command_client(caller, &err);
	if (client == NULL) {
		return command_usage("run", &err);
	}
	/* Before the run is there, so that no Ctrl-C leaves one behind unnoticed. */
	signal_fd = wish.is_no_wait ? -1 : watch_block_signals(&err);
	if (signal_fd < 0 && !wish.is_no_wait) {
		return command_fail(&err, COMMAND_ERROR);
	}
	status = start(client, name, &reply, &err);
	if (status != COMMAND_OK) {
		return command_fail(&err, status);
	}
	if (wish.is_no_wait) {
		return print_started(caller, &reply, name);
	}
	return follow(client, caller, name, id_of(&reply), signal_fd, &wish);
}

static const struct option_row options[] = {
	{ "wait", "DURATION",
	  "leave after this time, whether the run is over or not; the run goes on (default: wait "
	  "until it is over, without limit)" },
	{ "no-wait", NULL, "start the run and leave at once" },
	{ "accept", "degraded", "exit with 0 also when the verdict is degraded" },
	{ "full", NULL, "all numbers of all pairs, also when many passed" },
	{ 0 },
};

const struct command command_run = {
	.name = "run",
	.arguments = "SCENARIO",
	.arguments_hint = "rdmatestctl scenarios lists them",
	.summary = "run a scenario now, show how it goes and what came out",
	.help = "Ctrl-C cancels the run and waits for what it measured so far; a second Ctrl-C leaves "
		"at once.\n"
		"\n"
		"The exit status tells the verdict:\n"
		"  0  pass\n"
		"  1  fail: the fabric or a peer is below what is expected\n"
		"  2  the arguments are wrong, or there is no such scenario\n"
		"  3  error: the host, the configuration or a refusal kept it from measuring,\n"
		"     or the daemon does not answer\n"
		"  4  inconclusive: too little to tell by, a peer that was away or a port that\n"
		"     others use; or --wait was over before the run\n"
		"  5  degraded (0 with --accept degraded)\n"
		"  6  unsupported\n"
		"130  interrupted by Ctrl-C\n",
	.min_arguments = 1,
	.max_arguments = 1,
	.uses = COMMAND_ASKS_DAEMON | COMMAND_HAS_JSON,
	.options = options,
	.run = run,
};
