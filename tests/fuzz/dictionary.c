// SPDX-License-Identifier: MIT
/*
 * Prints the words that a target's inputs are made of, as a dictionary for libFuzzer, from the
 * tables that the parsers themselves read. usage: dictionary TARGET
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/file.h"
#include "http/routes.h"
#include "model/assignment.h"
#include "model/finding.h"
#include "model/port_use.h"
#include "model/run.h"
#include "model/topology.h"
#include "util/memory.h"
#include "util/text.h"

static void print_word(const char *before, const char *word, const char *behind)
{
	printf("\"");
	for (const char *parts[] = { before, word, behind, NULL }, **part = parts; *part; part++) {
		for (const unsigned char *c = (const unsigned char *)*part; *c; c++) {
			if (*c < 0x20 || *c >= 0x7f || *c == '"' || *c == '\\') {
				printf("\\x%02x", *c);
			} else {
				putchar(*c);
			}
		}
	}
	printf("\"\n");
}

static void print_words(const char *const *words, const char *before, const char *behind)
{
	for (; *words; words++) {
		print_word(before, *words, behind);
	}
}

/* --- configuration: "key:" and the words of each field --- */

static void print_fields(const struct schema_field *fields)
{
	for (const struct schema_field *field = fields; field->key; field++) {
		print_word("", field->key, ": ");
		if (field->names) {
			print_words(field->names, "", "");
		}
		if (field->fallback) {
			print_word("", field->fallback, "");
		}
		if (field->fields) {
			print_fields(field->fields);
		}
	}
}

static void print_document(void)
{
	static const char *const words[] = {
		"version: 1\n", "\n- ",	 "- {",	    "\n    ",	    "auto",	"[\"", "\"]",
		"%%f a",	"\\x01", "\\u2028", "\xe2\x80\xa8", "\xc2\x85", NULL
	};

	print_fields(file_fields);
	print_words(words, "", "");
}

/* --- expressions --- */

static void print_expect(void)
{
	static const char *const words[] = { "latency.",  "bandwidth.",
					     "ops_rate.", "errors",
					     "p99.9",	  "mean",
					     "min",	  "max",
					     " <= ",	  " >= ",
					     " == ",	  " != ",
					     " of ",	  "link_rate",
					     "baseline",  "rtt",
					     "Gbps",	  "kbps",
					     "k/s",	  "M/s",
					     "us",	  "ms",
					     "KiB",	  "GiB",
					     "%",	  "role=",
					     "!=",	  "*",
					     "0x",	  "[::1]:",
					     ":18620",	  "99.9999",
					     ",name=",	  "18446744073709551615",
					     NULL };

	print_words(operation_names, "", ".");
	print_words(words, "", "");
}

/* --- messages: the keys and strings of each noun as it is written --- */

static void print_json(const json_t *value)
{
	const char *key;
	json_t *item;
	size_t i;

	if (json_is_string(value)) {
		print_word("\"", json_string_value(value), "\"");
	}
	json_array_foreach((json_t *)value, i, item) {
		print_json(item);
	}
	json_object_foreach((json_t *)value, key, item) {
		print_word("\"", key, "\":");
		print_json(item);
	}
}

static void print_and_drop(json_t *value)
{
	print_json(value);
	json_decref(value);
}

static void print_table(const struct schema_field *fields)
{
	for (const struct schema_field *field = fields; field->key; field++) {
		if (field->type == SCHEMA_LATER) {
			continue;
		}
		print_word("\"", field->json_key ? field->json_key : field->key, "\":");
		if (field->names) {
			print_words(field->names, "\"", "\"");
		}
		if (field->fields) {
			print_table(field->fields);
		}
	}
}

static void print_error_words(void)
{
	for (int i = ERROR_INPUT; i <= ERROR_BUG; i++) {
		print_word("\"", error_class_name((enum error_class)i), "\"");
	}
	for (int i = STAGE_INPUT; i <= STAGE_REPORT; i++) {
		print_word("\"", error_stage_name((enum error_stage)i), "\"");
	}
	print_word("\"", error_kind_name(ERROR_KIND_ERRNO), "\"");
	print_word("\"", error_kind_name(ERROR_KIND_WC_STATUS), "\"");
	print_word("\"", error_kind_name(ERROR_KIND_CM_REJECT), "\"");
}

