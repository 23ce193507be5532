// SPDX-License-Identifier: MIT
#pragma once

/*
 * What people see at /: one page without scripts, made from the same records as the API, which are
 * gathered one after the other. Loop thread.
 */

#include "http/rows.h"
#include "util/json.h"
#include "util/text.h"

/* Records of http/records, model/run and metrics_last. Missing keys leave their place empty. */
struct page {
	json_t *status; /* owned; NULL: not known */
	struct rows scenarios;
	struct rows last; /* numbers with each peer */
	struct rows runs; /* newest first */
	struct rows peers;
	struct rows ports;
	size_t scenarios_run; /* that have a last run */
	size_t scenarios_bad; /* whose last run did not pass */
	json_t *worst; /* of these last runs */
};

void page_done(struct page *page);

/* Each takes the record. */
void page_add_scenario(struct page *page, json_t *scenario);
void page_add_last(struct page *page, json_t *pair);
void page_add_run(struct page *page, json_t *run);
void page_add_peer(struct page *page, json_t *peer);
void page_add_port(struct page *page, json_t *port);

/* The text from `at` (NULL: from the beginning) up to the end of a part of the page. Where the next
 * one begins, or NULL: that was the last. */
const char *page_write_part(const struct page *page, const char *at, struct text *out);
void page_write(const struct page *page, struct text *out);
