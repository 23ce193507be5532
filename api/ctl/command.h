// SPDX-License-Identifier: MIT
#pragma once

/*
 * The subcommands: a row each. A command gets its arguments read and checked against its row, and
 * returns the exit status.
 */

#include <stdbool.h>
#include <stdint.h>

#include "ctl/client.h"
#include "ctl/option.h"
#include "ctl/paper.h"

/* Exit status beside verdict_exit_status(). */
enum {
	COMMAND_OK = 0,
	COMMAND_USAGE = 2,
	COMMAND_ERROR = 3,
	COMMAND_UNKNOWN = 4, /* the verdict is not known yet */
	COMMAND_BAD_CONFIG = 78,
	COMMAND_INTERRUPTED = 130,
};

/* What was said before the command, and where its output goes. */
struct command_caller {
	const char *socket_path;
	uint64_t timeout_ns; /* of a request */
	bool is_json; /* the record alone on stdout */
	bool has_color;
	bool is_terminal; /* stdout is one that can redraw a line */
	unsigned columns; /* of the terminal, or PAPER_COLUMNS */
};

/* Which general options mean something to a command; others are refused. */
enum {
	COMMAND_ASKS_DAEMON = 1 << 0, /* --socket, --timeout */
	COMMAND_HAS_JSON = 1 << 1,
};

struct command {
	const char *name;
	const char *arguments; /* for the usage line: "NAME", "[ID]" */
	const char *arguments_hint; /* where to find what is missing; may be NULL */
	const char *summary; /* in the list of commands */
	const char *help; /* further paragraphs, laid out; may be NULL */
	size_t min_arguments;
	size_t max_arguments;
	unsigned uses;
	const struct option_row *options; /* its own; may be NULL */
	int (*run)(const struct command_caller *caller, const struct option_values *values);
};

extern const struct command command_cancel;
extern const struct command command_check;
extern const struct command command_compare;
extern const struct command command_devices;
extern const struct command command_explain;
extern const struct command command_help;
extern const struct command command_peers;
extern const struct command command_reload;
extern const struct command command_results;
extern const struct command command_run;
extern const struct command command_scenarios;
extern const struct command command_status;

/* All of them; NULL ends it. */
extern const struct command *const command_table[];
extern const struct option_row command_general_options[];

/* NULL and err, which says which was meant. */
const struct command *command_find(const char *name, struct error *err);

/* Reads argv (without the program's name), does it, returns the exit status. */
int command_main(int argc, const char *const *argv);

/* "rdmatestctl: SENTENCE" on stderr; returns the status. */
int command_fail(const struct error *err, int status);
/* The same for arguments; points at the command's help. */
int command_usage(const char *command, const struct error *err);

/* Prints what is laid out on stdout. COMMAND_OK, or COMMAND_ERROR when it could not be written. */
int command_print(const struct paper *paper);
/* Prints the body of an answer as it is. */
int command_print_reply(const struct client_reply *reply);
/* An empty paper for the caller's terminal. */
struct paper command_paper(const struct command_caller *caller);

/* GET path: with --json its body, else what render lays out. */
int command_show(const struct command_caller *caller, const char *path,
		 const struct field_wanted *wanted,
		 void (*render)(const json_t *record, struct paper *paper));

/* What makes an answer that of /v1/scenarios or /v1/runs/ID. */
extern const struct field_wanted command_wants_scenarios[];
extern const struct field_wanted command_wants_run[];

/* As client_new; what is passed on as it is may be longer. */
struct client *command_client(const struct command_caller *caller, struct error *err);
/* The path of a run's record, without what only programs read. */
void command_add_run_path(const struct command_caller *caller, const char *id, struct text *path);

/* How records are laid out; pure. */
void command_devices_render(const json_t *record, struct paper *paper);
void command_peers_render(const json_t *record, struct paper *paper);
void command_results_render(const json_t *record, struct paper *paper);
void command_scenarios_render(const json_t *record, struct paper *paper);
/* {status: of /v1/status, readiness: of /readyz, scenarios: the list of /v1/scenarios}. */
void command_status_render(const json_t *record, struct paper *paper);
/* "changed, but needs a restart: ...", for the keys of pending_restart. */
void command_status_add_pending(const json_t *keys, struct paper *paper);
