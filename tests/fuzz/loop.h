// SPDX-License-Identifier: MIT
#pragma once

/*
 * An event loop in place of sd-event's: as much of it as sessions, measurements and agents use,
 * without a descriptor or a system call. Time is fake/fake-clock's. Whether a descriptor is ready
 * is the target's word.
 */

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

/* What is ready now, EPOLLIN and EPOLLOUT; every descriptor is the same one. */
typedef uint32_t (*loop_ready_fn)(void *arg);

/* One at a time. Virtual time begins, always at the same moment. */
sd_event *loop_new(loop_ready_fn ready, void *arg);
/* Aborts when sources or references are left. */
void loop_free(sd_event *event);

/* One turn: what is due is called once each. False when nothing was. */
bool loop_turn(sd_event *event);
/* Turns until nothing is due; after `max` turns it aborts: whoever is never done would hang. */
void loop_settle(sd_event *event, unsigned max);
/* Lets time pass, turning at each timer on the way. */
void loop_pass(sd_event *event, uint64_t ns);
