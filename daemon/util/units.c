// SPDX-License-Identifier: MIT
#include "util/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NS_PER_S 1000000000ull
#define REASON_SIZE 160
#define MAX_DIGITS 20

struct unit {
	const char *name;
	uint64_t factor;
};

/* Largest first: what is written takes the first that divides. */
static const struct unit size_units[] = {
	{ "GiB", 1ull << 30 }, { "MiB", 1ull << 20 }, { "KiB", 1ull << 10 }, { "B", 1 },
	{ NULL, 0 },
};
static const struct unit duration_units[] = {
	{ "d", 86400 * NS_PER_S },
	{ "h", 3600 * NS_PER_S },
	{ "m", 60 * NS_PER_S },
	{ "s", NS_PER_S },
	{ "ms", 1000000 },
	{ "us", 1000 },
	{ "ns", 1 },
	{ NULL, 0 },
};
static const struct unit rate_units[] = {
	{ "Tbps", 1000000000000ull },
	{ "Gbps", 1000000000 },
	{ "Mbps", 1000000 },
	{ "kbps", 1000 },
	{ "bps", 1 },
	{ NULL, 0 },
};
static const struct unit ops_rate_units[] = {
	{ "M/s", 1000000 },
	{ "k/s", 1000 },
	{ "/s", 1 },
	{ NULL, 0 },
};

/*
 * Digits, and if `fraction` may follow, a point and digits: digits / 10^decimals, and where the
 * unit begins.
 */
struct number {
	unsigned __int128 digits;
	unsigned decimals;
	const char *rest;
};

static const char *read_number(const char *token, struct number *ret)
{
	const char *at = token;
	unsigned count = 0;
	bool has_point = false;

	*ret = (struct number){ 0 };
	if (*at == '\0') {
		return "is empty; write a number";
	}
	if (*at == '-' || *at == '+') {
		return "has a sign; write digits only";
	}
	if (!isdigit((unsigned char)*at)) {
		return "is not a number";
	}
	if (at[0] == '0' && isdigit((unsigned char)at[1])) {
		return "has a leading zero";
	}
	for (; isdigit((unsigned char)*at) || (*at == '.' && !has_point); at++) {
		if (*at == '.') {
			if (!isdigit((unsigned char)at[1])) {
				return "has a point without digits behind it";
			}
			has_point = true;
			continue;
		}
		if (++count > MAX_DIGITS) {
			return "has too many digits";
		}
		ret->digits = ret->digits * 10 + (unsigned)(*at - '0');
		ret->decimals += has_point;
	}
	ret->rest = at;
	return NULL;
}

/* digits * factor / 10^decimals, if whole and below 2^64. */
static const char *scale_number(const struct number *number, uint64_t factor, uint64_t *ret)
{
	unsigned __int128 value = number->digits * factor; /* below 10^20 * 2^47 */
	unsigned __int128 divisor = 1;

	for (unsigned i = 0; i < number->decimals; i++) {
		divisor *= 10;
	}
	if (value % divisor != 0) {
		return "is not a whole number of the smallest unit";
	}
	value /= divisor;
	if (value > UINT64_MAX) {
		return "is too large";
	}
	*ret = (uint64_t)value;
	return NULL;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
	for (; units->name; units++) {
		if (strcmp(units->name, name) == 0) {
			return units;
		}
	}
	return NULL;
}

/* One space may stand between number and unit. */
static const char *unit_name(const struct number *number)
{
	return *number->rest == ' ' ? number->rest + 1 : number->rest;
}

static const char *parse_with_unit(const char *token, const struct unit *units,
				   const char *needs_unit, const char *wrong_unit, uint64_t *ret)
{
	const struct unit *unit;
	struct number number;
	const char *reason = read_number(token, &number);

	if (reason) {
		return reason;
	}
	if (*number.rest == '\0') {
		if (number.digits > 0) {
			return needs_unit;
		}
		*ret = 0; /* of whatever */
		return NULL;
	}
	unit = find_unit(units, unit_name(&number));
	return unit ? scale_number(&number, unit->factor, ret) : wrong_unit;
}

const char *units_parse_integer(const char *token, uint64_t *ret)
{
	struct number number;
	const char *reason = read_number(token, &number);

	if (reason) {
		return reason;
	}
	if (*number.rest != '\0' || number.decimals > 0) {
		return "is not a whole number; write decimal digits only";
	}
	return scale_number(&number, 1, ret);
}

const char *units_parse_hex(const char *token, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned count = 0;

	if (token[0] != '0' || (token[1] != 'x' && token[1] != 'X')) {
		return units_parse_integer(token, ret);
	}
	for (const char *at = token + 2; *at; at++) {
		unsigned digit;

		if (!isxdigit((unsigned char)*at)) {
			return "is not a hexadecimal number; write 0x and the digits 0-9, a-f";
		}
		if (++count > 16) {
			return "is too large; 16 hexadecimal digits at most";
		}
		digit = isdigit((unsigned char)*at)
				? (unsigned)(*at - '0')
				: (unsigned)(tolower((unsigned char)*at) - 'a') + 10;
		value = value << 4 | digit;
	}
	if (count == 0) {
		return "is not a hexadecimal number; digits must follow 0x";
	}
	*ret = value;
	return NULL;
}

