// SPDX-License-Identifier: MIT
#include "util/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ull
#define SECONDS_UP_TO_NS (120 * NS_PER_S)
#define MINUTES_UP_TO_NS (120 * 60 * NS_PER_S)
#define HOURS_UP_TO_NS (48 * 3600 * NS_PER_S)

/*
 * Three significant digits, without zeros at the end of a fraction but for `min_decimals`. Value
 * below 10,000.
 */
static void format_three(double value, unsigned min_decimals, const char *unit, char *buf)
{
	unsigned decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	size_t length = (size_t)snprintf(buf, UNITS_SIZE, "%.*f", (int)decimals, value);

	for (; decimals > min_decimals && buf[length - 1] == '0'; decimals--) {
		length--;
	}
	if (buf[length - 1] == '.') {
		length--;
	}
	snprintf(buf + length, UNITS_SIZE - length, " %s", unit);
}

static const char *format_scaled(double value, double step, const char *const *names, char *buf)
{
	/* What would round up to a whole step is said in the next unit. */
	while (value >= step - 0.5 && names[1]) {
		value /= step;
		names++;
	}
	if (value >= 10 * step) { /* beyond the last unit */
		snprintf(buf, UNITS_SIZE, "%.3g %s", value, names[0]);
		return buf;
	}
	format_three(value, 0, names[0], buf);
	return buf;
}

static const char *format_unknown(char *buf)
{
	snprintf(buf, UNITS_SIZE, "-");
	return buf;
}

const char *units_format_size(uint64_t bytes, char *buf)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL };

	return format_scaled((double)bytes, 1024, names, buf);
}

const char *units_format_rate(double bps, char *buf)
{
	static const char *const names[] = { "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", NULL };

	return isfinite(bps) && bps >= 0 ? format_scaled(bps, 1000, names, buf)
					 : format_unknown(buf);
}

const char *units_format_ops_rate(double ops_per_s, char *buf)
{
	static const char *const names[] = { "op/s", "kop/s", "Mop/s", "Gop/s", NULL };

	return isfinite(ops_per_s) && ops_per_s >= 0 ? format_scaled(ops_per_s, 1000, names, buf)
						     : format_unknown(buf);
}

/* "12 min 5 s": two units, the smaller one only if it is not zero. */
static void format_pair(uint64_t ns, uint64_t large_ns, const char *large, uint64_t small_ns,
			const char *small, char *buf)
{
	uint64_t count = (ns + small_ns / 2) / small_ns;
	uint64_t ratio = large_ns / small_ns;
	int length = snprintf(buf, UNITS_SIZE, "%" PRIu64 " %s", count / ratio, large);

	if (count % ratio != 0) {
		snprintf(buf + length, (size_t)(UNITS_SIZE - length), " %" PRIu64 " %s",
			 count % ratio, small);
	}
}

const char *units_format_duration(uint64_t ns, char *buf)
{
	static const char *const names[] = { "ns", "us", "ms", NULL };

	if (ns < 999500000) {
		return format_scaled((double)ns, 1000, names, buf);
	}
	if (ns < SECONDS_UP_TO_NS) {
		format_three((double)ns / (double)NS_PER_S, 1, "s", buf);
	} else if (ns < MINUTES_UP_TO_NS) {
		format_pair(ns, 60 * NS_PER_S, "min", NS_PER_S, "s", buf);
	} else if (ns < HOURS_UP_TO_NS) {
		format_pair(ns, 3600 * NS_PER_S, "h", 60 * NS_PER_S, "min", buf);
	} else {
		format_pair(ns, 86400 * NS_PER_S, "d", 3600 * NS_PER_S, "h", buf);
	}
	return buf;
}

const char *units_format_count(uint64_t count, char *buf)
{
	char digits[UNITS_SIZE];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0) {
			buf[used++] = ' ';
		}
		buf[used++] = digits[i];
	}
	buf[used] = '\0';
	return buf;
}

const char *units_format_time(int64_t real_ns, char *buf)
{
	int64_t fraction_ns = real_ns % (int64_t)NS_PER_S;
	time_t seconds = (time_t)(real_ns / (int64_t)NS_PER_S);
	struct tm utc;
	size_t length;

	if (fraction_ns < 0) { /* before 1970 */
		fraction_ns += (int64_t)NS_PER_S;
		seconds--;
	}
	gmtime_r(&seconds, &utc);
	length = strftime(buf, UNITS_SIZE, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(buf + length, UNITS_SIZE - length, ".%09uZ", (unsigned)fraction_ns);
	return buf;
}
