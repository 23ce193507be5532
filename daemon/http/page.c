// SPDX-License-Identifier: MIT
#include "http/page.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "http/asset.h"
#include "http/html.h"
#include "http/page_tables.h"
#include "util/memory.h"
#include "util/units.h"

/* --- gathering --- */

void page_done(struct page *page)
{
	json_decref(take(page->status));
	json_decref(take(page->worst));
	rows_done(&page->scenarios);
	rows_done(&page->last);
	rows_done(&page->runs);
	rows_done(&page->peers);
	rows_done(&page->ports);
}

/* Where a verdict stands among them; 0: pass, or none. */
static size_t badness(const char *verdict)
{
	static const char *const order[] = { "degraded", "unsupported", "inconclusive", "error",
					     "fail" };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (strcmp(verdict, order[i]) == 0) {
			return i + 1;
		}
	}
	return 0;
}

void page_add_scenario(struct page *page, json_t *scenario)
{
	json_t *last = json_object_get(scenario, "last");
	const char *verdict = html_word(last, "verdict");

	page->scenarios_run += verdict[0] != '\0';
	page->scenarios_bad += badness(verdict) > 0;
	if (badness(verdict) > badness(html_word(page->worst, "verdict"))) {
		json_decref(page->worst);
		page->worst = json_incref(last);
	}
	rows_add(&page->scenarios, scenario, verdict);
}

void page_add_last(struct page *page, json_t *pair)
{
	rows_add(&page->last, pair, html_word(pair, "verdict"));
}

void page_add_run(struct page *page, json_t *run)
{
	rows_add(&page->runs, run, ""); /* in their order */
}

void page_add_peer(struct page *page, json_t *peer)
{
	rows_add(&page->peers, peer, html_word(peer, "state"));
}

void page_add_port(struct page *page, json_t *port)
{
	json_t *gids = json_object_get(port, "gids");

	json_object_set_new(port, "gid_count", json_integer((json_int_t)json_array_size(gids)));
	while (json_array_size(gids) > PAGE_TABLES_GIDS) {
		json_array_remove(gids, json_array_size(gids) - 1);
	}
	rows_add(&page->ports, port, html_word(port, "state"));
}

/* --- the headline: what a person should know first --- */

static void add_headline(struct text *out, const char *mood, const char *first, const char *second)
{
	text_format(out, "<section class=\"headline %s\">\n<p class=\"first\">", mood);
	html_add(out, first);
	text_add(out, "</p>\n");
	if (second[0]) {
		text_add(out, "<p>");
		html_add(out, second);
		text_add(out, "</p>\n");
	}
	text_add(out, "</section>");
}

/* What the scenarios' last runs come to, in one line and a reason. */
static void write_verdict_line(const struct page *page, struct text *out)
{
	size_t scenarios = page->scenarios.total;
	size_t bad = page->scenarios_bad;
	size_t run = page->scenarios_run;
	const json_t *worst = page->worst;
	const json_t *finding = json_object_get(worst, "first_finding");
	_cleanup_text_ struct text first = TEXT_INIT;
	_cleanup_text_ struct text second = TEXT_INIT;
	const char *mood = "calm";

	if (worst) {
		mood = html_mood(html_word(worst, "verdict"));
		for (const char *c = html_word(worst, "verdict"); *c; c++) {
			text_format(&first, "%c", toupper((unsigned char)*c));
		}
		text_format(&first, ": %s", html_word(worst, "scenario"));
		if (bad > 1) {
			text_format(&first, ", and %zu more did not pass", bad - 1);
		}
		if (json_is_object(finding)) {
			text_format(&second, "%s: %s", html_word(finding, "code"),
				    html_word(finding, "text"));
			if (html_word(finding, "against")[0]) {
				text_format(&second, " (but: %s)", html_word(finding, "against"));
			}
		}
		text_format(&second, "%srdmatestctl results %.10s tells all",
			    second.length ? ". " : "", html_word(worst, "id"));
	} else if (run > 0) {
		mood = "good";
		if (run == scenarios) {
			text_add(&first, "Every scenario passed when it last ran");
		} else {
			text_format(&first, "%zu of %zu scenarios ran, all passed", run, scenarios);
		}
	} else if (scenarios > 0) {
		text_add(&first, "No run yet");
		text_format(&second, "Start one with: rdmatestctl run %s",
			    html_word(rows_at(&page->scenarios, 0), "name"));
	} else {
		text_add(&first, "No scenario is configured");
		text_format(&second,
			    "The main file is %s; the shipped scenarios can be included there.",
			    html_word(json_object_get(page->status, "config"), "path"));
	}
	add_headline(out, mood, first.data, second.data ? second.data : "");
}

static void write_headline(const struct page *page, struct text *out)
{
	const json_t *config = json_object_get(page->status, "config");
	const char *state = html_word(page->status, "state");
	const char *error;
	_cleanup_text_ struct text line = TEXT_INIT;

	if (strcmp(state, "running") != 0) {
		text_format(&line, "The daemon is %s", state[0] ? state : "in an unknown state");
		add_headline(out, "warn", line.data, "");
		return;
	}
	write_verdict_line(page, out);
	error = html_word(json_object_get(page->status, "ports"), "error");
	if (error[0]) {
		add_headline(out, "warn", "Not every device could be asked", error);
	}
	if (!json_is_true(json_object_get(config, "is_last_reload_ok"))) {
		text_format(
			&line,
			"The configuration before it stays in force. rdmatestctl check --config=%s tells what is wrong.",
			html_word(config, "path"));
		add_headline(out, "warn", "The last reload was refused", line.data);
	}
	if (json_array_size(json_object_get(config, "pending_restart")) > 0) {
		add_headline(
			out, "warn", "A restart is needed",
			"Settings were changed that take effect at the next start of the daemon.");
	}
}

