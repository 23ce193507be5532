// SPDX-License-Identifier: MIT
#pragma once

/*
 * Numbers with units, both ways. Parsing takes the whole token, refuses what is ambiguous and says
 * why; formatting is for people (three significant digits, the unit a person would say). Pure; any
 * thread.
 *
 *   size      "64KiB" "8B" "65536"        bare = bytes; KB, K, MB refused as ambiguous (hint names
 * both readings) duration  "10s" "500ms" "0"           unit required except 0; ns us ms s m h d
 *   rate      "10Gbps" "100Mbps"          decimal bit/s: bps kbps Mbps Gbps Tbps
 *   ops rate  "200k/s" "10/s" "1M/s"      decimal
 *   ratio     "90%" "0.9" "0..1"          stored in parts per million
 *   integer   "128"                       decimal, no sign, no leading zero
 *   hex       "0x11111111" or decimal
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Each returns NULL and sets *ret, or a reason that continues the sentence `"64KB" ...`: "is
 * ambiguous; write 64KiB ..."
 */
const char *units_parse_integer(const char *token, uint64_t *ret);
const char *units_parse_hex(const char *token, uint64_t *ret);
const char *units_parse_size(const char *token, uint64_t *ret_bytes);
const char *units_parse_duration(const char *token, uint64_t *ret_ns);
const char *units_parse_rate(const char *token, uint64_t *ret_bps);
const char *units_parse_ops_rate(const char *token, uint64_t *ret_ops_per_s);
const char *units_parse_ratio(const char *token, uint64_t *ret_ppm);

#define UNITS_SIZE 32

/* For people, into buf[UNITS_SIZE]; each returns buf. */
const char *units_format_size(uint64_t bytes, char *buf); /* "64 KiB" */
const char *units_format_duration(uint64_t ns, char *buf); /* "61 us", "1.1 ms", "10.0 s" */
const char *units_format_rate(double bps, char *buf); /* "402 Mb/s" */
const char *units_format_ops_rate(double ops_per_s, char *buf); /* "12.1 kop/s" */
const char *units_format_count(uint64_t count, char *buf); /* "84 201" */
/* As written in configuration: shortest exact form that parses back, "64KiB", "1500ms". */
const char *units_write_size(uint64_t bytes, char *buf);
const char *units_write_duration(uint64_t ns, char *buf);
const char *units_write_rate(uint64_t bps, char *buf); /* "10Gbps" */
const char *units_write_ops_rate(uint64_t ops_per_s, char *buf); /* "200k/s" */
const char *units_write_ratio(uint64_t ppm, char *buf); /* "95%" */

/* RFC 3339 UTC with nanoseconds, "2026-09-01T12:00:00.123456789Z", into buf[UNITS_SIZE]. */
const char *units_format_time(int64_t real_ns, char *buf);
