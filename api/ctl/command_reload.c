// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "ctl/command.h"
#include "ctl/field.h"

#define DEFAULT_WAIT_NS 20000000000ull
#define HTTP_UNPROCESSABLE 422

/* Sentences as --check says them. */
static void print_lines(const json_t *record, const char *key)
{
	const json_t *lines = field_array(record, key);

	for (size_t i = 0; i < json_array_size(lines); i++) {
		const json_t *item = json_array_get(lines, i);
		const char *sentence = json_is_string(item) ? json_string_value(item)
							    : field_string(item, "text", "-");
		_cleanup_paper_ struct paper line = PAPER_INIT;

		paper_add(&line, PAPER_PLAIN, sentence);
		paper_newline(&line);
		paper_print(&line, stderr);
	}
}

/* A configuration that is refused: all that is wrong with it, the errors last. */
static int print_refusal(const json_t *record)
{
	print_lines(record, "warnings");
	print_lines(record, "errors");
	fputs("rdmatestctl: the new configuration is refused, the old one stays in force\n",
	      stderr);
	return COMMAND_BAD_CONFIG;
}

static int print_success(const struct command_caller *caller, const json_t *record)
{
	_cleanup_paper_ struct paper paper = command_paper(caller);
	const json_t *pending = field_array(record, "pending_restart");
	uint64_t generation;

	print_lines(record, "warnings");
	paper_add(&paper, PAPER_PLAIN, "the new configuration is in force");
	if (field_u64(record, "generation", &generation)) {
		paper_format(&paper, PAPER_PLAIN, " (generation %" PRIu64 ")", generation);
	}
	paper_newline(&paper);
	if (json_array_size(pending) > 0) {
		command_status_add_pending(pending, &paper);
		paper_newline(&paper);
	}
	return command_print(&paper);
}

static int parse_wait(const struct option_values *values, uint64_t *ret_ns, struct error *err)
{
	const char *wait = option_get(values, "wait");
	const char *reason;
	char quoted[TEXT_QUOTED_SIZE];

	*ret_ns = DEFAULT_WAIT_NS;
	if (wait == NULL) {
		return 0;
	}
	if (option_get(values, "timeout") != NULL) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "--wait and --timeout mean the same here: give one");
	}
	reason = units_parse_duration(wait, ret_ns);
	if (reason != NULL) {
		return error_set(err, -EINVAL, ERROR_INPUT, "--wait \"%s\" %s",
				 text_quote(quoted, wait), reason);
	}
	if (*ret_ns < 1000000 || *ret_ns > 3600000000000ull) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "--wait \"%s\" is not within 1ms and 1h",
				 text_quote(quoted, wait));
	}
	return 0;
}

static const struct field_wanted wanted[] = {
	{ "generation", FIELD_NUMBER },
	{ "pending_restart", FIELD_ARRAY },
	{ 0 },
};

static int run(const struct command_caller *caller, const struct option_values *values)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_client_ struct client *client = NULL;
	struct error err = ERROR_INIT;
	uint64_t wait_ns;

	if (parse_wait(values, &wait_ns, &err) < 0) {
		return command_usage("reload", &err);
	}
	if (option_get(values, "timeout") != NULL) {
		wait_ns = caller->timeout_ns;
	}
	client = client_new(caller->socket_path, wait_ns, &err);
	if (client == NULL || client_request(client, "POST", "/v1/reload", &reply, &err) < 0) {
		return command_fail(&err, COMMAND_ERROR);
	}
	if (reply.status == HTTP_UNPROCESSABLE && reply.json != NULL) {
		if (caller->is_json) {
			int status = command_print_reply(&reply);

			return status != COMMAND_OK ? status : COMMAND_BAD_CONFIG;
		}
		return print_refusal(reply.json);
	}
	if (client_reply_check(&reply, wanted, &err) < 0) {
		return command_fail(&err, COMMAND_ERROR);
	}
	return caller->is_json ? command_print_reply(&reply) : print_success(caller, reply.json);
}

static const struct option_row options[] = {
	{ "wait", "DURATION", "how long to wait for the new configuration (default: 20s)" },
	{ 0 },
};

const struct command command_reload = {
	.name = "reload",
	.summary = "have the daemon read its configuration anew, and say what is wrong with it",
	.help = "A configuration with an error changes nothing: all errors are printed, the exit status "
		"is 78.\n",
	.uses = COMMAND_ASKS_DAEMON | COMMAND_HAS_JSON,
	.options = options,
	.run = run,
};
