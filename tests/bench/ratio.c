// SPDX-License-Identifier: MIT
/*
 * Is one program as good as another? Reads pairs of numbers, ours and theirs, one pair a line;
 * prints the median of the ratios ours/theirs with its 90 % bootstrap interval, and says whether
 * the interval keeps a limit:
 *
 *   ratio NAME least 0.95     the lower bound is at least 0.95 (more is better)
 *   ratio NAME most 1.10      the upper bound is at most 1.10 (less is better)
 *
 * Exit status 0: kept; 1: not kept; 2: usage or input. The resampling is seeded: the same pairs
 * give the same interval.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/random.h"

#define PAIRS_MOST 1000
#define PAIRS_LEAST 5
#define RESAMPLES 10000
#define SEED 20261129
#define LOW_RANK (RESAMPLES * 5 / 100)
#define HIGH_RANK (RESAMPLES * 95 / 100 - 1)

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Sorts. */
static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void bootstrap(const double *ratios, size_t count, double *ret_low, double *ret_high)
{
	static double medians[RESAMPLES];
	double sample[PAIRS_MOST];
	struct prng prng;

	prng_init(&prng, SEED);
	for (size_t i = 0; i < RESAMPLES; i++) {
		for (size_t j = 0; j < count; j++) {
			sample[j] = ratios[prng_below(&prng, count)];
		}
		medians[i] = median(sample, count);
	}
	qsort(medians, RESAMPLES, sizeof(*medians), compare);
	*ret_low = medians[LOW_RANK];
	*ret_high = medians[HIGH_RANK];
}

/* Returns how many pairs there are, or 0 after a message. */
static size_t read_ratios(const char *name, double *ratios)
{
	size_t count = 0;
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		double ours;
		double theirs;
		char rest;

		if (sscanf(line, "%lf %lf %c", &ours, &theirs, &rest) != 2 || !(ours > 0) ||
		    !(theirs > 0) || isinf(ours) || isinf(theirs) || count == PAIRS_MOST) {
			line[strcspn(line, "\n")] = '\0';
			fprintf(stderr,
				"ratio: %s: pair %zu, \"%s\", is not two positive numbers, or above %d pairs\n",
				name, count + 1, line, PAIRS_MOST);
			return 0;
		}
		ratios[count++] = ours / theirs;
	}
	if (count < PAIRS_LEAST) {
		fprintf(stderr, "ratio: %s: %zu pairs; %d are the least\n", name, count,
			PAIRS_LEAST);
		return 0;
	}
	return count;
}

int main(int argc, char **argv)
{
	double ratios[PAIRS_MOST];
	double limit, middle, low, high;
	bool is_least, is_kept;
	size_t count;
	char rest;

	if (argc != 4 || (strcmp(argv[2], "least") != 0 && strcmp(argv[2], "most") != 0) ||
	    sscanf(argv[3], "%lf%c", &limit, &rest) != 1) {
		fprintf(stderr, "usage: ratio NAME least|most LIMIT <pairs\n");
		return 2;
	}
	is_least = strcmp(argv[2], "least") == 0;
	count = read_ratios(argv[1], ratios);
	if (count == 0) {
		return 2;
	}
	bootstrap(ratios, count, &low, &high);
	middle = median(ratios, count);
	is_kept = is_least ? low >= limit : high <= limit;
	printf("%-4s  %-18s  %2zu pairs  median ratio %.3f  90 %% interval %.3f to %.3f  %s bound %s %.2f\n",
	       is_kept ? "pass" : "FAIL", argv[1], count, middle, low, high,
	       is_least ? "lower" : "upper", is_least ? ">=" : "<=", limit);
	return is_kept ? 0 : 1;
}
