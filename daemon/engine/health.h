// SPDX-License-Identifier: MIT
#pragma once

/*
 * Whether the calls to a device come back: one that has not for HEALTH_SICK_NS makes the device
 * sick, until it does. Has a timer only while there is something to look at. Control thread.
 */

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "model/hang.h"

#define HEALTH_SICK_NS 10000000000ull

struct health;

struct health_owner {
	sd_event *event;
	/*
	 * How long the calls are out, the longest of them (0: none is), and its name. False:
	 * nothing can be out before the next health_watch.
	 */
	bool (*oldest)(void *arg, uint64_t now_mono_ns, uint64_t *ret_age_ns,
		       const char **ret_call);
	/* Which device it is about, once it is sick; valid in the call. */
	const char *(*device)(void *arg);
	/* It turned sick, or well again after *hang. From health_look, the loop's or the owner's.
	 */
	void (*changed)(void *arg, struct health *health, const struct hang *hang, bool is_sick);
	void *arg;
};

int health_new(struct health **ret, const struct health_owner *owner, struct error *err);
/* Takes NULL. */
void health_free(struct health *health);
/* Something may be out from now on. */
void health_watch(struct health *health);
/* Looks now, and not only when the timer says: something came back. */
void health_look(struct health *health);
/* NULL: as far as was seen, it is well. Valid until the next look. */
const struct hang *health_hang(const struct health *health);
