// SPDX-License-Identifier: MIT
#pragma once

/*
 * Prometheus' text format, version 0.0.4: one family after the other, each with help and type,
 * label values escaped, series counted.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/text.h"

struct exposition {
	struct text *out; /* borrowed */
	size_t series;
	const char *family; /* borrowed until the next one */
};

enum exposition_type { EXPOSITION_COUNTER, EXPOSITION_GAUGE, EXPOSITION_HISTOGRAM };

void exposition_family(struct exposition *exposition, const char *name, enum exposition_type type,
		       const char *help);

/* One series of the family. labels: name, value, name, value, ..., NULL; a suffix ("_bucket") may
 * be "". */
void exposition_u64(struct exposition *exposition, const char *suffix, uint64_t value,
		    const char *const *labels);
void exposition_real(struct exposition *exposition, const char *suffix, double value,
		     const char *const *labels);
/* Nanoseconds, written as seconds without loss. */
void exposition_seconds(struct exposition *exposition, const char *suffix, int64_t ns,
			const char *const *labels);

/* The labels of one call: EXPOSITION_LABELS("scenario", name). */
#define EXPOSITION_LABELS(...) ((const char *const[]){ __VA_ARGS__, NULL })
