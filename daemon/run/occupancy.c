// SPDX-License-Identifier: MIT
#include "run/occupancy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "run/occupancy_read.h"
#include "util/clock.h"
#include "util/list.h"
#include "util/mailbox.h"
#include "util/memory.h"
#include "util/text.h"
#include "verbs/setup.h"

#define EVERY_NS 1000000000ull
/* Older than this is not "the last seconds". */
#define OLDEST_NS 3500000000ull
#define READINGS 4
/* One that hangs on a sick device holds up no other. */
#define THREADS 2

struct watched {
	char device[LIMIT_NAME];
	uint64_t port_num;
	unsigned own_jobs;
	uint64_t epoch; /* counts beginnings and ends of our own */
	size_t count;
	struct occupancy_reading readings[READINGS]; /* the oldest first; none of our own traffic */
};

struct occupancy {
	struct occupancy_options options;
	struct setup *setup;
	struct mailbox replies; /* of struct task */
	sd_event_source *replies_source;
	sd_event_source *timer;
	struct list looks;
	bool is_reading; /* the reading of all ports is under way */
	size_t count;
	struct watched ports[LIMIT_PORTS];
};

struct task {
	struct setup_task setup; /* first */
	struct occupancy *occupancy;
	void (*done)(struct task *task); /* on the loop; frees it */
};

struct item {
	char device[LIMIT_NAME];
	uint64_t port_num;
	uint64_t epoch;
	struct occupancy_reading reading;
};

struct sweep {
	struct task task;
	size_t count;
	struct item items[LIMIT_PORTS];
};

struct look_task {
	struct task task;
	struct occupancy_look *look; /* NULL once it is over */
	bool wants_users;
	struct item item;
	struct port_use use; /* users alone */
};

struct occupancy_look {
	struct list link;
	struct occupancy *occupancy;
	char device[LIMIT_NAME];
	uint64_t port_num;
	occupancy_done_fn done;
	void *arg;
	sd_event_source *timer; /* the next reading, and the deadline */
	uint64_t deadline_mono_ns;
	struct look_task *task; /* under way, or NULL */
	bool has_users; /* were asked for */
	struct port_use use;
};

static void submit(struct occupancy *occupancy, struct task *task,
		   void (*run)(struct setup_task *task), void (*done)(struct task *task))
{
	task->setup.run = run;
	task->setup.reply = &occupancy->replies;
	task->occupancy = occupancy;
	task->done = done;
	setup_submit(occupancy->setup, &task->setup);
}

/* --- ports --- */

static struct watched *find_port(struct occupancy *occupancy, const char *device, uint64_t port_num)
{
	for (size_t i = 0; i < occupancy->count; i++) {
		struct watched *port = &occupancy->ports[i];

		if (port->port_num == port_num && strcmp(port->device, device) == 0) {
			return port;
		}
	}
	return NULL;
}

/* NULL when there is no room: such a port has no readings but those of a look. */
static struct watched *watch_port(struct occupancy *occupancy, const char *device,
				  uint64_t port_num)
{
	struct watched *port = find_port(occupancy, device, port_num);

	if (port != NULL || occupancy->count == LIMIT_PORTS) {
		return port;
	}
	port = &occupancy->ports[occupancy->count++];
	*port = (struct watched){ .port_num = port_num };
	text_copy(port->device, sizeof(port->device), device);
	return port;
}

static void drop_vanished(struct occupancy *occupancy, const struct inventory *inventory)
{
	size_t kept = 0;

	for (size_t i = 0; i < occupancy->count; i++) {
		const struct watched *port = &occupancy->ports[i];

		if (port->own_jobs > 0 ||
		    inventory_port(inventory, port->device, port->port_num) != NULL) {
			occupancy->ports[kept++] = *port;
		}
	}
	occupancy->count = kept;
}

static void keep_reading(struct watched *port, const struct occupancy_reading *reading)
{
	if (port->count == READINGS) {
		memmove(&port->readings[0], &port->readings[1],
			(READINGS - 1) * sizeof(port->readings[0]));
		port->count--;
	}
	port->readings[port->count++] = *reading;
}

static void note_own(struct occupancy *occupancy, const char *device, uint64_t port_num, int step)
{
	struct watched *port = watch_port(occupancy, device, port_num);

	if (port != NULL) {
		port->own_jobs = (unsigned)((int)port->own_jobs + step);
		port->epoch++;
		port->count = 0;
	}
}

void occupancy_begin_own(struct occupancy *occupancy, const char *device, uint64_t port_num)
{
	note_own(occupancy, device, port_num, 1);
}

