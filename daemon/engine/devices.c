// SPDX-License-Identifier: MIT
#include "engine/devices.h"

#include <errno.h>
#include <string.h>

#include "engine/health.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

/* One device that was ever used. */
struct entry {
	struct list link;
	struct devices *devices;
	struct context *context;
	struct health *health;
};

struct devices {
	struct devices_options options;
	struct discovery *discovery; /* NULL: not yet */
	struct list entries; /* of struct entry */
	size_t told_count;
	char told_sick[HANGS_MAX][LIMIT_NAME]; /* so it was told up */
	bool is_stopping;
};

/* --- calls that hang --- */

static void add_hang(const struct hang *hang, struct hang *ret, size_t *count, size_t max)
{
	for (size_t i = 0; i < *count; i++) {
		if (strcmp(ret[i].device, hang->device) == 0) {
			ret[i] = hang->since_mono_ns < ret[i].since_mono_ns ? *hang : ret[i];
			return;
		}
	}
	if (*count < max) {
		ret[(*count)++] = *hang;
	}
}

size_t devices_hangs(struct devices *devices, bool has_look, struct hang *ret, size_t max)
{
	struct hang scans[HANGS_MAX];
	size_t scan_count = 0;
	struct entry *entry;
	size_t count = 0;

	list_each(entry, &devices->entries, link) {
		if (has_look) {
			health_look(entry->health);
		}
		if (health_hang(entry->health)) {
			add_hang(health_hang(entry->health), ret, &count, max);
		}
	}
	if (devices->discovery) {
		if (has_look) {
			discovery_look(devices->discovery);
		}
		scan_count = discovery_hangs(devices->discovery, scans, HANGS_MAX);
	}
	for (size_t i = 0; i < scan_count; i++) {
		add_hang(&scans[i], ret, &count, max);
	}
	return count;
}

const struct hang *devices_find_hang(const struct hang *hangs, size_t count, const char *device)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(hangs[i].device, device) == 0) {
			return &hangs[i];
		}
	}
	return NULL;
}

/* And remembers it. False: it was told otherwise. */
static bool is_told(struct devices *devices, const char *device, bool is_sick)
{
	for (size_t i = 0; i < devices->told_count; i++) {
		if (strcmp(devices->told_sick[i], device) == 0) {
			if (!is_sick) {
				devices->told_count--;
				memmove(devices->told_sick[i],
					devices->told_sick[devices->told_count], LIMIT_NAME);
			}
			return is_sick;
		}
	}
	if (is_sick && devices->told_count < HANGS_MAX) {
		text_copy(devices->told_sick[devices->told_count++], LIMIT_NAME, device);
		return false;
	}
	return true;
}

static void fail_jobs(struct devices *devices, const struct hang *hang)
{
	struct error err = ERROR_INIT;
	struct job *job;

	hang_refuse(hang, clock_mono_ns(), &err);
	list_each(job, &devices->options.pool->jobs, link) {
		if (job->context && strcmp(context_name(job->context), hang->device) == 0) {
			job_device_sick(job, job->context, &err);
		}
	}
}

/* A device may be sick by a job's call and by a scan's: that is told as one. */
static void on_health(struct devices *devices, const struct hang *hang, bool has_begun)
{
	struct hang hangs[HANGS_MAX];
	size_t count = devices_hangs(devices, false, hangs, HANGS_MAX);
	bool is_sick = devices_find_hang(hangs, count, hang->device) != NULL;

	if (devices->is_stopping || has_begun != is_sick ||
	    is_told(devices, hang->device, is_sick)) {
		return;
	}
	if (is_sick) {
		fail_jobs(devices, hang);
	} else {
		discovery_refresh(devices->discovery);
	}
	if (devices->options.health) {
		devices->options.health(devices->options.arg, hang, is_sick);
	}
}

void devices_scan_health(struct devices *devices, const struct hang *hang, bool has_begun)
{
	on_health(devices, hang, has_begun);
}

static void on_entry_health(void *arg, struct health *health, const struct hang *hang, bool is_sick)
{
	struct entry *entry = arg;

	on_health(entry->devices, hang, is_sick);
}

static const char *entry_device(void *arg)
{
	struct entry *entry = arg;

	return context_name(entry->context);
}

/* Of its setup threads, and of the workers of its jobs. */
static bool entry_oldest(void *arg, uint64_t now_mono_ns, uint64_t *ret_age_ns,
			 const char **ret_call)
{
	struct entry *entry = arg;
	struct job *job;
	bool has_jobs = false;

	*ret_age_ns = context_oldest_ns(entry->context, now_mono_ns, ret_call);
	list_each(job, &entry->devices->options.pool->jobs, link) {
		const char *call = NULL;
		uint64_t age_ns;

		if (job->context != entry->context) {
			continue;
		}
		has_jobs = true;
		age_ns = job_call_ns(job, now_mono_ns, &call);
		if (age_ns > *ret_age_ns) {
			*ret_age_ns = age_ns;
			*ret_call = call;
		}
	}
	return has_jobs || *ret_age_ns > 0;
}

void devices_look(struct devices *devices)
{
	struct entry *entry;

	list_each(entry, &devices->entries, link) {
		if (health_hang(entry->health)) {
			health_look(entry->health);
		}
	}
}

