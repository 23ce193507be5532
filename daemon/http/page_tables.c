// SPDX-License-Identifier: MIT
#include "http/page_tables.h"

#include <string.h>

#include "http/html.h"
#include "util/units.h"

static void begin_table(struct text *out, const char *const *columns)
{
	text_add(out, "<div class=\"scroll\"><table>\n<thead><tr>");
	for (size_t i = 0; columns[i]; i++) {
		/* A leading "#": numbers. */
		bool is_number = columns[i][0] == '#';

		text_format(out, "<th scope=\"col\"%s>%s</th>",
			    is_number ? " class=\"number\"" : "", columns[i] + is_number);
	}
	text_add(out, "</tr></thead>\n<tbody>\n");
}

/* command: lists what is not shown. */
static void end_table(struct text *out, const struct rows *rows, const char *command)
{
	text_add(out, "</tbody></table>");
	if (rows->total > rows_count(rows)) {
		text_format(out,
			    "<p class=\"empty\">%zu more, none of them worse: <code>%s</code></p>",
			    rows->total - rows_count(rows), command);
	}
	text_add(out, "</div>");
}

static void add_empty(struct text *out, const char *sentence)
{
	text_format(out, "<div class=\"scroll\"><p class=\"empty\">%s</p></div>", sentence);
}

static void add_schedule(struct text *out, const json_t *scenario)
{
	const json_t *schedule = json_object_get(scenario, "schedule");
	char every[UNITS_SIZE];

	if (!json_is_true(json_object_get(scenario, "is_enabled"))) {
		text_add(out, "disabled");
	} else if (json_is_integer(json_object_get(schedule, "every_ns"))) {
		text_format(out, "every %s",
			    units_write_duration((uint64_t)html_number(schedule, "every_ns"),
						 every));
		text_add(out, json_is_true(json_object_get(schedule, "is_at_startup"))
				      ? ", at startup"
				      : "");
	} else {
		text_add(out, json_is_true(json_object_get(schedule, "is_at_startup"))
				      ? "at startup"
				      : "by hand");
	}
}

static void add_run_link(struct text *out, const json_t *run)
{
	text_add(out, "<a class=\"code\" href=\"/v1/runs/");
	html_add(out, html_word(run, "id"));
	text_add(out, "\">");
	html_add(out, html_word(run, "id"));
	text_add(out, "</a>");
}

void page_tables_scenarios(const struct page *page, struct text *out)
{
	static const char *const columns[] = { "Last verdict", "Scenario", "Starts",
					       "#Last ran",    "#Next in", NULL };

	if (rows_count(&page->scenarios) == 0) {
		add_empty(out, "None is configured.");
		return;
	}
	begin_table(out, columns);
	for (size_t i = 0; i < rows_count(&page->scenarios); i++) {
		const json_t *scenario = rows_at(&page->scenarios, i);
		const json_t *last = json_object_get(scenario, "last");
		const char *verdict = html_word(last, "verdict");

		text_add(out, "<tr><td class=\"short\">");
		html_add_mark(out, verdict[0] ? verdict : "none yet");
		text_add(out, "</td><th scope=\"row\">");
		html_add(out, html_word(scenario, "name"));
		text_add(out, "<span class=\"note\">");
		html_add(out, html_word(scenario, "description"));
		text_add(out, "</span></th><td class=\"short\">");
		add_schedule(out, scenario);
		text_add(out, "</td><td class=\"number\">");
		html_add_ago(out, html_word(page->status, "now"), last, "ended_at");
		text_add(out, "</td><td class=\"number\">");
		html_add_duration(out, json_object_get(scenario, "schedule"), "next_in_ns");
		text_add(out, "</td></tr>\n");
	}
	end_table(out, &page->scenarios, "rdmatestctl scenarios");
}

static void write_run_row(const struct page *page, const json_t *run, struct text *out)
{
	const json_t *finding = json_object_get(run, "first_finding");
	const char *verdict = html_word(run, "verdict");
	bool is_over = html_word(run, "ended_at")[0];

	text_add(out, "<tr><td class=\"short\">");
	html_add_mark(out, verdict[0] ? verdict : html_word(run, "state"));
	text_add(out, "</td><th scope=\"row\">");
	html_add(out, html_word(run, "scenario"));
	if (json_is_object(finding)) {
		text_add(out, "<span class=\"note\">");
		html_add(out, html_word(finding, "code"));
		text_add(out, " ");
		html_add(out, html_word(finding, "text"));
		if (html_word(finding, "against")[0]) {
			text_add(out, " (but: ");
			html_add(out, html_word(finding, "against"));
			text_add(out, ")");
		}
		text_add(out, "</span>");
	}
	text_add(out, "</th><td class=\"number\">");
	html_add_ago(out, html_word(page->status, "now"), run, is_over ? "ended_at" : "queued_at");
	text_add(out, "</td><td class=\"number\">");
	html_add_duration(out, run, "duration_ns");
	text_format(out, "</td><td class=\"number\">%lld</td><td class=\"short\">",
		    html_number(run, "measurements"));
	html_add(out, html_word(run, "trigger"));
	text_add(out, "</td><td class=\"short\">");
	add_run_link(out, run);
	text_add(out, "</td></tr>\n");
}