void occupancy_end_own(struct occupancy *occupancy, const char *device, uint64_t port_num)
{
	const struct watched *port = find_port(occupancy, device, port_num);

	if (port != NULL && port->own_jobs > 0) {
		note_own(occupancy, device, port_num, -1);
	}
}

/* --- a reading of every port each second --- */

static void run_sweep(struct setup_task *setup)
{
	struct sweep *sweep = (struct sweep *)setup;

	for (size_t i = 0; i < sweep->count; i++) {
		struct item *item = &sweep->items[i];

		occupancy_read(sweep->task.occupancy->options.sys_root, item->device,
			       item->port_num, &item->reading);
	}
}

static void done_sweep(struct task *task)
{
	struct sweep *sweep = (struct sweep *)task;

	task->occupancy->is_reading = false;
	for (size_t i = 0; i < sweep->count; i++) {
		const struct item *item = &sweep->items[i];
		struct watched *port = find_port(task->occupancy, item->device, item->port_num);

		if (port != NULL && port->epoch == item->epoch) {
			keep_reading(port, &item->reading);
		}
	}
	free(sweep);
}

/* A measurement is not to be disturbed, on whatever port it goes on. */
static bool has_own(const struct occupancy *occupancy)
{
	for (size_t i = 0; i < occupancy->count; i++) {
		if (occupancy->ports[i].own_jobs > 0) {
			return true;
		}
	}
	return false;
}

static void begin_sweep(struct occupancy *occupancy)
{
	struct sweep *sweep = memory_new(sizeof(*sweep));

	for (size_t i = 0; i < occupancy->count; i++) {
		const struct watched *port = &occupancy->ports[i];
		struct item *item = &sweep->items[sweep->count++];

		text_copy(item->device, sizeof(item->device), port->device);
		item->port_num = port->port_num;
		item->epoch = port->epoch;
	}
	occupancy->is_reading = true;
	submit(occupancy, &sweep->task, run_sweep, done_sweep);
}

static void arm(sd_event_source *timer, uint64_t when_mono_ns)
{
	sd_event_source_set_time(timer, when_mono_ns / 1000 + 1);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct occupancy *occupancy = arg;
	const struct inventory *inventory = occupancy->options.inventory(occupancy->options.arg);

	drop_vanished(occupancy, inventory);
	for (size_t i = 0; i < inventory->port_count; i++) {
		watch_port(occupancy, inventory->ports[i].device, inventory->ports[i].port_num);
	}
	if (!occupancy->is_reading && occupancy->count > 0 && !has_own(occupancy)) {
		begin_sweep(occupancy);
	}
	arm(source, clock_mono_ns() + EVERY_NS);
	return 0;
}

/* --- a closer look --- */

static void free_look(struct occupancy_look *look)
{
	if (look->task != NULL) {
		look->task->look = NULL;
	}
	list_remove(&look->link);
	sd_event_source_disable_unref(look->timer);
	free(look);
}

static void end_look(struct occupancy_look *look)
{
	struct port_use use = look->use;
	occupancy_done_fn done = look->done;
	void *arg = look->arg;

	free_look(look);
	done(arg, &use);
}

static void run_look(struct setup_task *setup)
{
	struct look_task *own = (struct look_task *)setup;
	const char *root = own->task.occupancy->options.sys_root;

	if (own->wants_users) {
		occupancy_read_users(root, own->item.device, &own->use);
	}
	occupancy_read(root, own->item.device, own->item.port_num, &own->item.reading);
}

/* The oldest reading that is not too old; NULL when there is none. */
static const struct occupancy_reading *oldest(const struct watched *port, uint64_t now_mono_ns)
{
	for (size_t i = 0; i < port->count; i++) {
		if (now_mono_ns - port->readings[i].mono_ns <= OLDEST_NS) {
			return &port->readings[i];
		}
	}
	return NULL;
}

static void weigh(struct occupancy_look *look, const struct item *item)
{
	struct watched *port = find_port(look->occupancy, item->device, item->port_num);
	const struct occupancy_reading *from;

	if (port == NULL || look->use.qp_count > 0) {
		end_look(look);
		return;
	}
	from = oldest(port, item->reading.mono_ns);
	if (from == NULL) {
		port->count = 0;
		keep_reading(port, &item->reading);
		arm(look->timer, item->reading.mono_ns + OCCUPANCY_WINDOW_NS);
		return;
	}
	if (item->reading.mono_ns - from->mono_ns < OCCUPANCY_WINDOW_NS) {
		arm(look->timer, from->mono_ns + OCCUPANCY_WINDOW_NS);
		return;
	}
	occupancy_read_growth(from, &item->reading, &look->use);
	end_look(look);
}

static void begin_look(struct occupancy_look *look);

