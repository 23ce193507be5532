// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "util/text.h"
#include "util/units.h"

typedef const char *(*parse_fn)(const char *token, uint64_t *ret);

static void accept(parse_fn parse, const char *token, uint64_t expected)
{
	uint64_t value = 12345678901;
	const char *reason = parse(token, &value);

	if (reason) {
		fail_msg("\"%s\" was refused: it %s", token, reason);
	}
	assert_int_equal(value, expected);
}

static void refuse(parse_fn parse, const char *token, const char *part)
{
	uint64_t value = 12345678901;
	const char *reason = parse(token, &value);

	if (!reason) {
		fail_msg("\"%s\" was accepted as %llu", token, (unsigned long long)value);
		return;
	}
	if (!strstr(reason, part)) {
		fail_msg("\"%s\" %s: expected \"%s\" in it", token, reason, part);
	}
	assert_int_equal(value, 12345678901); /* set on success only */
}

static void integers_are_plain_decimal_digits(void **state)
{
	accept(units_parse_integer, "0", 0);
	accept(units_parse_integer, "128", 128);
	accept(units_parse_integer, "18446744073709551615", UINT64_MAX);
	refuse(units_parse_integer, "18446744073709551616", "too large");
	refuse(units_parse_integer, "999999999999999999999", "too many digits");
	refuse(units_parse_integer, "", "is empty");
	refuse(units_parse_integer, "-1", "sign");
	refuse(units_parse_integer, "+1", "sign");
	refuse(units_parse_integer, "010", "leading zero");
	refuse(units_parse_integer, "1.0", "whole number");
	refuse(units_parse_integer, "1e3", "whole number");
	refuse(units_parse_integer, "5 apples", "whole number");
	refuse(units_parse_integer, "0x10", "whole number");
	refuse(units_parse_integer, " 1", "not a number");
	refuse(units_parse_integer, "nan", "not a number");
	refuse(units_parse_integer, "inf", "not a number");
}

static void hex_takes_both_bases(void **state)
{
	accept(units_parse_hex, "0x11111111", 0x11111111);
	accept(units_parse_hex, "0XfF", 255);
	accept(units_parse_hex, "17", 17);
	accept(units_parse_hex, "0xffffffffffffffff", UINT64_MAX);
	refuse(units_parse_hex, "0x1ffffffffffffffff", "too large");
	refuse(units_parse_hex, "0x", "digits must follow");
	refuse(units_parse_hex, "0xfg", "not a hexadecimal");
	refuse(units_parse_hex, "0x-1", "not a hexadecimal");
	refuse(units_parse_hex, "ff", "not a number");
	refuse(units_parse_hex, "017", "leading zero");
}

static void sizes_are_bytes_or_binary_multiples(void **state)
{
	accept(units_parse_size, "0", 0);
	accept(units_parse_size, "65536", 65536);
	accept(units_parse_size, "8B", 8);
	accept(units_parse_size, "64KiB", 65536);
	accept(units_parse_size, "64 KiB", 65536);
	accept(units_parse_size, "1.5MiB", 3 << 19);
	accept(units_parse_size, "16GiB", 16ull << 30);
	accept(units_parse_size, "17179869183GiB", 17179869183ull << 30);
	refuse(units_parse_size, "17179869184GiB", "too large");
	refuse(units_parse_size, "0.3KiB", "whole number");
	refuse(units_parse_size, "1.5", "whole number");
	refuse(units_parse_size, "1.", "point");
	refuse(units_parse_size, "1..5KiB", "point");
	refuse(units_parse_size, "4  KiB", "unknown unit");
	refuse(units_parse_size, "4 ", "unknown unit");
	refuse(units_parse_size, "4kib", "unknown unit");
	refuse(units_parse_size, "4KiBx", "unknown unit");
	refuse(units_parse_size, "KiB", "not a number");
	refuse(units_parse_size, "4Mbit", "unknown unit");
}

static void an_ambiguous_size_names_both_readings(void **state)
{
	uint64_t bytes;

	assert_string_equal(units_parse_size("64KB", &bytes),
			    "is ambiguous; write 64KiB (65536 bytes) or 64000");
	assert_string_equal(units_parse_size("64 k", &bytes),
			    "is ambiguous; write 64KiB (65536 bytes) or 64000");
	assert_string_equal(units_parse_size("1M", &bytes),
			    "is ambiguous; write 1MiB (1048576 bytes) or 1000000");
	assert_string_equal(units_parse_size("2gb", &bytes),
			    "is ambiguous; write 2GiB (2147483648 bytes) or 2000000000");
	assert_string_equal(units_parse_size("1.5K", &bytes),
			    "is ambiguous; write 1.5KiB (1536 bytes) or 1500");
	refuse(units_parse_size, "18446744073709551615G", "is ambiguous; write B, KiB");
	refuse(units_parse_size, "0.0001K", "is ambiguous; write B, KiB");
}

