// SPDX-License-Identifier: MIT
#include "ctl/table.h"

#include <assert.h>
#include <string.h>

#define GAP 2u

struct cell {
	enum paper_tone tone;
	char *string;
};

struct column {
	enum table_side side;
	const char *title;
	unsigned width;
};

struct table {
	size_t column_count;
	struct column columns[TABLE_COLUMNS];
	size_t cell_count;
	size_t cell_room;
	struct cell *cells;
};

struct table *table_new(void)
{
	return memory_new(sizeof(struct table));
}

void table_free(struct table *table)
{
	if (table == NULL) {
		return;
	}
	for (size_t i = 0; i < table->cell_count; i++) {
		free(table->cells[i].string);
	}
	free(table->cells);
	free(table);
}

void table_column(struct table *table, enum table_side side, const char *title)
{
	assert(table->column_count < TABLE_COLUMNS && table->cell_count == 0);
	table->columns[table->column_count++] = (struct column){
		.side = side,
		.title = title,
		.width = paper_width(title),
	};
}

void table_cell(struct table *table, enum paper_tone tone, const char *string)
{
	struct column *column = &table->columns[table->cell_count % table->column_count];
	const char *shown = string != NULL && string[0] != '\0' ? string : "-";
	unsigned width = paper_width(shown);

	if (table->cell_count == table->cell_room) {
		table->cell_room = table->cell_room > 0 ? 2 * table->cell_room : 64;
		table->cells =
			memory_resize(table->cells, table->cell_room, sizeof(table->cells[0]));
	}
	table->cells[table->cell_count++] = (struct cell){
		.tone = tone,
		.string = memory_copy_string(shown),
	};
	column->width = width > column->width ? width : column->width;
}

size_t table_rows(const struct table *table)
{
	return table->column_count > 0 ? table->cell_count / table->column_count : 0;
}

static void print_cell(const struct table *table, size_t index, const struct cell *cell,
		       struct paper *paper)
{
	const struct column *column = &table->columns[index];
	unsigned start = paper->column;
	bool is_last = index + 1 == table->column_count;

	if (column->side == TABLE_RIGHT) {
		paper_fill(paper, start + column->width - paper_width(cell->string), 0);
		paper_add(paper, cell->tone, cell->string);
	} else if (is_last) {
		paper_wrap(paper, cell->tone, start, cell->string);
	} else {
		paper_add(paper, cell->tone, cell->string);
	}
	if (is_last) {
		paper_newline(paper);
	} else {
		paper_fill(paper, start + column->width + GAP, 0);
	}
}

void table_print(const struct table *table, struct paper *paper, unsigned indent)
{
	size_t rows = table_rows(table);

	paper_fill(paper, indent, 0);
	for (size_t i = 0; i < table->column_count; i++) {
		struct cell title = { PAPER_DIM, (char *)table->columns[i].title };

		print_cell(table, i, &title, paper);
	}
	for (size_t row = 0; row < rows; row++) {
		paper_fill(paper, indent, 0);
		for (size_t i = 0; i < table->column_count; i++) {
			print_cell(table, i, &table->cells[row * table->column_count + i], paper);
		}
	}
}
