// SPDX-License-Identifier: MIT
#pragma once

/*
 * The clock of the other daemon against ours, from PING and PONG (api/control-protocol.md has the
 * formula). Pure arithmetic over hostile numbers: what cannot be true is left out. Loop thread.
 */

#include <stdbool.h>
#include <stdint.h>

#define OFFSET_SAMPLES 16
#define OFFSET_PINGS 4

struct offset_ping {
	int64_t real_ns;
	int64_t mono_ns;
	bool is_waiting; /* for its pong */
};

struct offset_sample {
	int64_t offset_ns; /* their real clock minus ours */
	int64_t round_trip_ns;
};

struct offset {
	struct offset_ping pings[OFFSET_PINGS]; /* the last ones sent */
	unsigned ping_count; /* ever */
	struct offset_sample samples[OFFSET_SAMPLES]; /* the last ones */
	unsigned sample_count; /* ever */
};

/* What a PONG says; t1 is looked up by t1_mono_ns. */
struct offset_pong {
	int64_t t1_mono_ns;
	int64_t t2_real_ns;
	int64_t t2_mono_ns;
	int64_t t3_real_ns;
	int64_t t3_mono_ns;
};

/* A PING leaves now. */
void offset_sent(struct offset *offset, int64_t real_ns, int64_t mono_ns);
/* False when the pong answers no ping of ours or cannot be true; then nothing changed. */
bool offset_received(struct offset *offset, const struct offset_pong *pong, int64_t t4_mono_ns);
/* The sample with the shortest round trip, error bound half of that; false before the first. */
bool offset_best(const struct offset *offset, int64_t *ret_offset_ns, int64_t *ret_error_ns);
/* Shortest of the samples, at least 1; 0 before the first. */
uint64_t offset_round_trip_ns(const struct offset *offset);
