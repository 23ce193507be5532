// SPDX-License-Identifier: MIT
#include "engine/discovery.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "engine/link_news.h"
#include "host/sysfs.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/memory.h"
#include "util/text.h"
#include "verbs/scan.h"

#define SCAN_EVERY_US 2000000u
#define SCAN_ACCURACY_US 50000u
/* Scanners that hang; with so many more nothing new is found until one comes back. */
#define SCANNERS_MAX 8
/* A device that answers no call for so long has no share in how soon the others are found. */
#define SLOW_NS 1000000000ull

/*
 * A thread that scans, and what it knows. One that waits for a device for over a second is set
 * aside, and another one goes on with what it knew of the others: nobody has to wait for that
 * device. When it is back, what it learnt is taken over.
 */
struct scanner {
	struct list link; /* in discovery->aside, when it hangs */
	struct discovery *discovery;
	struct setup *setup;
	struct scan *scan;
	struct health *health;
	char slow[LIMIT_NAME]; /* the device for which it is aside */
	bool is_back; /* and what it learnt of that is still to be taken over */
};

struct discovery {
	struct discovery_options options;
	struct daemon_settings settings;
	sd_event_source *timer; /* armed while no scan runs */
	sd_event_source *slow_timer; /* armed while one does */
	struct link_news *news; /* NULL: the kernel tells nothing of interfaces */
	struct scanner *scanner; /* that scans */
	struct list aside; /* of struct scanner */
	size_t aside_count;
	bool is_scanning;
	bool wants_scan; /* once more, when the running one is done */
	bool wants_fresh; /* the next one asks every device */
	bool has_news; /* came while it runs: what it found counts, and the next one follows */
	bool has_scanned;
	uint64_t scanned_mono_ns; /* the end of the last scan that went well; 0: none did */
	bool is_stopping;
	struct error scan_error; /* of the last scan, or what it did not find; not set: all was well
				  */
	struct inventory *inventory;
};