static void durations_need_a_unit(void **state)
{
	accept(units_parse_duration, "0", 0);
	accept(units_parse_duration, "0s", 0);
	accept(units_parse_duration, "10s", 10000000000);
	accept(units_parse_duration, "500ms", 500000000);
	accept(units_parse_duration, "1.5s", 1500000000);
	accept(units_parse_duration, "0.001us", 1);
	accept(units_parse_duration, "3ns", 3);
	accept(units_parse_duration, "2m", 120000000000);
	accept(units_parse_duration, "1h", 3600000000000);
	accept(units_parse_duration, "7d", 604800000000000);
	accept(units_parse_duration, "213503d", 213503ull * 86400 * 1000000000);
	refuse(units_parse_duration, "213504d", "too large");
	refuse(units_parse_duration, "30", "needs a unit");
	refuse(units_parse_duration, "1223", "needs a unit");
	refuse(units_parse_duration, "10S", "unknown unit");
	refuse(units_parse_duration, "10sec", "unknown unit");
	refuse(units_parse_duration, "0.5ns", "whole number");
	refuse(units_parse_duration, "1m30s", "unknown unit");
	refuse(units_parse_duration, "-1s", "sign");
}

static void rates_are_decimal(void **state)
{
	accept(units_parse_rate, "10Gbps", 10000000000);
	accept(units_parse_rate, "2.5Gbps", 2500000000);
	accept(units_parse_rate, "100Mbps", 100000000);
	accept(units_parse_rate, "1kbps", 1000);
	accept(units_parse_rate, "7bps", 7);
	accept(units_parse_rate, "1.6Tbps", 1600000000000);
	refuse(units_parse_rate, "10", "needs a unit");
	refuse(units_parse_rate, "10gbps", "unknown unit");
	refuse(units_parse_rate, "10GB/s", "unknown unit");
	refuse(units_parse_rate, "99999999Tbps", "too large");
	accept(units_parse_ops_rate, "10/s", 10);
	accept(units_parse_ops_rate, "200k/s", 200000);
	accept(units_parse_ops_rate, "1M/s", 1000000);
	accept(units_parse_ops_rate, "0.5k/s", 500);
	refuse(units_parse_ops_rate, "200k", "unknown unit");
	refuse(units_parse_ops_rate, "0.5/s", "whole number");
	refuse(units_parse_ops_rate, "200", "needs a unit");
}

static void ratios_are_shares(void **state)
{
	accept(units_parse_ratio, "90%", 900000);
	accept(units_parse_ratio, "0.9", 900000);
	accept(units_parse_ratio, "0", 0);
	accept(units_parse_ratio, "1", 1000000);
	accept(units_parse_ratio, "100%", 1000000);
	accept(units_parse_ratio, "0.0001%", 1);
	refuse(units_parse_ratio, "0.00001%", "parts per million");
	refuse(units_parse_ratio, "90", "above 1");
	refuse(units_parse_ratio, "101%", "above 1");
	refuse(units_parse_ratio, "9/10", "not a ratio");
	refuse(units_parse_ratio, "99999999999999999999", "parts per million");
}

static void what_is_written_parses_back(void **state)
{
	static const uint64_t values[] = {
		0,    1,     999,	  1000,		  1023,	      1024,
		1025, 65536, 90000000000, 86400000000000, 1ull << 40, UINT64_MAX
	};
	char buf[UNITS_SIZE];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		accept(units_parse_size, units_write_size(values[i], buf), values[i]);
		accept(units_parse_duration, units_write_duration(values[i], buf), values[i]);
		accept(units_parse_rate, units_write_rate(values[i], buf), values[i]);
		accept(units_parse_ops_rate, units_write_ops_rate(values[i], buf), values[i]);
		accept(units_parse_ratio, units_write_ratio(values[i] % 1000001, buf),
		       values[i] % 1000001);
	}
	assert_string_equal(units_write_size(65536, buf), "64KiB");
	assert_string_equal(units_write_size(65537, buf), "65537B");
	assert_string_equal(units_write_duration(1500000000, buf), "1500ms");
	assert_string_equal(units_write_duration(90000000000, buf), "90s");
	assert_string_equal(units_write_duration(0, buf), "0");
	assert_string_equal(units_write_rate(2500000000, buf), "2500Mbps");
	assert_string_equal(units_write_ratio(955000, buf), "95.5%");
	assert_string_equal(units_write_ratio(1000000, buf), "100%");
}

