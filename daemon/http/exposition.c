// SPDX-License-Identifier: MIT
#include "http/exposition.h"

#include <inttypes.h>
#include <stdlib.h>

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
	for (const char *c = value; *c; c++) {
		if (*c == '\\' || *c == '"') {
			text_format(out, "\\%c", *c);
		} else if (*c == '\n') {
			text_add(out, "\\n");
		} else {
			text_add_bytes(out, c, 1);
		}
	}
}

static void begin(struct exposition *exposition, const char *suffix, const char *const *labels)
{
	struct text *out = exposition->out;

	text_format(out, "%s%s", exposition->family, suffix);
	for (size_t i = 0; labels && labels[i]; i += 2) {
		text_format(out, "%s%s=\"", i ? "," : "{", labels[i]);
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