void page_tables_runs(const struct page *page, struct text *out)
{
	static const char *const columns[] = { "Verdict", "Scenario",	"#When", "#Took",
					       "#Pairs",  "Started by", "Run",	 NULL };

	if (rows_count(&page->runs) == 0) {
		add_empty(out, "None yet. <code>rdmatestctl run NAME</code> starts one.");
		return;
	}
	begin_table(out, columns);
	for (size_t i = 0; i < rows_count(&page->runs); i++) {
		write_run_row(page, rows_at(&page->runs, i), out);
	}
	end_table(out, &page->runs, "rdmatestctl results");
}

/* A number for people, or a dash where there is none. */
static void add_real(struct text *out, const json_t *object, const char *key,
		     const char *(*format)(double value, char *buf))
{
	const json_t *value = json_object_get(object, key);
	char buf[UNITS_SIZE];

	text_add(out, json_is_number(value) ? format(json_number_value(value), buf) : "–");
}

static void add_latency(struct text *out, const json_t *operation, const char *key)
{
	text_add(out, "<td class=\"number\">");
	if (json_is_integer(json_object_get(operation, key))) {
		html_add_duration(out, operation, key);
	} else {
		text_add(out, "<span class=\"quiet\" title=\"too few samples\">–</span>");
	}
	text_add(out, "</td>");
}

/* The cells of one operation, those that all operations of a pair share in the first row alone. */
static void write_last_row(const struct page *page, const json_t *pair, const json_t *operation,
			   size_t index, size_t count, struct text *out)
{
	text_add(out, index ? "<tr class=\"more\">" : "<tr>");
	if (index == 0) {
		text_format(out, "<td class=\"short\" rowspan=\"%zu\">", count);
		html_add_mark(out, html_word(pair, "verdict"));
		text_format(out, "</td><th scope=\"rowgroup\" rowspan=\"%zu\">", count);
		html_add(out, html_word(pair, "scenario"));
		text_format(out, "</th><td class=\"short\" rowspan=\"%zu\">", count);
		html_add(out, html_word(pair, "peer"));
		text_format(out, "</td><td class=\"number\" rowspan=\"%zu\">", count);
		html_add_ago(out, html_word(page->status, "now"), pair, "ended_at");
		text_add(out, "</td>");
	}
	if (!operation) {
		text_add(out, "<td colspan=\"6\" class=\"quiet\">nothing was measured</td></tr>\n");
		return;
	}
	text_add(out, "<td class=\"short\">");
	html_add(out, html_word(operation, "operation"));
	text_add(out, "</td><td class=\"number\">");
	add_real(out, operation, "bandwidth_bps", units_format_rate);
	text_add(out, "</td><td class=\"number\">");
	add_real(out, operation, "ops_per_s", units_format_ops_rate);
	text_add(out, "</td>");
	add_latency(out, operation, "p50_ns");
	add_latency(out, operation, "p99_ns");
	add_latency(out, operation, "p99.9_ns");
	text_add(out, "</tr>\n");
}

void page_tables_last(const struct page *page, struct text *out)
{
	static const char *const columns[] = { "Verdict",   "Scenario",	  "Peer",  "#When",
					       "Operation", "#Bandwidth", "#Rate", "#p50",
					       "#p99",	    "#p99.9",	  NULL };

	if (rows_count(&page->last) == 0) {
		add_empty(out, "Nothing was measured since the daemon started.");
		return;
	}
	begin_table(out, columns);
	for (size_t i = 0; i < rows_count(&page->last); i++) {
		const json_t *pair = rows_at(&page->last, i);
		const json_t *operations = json_object_get(pair, "operations");
		size_t count = json_array_size(operations);

		for (size_t k = 0; k < (count ? count : 1); k++) {
			write_last_row(page, pair, json_array_get(operations, k), k,
				       count ? count : 1, out);
		}
	}
	end_table(out, &page->last, "rdmatestctl results");
}

