// SPDX-License-Identifier: MIT
#include "http/exposition.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_words[] = { "counter", "gauge", "histogram" };

void exposition_family(struct exposition *exposition, const char *name, enum exposition_type type,
		       const char *help)
{
	exposition->family = name;
	text_format(exposition->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
		    type_words[type]);
}

static void add_value(struct text *out, const char *value)
{
	for (;;) {
		size_t plain = strcspn(value, "\\\"\n");

		text_add_bytes(out, value, plain);
		value += plain;
		if (*value == '\0') {
			return;
		}
		text_add(out, *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\");
		value++;
	}
}

/* Without printf: a scrape writes some ten thousand of these pieces. */
static void begin(struct exposition *exposition, const char *suffix, const char *const *labels)
{
	struct text *out = exposition->out;

	text_add(out, exposition->family);
	text_add(out, suffix);
	for (size_t i = 0; labels && labels[i]; i += 2) {
		text_add(out, i ? "," : "{");
		text_add(out, labels[i]);
		text_add(out, "=\"");
		add_value(out, labels[i + 1]);
		text_add(out, "\"");
	}
	text_add(out, labels && labels[0] ? "} " : " ");
	exposition->series++;
}

void exposition_u64(struct exposition *exposition, const char *suffix, uint64_t value,
		    const char *const *labels)
{
	begin(exposition, suffix, labels);
	text_format(exposition->out, "%" PRIu64 "\n", value);
}

void exposition_real(struct exposition *exposition, const char *suffix, double value,
		     const char *const *labels)
{
	begin(exposition, suffix, labels);
	text_format(exposition->out, "%.10g\n", value);
}

void exposition_seconds(struct exposition *exposition, const char *suffix, int64_t ns,
			const char *const *labels)
{
	begin(exposition, suffix, labels);
	text_format(exposition->out, "%s%" PRIu64 ".%09" PRIu64 "\n", ns < 0 ? "-" : "",
		    (uint64_t)llabs(ns) / 1000000000, (uint64_t)llabs(ns) % 1000000000);
}
