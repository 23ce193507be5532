// SPDX-License-Identifier: MIT
#include "run/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/list.h"
#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"

#define STARTUP_AGAIN_US 5000000ull

struct item {
	struct list link;
	struct schedule_table *table;
	struct scenario scenario; /* a copy: what `due` is told, and what a reload is compared with
				   */
	sd_event_source *timer;
	uint64_t base_mono_ns; /* tick 0, its place within the jitter included */
	uint64_t tick;
	uint64_t next_mono_ns;
	uint64_t missed;
	bool has_started; /* its startup run was begun, or it came by a reload */
	bool is_kept; /* by the configuration being taken over */
};

struct schedule_table {
	sd_event *event;
	const char *node_name;
	const struct schedule_events *events;
	void *arg;
	struct list items;
	bool has_begun;
};

/* A stable number for this node and scenario; of two purposes two that tell nothing of each other.
 */
static uint64_t hash_of(const struct item *item, uint64_t purpose)
{
	return prng_hash(item->scenario.name, prng_hash(item->table->node_name, purpose));
}

static void arm_next(struct item *item)
{
	item->next_mono_ns = item->base_mono_ns + item->tick * item->scenario.schedule.every_ns;
	sd_event_source_set_time(item->timer, item->next_mono_ns / 1000);
	sd_event_source_set_enabled(item->timer, SD_EVENT_ONESHOT);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
	struct item *item = arg;
	const struct schedule *schedule = &item->scenario.schedule;
	uint64_t now = clock_mono_ns();

	if (!item->table->events->due(item->table->arg, &item->scenario, TRIGGER_SCHEDULE)) {
		item->missed++;
	}
	item->tick++;
	/* A loop that stood still (a stopped process) skips what it slept through. */
	while (item->base_mono_ns + item->tick * schedule->every_ns < now) {
		item->tick++;
		item->missed++;
	}
	arm_next(item);
	return 0;
}

/* The first tick: so long after that moment, and at the item's place within the jitter. */
static void set_base(struct item *item, uint64_t from_mono_ns, uint64_t after_ns)
{
	uint64_t jitter_ns = item->scenario.schedule.jitter_ns;

	item->base_mono_ns = from_mono_ns + after_ns;
	if (jitter_ns > 0) {
		item->base_mono_ns += hash_of(item, 1) % jitter_ns;
	}
}

static int on_startup(sd_event_source *source, uint64_t usec, void *arg)
{
	struct item *item = arg;

	/* There is only one: it waits for a queue that is full, or for a run by hand. */
	if (!item->table->events->due(item->table->arg, &item->scenario, TRIGGER_STARTUP)) {
		sd_event_source_set_time(source, clock_mono_ns() / 1000 + STARTUP_AGAIN_US);
		sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
		return 0;
	}
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	if (item->scenario.schedule.every_ns > 0) {
		/* As far behind it as it would have been in time. */
		set_base(item, clock_mono_ns(), item->scenario.schedule.every_ns);
		sd_event_source_disable_unref(item->timer);
		item->timer = NULL;
		if (sd_event_add_time(item->table->event, &item->timer, CLOCK_MONOTONIC, 0, 1000,
				      on_tick, item) < 0) {
			abort(); /* out of memory only */
		}
		arm_next(item);
	}
	return 0;
}

/*
 * The first tick lies within the first period, or, behind a run at startup, one period after it,
 * and then at a place within the jitter: of its own for every node and scenario. From there on the
 * period is exact: two runs are never closer together than that, and none falls into another's
 * hour.
 */
