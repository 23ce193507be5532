// SPDX-License-Identifier: MIT
#include "run/doctor_summary.h"

#include <string.h>

#define SCHEMA_VERSION 1
#define STATUS_COLUMNS 10
#define MAX_SUBJECT_COLUMNS 24
#define NAMED_PORTS 8

static bool blocks(const struct doctor_line *line, const char *device, uint64_t port_num)
{
	return line->is_blocking &&
	       (line->device[0] == '\0' || (strcmp(line->device, device) == 0 &&
					    (line->port_num == 0 || line->port_num == port_num)));
}

static bool is_usable(const struct doctor_report *report, const char *device, uint64_t port_num)
{
	for (size_t i = 0; i < report->count; i++) {
		if (blocks(&report->lines[i], device, port_num)) {
			return false;
		}
	}
	return true;
}

static void find_usable(struct doctor_summary *summary, const struct doctor_facts *facts,
			const struct doctor_report *report)
{
	for (size_t i = 0; i < facts->device_count; i++) {
		const struct doctor_device *device = &facts->devices[i];

		if (device->answer != DOCTOR_ANSWER_ALL) {
			continue;
		}
		for (size_t j = 0; j < device->sysfs.port_count && j < INFINIBAND_PORTS; j++) {
			uint64_t port_num = device->sysfs.ports[j].port_num;

			summary->port_count++;
			if (!is_usable(report, device->name, port_num)) {
				continue;
			}
			if (summary->usable_count++ < NAMED_PORTS) {
				text_format(&summary->usable, "%s%s port %llu",
					    summary->usable_count > 1 ? ", " : "", device->name,
					    (unsigned long long)port_num);
			}
		}
	}
}

/* In the order of causes; what blocks the whole host explains more than what blocks a part. */
static const struct doctor_line *first_cause(const struct doctor_report *report, size_t *ret_more)
{
	const struct doctor_line *first = NULL;

	*ret_more = 0;
	for (size_t i = 0; i < report->count; i++) {
		const struct doctor_line *line = &report->lines[i];

		if (!line->is_blocking) {
			continue;
		}
		if (line->device[0] == '\0') {
			*ret_more = 0;
			return line;
		}
		*ret_more += first != NULL;
		first = first ? first : line;
	}
	return first;
}

static const struct doctor_line *first_bad(const struct doctor_report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		if (report->lines[i].status == DOCTOR_BAD && report->lines[i].reason[0] != '\0') {
			return &report->lines[i];
		}
	}
	return NULL;
}

/* Where no port can be used. */
static void add_cause(struct doctor_summary *summary, const struct doctor_report *report)
{
	size_t more;
	const struct doctor_line *cause = first_cause(report, &more);

	if (!cause) {
		text_add(&summary->text,
			 ": whether this host can run RDMA tests could not be seen");
		return;
	}
	text_format(&summary->text, ": this host cannot run RDMA tests, because %s", cause->reason);
	if (more > 0) {
		text_format(&summary->text, " (and %zu more)", more);
	}
}

static void add_counts(struct doctor_summary *summary)
{
	static const char *const words[] = { [DOCTOR_BAD] = "bad",
					     [DOCTOR_WARN] = "warn",
					     [DOCTOR_NOT_SEEN] = "not seen",
					     [DOCTOR_OK] = "ok" };

	for (size_t i = 0; i <= DOCTOR_OK; i++) {
		if (summary->counts[i] > 0) {
			text_format(&summary->text, "%s%zu %s",
				    summary->text.length > 0 ? ", " : "", summary->counts[i],
				    words[i]);
		}
	}
}

