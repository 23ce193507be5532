// SPDX-License-Identifier: MIT
#pragma once

/*
 * The tables of the page.
 */

#include "http/page.h"

/* GIDs shown of a port. */
#define PAGE_TABLES_GIDS 8

void page_tables_scenarios(const struct page *page, struct text *out);
void page_tables_last(const struct page *page, struct text *out);
void page_tables_runs(const struct page *page, struct text *out);
void page_tables_peers(const struct page *page, struct text *out);
void page_tables_ports(const struct page *page, struct text *out);
