// SPDX-License-Identifier: MIT
#include "retrier.h"

#include <stdlib.h>
#include <string.h>

#include "run/retry.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"

/* Until it is looked at again whether a retry that found no place may be begun. */
#define AGAIN_NS (5ull * 1000000000)

/* A scenario whose runs come to nothing. */
struct item {
	struct list link;
	struct retrier *retrier;
	char scenario[LIMIT_NAME];
	struct run_retry retry; /* the next */
	sd_event_source *timer;
};

struct retrier {
	struct parts *parts;
	struct list items; /* of struct item */
	bool is_stopped;
};

static void item_free(struct item *item)
{
	list_remove(&item->link);
	sd_event_source_disable_unref(item->timer);
	free(item);
}

static struct item *find_item(struct retrier *retrier, const char *scenario)
{
	struct item *item;

	list_each(item, &retrier->items, link) {
		if (strcmp(item->scenario, scenario) == 0) {
			return item;
		}
	}
	return NULL;
}

static void arm(struct item *item, uint64_t after_ns)
{
	sd_event_source_set_time(item->timer, (clock_mono_ns() + after_ns) / 1000);
	sd_event_source_set_enabled(item->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct item *item = arg;
	struct parts *parts = item->retrier->parts;
	const struct scenario *scenario = config_scenario(parts->config, item->scenario);
	struct run *run;
	uint64_t missed;
	char id[32];

	if (scenario == NULL || !scenario->is_enabled) {
		item_free(item);
		return 0;
	}
	/* Not beside one that goes on or waits, which may be by hand and then tells us nothing; and
	 * a queue that is full has room again. */
	if (coordinator_has(parts->coordinator, item->scenario) ||
	    coordinator_submit(parts->coordinator, scenario, TRIGGER_RETRY,
			       parts->config->generation, id, NULL) < 0) {
		/* A turn that comes soon tells as much. */
		if (schedule_next_ns(parts->schedule, item->scenario, &missed) / 2 > AGAIN_NS) {
			arm(item, AGAIN_NS);
		}
		return 0;
	}
	run = history_find(parts->history, id);
	if (run != NULL) {
		run->retry = item->retry;
	}
	return 0;
}

static struct item *item_new(struct retrier *retrier, const struct run *run)
{
	struct item *item = memory_new(sizeof(*item));

	item->retrier = retrier;
	text_copy(item->scenario, sizeof(item->scenario), run->scenario->name);
	text_copy(item->retry.of, sizeof(item->retry.of), run->id);
	item->retry.since_real_ns = run->ended_real_ns;
	if (sd_event_add_time(retrier->parts->event, &item->timer, CLOCK_MONOTONIC, 0, 1000,
			      on_timer, item) < 0) {
		abort(); /* out of memory only */
	}
	list_append(&retrier->items, &item->link);
	return item;
}

void retrier_run_done(struct retrier *retrier, const struct run *run)
{
	struct item *item = find_item(retrier, run->scenario->name);
	uint64_t missed;
	uint64_t after_ns;

	if (retrier->is_stopped || run->trigger == TRIGGER_MANUAL) {
		return;
	}
	if (!retry_is_worth(run)) {
		if (item != NULL) {
			item_free(item);
		}
		return;
	}
	if (item == NULL) {
		item = item_new(retrier, run);
	}
	item->retry.attempt++;
	after_ns =
		retry_after_ns(item->retry.attempt,
			       schedule_next_ns(retrier->parts->schedule, item->scenario, &missed),
			       prng_hash(item->scenario, prng_hash(retrier->parts->node_name,
								   item->retry.attempt)));
	if (after_ns == CLOCK_NEVER) {
		sd_event_source_set_enabled(item->timer, SD_EVENT_OFF);
		return;
	}
	arm(item, after_ns);
}

void retrier_stop(struct retrier *retrier)
{
	struct item *item;

	retrier->is_stopped = true;
	list_each(item, &retrier->items, link) {
		item_free(item);
	}
}

struct retrier *retrier_new(struct parts *parts)
{
	struct retrier *retrier = memory_new(sizeof(*retrier));

	retrier->parts = parts;
	list_init(&retrier->items);
	return retrier;
}

void retrier_free(struct retrier *retrier)
{
	if (retrier != NULL) {
		retrier_stop(retrier);
		free(retrier);
	}
}