static void sizes_read_well(void **state)
{
	char buf[UNITS_SIZE];

	assert_string_equal(units_format_size(0, buf), "0 B");
	assert_string_equal(units_format_size(8, buf), "8 B");
	assert_string_equal(units_format_size(1000, buf), "1000 B");
	assert_string_equal(units_format_size(1024, buf), "1 KiB");
	assert_string_equal(units_format_size(65536, buf), "64 KiB");
	assert_string_equal(units_format_size(1536, buf), "1.5 KiB");
	assert_string_equal(units_format_size((1 << 20) - 1, buf), "1 MiB");
	assert_string_equal(units_format_size(UINT64_MAX, buf), "16 EiB");
}

static void durations_read_well(void **state)
{
	char buf[UNITS_SIZE];

	assert_string_equal(units_format_duration(0, buf), "0 ns");
	assert_string_equal(units_format_duration(850, buf), "850 ns");
	assert_string_equal(units_format_duration(61000, buf), "61 us");
	assert_string_equal(units_format_duration(61230, buf), "61.2 us");
	assert_string_equal(units_format_duration(1100000, buf), "1.1 ms");
	assert_string_equal(units_format_duration(9996, buf), "10 us");
	assert_string_equal(units_format_duration(999499, buf), "999 us");
	assert_string_equal(units_format_duration(999500, buf), "1 ms");
	assert_string_equal(units_format_duration(999499999, buf), "999 ms");
	assert_string_equal(units_format_duration(999500000, buf), "1.0 s");
	assert_string_equal(units_format_duration(10000000000, buf), "10.0 s");
	assert_string_equal(units_format_duration(1250000000, buf), "1.25 s");
	assert_string_equal(units_format_duration(119000000000, buf), "119 s");
	assert_string_equal(units_format_duration(120000000000, buf), "2 min");
	assert_string_equal(units_format_duration(725000000000, buf), "12 min 5 s");
	assert_string_equal(units_format_duration(7200000000000, buf), "2 h");
	assert_string_equal(units_format_duration(7199600000000, buf), "120 min");
	assert_string_equal(units_format_duration(11520000000000, buf), "3 h 12 min");
	assert_string_equal(units_format_duration(176400000000000, buf), "2 d 1 h");
	assert_true(strlen(units_format_duration(UINT64_MAX, buf)) < UNITS_SIZE);
}

static void rates_and_counts_read_well(void **state)
{
	char buf[UNITS_SIZE];

	assert_string_equal(units_format_rate(402.2e6, buf), "402 Mb/s");
	assert_string_equal(units_format_rate(0, buf), "0 b/s");
	assert_string_equal(units_format_rate(999.6e9, buf), "1 Tb/s");
	assert_string_equal(units_format_rate(NAN, buf), "-");
	assert_string_equal(units_format_rate(-1, buf), "-");
	assert_string_equal(units_format_rate(INFINITY, buf), "-");
	assert_true(strlen(units_format_rate(1e300, buf)) < UNITS_SIZE);
	assert_string_equal(units_format_ops_rate(12100, buf), "12.1 kop/s");
	assert_string_equal(units_format_ops_rate(0.25, buf), "0.25 op/s");
	assert_string_equal(units_format_ops_rate(150e6, buf), "150 Mop/s");
	assert_string_equal(units_format_count(0, buf), "0");
	assert_string_equal(units_format_count(999, buf), "999");
	assert_string_equal(units_format_count(84201, buf), "84 201");
	assert_string_equal(units_format_count(UINT64_MAX, buf), "18 446 744 073 709 551 615");
}

static void times_are_rfc_3339_with_nanoseconds(void **state)
{
	char buf[UNITS_SIZE];

	assert_string_equal(units_format_time(0, buf), "1970-01-01T00:00:00.000000000Z");
	assert_string_equal(units_format_time(1788264000123456789, buf),
			    "2026-09-01T12:00:00.123456789Z");
	assert_string_equal(units_format_time(-1, buf), "1969-12-31T23:59:59.999999999Z");
	assert_string_equal(units_format_time(INT64_MAX, buf), "2262-04-11T23:47:16.854775807Z");
	assert_string_equal(units_format_time(INT64_MIN, buf), "1677-09-21T00:12:43.145224192Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_plain_decimal_digits),
		cmocka_unit_test(hex_takes_both_bases),
		cmocka_unit_test(sizes_are_bytes_or_binary_multiples),
		cmocka_unit_test(an_ambiguous_size_names_both_readings),
		cmocka_unit_test(durations_need_a_unit),
		cmocka_unit_test(rates_are_decimal),
		cmocka_unit_test(ratios_are_shares),
		cmocka_unit_test(what_is_written_parses_back),
		cmocka_unit_test(sizes_read_well),
		cmocka_unit_test(durations_read_well),
		cmocka_unit_test(rates_and_counts_read_well),
		cmocka_unit_test(times_are_rfc_3339_with_nanoseconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
