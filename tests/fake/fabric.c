// SPDX-License-Identifier: MIT
#include "fake/fabric.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake/fake-clock.h"
#include "fake/nic.h"

#define FABRIC_WAIT_LIMIT_S 20 /* a thread that waits longer for an acknowledgement has a bug */
#define FABRIC_PUMP_WAIT_NS 1000000
#define FABRIC_LOOK_NS \
	1000000 /* how often a verb that hangs for ever looks whether it may go on, stepped */

static struct fabric *current;
static _Thread_local const char *current_host;

void nic_die(const char *format, ...)
{
	va_list arguments;

	fputs("fake fabric: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}

void *nic_alloc(size_t count, size_t size_bytes)
{
	void *memory = calloc(count > 0 ? count : 1, size_bytes);

	if (memory == NULL) {
		nic_die("out of memory (%zu x %zu bytes)", count, size_bytes);
	}
	return memory;
}

uint64_t fabric_now_ns(void)
{
	return fake_clock_base_ns();
}

struct fabric *fabric_new(uint64_t seed)
{
	struct fabric *fabric = nic_alloc(1, sizeof(*fabric));
	pthread_condattr_t monotonic;

	pthread_mutex_init(&fabric->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&fabric->changed, &monotonic);
	pthread_cond_init(&fabric->pump_wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	fabric->random = seed;
	list_init(&fabric->manager_ids);
	fabric->links = nic_alloc((size_t)NIC_DEVICES_MAX * NIC_DEVICES_MAX, sizeof(void *));
	return fabric;
}

static void free_events(struct fabric *fabric)
{
	while (fabric->timeline.count > 0) {
		struct event *event = timeline_take(&fabric->timeline);
		free(event->flight.payload);
		free(event);
	}
	while (fabric->free_events != NULL) {
		struct event *event = fabric->free_events;
		fabric->free_events = event->next_free;
		free(event);
	}
	timeline_done(&fabric->timeline);
}

void fabric_free(struct fabric *fabric)
{
	if (fabric == NULL) {
		return;
	}
	if (fabric->is_pumping) {
		nic_die("fabric_free while the pump runs");
	}
	if (fabric_objects(fabric) > 0) {
		fabric_print_objects(fabric, stderr);
		nic_die("fabric_free with %u live verbs objects", fabric_objects(fabric));
	}
	if (current == fabric) {
		current = NULL;
	}
	free_events(fabric);
	link_free_all(fabric);
	for (unsigned i = 0; i < fabric->device_count; i++) {
		lie_forget(fabric->devices[i]);
		free(fabric->devices[i]->host);
		free(fabric->devices[i]);
	}
	pthread_cond_destroy(&fabric->changed);
	pthread_cond_destroy(&fabric->pump_wake);
	pthread_mutex_destroy(&fabric->lock);
	free(fabric);
}

void fabric_use(struct fabric *fabric)
{
	current = fabric;
}

struct fabric *fabric_current(void)
{
	return current;
}

void fabric_enter_host(const char *host)
{
	current_host = host;
}

const char *fabric_host(void)
{
	return current_host;
}

/* splitmix64 */
uint64_t nic_random(struct fabric *fabric)
{
	uint64_t z = (fabric->random += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

struct event *nic_event(struct fabric *fabric, uint64_t at_ns,
			void (*run)(struct fabric *fabric, struct event *event))
{
	struct event *event = fabric->free_events;

	if (event != NULL) {
		fabric->free_events = event->next_free;
	} else {
		event = nic_alloc(1, sizeof(*event));
		fabric->allocated_events++;
	}
	memset(&event->flight, 0, sizeof(event->flight));
	event->run = run;
	timeline_add(&fabric->timeline, at_ns, event);
	if (at_ns < fabric->pump_until_ns) {
		fabric->pump_until_ns = 0;
		pthread_cond_signal(&fabric->pump_wake);
	}
	return event;
}

void nic_run_due(struct fabric *fabric, uint64_t now_ns)
{
	while (timeline_next_ns(&fabric->timeline) <= now_ns) {
		fabric->now_ns = timeline_next_ns(&fabric->timeline);
		struct event *event = timeline_take(&fabric->timeline);
		event->run(fabric, event);
		free(event->flight.payload);
		event->flight.payload = NULL;
		event->next_free = fabric->free_events;
		fabric->free_events = event;
	}
	if (fabric->now_ns < now_ns) {
		fabric->now_ns = now_ns;
	}
}

void nic_lock(struct fabric *fabric)
{
	atomic_fetch_add(&fabric->waiters, 1);
	pthread_mutex_lock(&fabric->lock);
	atomic_fetch_sub(&fabric->waiters, 1);
	nic_run_due(fabric, fabric_now_ns());
}

bool nic_try_lock(struct fabric *fabric)
{
	if (!atomic_load(&fabric->is_threaded)) {
		nic_lock(fabric);
		return true;
	}
	/* a mutex is not fair: many threads that poll would keep one that posts waiting for long */
	if (atomic_load(&fabric->waiters) > 0 || pthread_mutex_trylock(&fabric->lock) != 0) {
		return false;
	}
	nic_run_due(fabric, fabric_now_ns());
	return true;
}

void nic_unlock(struct fabric *fabric)
{
	pthread_mutex_unlock(&fabric->lock);
}

void fabric_run(struct fabric *fabric)
{
	nic_lock(fabric);
	nic_unlock(fabric);
}

bool fabric_touched(struct fabric *fabric, void (*touched)(void *arg, const char *host), void *arg)
{
	pthread_mutex_lock(&fabric->lock);
	bool is_touched = fabric->is_touched;
	fabric->is_touched = false;
	for (unsigned i = 0; is_touched && i < fabric->device_count; i++) {
		struct fabric_device *device = fabric->devices[i];
		if (device->is_touched) {
			device->is_touched = false;
			touched(arg, device->host);
		}
	}
	pthread_mutex_unlock(&fabric->lock);
	return is_touched;
}

bool fabric_is_touched(struct fabric *fabric)
{
	pthread_mutex_lock(&fabric->lock);
	bool is_touched = fabric->is_touched;
	pthread_mutex_unlock(&fabric->lock);
	return is_touched;
}

uint64_t fabric_next_ns(struct fabric *fabric)
{
	pthread_mutex_lock(&fabric->lock);
	uint64_t next_ns = timeline_next_ns(&fabric->timeline);
	pthread_mutex_unlock(&fabric->lock);
	return next_ns;
}

void fabric_memory(struct fabric *fabric, uint64_t *ret_pending, uint64_t *ret_allocated)
{
	pthread_mutex_lock(&fabric->lock);
	*ret_pending = fabric->timeline.count;
	*ret_allocated = fabric->allocated_events;
	pthread_mutex_unlock(&fabric->lock);
}

void fabric_set_threaded(struct fabric *fabric, bool is_threaded)
{
	pthread_mutex_lock(&fabric->lock);
	fabric->is_threaded = is_threaded;
	pthread_cond_broadcast(&fabric->changed);
	pthread_mutex_unlock(&fabric->lock);
}

void fabric_set_pass_time(struct fabric *fabric, void (*pass_time)(void *arg, uint64_t ns),
			  void *arg)
{
	pthread_mutex_lock(&fabric->lock);
	fabric->pass_time = pass_time;
	fabric->pass_time_arg = arg;
	pthread_mutex_unlock(&fabric->lock);
}

uint64_t fabric_spent_ns(struct fabric *fabric)
{
	pthread_mutex_lock(&fabric->lock);
	uint64_t spent_ns = fabric->spent_ns;
	pthread_mutex_unlock(&fabric->lock);
	return spent_ns;
}

static void add_ns(struct timespec *time, uint64_t ns)
{
	ns += (uint64_t)time->tv_nsec;
	time->tv_sec += (time_t)(ns / 1000000000);
	time->tv_nsec = (long)(ns % 1000000000);
}

/* --- the pump --- */

static void *pump(void *arg)
{
	struct fabric *fabric = arg;

	nic_lock(fabric);
	while (fabric->is_pumping) {
		uint64_t now_ns = fabric_now_ns();
		nic_run_due(fabric, now_ns);
		uint64_t until_ns = timeline_next_ns(&fabric->timeline);
		if (until_ns <= now_ns) {
			continue;
		}
		if (until_ns - now_ns > FABRIC_PUMP_WAIT_NS) {
			until_ns = now_ns + FABRIC_PUMP_WAIT_NS;
		}
		struct timespec until;
		clock_gettime(CLOCK_MONOTONIC, &until);
		add_ns(&until, until_ns - now_ns);
		fabric->pump_until_ns = until_ns;
		pthread_cond_timedwait(&fabric->pump_wake, &fabric->lock, &until);
		fabric->pump_until_ns = 0;
	}
	pthread_mutex_unlock(&fabric->lock);
	return NULL;
}

void fabric_pump_start(struct fabric *fabric)
{
	pthread_mutex_lock(&fabric->lock);
	if (!fabric->is_threaded || fabric->is_pumping) {
		nic_die("fabric_pump_start: the fabric is stepped, or the pump runs already");
	}
	fabric->is_pumping = true;
	int r = pthread_create(&fabric->pump, NULL, pump, fabric);
	pthread_mutex_unlock(&fabric->lock);
	if (r != 0) {
		nic_die("pthread_create failed: %d", r);
	}
}

void fabric_pump_stop(struct fabric *fabric)
{
	pthread_mutex_lock(&fabric->lock);
	bool was_pumping = fabric->is_pumping;
	fabric->is_pumping = false;
	pthread_cond_signal(&fabric->pump_wake);
	pthread_mutex_unlock(&fabric->lock);
	if (was_pumping) {
		pthread_join(fabric->pump, NULL);
	}
}

/* --- the cost and the failure of verbs --- */

static bool fault_hits(struct fabric_device *device, enum fabric_verb verb,
		       struct fabric_verb_fault *ret_fault)
{
	struct fabric_verb_fault *fault = &device->faults[verb];

	if (!device->has_fault[verb]) {
		return false;
	}
	if (fault->skip > 0) {
		fault->skip--;
		return false;
	}
	*ret_fault = *fault;
	if (fault->count > 0 && --fault->count == 0) {
		device->has_fault[verb] = false;
	}
	return true;
}

/* Released and taken again: the other threads go on meanwhile. */
static void spend_threaded(struct fabric_device *device, enum fabric_verb verb, uint64_t cost_ns)
{
	struct fabric *fabric = device->fabric;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	if (cost_ns != UINT64_MAX) {
		add_ns(&until, cost_ns);
		while (pthread_cond_timedwait(&fabric->changed, &fabric->lock, &until) == 0) {
		}
		return;
	}
	unsigned version = device->fault_version[verb];
	while (device->fault_version[verb] == version && !device->is_removed) {
		pthread_cond_wait(&fabric->changed, &fabric->lock);
	}
}

static void pass_time(struct fabric *fabric, uint64_t ns)
{
	if (fabric->pass_time != NULL) {
		nic_unlock(fabric);
		fabric->pass_time(fabric->pass_time_arg, ns);
		nic_lock(fabric);
	}
}

static void spend(struct fabric_device *device, enum fabric_verb verb, uint64_t cost_ns)
{
	struct fabric *fabric = device->fabric;

	if (fabric->is_threaded) {
		spend_threaded(device, verb, cost_ns);
		return;
	}
	if (cost_ns != UINT64_MAX) {
		fabric->spent_ns += cost_ns;
		pass_time(fabric, cost_ns);
		return;
	}
	if (fabric->pass_time == NULL) {
		nic_die("%s: verb %d would block for ever", device->ib.name, verb);
	}
	unsigned version = device->fault_version[verb];
	while (device->fault_version[verb] == version && !device->is_removed) {
		pass_time(fabric, FABRIC_LOOK_NS);
	}
}

int verb_enter(struct fabric_device *device, enum fabric_verb verb)
{
	struct fabric_verb_fault fault = { 0 };

	nic_lock(device->fabric);
	bool is_hit = fault_hits(device, verb, &fault);
	if (is_hit && fault.cost_ns > 0) {
		spend(device, verb, fault.cost_ns);
		nic_run_due(device->fabric, fabric_now_ns());
	}
	int error = is_hit ? fault.error : 0;
	if (device->is_removed) {
		error = verb == FABRIC_OPEN_DEVICE ? ENODEV : EIO;
	}
	if (error != 0) {
		nic_unlock(device->fabric);
	}
	return error;
}

void verb_leave(struct fabric_device *device)
{
	nic_unlock(device->fabric);
}

int verb_check(struct fabric_device *device, enum fabric_verb verb)
{
	struct fabric_verb_fault fault = { 0 };

	if (device->is_removed) {
		return EIO;
	}
	return fault_hits(device, verb, &fault) ? fault.error : 0;
}

void object_wait_acked(struct fabric *fabric, const unsigned *count, const char *what)
{
	struct timespec until;

	if (*count == 0) {
		return;
	}
	if (!fabric->is_threaded) {
		nic_die("%s with %u events not acknowledged would block for ever", what, *count);
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += FABRIC_WAIT_LIMIT_S;
	while (*count > 0) {
		if (pthread_cond_timedwait(&fabric->changed, &fabric->lock, &until) == ETIMEDOUT) {
			nic_die("%s: %u events not acknowledged for %d s", what, *count,
				FABRIC_WAIT_LIMIT_S);
		}
	}
}