/*
 * What a person may have meant by K, KB, M, MB, G, GB: both readings, by their own number where it
 * is whole.
 */
static const char *ambiguous_size(const char *token, const struct number *number, const char *name)
{
	static const char letters[] = "kmg";
	static _Thread_local char reason[REASON_SIZE];
	const char *letter = strchr(letters, tolower((unsigned char)name[0]));
	uint64_t binary_bytes;
	uint64_t decimal_bytes;
	uint64_t decimal_factor = 1;
	unsigned power;

	if (!letter || *letter == '\0' || (name[1] != '\0' && strcasecmp(name + 1, "b") != 0)) {
		return "has an unknown unit; write B, KiB, MiB or GiB";
	}
	power = (unsigned)(letter - letters) + 1;
	for (unsigned i = 0; i < power; i++) {
		decimal_factor *= 1000;
	}
	if (scale_number(number, 1ull << (10 * power), &binary_bytes) ||
	    scale_number(number, decimal_factor, &decimal_bytes)) {
		return "is ambiguous; write B, KiB, MiB or GiB";
	}
	snprintf(reason, sizeof(reason),
		 "is ambiguous; write %.*s%ciB (%" PRIu64 " bytes) or %" PRIu64,
		 (int)(number->rest - token), token, toupper((unsigned char)*letter), binary_bytes,
		 decimal_bytes);
	return reason;
}

const char *units_parse_size(const char *token, uint64_t *ret_bytes)
{
	const struct unit *unit;
	struct number number;
	const char *reason = read_number(token, &number);

	if (reason) {
		return reason;
	}
	if (*number.rest == '\0') {
		return scale_number(&number, 1, ret_bytes);
	}
	unit = find_unit(size_units, unit_name(&number));
	return unit ? scale_number(&number, unit->factor, ret_bytes)
		    : ambiguous_size(token, &number, unit_name(&number));
}

const char *units_parse_duration(const char *token, uint64_t *ret_ns)
{
	return parse_with_unit(token, duration_units,
			       "needs a unit; write ns, us, ms, s, m, h or d behind it",
			       "has an unknown unit; write ns, us, ms, s, m, h or d", ret_ns);
}

const char *units_parse_rate(const char *token, uint64_t *ret_bps)
{
	return parse_with_unit(
		token, rate_units, "needs a unit; write bps, kbps, Mbps, Gbps or Tbps behind it",
		"has an unknown unit; write bps, kbps, Mbps, Gbps or Tbps (bits per second)",
		ret_bps);
}

const char *units_parse_ops_rate(const char *token, uint64_t *ret_ops_per_s)
{
	return parse_with_unit(token, ops_rate_units,
			       "needs a unit; write /s, k/s or M/s behind it",
			       "has an unknown unit; write /s, k/s or M/s (operations per second)",
			       ret_ops_per_s);
}

const char *units_parse_ratio(const char *token, uint64_t *ret_ppm)
{
	struct number number;
	const char *reason = read_number(token, &number);
	bool is_percent;
	uint64_t ppm;

	if (reason) {
		return reason;
	}
	is_percent = strcmp(unit_name(&number), "%") == 0;
	if (!is_percent && *number.rest != '\0') {
		return "is not a ratio; write a percentage such as 90% or a number from 0 to 1";
	}
	reason = scale_number(&number, is_percent ? 10000 : 1000000, &ppm);
	if (reason) {
		return "is not a whole number of parts per million";
	}
	if (ppm > 1000000) {
		return "is above 1; write a percentage up to 100% or a number from 0 to 1";
	}
	*ret_ppm = ppm;
	return NULL;
}

/* The largest unit of which it is a whole number. */
static const char *write_exact(uint64_t value, const struct unit *units, char *buf)
{
	while (value % units->factor != 0 || (value == 0 && units->factor != 1)) {
		units++;
	}
	snprintf(buf, UNITS_SIZE, "%" PRIu64 "%s", value / units->factor, units->name);
	return buf;
}

const char *units_write_size(uint64_t bytes, char *buf)
{
	return write_exact(bytes, size_units, buf);
}

const char *units_write_duration(uint64_t ns, char *buf)
{
	if (ns == 0) {
		snprintf(buf, UNITS_SIZE, "0");
		return buf;
	}
	return write_exact(ns, duration_units, buf);
}

const char *units_write_rate(uint64_t bps, char *buf)
{
	return write_exact(bps, rate_units, buf);
}

const char *units_write_ops_rate(uint64_t ops_per_s, char *buf)
{
	return write_exact(ops_per_s, ops_rate_units, buf);
}

const char *units_write_ratio(uint64_t ppm, char *buf)
{
	size_t length = (size_t)snprintf(buf, UNITS_SIZE, "%" PRIu64 ".%04u", ppm / 10000,
					 (unsigned)(ppm % 10000));

	while (buf[length - 1] == '0') {
		length--;
	}
	if (buf[length - 1] == '.') {
		length--;
	}
	buf[length] = '%';
	buf[length + 1] = '\0';
	return buf;
}
