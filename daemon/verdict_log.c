// SPDX-License-Identifier: MIT
#include "verdict_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/message_id.h"
#include "util/list.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

#define HOUR_NS (3600ull * 1000000000)

struct entry {
	struct list link;
	char scenario[LIMIT_NAME];
	int verdict; /* VERDICT_NONE: none yet */
	uint64_t runs; /* in a row with it */
	uint64_t told_mono_ns; /* its last line */
	uint64_t hour_mono_ns; /* when the hour began of which the lines are counted */
	unsigned lines;
	uint64_t untold; /* changes since there were too many */
	bool was_refused;
	uint64_t refused_mono_ns; /* last line about that */
};

struct verdict_log {
	struct list entries;
};

struct verdict_log *verdict_log_new(void)
{
	struct verdict_log *log = memory_new(sizeof(*log));

	list_init(&log->entries);
	return log;
}

static void remove_entry(struct entry *entry)
{
	list_remove(&entry->link);
	free(entry);
}

void verdict_log_free(struct verdict_log *log)
{
	struct entry *entry;

	if (log == NULL) {
		return;
	}
	list_each(entry, &log->entries, link) {
		remove_entry(entry);
	}
	free(log);
}

static struct entry *get_entry(struct verdict_log *log, const char *scenario)
{
	struct entry *entry;

	list_each(entry, &log->entries, link) {
		if (strcmp(entry->scenario, scenario) == 0) {
			return entry;
		}
	}
	entry = memory_new(sizeof(*entry));
	text_copy(entry->scenario, sizeof(entry->scenario), scenario);
	list_append(&log->entries, &entry->link);
	return entry;
}

static void warn(const struct entry *entry, const struct run *run, const struct text *line)
{
	const struct measurement *measurement;
	const struct finding *finding = run_main_finding(run, &measurement);
	char id[MESSAGE_ID_SIZE];

	if (finding == NULL) {
		log_warning("scenario \"%s\": %s; see `rdmatestctl results %s`", entry->scenario,
			    line->data, run->id);
		return;
	}
	snprintf(id, sizeof(id), MESSAGE_ID_FORMAT, finding_info(finding->code)->number);
	log_line_with_id(LOG_LEVEL_WARNING, id,
			 "scenario \"%s\": %s: RDT-%04u %s: %s; see `rdmatestctl results %s`",
			 entry->scenario, line->data, finding_info(finding->code)->number,
			 confidence_names[finding->confidence], finding->text, run->id);
}

static void write_line(struct entry *entry, const struct run *run, struct text *line,
		       uint64_t now_mono_ns)
{
	if (run->verdict == VERDICT_PASS) {
		log_info("scenario \"%s\": %s; run %s", entry->scenario, line->data, run->id);
	} else {
		warn(entry, run, line);
	}
	entry->told_mono_ns = now_mono_ns;
	entry->untold = 0;
}

static void add_untold(const struct entry *entry, struct text *line)
{
	if (entry->untold > 0) {
		text_format(line, ", after %" PRIu64 " changes that are not logged", entry->untold);
	}
}

static void tell_change(struct entry *entry, const struct run *run, uint64_t now_mono_ns)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	text_add(&line, verdict_names[run->verdict]);
	if (entry->untold > 0) {
		add_untold(entry, &line);
	} else if (entry->verdict != VERDICT_NONE) {
		text_format(&line, " after %" PRIu64 " run%s of %s", entry->runs,
			    entry->runs == 1 ? "" : "s", verdict_names[entry->verdict]);
	}
	write_line(entry, run, &line, now_mono_ns);
}

static void tell_stay(struct entry *entry, const struct run *run, uint64_t now_mono_ns)
{
	_cleanup_text_ struct text line = TEXT_INIT;

	text_format(&line, "still %s, %" PRIu64 " runs by now", verdict_names[run->verdict],
		    entry->runs);
	add_untold(entry, &line);
	write_line(entry, run, &line, now_mono_ns);
}

/* Whether one more change may have its line. */
static bool has_room(struct entry *entry, uint64_t now_mono_ns)
{
	if (entry->lines == 0 || now_mono_ns - entry->hour_mono_ns >= HOUR_NS) {
		entry->hour_mono_ns = now_mono_ns;
		entry->lines = 0;
	}
	return entry->lines < VERDICT_LOG_CHANGES;
}

void verdict_log_tell(struct verdict_log *log, const struct run *run, uint64_t now_mono_ns)
{
	struct entry *entry = get_entry(log, run->scenario->name);
	bool is_due = now_mono_ns - entry->told_mono_ns >= HOUR_NS;

	if (run->verdict == entry->verdict) {
		entry->runs++;
		if (is_due && (run->verdict != VERDICT_PASS || entry->untold > 0)) {
			tell_stay(entry, run, now_mono_ns);
		}
		return;
	}
	if (has_room(entry, now_mono_ns)) {
		entry->lines++;
		tell_change(entry, run, now_mono_ns);
	} else {
		entry->untold++;
	}
	entry->verdict = run->verdict;
	entry->runs = 1;
}

void verdict_log_refused(struct verdict_log *log, const char *scenario, const char *why,
			 uint64_t now_mono_ns)
{
	struct entry *entry = get_entry(log, scenario);

	if (entry->was_refused && now_mono_ns - entry->refused_mono_ns < HOUR_NS) {
		return;
	}
	entry->was_refused = true;
	entry->refused_mono_ns = now_mono_ns;
	log_warning("scenario \"%s\" was due and could not begin: %s", scenario, why);
}

void verdict_log_configure(struct verdict_log *log, const struct config *config)
{
	struct entry *entry;

	list_each(entry, &log->entries, link) {
		if (config_scenario(config, entry->scenario) == NULL) {
			remove_entry(entry);
		}
	}
}