void doctor_summary_init(struct doctor_summary *summary, const struct doctor_facts *facts,
			 const struct doctor_report *report)
{
	const struct doctor_line *bad;

	*summary = (struct doctor_summary){ 0 };
	for (size_t i = 0; i < report->count; i++) {
		summary->counts[report->lines[i].status]++;
	}
	find_usable(summary, facts, report);
	add_counts(summary);
	if (summary->usable_count == 0) {
		add_cause(summary, report);
		return;
	}
	text_format(&summary->text, ": this host can run RDMA tests on %s%s", summary->usable.data,
		    summary->usable_count > NAMED_PORTS ? " and others" : "");
	bad = first_bad(report);
	if (bad) {
		text_format(&summary->text, ", but %s", bad->reason);
	}
}

void doctor_summary_done(struct doctor_summary *summary)
{
	text_done(&summary->usable);
	text_done(&summary->text);
}

/* Words from `column` on, continued at `indent`; a word longer than a line stands out. */
static void add_wrapped(struct text *out, unsigned column, unsigned indent, unsigned columns,
			const char *string)
{
	bool is_first = true;

	while (*(string += strspn(string, " ")) != '\0') {
		size_t length = strcspn(string, " ");

		if (!is_first && column + 1 + length > columns) {
			text_format(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!is_first) {
			text_add(out, " ");
			column++;
		}
		text_add_bytes(out, string, length);
		column += (unsigned)length;
		string += length;
		is_first = false;
	}
	text_add(out, "\n");
}

static unsigned subject_columns(const struct doctor_report *report)
{
	size_t widest = 0;

	for (size_t i = 0; i < report->count; i++) {
		size_t length = strlen(report->lines[i].subject);

		widest = length > widest && length <= MAX_SUBJECT_COLUMNS ? length : widest;
	}
	return (unsigned)widest;
}

void doctor_summary_print(const struct doctor_summary *summary, const struct doctor_report *report,
			  unsigned columns, struct text *out)
{
	unsigned subject = subject_columns(report);
	unsigned indent = STATUS_COLUMNS + subject + 2;

	add_wrapped(out, 0, 0, columns, summary->text.data);
	text_add(out, "\n");
	for (size_t i = 0; i < report->count; i++) {
		const struct doctor_line *line = &report->lines[i];
		const char *status = line->status == DOCTOR_NOT_SEEN
					     ? "not seen"
					     : doctor_line_status_name(line->status);
		size_t length = strlen(line->subject);

		text_format(out, "%-*s%-*s  ", STATUS_COLUMNS, status, (int)subject, line->subject);
		add_wrapped(out, length > subject ? STATUS_COLUMNS + (unsigned)length + 2 : indent,
			    indent, columns, line->finding);
		if (line->cure[0] != '\0') {
			text_format(out, "%*sdo: ", (int)indent, "");
			add_wrapped(out, indent + 4, indent + 4, columns, line->cure);
		}
	}
}

static json_t *write_line(const struct doctor_line *line)
{
	json_t *object = json_object();

	json_set_string(object, "id", line->id);
	json_set_string(object, "status", doctor_line_status_name(line->status));
	json_set_string(object, "subject", line->subject);
	json_set_string(object, "finding", line->finding);
	json_set_string(object, "cure", line->cure[0] != '\0' ? line->cure : NULL);
	json_set_string(object, "source", line->source);
	return object;
}

json_t *doctor_summary_write(const struct doctor_summary *summary,
			     const struct doctor_report *report)
{
	json_t *object = json_object();
	json_t *counts = json_object();
	json_t *lines = json_array();
	json_t *about = json_object();

	for (size_t i = 0; i <= DOCTOR_OK; i++) {
		json_set_u64(counts, doctor_line_status_name((enum doctor_status)i),
			     summary->counts[i]);
	}
	json_set_string(about, "text", summary->text.data);
	json_set_take(about, "counts", counts);
	json_set_u64(about, "ports", summary->port_count);
	json_set_u64(about, "usable_ports", summary->usable_count);
	for (size_t i = 0; i < report->count; i++) {
		json_array_append_new(lines, write_line(&report->lines[i]));
	}
	json_set_u64(object, "schema_version", SCHEMA_VERSION);
	json_set_take(object, "summary", about);
	json_set_take(object, "lines", lines);
	return object;
}
