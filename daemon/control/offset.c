// SPDX-License-Identifier: MIT
#include "control/offset.h"

#include <stddef.h>

void offset_sent(struct offset *offset, int64_t real_ns, int64_t mono_ns)
{
	offset->pings[offset->ping_count++ % OFFSET_PINGS] = (struct offset_ping){
		.real_ns = real_ns,
		.mono_ns = mono_ns,
		.is_waiting = true,
	};
}

/* Each ping is answered once. */
static bool take_ping(struct offset *offset, int64_t mono_ns, struct offset_ping *ret_ping)
{
	for (size_t i = 0; i < OFFSET_PINGS; i++) {
		if (offset->pings[i].is_waiting && offset->pings[i].mono_ns == mono_ns) {
			*ret_ping = offset->pings[i];
			offset->pings[i].is_waiting = false;
			return true;
		}
	}
	return false;
}

/* In 128 bits: the peer may send any 64-bit number. */
static bool compute(const struct offset_ping *ping, const struct offset_pong *pong,
		    int64_t t4_mono_ns, struct offset_sample *ret_sample)
{
	__int128 whole = (__int128)t4_mono_ns - ping->mono_ns;
	__int128 there = (__int128)pong->t3_mono_ns - pong->t2_mono_ns;
	__int128 t4_real_ns = ping->real_ns + whole;
	__int128 sum = ((__int128)pong->t2_real_ns - ping->real_ns) +
		       ((__int128)pong->t3_real_ns - t4_real_ns);

	if (whole < 0 || there < 0 || there > whole || sum / 2 > INT64_MAX ||
	    sum / 2 < -INT64_MAX) {
		return false;
	}
	ret_sample->offset_ns = (int64_t)(sum / 2);
	ret_sample->round_trip_ns = (int64_t)(whole - there);
	return true;
}

bool offset_received(struct offset *offset, const struct offset_pong *pong, int64_t t4_mono_ns)
{
	struct offset_sample sample;
	struct offset_ping ping;

	if (!take_ping(offset, pong->t1_mono_ns, &ping) ||
	    !compute(&ping, pong, t4_mono_ns, &sample)) {
		return false;
	}
	offset->samples[offset->sample_count++ % OFFSET_SAMPLES] = sample;
	return true;
}

static const struct offset_sample *best(const struct offset *offset)
{
	const struct offset_sample *found = NULL;

	for (unsigned i = 0; i < offset->sample_count && i < OFFSET_SAMPLES; i++) {
		if (!found || offset->samples[i].round_trip_ns < found->round_trip_ns) {
			found = &offset->samples[i];
		}
	}
	return found;
}

bool offset_best(const struct offset *offset, int64_t *ret_offset_ns, int64_t *ret_error_ns)
{
	const struct offset_sample *sample = best(offset);

	if (!sample) {
		return false;
	}
	*ret_offset_ns = sample->offset_ns;
	*ret_error_ns = (sample->round_trip_ns + 1) / 2;
	return true;
}

uint64_t offset_round_trip_ns(const struct offset *offset)
{
	const struct offset_sample *sample = best(offset);

	if (!sample) {
		return 0;
	}
	return sample->round_trip_ns > 0 ? (uint64_t)sample->round_trip_ns : 1;
}
