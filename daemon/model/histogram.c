// SPDX-License-Identifier: MIT
#include "model/histogram.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define PPM 1000000u
/* A percentile is shown with this many values on either side of it. */
#define VALUES_BEYOND 10u

void histogram_reset(struct histogram *histogram)
{
	memset(histogram, 0, sizeof(*histogram));
	histogram->min_ns = UINT64_MAX;
}

uint64_t histogram_floor_ns(unsigned index)
{
	unsigned shift;

	if (index < 2u << HISTOGRAM_SUB_BITS) {
		return index;
	}
	shift = (index >> HISTOGRAM_SUB_BITS) - 1;
	return ((uint64_t)(index & ((1u << HISTOGRAM_SUB_BITS) - 1)) + (1u << HISTOGRAM_SUB_BITS))
	       << shift;
}

/* The middle of a bucket, rounded down: at most 1/256 from any value of it. */
static uint64_t middle_ns(unsigned index)
{
	uint64_t floor_ns = histogram_floor_ns(index);

	return floor_ns + (histogram_floor_ns(index + 1) - 1 - floor_ns) / 2;
}

static uint64_t clamped_middle_ns(const struct histogram *histogram, unsigned index)
{
	uint64_t ns = middle_ns(index);

	/* What lies beyond the last bucket is known by its maximum only. */
	if (index == HISTOGRAM_BUCKETS - 1 && histogram->max_ns >> HISTOGRAM_MAX_BITS) {
		return histogram->max_ns;
	}
	if (ns < histogram->min_ns) {
		return histogram->min_ns;
	}
	return ns > histogram->max_ns ? histogram->max_ns : ns;
}

static void merge_summary(struct histogram *into, const struct histogram *from)
{
	into->count += from->count;
	/* Exact up to what fits the exchange form: 292 years together. */
	if (__builtin_add_overflow(into->sum_ns, from->sum_ns, &into->sum_ns) ||
	    into->sum_ns > INT64_MAX) {
		into->sum_ns = INT64_MAX;
	}
	into->min_ns = from->min_ns < into->min_ns ? from->min_ns : into->min_ns;
	into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	if (from->count == 0) {
		return;
	}
	for (unsigned i = histogram_index(from->min_ns); i <= histogram_index(from->max_ns); i++) {
		into->buckets[i] += from->buckets[i];
	}
	merge_summary(into, from);
}

void histogram_move(struct histogram *into, struct histogram *from)
{
	if (from->count == 0) {
		return;
	}
	for (unsigned i = histogram_index(from->min_ns); i <= histogram_index(from->max_ns); i++) {
		into->buckets[i] += from->buckets[i];
		from->buckets[i] = 0;
	}
	merge_summary(into, from);
	from->count = 0;
	from->sum_ns = 0;
	from->min_ns = UINT64_MAX;
	from->max_ns = 0;
}

uint64_t histogram_percentile_ns(const struct histogram *histogram, uint64_t ppm)
{
	if (ppm >= PPM) {
		return histogram->count > 0 ? histogram->max_ns : 0;
	}
	return histogram_rank_ns(
		histogram, (uint64_t)(((unsigned __int128)histogram->count * ppm + PPM - 1) / PPM));
}

uint64_t histogram_rank_ns(const struct histogram *histogram, uint64_t rank)
{
	uint64_t seen = 0;

	if (histogram->count == 0) {
		return 0;
	}
	if (rank <= 1) {
		return histogram->min_ns;
	}
	for (unsigned i = histogram_index(histogram->min_ns); i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= rank) {
			return clamped_middle_ns(histogram, i);
		}
	}
	return histogram->max_ns;
}

uint64_t histogram_needed_count(uint64_t ppm)
{
	uint64_t tail = ppm < PPM / 2 ? ppm : PPM - ppm;

	if (ppm >= PPM || tail == 0) {
		return UINT64_MAX;
	}
	return ((uint64_t)VALUES_BEYOND * PPM + tail - 1) / tail;
}

bool histogram_has_percentile(const struct histogram *histogram, uint64_t ppm)
{
	return histogram->count >= histogram_needed_count(ppm);
}

double histogram_mean_ns(const struct histogram *histogram)
{
	return histogram->count ? (double)histogram->sum_ns / (double)histogram->count : 0.0;
}