static void print_totals(void)
{
	struct class_totals class = { 0 };
	struct sample interval = { 0 };
	struct connections connections;
	struct totals totals;
	struct progress progress = { 0 };

	sample_totals_init(&totals);
	connections_init(&connections);
	connections.phases[CONNECTION_SETUP].failed = 1;
	totals.connections = &connections;
	totals.host.is_read = true;
	totals.has_verification = true;
	totals.verification.first.is_set = true;
	totals.slowest.count = 1;
	totals.class_count = 1;
	totals.classes = &class;
	histogram_reset(&class.latency);
	histogram_add(&class.latency, 1000);
	totals.interval_count = 1;
	totals.intervals = &interval;
	error_set(&totals.failure.error, -1, ERROR_DEVICE, "x");
	step_add(&totals.steps, "modify_rtr", 1, 1);
	print_and_drop(sample_totals_write(&totals));
	print_and_drop(sample_progress_write(&progress));
	print_words(sample_end_names, "\"", "\"");
	print_words(sample_phase_names, "\"", "\"");
	print_words(port_event_names, "\"", "\"");
	print_words(connection_phase_names, "\"", "\"");
}

static void print_port_use(void)
{
	struct port_use_note note = { .is_told = true };

	print_and_drop(port_use_note_write(&note));
	print_words(port_use_state_names, "\"", "\"");
}

static void print_message(void)
{
	static const char *const keys[] = {
		"kind",		  "run",	"pair",	      "role",	    "assignment",
		"info",		  "inventory",	"initiator",  "responder",  "totals",
		"steps",	  "progress",	"failure",    "scenario",   "protocol",
		"node",		  "boot_id",	"version",    "reason",	    "error",
		"retry_after_ns", "t1_real_ns", "t1_mono_ns", "t2_real_ns", "t2_mono_ns",
		"t3_real_ns",	  "t3_mono_ns", "port_use",   NULL
	};
	static const char *const kinds[] = {
		"hello",   "inventory", "ping",	  "pong",    "bye",	    "prepare", "prepared",
		"connect", "connected", "start",  "started", "progress",    "stop",    "finished",
		"release", "released",	"failed", "busy",    "unsupported", "error",   NULL
	};

	print_words(keys, "\"", "\":");
	print_words(kinds, "{\"kind\":\"", "\"");
	print_table(assignment_fields);
	print_table(inventory_fields);
	print_table(endpoint_info_fields);
	print_table(scenario_fields);
	print_totals();
	print_port_use();
	print_error_words();
}

/* Messages, and the limits of who gets them. */
static void print_agent(void)
{
	print_message();
	for (const struct schema_field *field = daemon_fields; field->key; field++) {
		if (strcmp(field->key, "limits") == 0) {
			print_table(field->fields);
		}
	}
}

/* --- HTTP --- */

static void print_request(void)
{
	static const char *const words[] = { "local ",
					     "remote ",
					     "admin ",
					     "GET ",
					     "POST ",
					     "HEAD ",
					     "HTTP/1.1",
					     "HTTP/1.0",
					     "\nHost: ",
					     "[::1]",
					     "localhost",
					     "127.0.0.1:9879",
					     "%2f",
					     "%41",
					     "01J8Z3R6Q0W4",
					     "true",
					     "10s",
					     "\nContent-Length: ",
					     "\nTransfer-Encoding: ",
					     NULL };

	for (const struct route *route = routes_table; route->method; route++) {
		print_word("", route->path, "");
		for (size_t i = 0; route->arguments && route->arguments[i]; i++) {
			print_word("?", route->arguments[i], "=");
			print_word("&", route->arguments[i], "=");
		}
	}
	for (int verdict = VERDICT_PASS; verdict < VERDICT_COUNT; verdict++) {
		print_word("", verdict_names[verdict], "");
	}
	print_words(words, "", "");
}

static const struct {
	const char *target;
	void (*print)(void);
} dictionaries[] = {
	{ "document", print_document }, { "expect", print_expect },   { "frame", print_message },
	{ "session", print_message },	{ "message", print_message }, { "measure", print_message },
	{ "agent", print_agent },	{ "request", print_request },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(dictionaries) / sizeof(dictionaries[0]); i++) {
		if (strcmp(dictionaries[i].target, argv[1]) == 0) {
			dictionaries[i].print();
			return 0;
		}
	}
	fprintf(stderr, "usage: %s TARGET, a target of tests/fuzz\n", argv[0]);
	return 2;
}