struct scan_task {
	struct task task;
	struct scanner *scanner;
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

/* What could not be asked, beside what could: others are told why a device is missing. */
static void note_problem(struct inventory *inventory, const struct error *err)
{
	if (error_is_set(err)) {
		text_copy(inventory->problem, sizeof(inventory->problem), err->text);
	}
	inventory->problem_errno = err->kind == ERROR_KIND_ERRNO ? (uint64_t)err->number : 0;
}

static bool is_same(const struct discovery *discovery, const struct inventory *ports)
{
	const struct inventory *old = discovery->inventory;
	const char *node_name = discovery->settings.node_name;

	return old->port_count == ports->port_count && strcmp(old->problem, ports->problem) == 0 &&
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
	text_copy(discovery->inventory->problem, sizeof(discovery->inventory->problem),
		  ports->problem);
	discovery->inventory->problem_errno = ports->problem_errno;
	describe_host(discovery, discovery->inventory);
	free(old);
	discovery->options.changed(discovery->options.arg, discovery->inventory);
}

static void run_scan(struct setup_task *setup)
{
	struct scan_task *own = (struct scan_task *)setup;

	own->error = scan_run(own->scanner->scan, &own->settings, own->is_fresh, own->inventory,
			      &own->err);
}

static void begin_scan(struct discovery *discovery);

static void scanner_free(struct scanner *scanner)
{
	if (!scanner) {
		return;
	}
	health_free(scanner->health);
	scan_free(scanner->scan);
	free(scanner);
}

static int scanner_stop(struct scanner *scanner, uint64_t deadline_mono_ns)
{
	int ret = scanner->setup ? setup_stop(scanner->setup, deadline_mono_ns) : 0;

	if (ret == 0) {
		scanner->setup = NULL;
	}
	return ret;
}

/* What those that are back learnt of their devices. Not while a scan runs. */
static void adopt(struct discovery *discovery)
{
	struct scanner *scanner;

	list_each(scanner, &discovery->aside, link) {
		/* Its thread has posted what it had and waits for more: it ends at once. */
		if (!scanner->is_back || scanner_stop(scanner, CLOCK_NEVER) < 0) {
			continue;
		}
		scan_adopt(discovery->scanner->scan, scanner->scan, scanner->slow);
		list_remove(&scanner->link);
		discovery->aside_count--;
		scanner_free(scanner);
	}
}

/* One that was set aside is back. */
static void end_aside(struct scanner *scanner)
{
	struct discovery *discovery = scanner->discovery;

	health_look(scanner->health);
	if (!discovery->is_stopping) {
		scanner->is_back = true;
		begin_scan(discovery);
	}
}

static void tell_scan(struct discovery *discovery, const struct scan_task *own)
{
	discovery->is_scanning = false;
	discovery->scan_error = own->err;
	if (own->error == 0) {
		discovery->scanned_mono_ns = clock_mono_ns();
	}
	note_problem(own->inventory, &own->err);
	if (own->error == 0 && own->inventory->problem[0]) {
		/* What was configured and is not there, unless there is worse. */
		error_set(&discovery->scan_error, -ENODEV, ERROR_DEVICE, "%s",
			  own->inventory->problem);
	}
	if (own->error == 0 && !discovery->is_stopping) {
		discovery->options.scanned(discovery->options.arg);
	}
	/* What was found with old settings, or before what happened, is not told any more. */
	if (own->error == 0 && !discovery->is_stopping && !discovery->wants_scan) {
		update(discovery, own->inventory);
	}
	if (discovery->is_scanning || discovery->is_stopping) {
		return;
	}
	if (discovery->wants_scan || discovery->has_news) {
		begin_scan(discovery);
	} else if (sd_event_source_set_time_relative(discovery->timer, SCAN_EVERY_US) >= 0) {
		sd_event_source_set_enabled(discovery->timer, SD_EVENT_ONESHOT);
	}
}

static void done_scan(struct task *task)
{
	struct scan_task *own = (struct scan_task *)task;
	struct discovery *discovery = own->scanner->discovery;

	if (own->scanner == discovery->scanner) {
		tell_scan(discovery, own);
	} else {
		end_aside(own->scanner);
	}
	free(own->inventory);
	free(own);
}

/* Devices with a call that hangs, or that another scanner still waits for, are not asked. */
static void leave_sick(struct discovery *discovery)
{
	struct scanner *scanner;
	char names[HANGS_MAX][LIMIT_NAME];
	size_t count = discovery->options.sick(discovery->options.arg, names, HANGS_MAX);

	list_each(scanner, &discovery->aside, link) {
		if (count < HANGS_MAX) {
			text_copy(names[count++], LIMIT_NAME, scanner->slow);
		}
	}
	for (size_t i = 0; i < count; i++) {
		scan_remember(discovery->scanner->scan, names[i], discovery->inventory);
	}
	scan_leave(discovery->scanner->scan, names, count);
}

static void arm_slow(struct discovery *discovery, uint64_t after_ns)
{
	if (sd_event_source_set_time_relative(discovery->slow_timer, after_ns / 1000 + 1) >= 0) {
		sd_event_source_set_enabled(discovery->slow_timer, SD_EVENT_ONESHOT);
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
	own->scanner = discovery->scanner;
	own->settings = discovery->settings;
	own->is_fresh = discovery->wants_fresh;
	discovery->is_scanning = true;
	discovery->wants_scan = false;
	discovery->wants_fresh = false;
	discovery->has_news = false;
	adopt(discovery);
	leave_sick(discovery);
	sd_event_source_set_enabled(discovery->timer, SD_EVENT_OFF);
	arm_slow(discovery, SLOW_NS);
	setup_submit(discovery->scanner->setup, &own->task.setup);
	health_watch(discovery->scanner->health);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	begin_scan(arg);
	return 0;
}

/* --- one that hangs --- */

static bool oldest(void *arg, uint64_t now_mono_ns, uint64_t *ret_age_ns, const char **ret_call)
{
	struct scanner *scanner = arg;

	*ret_age_ns = scanner->setup ? setup_oldest_ns(scanner->setup, now_mono_ns, ret_call) : 0;
	return scanner != scanner->discovery->scanner || scanner->discovery->is_scanning;
}

static const char *asked_device(void *arg)
{
	struct scanner *scanner = arg;
	const char *name = scan_asks_about(scanner->scan);

	return name ? name : "the list of devices";
}

static int scanner_new(struct scanner **ret, struct discovery *discovery, struct error *err);
static void set_aside(struct discovery *discovery);

static int on_slow_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct discovery *discovery = arg;
	const char *call = NULL;
	uint64_t age_ns = setup_oldest_ns(discovery->scanner->setup, clock_mono_ns(), &call);

	if (!discovery->is_scanning) {
		return 0;
	}
	/* Before, so that a scan that begins in there arms it anew. */
	arm_slow(discovery, age_ns < SLOW_NS ? SLOW_NS - age_ns : SLOW_NS);
	if (age_ns >= SLOW_NS) {
		set_aside(discovery);
	}
	return 0;
}

/* The list of devices hangs for everybody: another thread would find no more. */
static void set_aside(struct discovery *discovery)
{
	struct scanner *hung = discovery->scanner;
	struct scanner *next = NULL;

	if (!scan_asks_about(hung->scan) || discovery->aside_count == SCANNERS_MAX ||
	    discovery->is_stopping || scanner_new(&next, discovery, NULL) < 0) {
		return;
	}
	if (!scan_cut(hung->scan, next->scan)) {
		(void)scanner_stop(next, CLOCK_NEVER); /* it did nothing yet */
		scanner_free(next);
		return;
	}
	text_copy(hung->slow, sizeof(hung->slow), scan_asks_about(hung->scan));
	list_append(&discovery->aside, &hung->link);
	discovery->aside_count++;
	discovery->scanner = next;
	discovery->is_scanning = false;
	begin_scan(discovery);
}

static void on_health(void *arg, struct health *health, const struct hang *hang, bool is_sick)
{
	struct scanner *scanner = arg;
	struct discovery *discovery = scanner->discovery;

	discovery->options.health(discovery->options.arg, hang, is_sick);
	if (is_sick && scanner == discovery->scanner) {
		set_aside(discovery);
	}
}

static int scanner_new(struct scanner **ret_scanner, struct discovery *discovery, struct error *err)
{
	struct scanner *scanner = memory_new(sizeof(*scanner));
	struct health_owner owner = {
		.event = discovery->options.event,
		.oldest = oldest,
		.device = asked_device,
		.changed = on_health,
		.arg = scanner,
	};
	int ret;

	list_init(&scanner->link);
	scanner->discovery = discovery;
	scanner->scan = scan_new(discovery->options.sys_root);
	ret = health_new(&scanner->health, &owner, err);
	if (ret == 0) {
		ret = setup_new(&scanner->setup, "scan", 1, err);
	}
	if (ret < 0) {
		scanner_free(scanner);
		return ret;
	}
	*ret_scanner = scanner;
	return 0;
}

void discovery_look(struct discovery *discovery)
{
	health_look(discovery->scanner->health);
}

size_t discovery_hangs(struct discovery *discovery, struct hang *ret, size_t max)
{
	struct scanner *scanner;
	size_t count = 0;

	if (health_hang(discovery->scanner->health) && count < max) {
		ret[count++] = *health_hang(discovery->scanner->health);
	}
	list_each(scanner, &discovery->aside, link) {
		if (health_hang(scanner->health) && count < max) {
			ret[count++] = *health_hang(scanner->health);
		}
	}
	return count;
}

/* --- what others ask --- */

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

uint64_t discovery_scanned_mono_ns(const struct discovery *discovery)
{
	return discovery->scanned_mono_ns;
}

const struct error *discovery_error(const struct discovery *discovery)
{
	return &discovery->scan_error;
}

bool discovery_is_present(const struct discovery *discovery, const char *name)
{
	return scan_is_present(discovery->scanner->scan, name);
}

/* --- what the kernel tells by itself --- */

static bool is_netdev_of_port(void *arg, const char *netdev)
{
	const struct inventory *inventory = ((struct discovery *)arg)->inventory;

	for (size_t i = 0; i < inventory->port_count; i++) {
		const struct port *port = &inventory->ports[i];

		for (size_t j = 0; j < port->gid_count; j++) {
			if (strcmp(port->gids[j].netdev, netdev) == 0) {
				return true;
			}
		}
	}
	return false;
}

/* An interface that changes all the time must not keep what scans find from being told. */
static void on_link_news(void *arg)
{
	struct discovery *discovery = arg;

	discovery->wants_fresh = true;
	if (discovery->is_scanning) {
		discovery->has_news = true;
	} else {
		begin_scan(discovery);
	}
}

/* Without it an MTU or a link that changed is seen by the next scan. */
static void hear_link_news(struct discovery *discovery)
{
	struct link_news_options options = {
		.event = discovery->options.event,
		.is_ours = is_netdev_of_port,
		.changed = on_link_news,
		.arg = discovery,
	};

	/* The kernel itself has no root. */
	if (discovery->options.sys_root[0] == '\0') {
		(void)link_news_new(&discovery->news, &options);
	}
}

int discovery_new(struct discovery **ret_discovery, const struct discovery_options *options,
		  const struct daemon_settings *settings, struct error *err)
{
	struct discovery *discovery = memory_new(sizeof(*discovery));
	int ret;

	discovery->options = *options;
	discovery->settings = *settings;
	list_init(&discovery->aside);
	discovery->inventory = memory_new(sizeof(*discovery->inventory));
	describe_host(discovery, discovery->inventory);
	ret = sd_event_add_time_relative(options->event, &discovery->timer, CLOCK_MONOTONIC,
					 SCAN_EVERY_US, SCAN_ACCURACY_US, on_timer, discovery);
	if (ret >= 0) {
		ret = sd_event_add_time_relative(options->event, &discovery->slow_timer,
						 CLOCK_MONOTONIC, 0, SCAN_ACCURACY_US,
						 on_slow_timer, discovery);
	}
	if (ret < 0) {
		error_set_call(err, -ret, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add_time",
			       "the timer of the device scan cannot be made");
	} else {
		ret = scanner_new(&discovery->scanner, discovery, err);
	}
	if (ret < 0) {
		discovery_free(discovery);
		return ret;
	}
	hear_link_news(discovery);
	begin_scan(discovery);
	*ret_discovery = discovery;
	return 0;
}

int discovery_stop(struct discovery *discovery, uint64_t deadline_mono_ns)
{
	struct scanner *scanner;
	int ret;

	discovery->is_stopping = true;
	link_news_free(discovery->news);
	discovery->news = NULL;
	discovery->timer = sd_event_source_disable_unref(discovery->timer);
	discovery->slow_timer = sd_event_source_disable_unref(discovery->slow_timer);
	ret = scanner_stop(discovery->scanner, deadline_mono_ns);
	list_each(scanner, &discovery->aside, link) {
		int error = scanner_stop(scanner, deadline_mono_ns);

		ret = ret < 0 ? ret : error;
	}
	return ret;
}

void discovery_free(struct discovery *discovery)
{
	struct scanner *scanner;

	if (!discovery) {
		return;
	}
	link_news_free(discovery->news);
	sd_event_source_disable_unref(discovery->timer);
	sd_event_source_disable_unref(discovery->slow_timer);
	list_each(scanner, &discovery->aside, link) {
		list_remove(&scanner->link);
		scanner_free(scanner);
	}
	scanner_free(discovery->scanner);
	free(discovery->inventory);
	free(discovery);
}
