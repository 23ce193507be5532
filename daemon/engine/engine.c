// SPDX-License-Identifier: MIT
#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <sys/epoll.h>

#include "engine/devices.h"
#include "engine/discovery.h"
#include "engine/job.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define MESSAGES_AT_ONCE 32

struct engine {
	struct engine_options options;
	struct job_pool pool;
	struct devices *devices;
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

uint64_t engine_scanned_mono_ns(const struct engine *engine)
{
	return discovery_scanned_mono_ns(engine->discovery);
}

const struct error *engine_scan_error(const struct engine *engine)
{
	return discovery_error(engine->discovery);
}

static void on_scanned(void *arg)
{
	struct engine *engine = arg;

	devices_scanned(engine->devices);
}

static void on_scan_health(void *arg, const struct hang *hang, bool has_begun)
{
	struct engine *engine = arg;

	devices_scan_health(engine->devices, hang, has_begun);
}

static size_t name_sick(void *arg, char (*ret_names)[LIMIT_NAME], size_t max)
{
	struct engine *engine = arg;
	struct hang hangs[HANGS_MAX];
	size_t count =
		devices_hangs(engine->devices, false, hangs, max < HANGS_MAX ? max : HANGS_MAX);

	for (size_t i = 0; i < count; i++) {
		text_copy(ret_names[i], LIMIT_NAME, hangs[i].device);
	}
	return count;
}

static void on_inventory(void *arg, const struct inventory *inventory)
{
	struct engine *engine = arg;

	if (engine->options.inventory && !engine->is_stopping) {
		engine->options.inventory(engine->options.arg, inventory);
	}
}

/* --- devices --- */

static struct context *find_context(void *arg, const struct endpoint *endpoint, struct error *err)
{
	struct engine *engine = arg;

	return devices_context(engine->devices, endpoint, err);
}

static bool is_sick(void *arg, const char *device, struct error *err)
{
	struct hang hang;

	if (!engine_is_sick(arg, device, &hang)) {
		return false;
	}
	hang_refuse(&hang, clock_mono_ns(), err);
	return true;
}

static void on_health(void *arg, const struct hang *hang, bool is_sick)
{
	struct engine *engine = arg;

	if (engine->options.health) {
		engine->options.health(engine->options.arg, hang, is_sick);
	}
}

size_t engine_hangs(struct engine *engine, struct hang *ret, size_t max)
{
	return devices_hangs(engine->devices, true, ret, max);
}

bool engine_is_sick(struct engine *engine, const char *device, struct hang *ret)
{
	struct hang hangs[HANGS_MAX];
	size_t count = devices_hangs(engine->devices, true, hangs, HANGS_MAX);
	const struct hang *hang = devices_find_hang(hangs, count, device);

	if (hang) {
		*ret = *hang;
	}
	return hang != NULL;
}

bool engine_waits_for(struct engine *engine, struct hang *ret)
{
	return devices_wait_for(engine->devices, ret);
}

/* --- what all jobs do --- */

struct job_pool *engine_job_pool(struct engine *engine)
{
	return &engine->pool;
}

void engine_usage(const struct engine *engine, struct engine_usage *ret)
{
	struct job *job;
	struct hang hangs[HANGS_MAX];
	size_t count = devices_hangs(engine->devices, false, hangs, HANGS_MAX);

	*ret = (struct engine_usage){ 0 };
	list_each(job, &engine->pool.jobs, link) {
		ret->jobs++;
		ret->stuck_jobs += job->context &&
				   devices_find_hang(hangs, count, context_name(job->context));
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

static void read_replies(struct engine *engine, unsigned max)
{
	struct message *message;

	while (max-- > 0 && (message = mailbox_get(&engine->replies))) {
		struct task *task = list_entry(message, struct task, setup.message);

		task->done(task);
	}
	devices_look(engine->devices);
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
	devices_look(engine->devices);
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
	devices_free(engine->devices);
	done_sources(engine);
	discovery_free(engine->discovery);
	mailbox_done(&engine->replies);
	mailbox_done(&engine->reports);
	free(engine);
}

static int add_sources(struct engine *engine, struct error *err)
{
	sd_event *event = engine->options.event;
	int ret = sd_event_add_io(event, &engine->replies_source, engine->replies.fd, EPOLLIN,
				  on_replies, engine);

	if (ret >= 0) {
		ret = sd_event_add_io(event, &engine->reports_source, engine->reports.fd, EPOLLIN,
				      on_reports, engine);
	}
	if (ret < 0) {
		return error_set_call(err, -ret, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add_io",
				      "the engine's event sources cannot be made");
	}
	return 0;
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
		.health = on_scan_health,
		.sick = name_sick,
		.arg = engine,
	};
	struct devices_options devices_options = {
		.event = options->event,
		.replies = &engine->replies,
		.pool = &engine->pool,
		.health = on_health,
		.arg = engine,
	};
	int error;
	int ret;

	engine->options = *options;
	ret = mailbox_init_fd(&engine->replies, err);
	error = mailbox_init_fd(&engine->reports, err);
	ret = ret < 0 ? ret : error;
	list_init(&engine->pool.jobs);
	engine->pool.replies = &engine->replies;
	engine->pool.reports = &engine->reports;
	engine->pool.event = options->event;
	engine->pool.sys_root = options->sys_root;
	engine->pool.find_context = find_context;
	engine->pool.is_sick = is_sick;
	engine->pool.arg = engine;
	engine->devices = devices_new(&devices_options);
	if (ret == 0) {
		ret = add_sources(engine, err);
	}
	if (ret == 0) {
		ret = discovery_new(&engine->discovery, &discovery_options, settings, err);
	}
	if (ret < 0) {
		done(engine);
		return ret;
	}
	devices_set_discovery(engine->devices, engine->discovery);
	*ret_engine = engine;
	return 0;
}

int engine_free(struct engine *engine, uint64_t deadline_mono_ns)
{
	int ret;
	int error;

	if (!engine) {
		return 0;
	}
	assert(list_is_empty(&engine->pool.jobs));
	engine->is_stopping = true;
	/* What came back already may decide what is still open. */
	read_replies(engine, UINT32_MAX);
	devices_shut(engine->devices);
	ret = discovery_stop(engine->discovery, deadline_mono_ns);
	error = devices_stop(engine->devices, deadline_mono_ns);
	ret = ret < 0 ? ret : error;
	if (ret < 0) {
		/* A thread that hangs may still use any of this: all of it stays. */
		done_sources(engine);
		return ret;
	}
	read_replies(engine, UINT32_MAX);
	done(engine);
	return 0;
}
