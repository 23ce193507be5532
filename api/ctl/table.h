// SPDX-License-Identifier: MIT
#pragma once

/*
 * Small tables for people: columns as wide as what is in them, two blanks between, the last one
 * wrapped below itself when the line would get longer than the paper. One thread.
 */

#include "ctl/paper.h"
#include "util/memory.h"

#define TABLE_COLUMNS 12

enum table_side { TABLE_LEFT, TABLE_RIGHT };

struct table;

struct table *table_new(void);
void table_free(struct table *table);
MEMORY_CLEANUP(struct table, table_free)
#define _cleanup_table_ _cleanup_(table_free_pointer)

/* At most TABLE_COLUMNS, all before the first cell. */
void table_column(struct table *table, enum table_side side, const char *title);
/* Cells fill rows from left to right; NULL and "" become "-", " " stays blank. */
void table_cell(struct table *table, enum paper_tone tone, const char *string);
size_t table_rows(const struct table *table);
/* Titles, then rows; an unfinished last row is not printed. */
void table_print(const struct table *table, struct paper *paper, unsigned indent);
