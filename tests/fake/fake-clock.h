// SPDX-License-Identifier: MIT
#pragma once

/*
 * util/clock for tests (clock.c here replaces the product's whole). Passes the kernel's time
 * through until fake_clock_start; from then on time is a number that only the test changes. Ticks
 * are nanoseconds.
 */

#include <stdbool.h>
#include <stdint.h>

/* The origin of virtual real time: 2026-01-01 00:00:00 UTC. */
#define FAKE_CLOCK_EPOCH_NS 1767225600000000000

/* Virtual from now on, at this time. Before other threads start. */
void fake_clock_start(uint64_t mono_ns);
/* Back to the kernel's time. */
void fake_clock_stop(void);
bool fake_clock_is_virtual(void);
void fake_clock_advance(uint64_t ns);
/* This process is stopped for so long where a thread asks for its CPU time next; stopped, it uses
 * none. */
void fake_clock_stand_still_next(uint64_t ns);
/* Never backwards. */
void fake_clock_set(uint64_t mono_ns);
/* While virtual, reading ticks takes so long: time passes between two lines of a program. 0: none.
 */
void fake_clock_set_read_cost(uint64_t ns);
/* Shifts both scales of the node that runs on this thread: mono by mono_ns (>= 0), real by real_ns
 * besides. */
void fake_clock_set_offsets(uint64_t mono_ns, int64_t real_ns);
/* Virtual time without offsets. */
uint64_t fake_clock_now_ns(void);
/* The same, or the kernel's monotonic time while not virtual. */
uint64_t fake_clock_base_ns(void);
