// SPDX-License-Identifier: MIT
#pragma once

/*
 * What people see at /: one page without scripts, made from the same records as the API. Pure; any
 * thread.
 */

#include "util/json.h"
#include "util/text.h"

/* Each is a record of http/records or model/run; borrowed. Missing keys leave their place empty. */
struct page_content {
	const json_t *status;
	const json_t *devices;
	const json_t *peers;
	const json_t *scenarios;
	const json_t *runs; /* newest first */
	const json_t *last; /* metrics_last */
};
void page_write(const struct page_content *content, struct text *out);
