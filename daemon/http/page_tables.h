// SPDX-License-Identifier: MIT
#pragma once

/*
 * The tables of the page.
 */

#include "http/page.h"

void page_tables_scenarios(const struct page_content *content, struct text *out);
void page_tables_last(const struct page_content *content, struct text *out);
void page_tables_runs(const struct page_content *content, struct text *out);
void page_tables_peers(const struct page_content *content, struct text *out);
void page_tables_ports(const struct page_content *content, struct text *out);
