// SPDX-License-Identifier: MIT
#include "ctl/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl/run_name.h"
#include "ctl/usage.h"
#include "util/units.h"

#define DEFAULT_SOCKET "/run/rdmatestd/admin.sock"
#define DEFAULT_TIMEOUT_NS 10000000000ull
#define MIN_TIMEOUT_NS 1000000ull
#define MAX_TIMEOUT_NS 3600000000000ull
#define MIN_COLUMNS 40

const struct command *const command_table[] = {
	&command_run,
	&command_results,
	&command_status,
	&command_peers,
	&command_devices,
	&command_scenarios,
	&command_cancel,
	&command_reload,
	&command_check,
	&command_compare,
	&command_explain,
	&command_help,
	NULL,
};

const struct option_row command_general_options[] = {
	{ "socket", "PATH",
	  "socket of the daemon (default: $RDMATESTD_SOCKET, else " DEFAULT_SOCKET ")" },
	{ "timeout", "DURATION", "how long to wait for each answer of the daemon (default: 10s)" },
	{ "json", NULL, "print the record of the API, for programs, and nothing else" },
	{ "no-color", NULL, "no colours; there are none anyway if stdout is no terminal" },
	{ "help", NULL, "print this" },
	{ "version", NULL, "print the version" },
	{ 0 },
};

const struct field_wanted command_wants_scenarios[] = { { "scenarios", FIELD_ARRAY }, { 0 } };
const struct field_wanted command_wants_run[] = {
	{ "id", FIELD_STRING },
	{ "scenario", FIELD_STRING },
	{ "state", FIELD_STRING },
	{ "measurements", FIELD_ARRAY },
	{ 0 },
};

int command_fail(const struct error *err, int status)
{
	char escaped[4 * sizeof(err->text)];

	text_escape(escaped, sizeof(escaped), err->text);
	fprintf(stderr, "rdmatestctl: %s\n", escaped);
	return status;
}

int command_usage(const char *command, const struct error *err)
{
	command_fail(err, COMMAND_USAGE);
	fprintf(stderr, "rdmatestctl%s%s --help tells more\n", command ? " " : "",
		command ? command : "");
	return COMMAND_USAGE;
}

static int fail_output(int number)
{
	struct error err = ERROR_INIT;

	/* It is said once. */
	__fpurge(stdout);
	clearerr(stdout);

	error_set(&err, -number, ERROR_RESOURCE, "stdout cannot be written: %s",
		  strerrordesc_np(number));
	return command_fail(&err, COMMAND_ERROR);
}

int command_print(const struct paper *paper)
{
	int ret = paper_print(paper, stdout);

	return ret < 0 ? fail_output(-ret) : COMMAND_OK;
}

int command_print_reply(const struct client_reply *reply)
{
	const struct text *body = &reply->body;
	bool ends_line = body->length > 0 && body->data[body->length - 1] == '\n';

	errno = 0;
	if (fwrite(body->data ? body->data : "", 1, body->length, stdout) != body->length ||
	    (!ends_line && fputc('\n', stdout) == EOF) || fflush(stdout) != 0) {
		return fail_output(errno != 0 ? errno : EIO);
	}
	return COMMAND_OK;
}

struct paper command_paper(const struct command_caller *caller)
{
	return (struct paper){ .has_color = caller->has_color, .columns = PAPER_COLUMNS };
}

struct client *command_client(const struct command_caller *caller, struct error *err)
{
	struct client *client = client_new(caller->socket_path, caller->timeout_ns, err);

	if (client != NULL && caller->is_json) {
		client_set_limit(client, CLIENT_MAX_RECORD_BYTES);
	}
	return client;
}

void command_add_run_path(const struct command_caller *caller, const char *id, struct text *path)
{
	run_name_add_path(path, id, "");
	text_add(path, caller->is_json ? "" : "?intervals=false");
}

int command_show(const struct command_caller *caller, const char *path,
		 const struct field_wanted *wanted,
		 void (*render)(const json_t *record, struct paper *paper))
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_paper_ struct paper paper = command_paper(caller);
	_cleanup_client_ struct client *client = NULL;
	struct error err = ERROR_INIT;

	client = command_client(caller, &err);
	if (client == NULL || client_get(client, path, wanted, &reply, &err) < 0) {
		return command_fail(&err, COMMAND_ERROR);
	}
	if (caller->is_json) {
		return command_print_reply(&reply);
	}
	render(reply.json, &paper);
	return command_print(&paper);
}

const struct command *command_find(const char *name, struct error *err)
{
	const char *names[sizeof(command_table) / sizeof(command_table[0])];
	char quoted[TEXT_QUOTED_SIZE];
	const char *closest;
	size_t count = 0;

	for (; command_table[count] != NULL; count++) {
		if (strcmp(command_table[count]->name, name) == 0) {
			return command_table[count];
		}
		names[count] = command_table[count]->name;
	}
	closest = text_closest(name, names, count);
	error_set(err, -EINVAL, ERROR_INPUT, "unknown command \"%s\"%s%s%s",
		  text_quote(quoted, name), closest ? "; did you mean " : "",
		  closest ? closest : "", closest ? "?" : "");
	return NULL;
}