double histogram_stddev_ns(const struct histogram *histogram)
{
	double mean = histogram_mean_ns(histogram);
	double squares = 0;

	if (histogram->count < 2) {
		return 0.0;
	}
	for (unsigned i = histogram_index(histogram->min_ns);
	     i <= histogram_index(histogram->max_ns); i++) {
		if (histogram->buckets[i]) {
			double distance = (double)clamped_middle_ns(histogram, i) - mean;

			squares += (double)histogram->buckets[i] * distance * distance;
		}
	}
	return sqrt(squares / (double)histogram->count);
}

uint64_t histogram_count_below(const struct histogram *histogram, uint64_t ns)
{
	uint64_t seen = 0;

	if (histogram->count == 0 || ns < histogram->min_ns) {
		return 0;
	}
	if (ns >= histogram->max_ns) {
		return histogram->count;
	}
	for (unsigned i = histogram_index(histogram->min_ns); i <= histogram_index(ns); i++) {
		seen += histogram->buckets[i];
	}
	return seen;
}

json_t *histogram_write_buckets(const struct histogram *histogram)
{
	json_t *array = json_array();

	if (histogram->count == 0) {
		return array;
	}
	for (unsigned i = histogram_index(histogram->min_ns);
	     i <= histogram_index(histogram->max_ns); i++) {
		if (histogram->buckets[i]) {
			json_array_append_new(array,
					      json_pack("[I,I]", (json_int_t)histogram_floor_ns(i),
							(json_int_t)histogram->buckets[i]));
		}
	}
	return array;
}

/* --- exchange form: varints (7 bits a byte, low first), three bytes in four characters of base64
 * --- */

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct encoder {
	struct text out;
	unsigned char group[3];
	unsigned held;
};

static void encode_group(struct encoder *encoder)
{
	const unsigned char *g = encoder->group;
	char four[4] = {
		alphabet[g[0] >> 2],
		alphabet[(g[0] & 3) << 4 | g[1] >> 4],
		encoder->held > 1 ? alphabet[(g[1] & 15) << 2 | g[2] >> 6] : '=',
		encoder->held > 2 ? alphabet[g[2] & 63] : '=',
	};

	text_add_bytes(&encoder->out, four, sizeof(four));
	memset(encoder->group, 0, sizeof(encoder->group));
	encoder->held = 0;
}

static void encode_varint(struct encoder *encoder, uint64_t value)
{
	bool is_more;

	do {
		is_more = value >> 7;
		encoder->group[encoder->held++] =
			(unsigned char)((value & 127) | (is_more ? 128 : 0));
		if (encoder->held == 3) {
			encode_group(encoder);
		}
		value >>= 7;
	} while (is_more);
}

json_t *histogram_write(const struct histogram *histogram)
{
	json_t *object = json_object();
	struct encoder encoder = { 0 };
	unsigned next = 0;

	text_add(&encoder.out, "");
	if (histogram->count) {
		for (unsigned i = histogram_index(histogram->min_ns);
		     i <= histogram_index(histogram->max_ns); i++) {
			if (histogram->buckets[i]) {
				encode_varint(&encoder, i - next);
				encode_varint(&encoder, histogram->buckets[i]);
				next = i + 1;
			}
		}
		if (encoder.held) {
			encode_group(&encoder);
		}
	}
	json_set_u64(object, "count", histogram->count);
	json_set_u64(object, "sum_ns", histogram->sum_ns);
	json_set_u64(object, "min_ns", histogram->count ? histogram->min_ns : 0);
	json_set_u64(object, "max_ns", histogram->max_ns);
	json_set_string(object, "buckets", encoder.out.data);
	text_done(&encoder.out);
	return object;
}

struct decoder {
	const char *string;
	size_t length; /* a multiple of 4 */
	size_t at; /* of the next character */
	unsigned char group[3];
	unsigned held;
	unsigned taken;
};

