// SPDX-License-Identifier: MIT
#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "engine/context.h"
#include "engine/discovery.h"
#include "engine/job.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define MESSAGES_AT_ONCE 32
#define SICK_NS 10000000000ull

struct context_entry {
	struct list link;
	struct context *context;
};

struct engine {
	struct engine_options options;
	struct job_pool pool;
	struct list contexts; /* of struct context_entry; one for each device ever used */
	struct mailbox replies; /* of struct task */
	struct mailbox reports; /* of struct worker_report */
	sd_event_source *replies_source;
	sd_event_source *reports_source;
	struct discovery *discovery;
	bool is_stopping;
};

/* --- inventory --- */

void engine_configure(struct engine *engine, const struct daemon_settings *settings)
{
	discovery_configure(engine->discovery, settings);
}

const struct inventory *engine_inventory(const struct engine *engine)
{
	return discovery_inventory(engine->discovery);
}

bool engine_has_scanned(const struct engine *engine)
{
	return discovery_has_scanned(engine->discovery);
}

const struct error *engine_scan_error(const struct engine *engine)
{
	return discovery_error(engine->discovery);
}

static void on_scanned(void *arg)
{
	struct engine *engine = arg;
	struct context_entry *entry;

	list_each(entry, &engine->contexts, link) {
		if (!discovery_is_present(engine->discovery, context_name(entry->context))) {
			context_vanished(entry->context);
		}
	}
}

static void on_inventory(void *arg, const struct inventory *inventory)
{
	struct engine *engine = arg;

	if (engine->options.inventory && !engine->is_stopping) {
		engine->options.inventory(engine->options.arg, inventory);
	}
}

/* --- devices --- */

static void on_lost(void *arg, struct context *context, const struct error *err)
{
	struct engine *engine = arg;
	struct job *job;

	list_each(job, &engine->pool.jobs, link) {
		job_device_lost(job, context, err);
	}
	discovery_refresh(engine->discovery);
}

static void on_changed(void *arg, struct context *context)
{
	struct engine *engine = arg;

	discovery_refresh(engine->discovery);
}

static void on_noticed(void *arg, struct context *context, const struct device_notice *notice)
{
	struct engine *engine = arg;
	struct job *job;

	list_each(job, &engine->pool.jobs, link) {
		job_device_noticed(job, context, notice);
	}
}

static void on_failed(void *arg, struct context *context, const struct device_notice *notice,
		      enum device_event kind)
{
	struct engine *engine = arg;
	struct job *job;

	list_each(job, &engine->pool.jobs, link) {
		job_device_failed(job, context, notice, kind);
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
		.noticed = on_noticed,
		.failed = on_failed,
		.arg = engine,
	};

	if (!inventory_port(engine_inventory(engine), endpoint->device, endpoint->port_num)) {
		error_set(
			err, -ENODEV, ERROR_DEVICE,
			"RDMA device \"%s\" port %llu is not there, not active or not selected on this node; see `rdmatestctl "
			"devices` and daemon.devices",
			endpoint->device, (unsigned long long)endpoint->port_num);
		err->stage = STAGE_DISCOVER;
		text_copy(err->call, sizeof(err->call), "device");
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
	return discovery_hangs(engine->discovery, now_mono_ns, SICK_NS);
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
	discovery_free(engine->discovery);
	mailbox_done(&engine->replies);
	mailbox_done(&engine->reports);
	free(engine);
}

static int add_sources(struct engine *engine)
{
	sd_event *event = engine->options.event;
	int ret = sd_event_add_io(event, &engine->replies_source, engine->replies.fd, EPOLLIN,
				  on_replies, engine);

	if (ret < 0) {
		return ret;
	}
	return sd_event_add_io(event, &engine->reports_source, engine->reports.fd, EPOLLIN,
			       on_reports, engine);
}

int engine_new(struct engine **ret_engine, const struct engine_options *options,
	       const struct daemon_settings *settings, struct error *err)
{
	struct engine *engine = memory_new(sizeof(*engine));
	struct discovery_options discovery_options = {
		.event = options->event,
		.replies = &engine->replies,
		.sys_root = options->sys_root,
		.scanned = on_scanned,
		.changed = on_inventory,
		.arg = engine,
	};
	int ret;

	engine->options = *options;
	list_init(&engine->contexts);
	mailbox_init_fd(&engine->replies);
	mailbox_init_fd(&engine->reports);
	list_init(&engine->pool.jobs);
	engine->pool.replies = &engine->replies;
	engine->pool.reports = &engine->reports;
	engine->pool.event = options->event;
	engine->pool.sys_root = options->sys_root;
	engine->pool.find_context = find_context;
	engine->pool.arg = engine;
	ret = add_sources(engine);
	if (ret < 0) {
		error_set_call(err, -ret, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add_io",
			       "the engine's event sources cannot be made");
	} else {
		ret = discovery_new(&engine->discovery, &discovery_options, settings, err);
	}
	if (ret < 0) {
		done(engine);
		return ret;
	}
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
	ret = discovery_stop(engine->discovery, deadline_mono_ns);
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