/* An option that would change nothing is a mistake of who gives it. */
static int check_uses(const struct command *command, const struct option_values *values,
		      struct error *err)
{
	static const struct {
		const char *option;
		unsigned use;
		const char *why;
	} rules[] = {
		{ "socket", COMMAND_ASKS_DAEMON, "asks no daemon" },
		{ "timeout", COMMAND_ASKS_DAEMON, "asks no daemon" },
		{ "json", COMMAND_HAS_JSON, "has no record to print" },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (option_get(values, rules[i].option) != NULL &&
		    (command->uses & rules[i].use) == 0) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "--%s has no meaning here: %s %s", rules[i].option,
					 command->name, rules[i].why);
		}
	}
	return 0;
}

static int check_arguments(const struct command *command, const struct option_values *values,
			   struct error *err)
{
	size_t count = values->positional_count;
	char quoted[TEXT_QUOTED_SIZE];

	if (count < command->min_arguments) {
		return error_set(err, -EINVAL, ERROR_INPUT, "%s needs %s%s%s", command->name,
				 command->arguments, command->arguments_hint ? "; " : "",
				 command->arguments_hint ? command->arguments_hint : "");
	}
	if (count > command->max_arguments) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "unexpected argument \"%s\"; usage: rdmatestctl %s%s%s",
				 text_quote(quoted, values->positionals[command->max_arguments]),
				 command->name, command->arguments ? " " : "",
				 command->arguments ? command->arguments : "");
	}
	return check_uses(command, values, err);
}

static unsigned terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0) {
		return PAPER_COLUMNS;
	}
	return size.ws_col < MIN_COLUMNS ? MIN_COLUMNS : size.ws_col;
}

static int fill_caller(struct command_caller *caller, const struct option_values *values,
		       struct error *err)
{
	const char *timeout = option_get(values, "timeout");
	const char *environment = getenv("RDMATESTD_SOCKET");
	const char *no_color = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");

	caller->socket_path = option_get(values, "socket");
	if (caller->socket_path == NULL) {
		caller->socket_path = environment && environment[0] != '\0' ? environment
									    : DEFAULT_SOCKET;
	}
	if (client_check_socket(caller->socket_path, err) < 0) {
		return -EINVAL;
	}
	caller->timeout_ns = DEFAULT_TIMEOUT_NS;
	if (timeout != NULL) {
		const char *reason = units_parse_duration(timeout, &caller->timeout_ns);
		char quoted[TEXT_QUOTED_SIZE];

		if (reason != NULL) {
			return error_set(err, -EINVAL, ERROR_INPUT, "--timeout \"%s\" %s",
					 text_quote(quoted, timeout), reason);
		}
		if (caller->timeout_ns < MIN_TIMEOUT_NS || caller->timeout_ns > MAX_TIMEOUT_NS) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "--timeout \"%s\" is not within 1ms and 1h",
					 text_quote(quoted, timeout));
		}
	}
	caller->is_json = option_get(values, "json") != NULL;
	caller->is_terminal = isatty(STDOUT_FILENO) && terminal != NULL &&
			      strcmp(terminal, "dumb") != 0;
	caller->has_color = caller->is_terminal && option_get(values, "no-color") == NULL &&
			    (no_color == NULL || no_color[0] == '\0');
	caller->columns = terminal_columns();
	return 0;
}

static int print_text(void (*write)(const struct command *command, struct paper *paper),
		      const struct command *command)
{
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	write(command, &paper);
	return command_print(&paper);
}

static void write_version(const struct command *command, struct paper *paper)
{
	(void)command;
	paper_add(paper, PAPER_PLAIN, "rdmatestctl " RDMATESTD_VERSION);
	paper_newline(paper);
}

/* A socket or file must not get the number of a stream that the caller closed: what is printed
 * would go there. */
static void hold_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
			/* The lowest free one is this. Writing to stdout fails, as it should. */
			(void)!open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
		}
	}
}

static void list_commands(struct text *out)
{
	for (size_t i = 0; command_table[i] != NULL; i++) {
		text_format(out, "%s%s", i > 0 ? ", " : "", command_table[i]->name);
	}
}

static int dispatch(int argc, const char *const *argv)
{
	_cleanup_text_ struct text names = TEXT_INIT;
	struct option_values values = { 0 };
	const struct command *command = NULL;
	struct command_caller caller;
	struct error err = ERROR_INIT;
	int used = option_parse(command_general_options, NULL, argc, argv, true, &values, &err);

	if (used < 0) {
		return command_usage(NULL, &err);
	}
	if (values.positional_count > 0) {
		command = command_find(values.positionals[0], &err);
		if (command == NULL) {
			return command_usage(NULL, &err);
		}
		values.positional_count = 0;
		if (option_parse(command_general_options, command->options, argc - used,
				 argv + used, false, &values, &err) < 0) {
			return command_usage(command->name, &err);
		}
	}
	if (option_get(&values, "version") != NULL) {
		return print_text(write_version, NULL);
	}
	if (option_get(&values, "help") != NULL) {
		return print_text(command != NULL ? usage_of_command : usage_of_program, command);
	}
	if (command == NULL) {
		list_commands(&names);
		error_set(&err, -EINVAL, ERROR_INPUT, "which command? There are %s", names.data);
		return command_usage(NULL, &err);
	}
	if (check_arguments(command, &values, &err) < 0 ||
	    fill_caller(&caller, &values, &err) < 0) {
		return command_usage(command->name, &err);
	}
	return command->run(&caller, &values);
}

int command_main(int argc, const char *const *argv)
{
	int status;

	hold_streams();
	status = dispatch(argc, argv);
	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout)) {
		return fail_output(errno != 0 ? errno : EIO);
	}
	return status;
}
