// SPDX-License-Identifier: MIT
#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>

#include "engine/context.h"
#include "engine/job.h"
#include "host/sysfs.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"
#include "verbs/scan.h"

#define SCAN_EVERY_US 2000000u
#define SCAN_ACCURACY_US 50000u
#define MESSAGES_AT_ONCE 32
#define SICK_NS 10000000000ull

struct context_entry {
	struct list link;
	struct context *context;
};

struct engine {
	struct engine_options options;
	struct daemon_settings settings;
	struct job_pool pool;
	struct list contexts; /* of struct context_entry; one for each device ever used */
	struct mailbox replies; /* of struct task */
	struct mailbox reports; /* of struct worker_report */
	sd_event_source *replies_source;
	sd_event_source *reports_source;
	sd_event_source *scan_source; /* the timer, armed while no scan runs */
	struct setup *scan_setup;
	struct scan *scan;
	bool is_scanning;
	bool wants_scan; /* once more, when the running one is done */
	bool wants_fresh; /* the next one asks every device */
	bool has_scanned;
	bool is_stopping;
	struct inventory *inventory;
};

struct scan_task {
	struct task task;
	struct engine *engine;
	bool is_fresh;
	int error;
	struct daemon_settings settings;
	struct inventory *inventory;
};

static void begin_scan(struct engine *engine);

/* --- inventory --- */

static void describe_host(struct engine *engine)
{
	struct inventory *inventory = engine->inventory;
	struct clock_info clock;
	struct utsname name;

	clock_info(&clock);
	text_copy(inventory->clock, sizeof(inventory->clock), clock.source);
	text_copy(inventory->version, sizeof(inventory->version), RDMATESTD_VERSION);
	sysfs_boot_id(engine->options.sys_root, inventory->boot_id);
	if (uname(&name) < 0) {
		name = (struct utsname){ 0 };
	}
	text_copy(inventory->kernel, sizeof(inventory->kernel), name.release);
	text_copy(inventory->node, sizeof(inventory->node),
		  engine->settings.node_name[0] ? engine->settings.node_name : name.nodename);
}

static bool has_same_ports(const struct inventory *a, const struct inventory *b)
{
	return a->port_count == b->port_count &&
	       memcmp(a->ports, b->ports, a->port_count * sizeof(a->ports[0])) == 0;
}

/* Tells what is new; `ports` is read only. */
static void update_inventory(struct engine *engine, const struct inventory *ports)
{
	struct inventory *old = engine->inventory;
	bool is_first = !engine->has_scanned;

	engine->has_scanned = true;
	if (!is_first && has_same_ports(old, ports) &&
	    (!engine->settings.node_name[0] || strcmp(old->node, engine->settings.node_name) == 0)) {
		return;
	}
	engine->inventory = memory_new(sizeof(*engine->inventory));
	engine->inventory->port_count = ports->port_count;
	memcpy(engine->inventory->ports, ports->ports, ports->port_count * sizeof(ports->ports[0]));
	describe_host(engine);
	free(old);
	if (engine->options.inventory) {
		engine->options.inventory(engine->options.arg, engine->inventory);
	}
}

static void run_scan(struct setup_task *setup)
{
	struct scan_task *own = (struct scan_task *)setup;

	own->error = scan_run(own->engine->scan, &own->settings, own->is_fresh, own->inventory, NULL);
}

static int on_scan_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	begin_scan(arg);
	return 0;
}

static void done_scan(struct task *task)
{
	struct scan_task *own = (struct scan_task *)task;
	struct engine *engine = own->engine;
	struct context_entry *entry;

	engine->is_scanning = false;
	if (!engine->is_stopping) {
		list_each(entry, &engine->contexts, link) {
			if (own->error == 0 && !scan_is_present(engine->scan, context_name(entry->context))) {
				context_vanished(entry->context);
			}
		}
		if (own->error == 0 && !engine->wants_scan) {
			update_inventory(engine, own->inventory);
		}
		if (engine->wants_scan) {
			begin_scan(engine);
		} else if (sd_event_source_set_time_relative(engine->scan_source, SCAN_EVERY_US) >= 0) {
			sd_event_source_set_enabled(engine->scan_source, SD_EVENT_ONESHOT);
		}
	}
	free(own->inventory);
	free(own);
}