static void done_look(struct task *task)
{
	struct look_task *own = (struct look_task *)task;
	struct occupancy_look *look = own->look;
	const struct watched *port;

	if (look != NULL) {
		look->task = NULL;
		if (own->wants_users) {
			look->use = own->use;
			look->has_users = true;
		}
		port = find_port(task->occupancy, own->item.device, own->item.port_num);
		if (port != NULL && port->epoch != own->item.epoch) {
			begin_look(look); /* a job of ours came or went meanwhile */
		} else {
			weigh(look, &own->item);
		}
	}
	free(own);
}

static void begin_look(struct occupancy_look *look)
{
	struct look_task *own = memory_new(sizeof(*own));
	const struct watched *port = watch_port(look->occupancy, look->device, look->port_num);

	own->look = look;
	own->wants_users = !look->has_users;
	text_copy(own->item.device, sizeof(own->item.device), look->device);
	own->item.port_num = look->port_num;
	own->item.epoch = port != NULL ? port->epoch : 0;
	look->task = own;
	submit(look->occupancy, &own->task, run_look, done_look);
	arm(look->timer, look->deadline_mono_ns);
}

static int on_look_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct occupancy_look *look = arg;

	if (clock_mono_ns() < look->deadline_mono_ns && look->task == NULL) {
		begin_look(look);
		return 0;
	}
	if (!look->use.has_traffic) {
		text_copy(look->use.unseen, sizeof(look->use.unseen),
			  "its counters were not read within 2 s");
	}
	end_look(look);
	return 0;
}

struct occupancy_look *occupancy_look(struct occupancy *occupancy, const char *device,
				      uint64_t port_num, occupancy_done_fn done, void *arg)
{
	struct occupancy_look *look = memory_new(sizeof(*look));

	look->occupancy = occupancy;
	text_copy(look->device, sizeof(look->device), device);
	look->port_num = port_num;
	look->done = done;
	look->arg = arg;
	look->deadline_mono_ns = clock_mono_ns() + OCCUPANCY_LOOK_NS;
	list_append(&occupancy->looks, &look->link);
	if (sd_event_add_time(occupancy->options.event, &look->timer, CLOCK_MONOTONIC, 0, 1000,
			      on_look_timer, look) < 0) {
		abort(); /* out of memory only */
	}
	begin_look(look);
	return look;
}

void occupancy_cancel(struct occupancy_look *look)
{
	free_look(look);
}

/* --- life --- */

static void read_replies(struct occupancy *occupancy)
{
	struct message *message;

	while ((message = mailbox_get(&occupancy->replies)) != NULL) {
		struct task *task = list_entry(message, struct task, setup.message);

		task->done(task);
	}
}

static int on_replies(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	read_replies(arg);
	return 0;
}

static void done(struct occupancy *occupancy)
{
	sd_event_source_disable_unref(occupancy->timer);
	sd_event_source_disable_unref(occupancy->replies_source);
	mailbox_done(&occupancy->replies);
	free(occupancy);
}

static int add_sources(struct occupancy *occupancy, struct error *err)
{
	sd_event *event = occupancy->options.event;
	int r = sd_event_add_io(event, &occupancy->replies_source, occupancy->replies.fd, EPOLLIN,
				on_replies, occupancy);

	if (r >= 0) {
		r = sd_event_add_time(event, &occupancy->timer, CLOCK_MONOTONIC, 0, 50000, on_timer,
				      occupancy);
	}
	if (r < 0) {
		return error_set_call(err, -r, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add",
				      "the event sources of the port readings cannot be made");
	}
	return 0;
}

int occupancy_new(struct occupancy **ret, const struct occupancy_options *options,
		  struct error *err)
{
	struct occupancy *occupancy = memory_new(sizeof(*occupancy));
	int r;

	occupancy->options = *options;
	list_init(&occupancy->looks);
	r = mailbox_init_fd(&occupancy->replies, err);
	if (r >= 0) {
		r = add_sources(occupancy, err);
	}
	if (r >= 0) {
		r = setup_new(&occupancy->setup, "ports", THREADS, err);
	}
	if (r < 0) {
		done(occupancy);
		return r;
	}
	*ret = occupancy;
	return 0;
}

int occupancy_free(struct occupancy *occupancy, uint64_t deadline_mono_ns)
{
	int r;

	if (occupancy == NULL) {
		return 0;
	}
	r = setup_stop(occupancy->setup, deadline_mono_ns);
	if (r < 0) {
		/* A thread that hangs may still use any of this. */
		occupancy->timer = sd_event_source_disable_unref(occupancy->timer);
		return r;
	}
	read_replies(occupancy);
	done(occupancy);
	return 0;
}
