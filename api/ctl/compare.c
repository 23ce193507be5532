// SPDX-License-Identifier: MIT
#include "ctl/compare.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "ctl/field.h"
#include "ctl/table.h"
#include "ctl/verdict_word.h"
#include "util/text.h"
#include "util/units.h"

/* A difference within so many standard errors is no difference. */
#define ERRORS_BEYOND 2.0

/* Of the mean of the intervals; false where they are too few to tell. */
static bool error_of(const json_t *measurement, double *ret)
{
	uint64_t window_ns = 0, interval_ns = 0;
	double variation = 0;

	if (!field_real(measurement, "ops_per_s_cv", &variation) ||
	    !field_u64(measurement, "window_ns", &window_ns) ||
	    !field_u64(measurement, "workload.run.interval_ns", &interval_ns) || interval_ns == 0) {
		return false;
	}
	*ret = variation / sqrt(fmax(1, (double)window_ns / (double)interval_ns));
	return true;
}

void compare_add(struct compare *compare, const json_t *run)
{
	struct compare_row *row = &compare->rows[compare->count++];
	const json_t *measurements = field_array(run, "measurements");
	double squares = 0;
	size_t count = 0, with_error = 0;

	assert(compare->count <= COMPARE_MAX);
	*row = (struct compare_row){ 0 };
	text_copy(row->scenario, sizeof(row->scenario), field_string(run, "scenario", "-"));
	text_copy(row->verdict, sizeof(row->verdict),
		  field_string(run, "verdict", field_string(run, "state", "-")));
	for (size_t i = 0; i < json_array_size(measurements); i++) {
		const json_t *measurement = json_array_get(measurements, i);
		const json_t *both = field_find(measurement, "both");
		double rate = 0, bandwidth = 0, error = 0;

		if (field_real(both ? both : measurement, "ops_per_s", &rate) &&
		    field_real(both ? both : measurement, "bandwidth_bps", &bandwidth)) {
			row->ops_per_s += rate;
			row->bandwidth_bps += bandwidth;
			count++;
			if (error_of(measurement, &error)) {
				squares += error * error;
				with_error++;
			}
		}
	}
	if (count > 0) {
		row->has_rates = true;
		row->ops_per_s /= (double)count;
		row->bandwidth_bps /= (double)count;
		row->has_error = with_error == count;
		row->error = sqrt(squares) / (double)count;
	}
}

/* Of `row` on `on`, as a share; false where nothing can be said. */
static bool gain_of(const struct compare_row *row, const struct compare_row *on, double *ret)
{
	if (!on || !row->has_rates || !on->has_rates || on->ops_per_s <= 0) {
		return false;
	}
	*ret = row->ops_per_s / on->ops_per_s - 1;
	return true;
}

static bool is_beyond_noise(const struct compare_row *row, const struct compare_row *on,
			    double gain)
{
	double error = sqrt(row->error * row->error + on->error * on->error);

	return fabs(gain) > ERRORS_BEYOND * error;
}

/* "+12.3 %", "~ +0.4 %" where that is no difference, "-" where nothing can be said. */
static void show_gain(const struct compare_row *row, const struct compare_row *on, char *buf,
		      size_t size)
{
	double gain;

	if (!gain_of(row, on, &gain)) {
		snprintf(buf, size, "-");
		return;
	}
	snprintf(buf, size, "%s%+.1f %%",
		 !row->has_error || !on->has_error ? "? "
		 : !is_beyond_noise(row, on, gain) ? "~ "
						   : "",
		 100 * gain);
}

static json_t *real_or_null(bool is_known, double value)
{
	return is_known ? json_real(value) : json_null();
}

static json_t *write_row(const struct compare_row *row, const struct compare_row *on,
			 const struct compare_row *first)
{
	json_t *object = json_object();
	double gain = 0, in_all = 0;
	bool has_gain = gain_of(row, on, &gain);
	bool has_all = gain_of(row, first, &in_all);

	json_set_string(object, "scenario", row->scenario);
	json_set_string(object, "verdict", row->verdict);
	json_set_take(object, "ops_per_s", real_or_null(row->has_rates, row->ops_per_s));
	json_set_take(object, "bandwidth_bps", real_or_null(row->has_rates, row->bandwidth_bps));
	json_set_take(object, "gain", real_or_null(has_gain, gain));
	json_set_take(object, "gain_in_all", real_or_null(has_all, in_all));
	json_set_take(object, "is_beyond_noise",
		      has_gain && row->has_error && on->has_error
			      ? json_boolean(is_beyond_noise(row, on, gain))
			      : json_null());
	return object;
}

json_t *compare_write(const struct compare *compare)
{
	json_t *object = json_object();
	json_t *rows = json_array();

	for (size_t i = 0; i < compare->count; i++) {
		const struct compare_row *row = &compare->rows[i];

		json_array_append_new(rows, write_row(row, i > 0 ? row - 1 : NULL,
						      i > 0 ? compare->rows : NULL));
	}
	json_set_take(object, "runs", rows);
	return object;
}

static void add_row(const struct compare *compare, size_t index, struct table *table)
{
	const struct compare_row *row = &compare->rows[index];
	char word[VERDICT_WORD_SIZE];
	char cell[UNITS_SIZE];

	table_cell(table, PAPER_PLAIN, row->scenario);
	table_cell(table, paper_tone_of(row->verdict), verdict_word(row->verdict, word));
	table_cell(table, PAPER_PLAIN,
		   row->has_rates ? units_format_ops_rate(row->ops_per_s, cell) : NULL);
	table_cell(table, PAPER_PLAIN,
		   row->has_rates ? units_format_rate(row->bandwidth_bps, cell) : NULL);
	show_gain(row, index > 0 ? row - 1 : NULL, cell, sizeof(cell));
	table_cell(table, PAPER_PLAIN, cell);
	show_gain(row, index > 0 ? &compare->rows[0] : NULL, cell, sizeof(cell));
	table_cell(table, PAPER_PLAIN, cell);
}

void compare_print(const struct compare *compare, struct paper *paper)
{
	_cleanup_table_ struct table *table = table_new();

	table_column(table, TABLE_LEFT, "run of");
	table_column(table, TABLE_LEFT, "verdict");
	table_column(table, TABLE_RIGHT, "rate");
	table_column(table, TABLE_RIGHT, "bandwidth");
	table_column(table, TABLE_RIGHT, "gain");
	table_column(table, TABLE_RIGHT, "in all");
	for (size_t i = 0; i < compare->count; i++) {
		add_row(compare, i, table);
	}
	table_print(table, paper, 0);
	paper_paragraph(
		paper, PAPER_DIM, 0,
		"gain: of the rate, on the run above; in all: on the first. ~ is no more than the rates varied by within the runs "
		"(twice the standard error of their intervals), ? where there are too few intervals to tell");
}
