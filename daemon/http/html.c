// SPDX-License-Identifier: MIT
#include "http/html.h"

#include <string.h>
#include <time.h>

#include "util/memory.h"
#include "util/text.h"
#include "util/units.h"

void html_add(struct text *out, const char *string)
{
	size_t size = 4 * strlen(string) + 1;
	_cleanup_free_ char *shown = memory_new(size);

	text_escape(shown, size, string);
	for (const char *at = shown; *at; at++) {
		switch (*at) {
		case '&':
			text_add(out, "&amp;");
			break;
		case '<':
			text_add(out, "&lt;");
			break;
		case '>':
			text_add(out, "&gt;");
			break;
		case '"':
			text_add(out, "&quot;");
			break;
		case '\'':
			text_add(out, "&#39;");
			break;
		default:
			text_add_bytes(out, at, 1);
			break;
		}
	}
}

const char *html_word(const json_t *object, const char *key)
{
	const char *word = json_string_value(json_object_get(object, key));

	return word ? word : "";
}

long long html_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

const char *html_mood(const char *word)
{
	static const struct {
		const char *word;
		const char *mood;
	} moods[] = {
		{ "pass", "good" },	    { "up", "good" },	      { "active", "good" },
		{ "running", "good" },	    { "degraded", "warn" },   { "unsupported", "warn" },
		{ "inconclusive", "warn" }, { "connecting", "warn" }, { "fail", "bad" },
		{ "error", "bad" },	    { "down", "bad" },
	};

	for (size_t i = 0; i < sizeof(moods) / sizeof(moods[0]); i++) {
		if (strcmp(moods[i].word, word) == 0) {
			return moods[i].mood;
		}
	}
	return "calm";
}

void html_add_mark(struct text *out, const char *word)
{
	text_format(out, "<span class=\"mark %s\">", html_mood(word));
	html_add(out, word);
	text_add(out, "</span>");
}

/* Seconds are enough here; the fraction and the Z are left. */
static int64_t seconds_of(const char *time)
{
	struct tm tm = { 0 };

	return strptime(time, "%Y-%m-%dT%H:%M:%S", &tm) ? (int64_t)timegm(&tm) : 0;
}

void html_add_ago(struct text *out, const char *now, const json_t *object, const char *key)
{
	const char *time = html_word(object, key);
	int64_t seconds = seconds_of(now) - seconds_of(time);
	char duration[UNITS_SIZE];

	if (!time[0]) {
		text_add(out, "<span class=\"quiet\">never</span>");
		return;
	}
	text_add(out, "<time datetime=\"");
	html_add(out, time);
	text_add(out, "\" title=\"");
	html_add(out, time);
	if (seconds < 1) {
		text_add(out, "\">just now</time>");
	} else if (seconds < 60) {
		text_format(out, "\">%u s ago</time>", (unsigned)seconds);
	} else {
		text_format(out, "\">%s ago</time>",
			    units_format_duration((uint64_t)seconds * 1000000000, duration));
	}
}

void html_add_duration(struct text *out, const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	char duration[UNITS_SIZE];

	if (json_is_integer(value)) {
		text_add(out, units_format_duration((uint64_t)json_integer_value(value), duration));
	}
}
