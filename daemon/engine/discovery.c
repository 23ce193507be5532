// SPDX-License-Identifier: MIT
#include "engine/discovery.h"

#include <string.h>
#include <sys/utsname.h>

#include "host/sysfs.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"
#include "verbs/scan.h"

#define SCAN_EVERY_US 2000000u
#define SCAN_ACCURACY_US 50000u

struct discovery {
	struct discovery_options options;
	struct daemon_settings settings;
	sd_event_source *timer; /* armed while no scan runs */
	struct setup *setup;
	struct scan *scan;
	bool is_scanning;
	bool wants_scan; /* once more, when the running one is done */
	bool wants_fresh; /* the next one asks every device */
	bool has_scanned;
	bool is_stopping;
	struct error scan_error; /* of the last scan; not set: all was well */
	struct inventory *inventory;
};

struct scan_task {
	struct task task;
	struct discovery *discovery;
	bool is_fresh;
	int error;
	struct error err; /* about the list, or the first device that could not be asked */
	struct daemon_settings settings;
	struct inventory *inventory;
};

static void describe_host(const struct discovery *discovery, struct inventory *inventory)
{
	struct clock_info clock;
	struct utsname name;

	clock_info(&clock);
	text_copy(inventory->clock, sizeof(inventory->clock), clock.source);
	text_copy(inventory->version, sizeof(inventory->version), RDMATESTD_VERSION);
	sysfs_boot_id(discovery->options.sys_root, inventory->boot_id);
	if (uname(&name) < 0) {
		name = (struct utsname){ 0 };
	}
	text_copy(inventory->kernel, sizeof(inventory->kernel), name.release);
	text_copy(inventory->node, sizeof(inventory->node),
		  discovery->settings.node_name[0] ? discovery->settings.node_name : name.nodename);
}

static bool is_same(const struct discovery *discovery, const struct inventory *ports)
{
	const struct inventory *old = discovery->inventory;
	const char *node_name = discovery->settings.node_name;

	return old->port_count == ports->port_count &&
	       memcmp(old->ports, ports->ports, old->port_count * sizeof(old->ports[0])) == 0 &&
	       (!node_name[0] || strcmp(old->node, node_name) == 0);
}

/* Tells what is new. */
static void update(struct discovery *discovery, const struct inventory *ports)
{
	struct inventory *old = discovery->inventory;
	bool is_first = !discovery->has_scanned;

	discovery->has_scanned = true;
	if (!is_first && is_same(discovery, ports)) {
		return;
	}
	discovery->inventory = memory_new(sizeof(*discovery->inventory));
	discovery->inventory->port_count = ports->port_count;
	memcpy(discovery->inventory->ports, ports->ports,
	       ports->port_count * sizeof(ports->ports[0]));
	describe_host(discovery, discovery->inventory);
	free(old);
	discovery->options.changed(discovery->options.arg, discovery->inventory);
}

static void run_scan(struct setup_task *setup)
{
	struct scan_task *own = (struct scan_task *)setup;

	own->error = scan_run(own->discovery->scan, &own->settings, own->is_fresh, own->inventory,
			      &own->err);
}

static void begin_scan(struct discovery *discovery);

static void done_scan(struct task *task)
{
	struct scan_task *own = (struct scan_task *)task;
	struct discovery *discovery = own->discovery;

	discovery->is_scanning = false;
	discovery->scan_error = own->err;
	if (own->error == 0 && !discovery->is_stopping) {
		discovery->options.scanned(discovery->options.arg);
	}
	/* What was found with old settings, or before what happened, is not told any more. */
	if (own->error == 0 && !discovery->is_stopping && !discovery->wants_scan) {
		update(discovery, own->inventory);
	}
	free(own->inventory);
	free(own);
	if (discovery->is_scanning || discovery->is_stopping) {
		return;
	}
	if (discovery->wants_scan) {
		begin_scan(discovery);
	} else if (sd_event_source_set_time_relative(discovery->timer, SCAN_EVERY_US) >= 0) {
		sd_event_source_set_enabled(discovery->timer, SD_EVENT_ONESHOT);
	}
}

static void begin_scan(struct discovery *discovery)
{
	struct scan_task *own;

	if (discovery->is_stopping) {
		return;
	}
	if (discovery->is_scanning) {
		discovery->wants_scan = true;
		return;
	}
	own = memory_new(sizeof(*own));
	own->inventory = memory_new(sizeof(*own->inventory));
	own->task.setup.run = run_scan;
	own->task.setup.reply = discovery->options.replies;
	own->task.done = done_scan;
	own->discovery = discovery;
	own->settings = discovery->settings;
	own->is_fresh = discovery->wants_fresh;
	discovery->is_scanning = true;
	discovery->wants_scan = false;
	discovery->wants_fresh = false;
	sd_event_source_set_enabled(discovery->timer, SD_EVENT_OFF);
	setup_submit(discovery->setup, &own->task.setup);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	begin_scan(arg);
	return 0;
}

void discovery_configure(struct discovery *discovery, const struct daemon_settings *settings)
{
	discovery->settings = *settings;
	begin_scan(discovery);
}

void discovery_refresh(struct discovery *discovery)
{
	discovery->wants_fresh = true;
	begin_scan(discovery);
}

const struct inventory *discovery_inventory(const struct discovery *discovery)
{
	return discovery->inventory;
}

bool discovery_has_scanned(const struct discovery *discovery)
{
	return discovery->has_scanned;
}

const struct error *discovery_error(const struct discovery *discovery)
{
	return &discovery->scan_error;
}

bool discovery_is_present(const struct discovery *discovery, const char *name)
{
	return scan_is_present(discovery->scan, name);
}

const char *discovery_hangs(struct discovery *discovery, uint64_t now_mono_ns, uint64_t longer_ns)
{
	const char *name;

	if (setup_oldest_ns(discovery->setup, now_mono_ns) <= longer_ns) {
		return NULL;
	}
	name = scan_asks_about(discovery->scan);
	return name ? name : "the list of devices";
}

int discovery_new(struct discovery **ret_discovery, const struct discovery_options *options,
		  const struct daemon_settings *settings, struct error *err)
{
	struct discovery *discovery = memory_new(sizeof(*discovery));
	int ret;

	discovery->options = *options;
	discovery->settings = *settings;
	discovery->scan = scan_new(options->sys_root);
	discovery->inventory = memory_new(sizeof(*discovery->inventory));
	describe_host(discovery, discovery->inventory);
	ret = sd_event_add_time_relative(options->event, &discovery->timer, CLOCK_MONOTONIC,
					 SCAN_EVERY_US, SCAN_ACCURACY_US, on_timer, discovery);
	if (ret < 0) {
		error_set_call(err, -ret, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add_time",
			       "the timer of the device scan cannot be made");
	} else {
		ret = setup_new(&discovery->setup, "scan", 1, err);
	}
	if (ret < 0) {
		discovery_free(discovery);
		return ret;
	}
	begin_scan(discovery);
	*ret_discovery = discovery;
	return 0;
}

int discovery_stop(struct discovery *discovery, uint64_t deadline_mono_ns)
{
	int ret;

	discovery->is_stopping = true;
	discovery->timer = sd_event_source_disable_unref(discovery->timer);
	ret = setup_stop(discovery->setup, deadline_mono_ns);
	if (ret == 0) {
		discovery->setup = NULL;
	}
	return ret;
}

void discovery_free(struct discovery *discovery)
{
	if (!discovery) {
		return;
	}
	sd_event_source_disable_unref(discovery->timer);
	scan_free(discovery->scan);
	free(discovery->inventory);
	free(discovery);
}
