// SPDX-License-Identifier: MIT
#include "engine/health.h"

#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define LOOK_WHILE_SICK_NS 1000000000ull
#define LOOK_LEAST_NS 1000000ull
#define LOOK_ACCURACY_US 50000u

struct health {
	struct health_owner owner;
	sd_event_source *timer;
	bool is_watching; /* the timer is armed */
	bool is_sick;
	struct hang hang; /* while sick */
};

static void arm(struct health *health, uint64_t after_ns)
{
	health->is_watching = sd_event_source_set_time_relative(health->timer, after_ns / 1000) >=
				      0 &&
			      sd_event_source_set_enabled(health->timer, SD_EVENT_ONESHOT) >= 0;
}

static void note(struct health *health, uint64_t now_mono_ns, uint64_t age_ns, const char *call)
{
	struct hang *hang = &health->hang;

	text_copy(hang->device, sizeof(hang->device), health->owner.device(health->owner.arg));
	text_copy(hang->call, sizeof(hang->call), call);
	hang->since_mono_ns = now_mono_ns - age_ns;
	hang->since_real_ns = clock_real_ns() - (int64_t)age_ns;
}

void health_look(struct health *health)
{
	uint64_t now_mono_ns = clock_mono_ns();
	uint64_t age_ns = 0;
	const char *call = NULL;
	bool goes_on = health->owner.oldest(health->owner.arg, now_mono_ns, &age_ns, &call);
	bool was_sick = health->is_sick;
	struct hang before = health->hang;

	health->is_sick = age_ns > HEALTH_SICK_NS;
	if (health->is_sick && (!was_sick || now_mono_ns - age_ns > before.since_mono_ns)) {
		/* The first, or one that hung behind one that came back. */
		note(health, now_mono_ns, age_ns, call);
	}
	if (health->is_sick) {
		arm(health, LOOK_WHILE_SICK_NS);
	} else if (goes_on) {
		arm(health, HEALTH_SICK_NS - age_ns + LOOK_LEAST_NS);
	} else {
		health->is_watching = false;
		sd_event_source_set_enabled(health->timer, SD_EVENT_OFF);
	}
	/* Last: whom it tells may look again. */
	if (health->is_sick != was_sick) {
		health->owner.changed(health->owner.arg, health,
				      health->is_sick ? &health->hang : &before, health->is_sick);
	}
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	health_look(arg);
	return 0;
}

void health_watch(struct health *health)
{
	if (!health->is_watching) {
		arm(health, HEALTH_SICK_NS + LOOK_LEAST_NS);
	}
}

const struct hang *health_hang(const struct health *health)
{
	return health->is_sick ? &health->hang : NULL;
}

int health_new(struct health **ret_health, const struct health_owner *owner, struct error *err)
{
	struct health *health = memory_new(sizeof(*health));
	int ret;

	health->owner = *owner;
	ret = sd_event_add_time_relative(owner->event, &health->timer, CLOCK_MONOTONIC, 0,
					 LOOK_ACCURACY_US, on_timer, health);
	if (ret < 0) {
		free(health);
		return error_set_call(err, -ret, ERROR_RESOURCE, STAGE_RESOURCE,
				      "sd_event_add_time",
				      "the timer that watches a device cannot be made");
	}
	sd_event_source_set_enabled(health->timer, SD_EVENT_OFF);
	*ret_health = health;
	return 0;
}

void health_free(struct health *health)
{
	if (health) {
		sd_event_source_disable_unref(health->timer);
		free(health);
	}
}