static void begin_scan(struct engine *engine)
{
	struct scan_task *own;

	if (engine->is_stopping) {
		return;
	}
	if (engine->is_scanning) {
		engine->wants_scan = true;
		return;
	}
	own = memory_new(sizeof(*own));
	own->inventory = memory_new(sizeof(*own->inventory));
	own->task.setup.run = run_scan;
	own->task.setup.reply = &engine->replies;
	own->task.done = done_scan;
	own->engine = engine;
	own->settings = engine->settings;
	own->is_fresh = engine->wants_fresh;
	engine->is_scanning = true;
	engine->wants_scan = false;
	engine->wants_fresh = false;
	sd_event_source_set_enabled(engine->scan_source, SD_EVENT_OFF);
	setup_submit(engine->scan_setup, &own->task.setup);
}

void engine_configure(struct engine *engine, const struct daemon_settings *settings)
{
	engine->settings = *settings;
	begin_scan(engine);
}

const struct inventory *engine_inventory(const struct engine *engine)
{
	return engine->inventory;
}

bool engine_has_scanned(const struct engine *engine)
{
	return engine->has_scanned;
}

/* --- devices --- */

static void on_lost(void *arg, struct context *context, const struct error *err)
{
	struct engine *engine = arg;
	struct job *job;

	list_each(job, &engine->pool.jobs, link) {
		job_device_lost(job, context, err);
	}
	engine->wants_fresh = true;
	begin_scan(engine);
}

static void on_changed(void *arg, struct context *context)
{
	struct engine *engine = arg;

	engine->wants_fresh = true;
	begin_scan(engine);
}

static void on_failed(void *arg, struct context *context, const void *element, enum device_event kind, const char *name)
{
	struct engine *engine = arg;
	struct job *job;

	list_each(job, &engine->pool.jobs, link) {
		job_element_failed(job, context, element, kind, name);
	}
}

static struct context *find_context(void *arg, const struct endpoint *endpoint, struct error *err)
{
	struct engine *engine = arg;
	struct context_entry *entry;
	struct context *context;
	struct context_owner owner = {
		.event = engine->options.event,
		.replies = &engine->replies,
		.lost = on_lost,
		.changed = on_changed,
		.failed = on_failed,
		.arg = engine,
	};

	if (!inventory_port(engine->inventory, endpoint->device, endpoint->port_num)) {
		error_set(err, -ENODEV, ERROR_DEVICE,
			  "RDMA device \"%s\" port %llu is not there, not active or not selected on this node; see `rdmatestctl "
			  "devices` and daemon.devices",
			  endpoint->device, (unsigned long long)endpoint->port_num);
		err->stage = STAGE_DISCOVER;
		return NULL;
	}
	list_each(entry, &engine->contexts, link) {
		if (strcmp(context_name(entry->context), endpoint->device) == 0) {
			return entry->context;
		}
	}
	if (context_new(&context, endpoint->device, &owner, err) < 0) {
		return NULL;
	}
	entry = memory_new(sizeof(*entry));
	entry->context = context;
	list_append(&engine->contexts, &entry->link);
	return context;
}

/* --- what all jobs do --- */

struct job_pool *engine_job_pool(struct engine *engine)
{
	return &engine->pool;
}

void engine_usage(const struct engine *engine, struct engine_usage *ret)
{
	struct job *job;

	*ret = (struct engine_usage){ 0 };
	list_each(job, &engine->pool.jobs, link) {
		ret->jobs++;
		ret->qps += job->assignment.workload.qp.num_qps;
		ret->pinned_bytes += assignment_pinned_bytes(&job->assignment);
	}
}

bool engine_is_progressing(struct engine *engine)
{
	struct job *job;
	bool is_progressing = true;

	list_each(job, &engine->pool.jobs, link) {
		/* Asked of each one: the answer is remembered until the next call. */
		is_progressing &= !job_is_stuck(job);
	}
	return is_progressing;
}

const char *engine_sick(struct engine *engine)
{
	uint64_t now_mono_ns = clock_mono_ns();
	struct context_entry *entry;

	list_each(entry, &engine->contexts, link) {
		if (context_oldest_ns(entry->context, now_mono_ns) > SICK_NS) {
			return context_name(entry->context);
		}
	}
	if (setup_oldest_ns(engine->scan_setup, now_mono_ns) > SICK_NS) {
		const char *name = scan_asks_about(engine->scan);

		return name ? name : "the list of devices";
	}
	return NULL;
}