static void begin_item(struct item *item, bool is_startup)
{
	const struct schedule *schedule = &item->scenario.schedule;
	uint64_t now = clock_mono_ns();
	bool wants_startup = is_startup && (schedule->on & SCHEDULE_STARTUP) != 0;

	if (item->has_started) {
		return;
	}
	item->has_started = true;
	if (schedule->every_ns > 0) {
		set_base(item, now + schedule->start_delay_ns,
			 wants_startup ? schedule->every_ns
				       : hash_of(item, 0) % schedule->every_ns);
	}
	if (!wants_startup && schedule->every_ns == 0) {
		return;
	}
	if (sd_event_add_time(item->table->event, &item->timer, CLOCK_MONOTONIC,
			      (now + schedule->start_delay_ns) / 1000, 1000,
			      wants_startup ? on_startup : on_tick, item) < 0) {
		abort(); /* out of memory only */
	}
	if (!wants_startup) {
		arm_next(item);
	}
}

static void free_item(struct item *item)
{
	list_remove(&item->link);
	sd_event_source_disable_unref(item->timer);
	free(item);
}

struct schedule_table *schedule_new(sd_event *event, const char *node_name,
				    const struct schedule_events *events, void *arg)
{
	struct schedule_table *table = memory_new(sizeof(*table));

	table->event = event;
	table->node_name = node_name;
	table->events = events;
	table->arg = arg;
	list_init(&table->items);
	return table;
}

void schedule_free(struct schedule_table *table)
{
	struct item *item;

	if (table == NULL) {
		return;
	}
	list_each(item, &table->items, link) {
		free_item(item);
	}
	free(table);
}

static struct item *find_item(const struct schedule_table *table, const char *name)
{
	struct item *item;

	list_each(item, &((struct schedule_table *)table)->items, link) {
		if (strcmp(item->scenario.name, name) == 0) {
			return item;
		}
	}
	return NULL;
}

/* Only what matters to when: a new description or size keeps the phase too, the copy is simply
 * renewed. */
static bool has_same_schedule(const struct scenario *a, const struct scenario *b)
{
	return a->schedule.on == b->schedule.on && a->schedule.every_ns == b->schedule.every_ns &&
	       a->schedule.jitter_ns == b->schedule.jitter_ns &&
	       a->schedule.start_delay_ns == b->schedule.start_delay_ns;
}

static void take_scenario(struct schedule_table *table, const struct scenario *scenario)
{
	struct item *item = find_item(table, scenario->name);

	if (item != NULL && has_same_schedule(&item->scenario, scenario)) {
		item->scenario = *scenario;
		item->is_kept = true;
		return;
	}
	item = memory_new(sizeof(*item));
	item->table = table;
	item->scenario = *scenario;
	item->is_kept = true;
	list_prepend(&table->items, &item->link);
	if (table->has_begun) {
		/* A scenario that a reload brings has no startup to run at. */
		begin_item(item, false);
	}
}

void schedule_configure(struct schedule_table *table, struct config *config)
{
	struct item *item;

	list_each(item, &table->items, link) {
		item->is_kept = false;
	}
	for (size_t i = 0; i < config->scenario_count; i++) {
		if (config->scenarios[i]->is_enabled) {
			take_scenario(table, config->scenarios[i]);
		}
	}
	list_each(item, &table->items, link) {
		if (!item->is_kept) {
			free_item(item);
		}
	}
}

void schedule_begin(struct schedule_table *table)
{
	struct item *item;

	if (table->has_begun) {
		return;
	}
	table->has_begun = true;
	list_each(item, &table->items, link) {
		begin_item(item, true);
	}
}

void schedule_stop(struct schedule_table *table)
{
	struct item *item;

	list_each(item, &table->items, link) {
		free_item(item);
	}
}

uint64_t schedule_next_ns(const struct schedule_table *table, const char *scenario,
			  uint64_t *ret_missed)
{
	const struct item *item = find_item(table, scenario);
	uint64_t now = clock_mono_ns();

	*ret_missed = item != NULL ? item->missed : 0;
	if (item == NULL || item->scenario.schedule.every_ns == 0 || !item->has_started ||
	    item->timer == NULL) {
		return CLOCK_NEVER;
	}
	if (item->next_mono_ns == 0) {
		return item->base_mono_ns > now ? item->base_mono_ns - now : 0;
	}
	return item->next_mono_ns > now ? item->next_mono_ns - now : 0;
}