/* -1 at the end, -EINVAL for what is not base64. */
static int decode_byte(struct decoder *decoder)
{
	if (decoder->taken == decoder->held) {
		uint32_t bits = 0;
		unsigned count = 3;

		if (decoder->at == decoder->length) {
			return -1;
		}
		for (unsigned i = 0; i < 4; i++) {
			char c = decoder->string[decoder->at + i];
			const char *found = c ? strchr(alphabet, c) : NULL;
			bool is_last = decoder->at + 4 == decoder->length;

			if (c == '=' && is_last && i >= 2 &&
			    (i == 3 || decoder->string[decoder->at + 3] == '=')) {
				count = count < i - 1 ? count : i - 1;
				bits <<= 6;
				continue;
			}
			if (!found) {
				return -EINVAL;
			}
			bits = bits << 6 | (uint32_t)(found - alphabet);
		}
		decoder->at += 4;
		decoder->group[0] = (unsigned char)(bits >> 16);
		decoder->group[1] = (unsigned char)(bits >> 8);
		decoder->group[2] = (unsigned char)bits;
		decoder->held = count;
		decoder->taken = 0;
	}
	return decoder->group[decoder->taken++];
}

/* 1 and a value, 0 at the end, -EINVAL when cut or too large. */
static int decode_varint(struct decoder *decoder, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 63; shift += 7) {
		int byte = decode_byte(decoder);

		if (byte < 0) {
			return byte == -1 && shift == 0 ? 0 : -EINVAL;
		}
		value |= (uint64_t)(byte & 127) << shift;
		if (!(byte & 128)) {
			*ret = value;
			return 1;
		}
	}
	return -EINVAL;
}

/* Fills the buckets; the sum of their counts and their range must be what the summary says. */
static int decode_buckets(const char *string, struct histogram *histogram)
{
	struct decoder decoder = { .string = string, .length = strlen(string) };
	uint64_t index = 0, total = 0, gap, count;
	unsigned first = HISTOGRAM_BUCKETS, last = 0;
	int r;

	if (decoder.length % 4) {
		return -EINVAL;
	}
	while ((r = decode_varint(&decoder, &gap)) > 0) {
		if (decode_varint(&decoder, &count) != 1 || count == 0 ||
		    gap >= HISTOGRAM_BUCKETS || index + gap >= HISTOGRAM_BUCKETS ||
		    __builtin_add_overflow(total, count, &total)) {
			return -EINVAL;
		}
		index += gap;
		histogram->buckets[index] = count;
		first = first < index ? first : (unsigned)index;
		last = (unsigned)index;
		index++;
	}
	if (r < 0 || total != histogram->count) {
		return -EINVAL;
	}
	if (total && (first != histogram_index(histogram->min_ns) ||
		      last != histogram_index(histogram->max_ns))) {
		return -EINVAL;
	}
	return 0;
}

int histogram_read(const json_t *json, struct histogram *ret, struct error *err)
{
	const char *buckets;
	unsigned __int128 sum;
	int r;

	histogram_reset(ret);
	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "a histogram must be an object");
	}
	if ((r = json_get_u64(json, "count", 0, INT64_MAX, &ret->count, err)) < 0 ||
	    (r = json_get_u64(json, "sum_ns", 0, INT64_MAX, &ret->sum_ns, err)) < 0 ||
	    (r = json_get_u64(json, "min_ns", 0, INT64_MAX, &ret->min_ns, err)) < 0 ||
	    (r = json_get_u64(json, "max_ns", 0, INT64_MAX, &ret->max_ns, err)) < 0) {
		return r;
	}
	buckets = json_string_value(json_object_get(json, "buckets"));
	if (!buckets) {
		return error_set(err, -EINVAL, ERROR_INPUT, "\"buckets\" must be a string");
	}
	if (ret->count == 0) {
		ret->min_ns = UINT64_MAX;
		if (ret->sum_ns || ret->max_ns) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "a histogram of no values has a sum or a maximum");
		}
	}
	sum = ret->sum_ns;
	if (ret->count &&
	    (ret->min_ns > ret->max_ns ||
	     (sum < (unsigned __int128)ret->count * ret->min_ns && sum != INT64_MAX) ||
	     sum > (unsigned __int128)ret->count * ret->max_ns)) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"a histogram's count, sum, minimum and maximum contradict each other");
	}
	if (decode_buckets(buckets, ret) < 0) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"\"buckets\" is not base64 of ascending (gap, count) that add up to count %llu",
			(unsigned long long)ret->count);
	}
	return 0;
}