static void read_replies(struct engine *engine, unsigned max)
{
	struct message *message;

	while (max-- > 0 && (message = mailbox_get(&engine->replies))) {
		struct task *task = list_entry(message, struct task, setup.message);

		task->done(task);
	}
}

static int on_replies(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	read_replies(arg, MESSAGES_AT_ONCE);
	return 0;
}

static int on_reports(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct engine *engine = arg;
	struct message *message;
	unsigned count = 0;

	while (count++ < MESSAGES_AT_ONCE && (message = mailbox_get(&engine->reports))) {
		job_report(list_entry(message, struct worker_report, message));
	}
	return 0;
}

/* --- life --- */

static void done_sources(struct engine *engine)
{
	engine->scan_source = sd_event_source_disable_unref(engine->scan_source);
	engine->replies_source = sd_event_source_disable_unref(engine->replies_source);
	engine->reports_source = sd_event_source_disable_unref(engine->reports_source);
}

static void done(struct engine *engine)
{
	struct context_entry *entry;

	list_each(entry, &engine->contexts, link) {
		list_remove(&entry->link);
		context_free(entry->context);
		free(entry);
	}
	done_sources(engine);
	mailbox_done(&engine->replies);
	mailbox_done(&engine->reports);
	scan_free(engine->scan);
	free(engine->inventory);
	free(engine);
}

static int add_sources(struct engine *engine)
{
	sd_event *event = engine->options.event;
	int ret = sd_event_add_io(event, &engine->replies_source, engine->replies.fd, EPOLLIN, on_replies, engine);

	if (ret < 0) {
		return ret;
	}
	ret = sd_event_add_io(event, &engine->reports_source, engine->reports.fd, EPOLLIN, on_reports, engine);
	if (ret < 0) {
		return ret;
	}
	ret = sd_event_add_time_relative(event, &engine->scan_source, CLOCK_MONOTONIC, SCAN_EVERY_US, SCAN_ACCURACY_US,
					 on_scan_timer, engine);
	return ret < 0 ? ret : sd_event_source_set_enabled(engine->scan_source, SD_EVENT_OFF);
}

int engine_new(struct engine **ret_engine, const struct engine_options *options, const struct daemon_settings *settings,
	       struct error *err)
{
	struct engine *engine = memory_new(sizeof(*engine));
	int ret;

	engine->options = *options;
	engine->settings = *settings;
	list_init(&engine->contexts);
	mailbox_init_fd(&engine->replies);
	mailbox_init_fd(&engine->reports);
	list_init(&engine->pool.jobs);
	engine->pool.replies = &engine->replies;
	engine->pool.reports = &engine->reports;
	engine->pool.sys_root = options->sys_root;
	engine->pool.find_context = find_context;
	engine->pool.arg = engine;
	engine->scan = scan_new(options->sys_root);
	engine->inventory = memory_new(sizeof(*engine->inventory));
	describe_host(engine);
	ret = add_sources(engine);
	if (ret < 0) {
		error_set_call(err, -ret, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add_io",
			       "the engine's event sources cannot be made");
	} else {
		ret = setup_new(&engine->scan_setup, "scan", 1, err);
	}
	if (ret < 0) {
		done(engine);
		return ret;
	}
	begin_scan(engine);
	*ret_engine = engine;
	return 0;
}

int engine_free(struct engine *engine, uint64_t deadline_mono_ns)
{
	struct context_entry *entry;
	int ret;

	if (!engine) {
		return 0;
	}
	assert(list_is_empty(&engine->pool.jobs));
	engine->is_stopping = true;
	/* What came back already may decide what is still open. */
	read_replies(engine, UINT32_MAX);
	list_each(entry, &engine->contexts, link) {
		context_shut(entry->context);
	}
	ret = setup_stop(engine->scan_setup, deadline_mono_ns);
	if (ret == 0) {
		engine->scan_setup = NULL;
	}
	list_each(entry, &engine->contexts, link) {
		int error = context_stop(entry->context, deadline_mono_ns);

		ret = ret < 0 ? ret : error;
	}
	if (ret < 0) {
		/* A thread that hangs may still use any of this: all of it stays. */
		done_sources(engine);
		return ret;
	}
	read_replies(engine, UINT32_MAX);
	done(engine);
	return 0;
}