/* --- tiles --- */

static void add_tile(struct text *out, const char *title, const char *value, const char *note)
{
	text_add(out, "<div class=\"tile\"><h3>");
	html_add(out, title);
	text_add(out, "</h3><p>");
	html_add(out, value);
	text_add(out, "</p><p>");
	html_add(out, note);
	text_add(out, "</p></div>\n");
}

static void tile_of_verdicts(const json_t *runs, struct text *out)
{
	static const char *const order[] = { "fail", "error", "inconclusive", "unsupported",
					     "degraded" };
	const json_t *verdicts = json_object_get(runs, "verdicts");
	_cleanup_text_ struct text note = TEXT_INIT;
	long long over; /* runs that are */
	char value[80];

	over = html_number(verdicts, "pass");
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		over += html_number(verdicts, order[i]);
		if (html_number(verdicts, order[i]) > 0) {
			text_format(&note, "%s%lld %s", note.length ? ", " : "",
				    html_number(verdicts, order[i]), order[i]);
		}
	}
	snprintf(value, sizeof(value), "%lld of %lld pass", html_number(verdicts, "pass"), over);
	add_tile(out, "Runs kept", over ? value : "none yet",
		 note.length ? note.data : "no other verdict");
}

static void write_tiles(const struct page *page, struct text *out)
{
	const json_t *peers = json_object_get(page->status, "peers");
	const json_t *ports = json_object_get(page->status, "ports");
	const json_t *runs = json_object_get(page->status, "runs");
	const json_t *next = json_object_get(page->status, "next");
	const json_t *config = json_object_get(page->status, "config");
	_cleanup_text_ struct text when = TEXT_INIT;
	char value[120];
	char note[120];

	tile_of_verdicts(runs, out);
	snprintf(value, sizeof(value), "%lld running", html_number(runs, "active"));
	snprintf(note, sizeof(note), "%lld waiting", html_number(runs, "queued"));
	add_tile(out, "Runs now", value, note);
	html_add_duration(&when, next, "in_ns");
	snprintf(note, sizeof(note), "in %s", when.data ? when.data : "");
	add_tile(out, "Next by schedule", when.data ? html_word(next, "scenario") : "nothing",
		 when.data ? note : "no start by time is due");
	snprintf(value, sizeof(value), "%lld up", html_number(peers, "up"));
	snprintf(note, sizeof(note), "%lld connecting, %lld down", html_number(peers, "connecting"),
		 html_number(peers, "down"));
	add_tile(out, "Peers", value, note);
	snprintf(value, sizeof(value), "%lld active", html_number(ports, "active"));
	snprintf(note, sizeof(note), "%lld not", html_number(ports, "other"));
	add_tile(out, "RDMA ports", value, note);
	snprintf(value, sizeof(value), "generation %lld", html_number(config, "generation"));
	add_tile(out, "Configuration", value, html_word(config, "path"));
}

/* --- the frame --- */

static void write_title(const struct page *page, struct text *out)
{
	html_add(out, html_word(page->status, "node"));
	text_add(out, " · rdmatestd");
}

static void write_style(const struct page *page, struct text *out)
{
	text_add(out, asset_find("page.css")->bytes);
}

static void write_node(const struct page *page, struct text *out)
{
	html_add(out, html_word(page->status, "node"));
}

static void write_about(const struct page *page, struct text *out)
{
	html_add_mark(out, html_word(page->status, "state"));
	text_add(out, " version ");
	html_add(out, html_word(page->status, "version"));
	text_add(out, ", started ");
	html_add_ago(out, html_word(page->status, "now"), page->status, "started_at");
}

static const struct {
	const char *name; /* {{name}} in api/page/page.html */
	void (*write)(const struct page *page, struct text *out);
} slots[] = {
	{ "title", write_title },
	{ "style", write_style },
	{ "node", write_node },
	{ "about", write_about },
	{ "headline", write_headline },
	{ "tiles", write_tiles },
	{ "scenarios", page_tables_scenarios },
	{ "last", page_tables_last },
	{ "runs", page_tables_runs },
	{ "peers", page_tables_peers },
	{ "ports", page_tables_ports },
};

/* Fills the slot whose name begins at `name`; where the text goes on behind it. */
static const char *fill_slot(const struct page *page, const char *name, struct text *out)
{
	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
		size_t length = strlen(slots[i].name);

		if (strncmp(name, slots[i].name, length) == 0 &&
		    text_starts_with(name + length, "}}")) {
			slots[i].write(page, out);
			return name + length + 2;
		}
	}
	text_add(out, "{{");
	return name;
}

const char *page_write_part(const struct page *page, const char *at, struct text *out)
{
	const char *slot;

	at = at ? at : asset_find("page.html")->bytes;
	slot = strstr(at, "{{");
	if (!slot) {
		text_add(out, at);
		return NULL;
	}
	text_add_bytes(out, at, (size_t)(slot - at));
	return fill_slot(page, slot + 2, out);
}

void page_write(const struct page *page, struct text *out)
{
	const char *at = NULL;

	do {
		at = page_write_part(page, at, out);
	} while (at);
}