static void add_error(struct text *out, const json_t *peer)
{
	const char *error = html_word(peer, "error");

	if (error[0]) {
		text_add(out, "<span class=\"note\">");
		html_add(out, error);
		text_add(out, "</span>");
	}
}

static void add_clock(struct text *out, const json_t *peer)
{
	const json_t *clock = json_object_get(peer, "clock");
	long long offset_ns = html_number(clock, "offset_ns");
	char offset[UNITS_SIZE];
	char error[UNITS_SIZE];

	if (json_is_object(clock)) {
		text_format(out, "%s%s ± %s", offset_ns < 0 ? "−" : "+",
			    units_format_duration(
				    (uint64_t)(offset_ns < 0 ? -offset_ns : offset_ns), offset),
			    units_format_duration((uint64_t)html_number(clock, "error_ns"), error));
	}
}

void page_tables_peers(const struct page *page, struct text *out)
{
	static const char *const columns[] = { "State",	      "Peer",	"Address", "#Since",
					       "#Round trip", "#Clock", "Version", NULL };

	if (rows_count(&page->peers) == 0) {
		add_empty(
			out,
			"None is configured. A scenario needs a second node: list it under <code>peers</code>.");
		return;
	}
	begin_table(out, columns);
	for (size_t i = 0; i < rows_count(&page->peers); i++) {
		const json_t *peer = rows_at(&page->peers, i);
		bool is_enabled = json_is_true(json_object_get(peer, "is_enabled"));

		text_add(out, "<tr><td class=\"short\">");
		html_add_mark(out, is_enabled ? html_word(peer, "state") : "disabled");
		text_add(out, "</td><th scope=\"row\">");
		html_add(out, html_word(peer, "name"));
		add_error(out, peer);
		text_add(out, "</th><td class=\"short code\">");
		html_add(out, html_word(peer, "address"));
		text_add(out, "</td><td class=\"number\">");
		html_add_ago(out, html_word(page->status, "now"), peer, "since");
		text_add(out, "</td><td class=\"number\">");
		html_add_duration(out, peer, "round_trip_ns");
		text_add(out, "</td><td class=\"number\">");
		add_clock(out, peer);
		text_add(out, "</td><td class=\"short\">");
		html_add(out, html_word(peer, "version"));
		text_add(out, "</td></tr>\n");
	}
	end_table(out, &page->peers, "rdmatestctl peers");
}

static void add_rate(struct text *out, const json_t *port)
{
	const json_t *rate = json_object_get(port, "link_rate_bps");
	char buf[UNITS_SIZE];

	text_add(out, json_is_integer(rate)
			      ? units_format_rate((double)json_integer_value(rate), buf)
			      : "unknown");
}

void page_tables_ports(const struct page *page, struct text *out)
{
	static const char *const columns[] = { "State",	 "Port",     "Link", "#Rate", "#MTU",
					       "Driver", "Firmware", "GIDs", NULL };

	if (rows_count(&page->ports) == 0) {
		add_empty(
			out,
			"There is no RDMA device. <code>rdma link</code> and <code>lsmod | grep ib_uverbs</code> may tell why.");
		return;
	}
	begin_table(out, columns);
	for (size_t i = 0; i < rows_count(&page->ports); i++) {
		const json_t *port = rows_at(&page->ports, i);
		const json_t *gids = json_object_get(port, "gids");
		const json_t *gid;
		size_t k;

		text_add(out, "<tr><td class=\"short\">");
		html_add_mark(out, html_word(port, "state"));
		text_add(out, "</td><th scope=\"row\">");
		html_add(out, html_word(port, "device"));
		text_format(out, " port %lld</th><td class=\"short\">",
			    html_number(port, "port_num"));
		html_add(out, html_word(port, "link_layer"));
		text_add(out, "</td><td class=\"number\">");
		add_rate(out, port);
		text_format(out, "</td><td class=\"number\">%lld</td><td class=\"short\">",
			    html_number(port, "active_mtu_bytes"));
		html_add(out, html_word(port, "driver"));
		text_add(out, "</td><td class=\"short\">");
		html_add(out, html_word(port, "firmware"));
		text_add(out, "</td><td class=\"code\">");
		json_array_foreach(gids, k, gid) {
			text_format(out, "%s%lld ", k ? "<br>" : "", html_number(gid, "index"));
			html_add(out, html_word(gid, "gid"));
		}
		if (html_number(port, "gid_count") > (long long)json_array_size(gids)) {
			text_format(out, "<br>and %lld more",
				    html_number(port, "gid_count") -
					    (long long)json_array_size(gids));
		}
		text_add(out, "</td></tr>\n");
	}
	end_table(out, &page->ports, "rdmatestctl devices");
}