bool devices_wait_for(struct devices *devices, struct hang *ret)
{
	uint64_t now_mono_ns = clock_mono_ns();
	uint64_t oldest_ns = 0;
	struct entry *entry;

	if (devices_hangs(devices, true, ret, 1) > 0) {
		return true;
	}
	list_each(entry, &devices->entries, link) {
		uint64_t age_ns = 0;
		const char *call = NULL;

		(void)entry_oldest(entry, now_mono_ns, &age_ns, &call);
		if (age_ns > oldest_ns) {
			oldest_ns = age_ns;
			text_copy(ret->device, sizeof(ret->device), context_name(entry->context));
			text_copy(ret->call, sizeof(ret->call), call);
			ret->since_mono_ns = now_mono_ns - age_ns;
			ret->since_real_ns = clock_real_ns() - (int64_t)age_ns;
		}
	}
	return oldest_ns > 0;
}

/* --- what a context says --- */

static void on_lost(void *arg, struct context *context, const struct error *err)
{
	struct devices *devices = arg;
	struct job *job;

	list_each(job, &devices->options.pool->jobs, link) {
		job_device_lost(job, context, err);
	}
	discovery_refresh(devices->discovery);
}

static void on_changed(void *arg, struct context *context)
{
	struct devices *devices = arg;

	discovery_refresh(devices->discovery);
}

static void on_noticed(void *arg, struct context *context, const struct device_notice *notice)
{
	struct devices *devices = arg;
	struct job *job;

	list_each(job, &devices->options.pool->jobs, link) {
		job_device_noticed(job, context, notice);
	}
}

static void on_failed(void *arg, struct context *context, const struct device_notice *notice,
		      enum device_event kind)
{
	struct devices *devices = arg;
	struct job *job;

	list_each(job, &devices->options.pool->jobs, link) {
		job_device_failed(job, context, notice, kind);
	}
}

static void on_submitted(void *arg, struct context *context)
{
	struct devices *devices = arg;
	struct entry *entry;

	list_each(entry, &devices->entries, link) {
		if (entry->context == context) {
			health_watch(entry->health);
		}
	}
}

void devices_scanned(struct devices *devices)
{
	struct entry *entry;

	list_each(entry, &devices->entries, link) {
		if (!discovery_is_present(devices->discovery, context_name(entry->context))) {
			context_vanished(entry->context);
		}
	}
}

/* --- contexts --- */

static int entry_new(struct entry **ret, struct devices *devices, const char *device,
		     struct error *err)
{
	struct entry *entry = memory_new(sizeof(*entry));
	struct context_owner context_owner = {
		.event = devices->options.event,
		.replies = devices->options.replies,
		.lost = on_lost,
		.changed = on_changed,
		.noticed = on_noticed,
		.failed = on_failed,
		.submitted = on_submitted,
		.arg = devices,
	};
	struct health_owner health_owner = {
		.event = devices->options.event,
		.oldest = entry_oldest,
		.device = entry_device,
		.changed = on_entry_health,
		.arg = entry,
	};
	int error = health_new(&entry->health, &health_owner, err);

	entry->devices = devices;
	if (error == 0) {
		error = context_new(&entry->context, device, &context_owner, err);
	}
	if (error < 0) {
		health_free(entry->health);
		free(entry);
		return error;
	}
	list_append(&devices->entries, &entry->link);
	*ret = entry;
	return 0;
}

struct context *devices_context(struct devices *devices, const struct endpoint *endpoint,
				struct error *err)
{
	struct hang hangs[HANGS_MAX];
	const struct hang *hang = devices_find_hang(
		hangs, devices_hangs(devices, true, hangs, HANGS_MAX), endpoint->device);
	struct entry *entry;

	if (hang) {
		hang_refuse(hang, clock_mono_ns(), err);
		return NULL;
	}
	if (!inventory_port(discovery_inventory(devices->discovery), endpoint->device,
			    endpoint->port_num)) {
		error_set(
			err, -ENODEV, ERROR_DEVICE,
			"RDMA device \"%s\" port %llu is not there, not active or not selected on this node; see `rdmatestctl "
			"devices` and daemon.devices",
			endpoint->device, (unsigned long long)endpoint->port_num);
		err->stage = STAGE_DISCOVER;
		text_copy(err->call, sizeof(err->call), "device");
		return NULL;
	}
	list_each(entry, &devices->entries, link) {
		if (strcmp(context_name(entry->context), endpoint->device) == 0) {
			return entry->context;
		}
	}
	return entry_new(&entry, devices, endpoint->device, err) < 0 ? NULL : entry->context;
}

/* --- life --- */

struct devices *devices_new(const struct devices_options *options)
{
	struct devices *devices = memory_new(sizeof(*devices));

	devices->options = *options;
	list_init(&devices->entries);
	return devices;
}

void devices_set_discovery(struct devices *devices, struct discovery *discovery)
{
	devices->discovery = discovery;
}

void devices_shut(struct devices *devices)
{
	struct entry *entry;

	devices->is_stopping = true;
	list_each(entry, &devices->entries, link) {
		context_shut(entry->context);
	}
}

int devices_stop(struct devices *devices, uint64_t deadline_mono_ns)
{
	struct entry *entry;
	int ret = 0;

	list_each(entry, &devices->entries, link) {
		int error = context_stop(entry->context, deadline_mono_ns);

		ret = ret < 0 ? ret : error;
	}
	return ret;
}

void devices_free(struct devices *devices)
{
	struct entry *entry;

	if (!devices) {
		return;
	}
	list_each(entry, &devices->entries, link) {
		list_remove(&entry->link);
		health_free(entry->health);
		context_free(entry->context);
		free(entry);
	}
	free(devices);
}
