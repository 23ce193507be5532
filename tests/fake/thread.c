// SPDX-License-Identifier: MIT
/*
 * util/thread for tests. In a world a thread is a fiber that the world steps; without one it is the
 * product's: its source is taken in under other names.
 */
#define thread real_thread
#define thread_start real_thread_start
#define thread_wake real_thread_wake
#define thread_join real_thread_join
#define thread_cpus real_thread_cpus
#define thread_cpu real_thread_cpu
#define thread_cpu_ns real_thread_cpu_ns
#define thread_mark real_thread_mark
#define thread_doing real_thread_doing
#include "util/thread.c" /* NOLINT(bugprone-suspicious-include) */
#undef thread
#undef thread_start
#undef thread_wake
#undef thread_join
#undef thread_cpus
#undef thread_cpu
#undef thread_cpu_ns
#undef thread_mark
#undef thread_doing

#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "fake/fake-clock.h"
#include "fake/inside.h"

#define FIBER_STACK_BYTES (1 << 20)
#define FIBER_CPUS 8
#define FIBER_JOIN_STEP_NS 1000 /* at first; each next one twice as long, up to the most */
#define FIBER_JOIN_STEP_MOST_NS 100000

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

struct thread;
int thread_start(struct thread **ret, const struct thread_options *options, thread_step_fn step,
		 void *arg, struct error *err);
void thread_wake(struct thread *thread);
int thread_join(struct thread **thread, uint64_t deadline_mono_ns);
unsigned thread_cpus(int *cpus, unsigned max);
int thread_cpu(void);
uint64_t thread_cpu_ns(const struct thread *thread);
void thread_mark(const char *doing);
const char *thread_doing(const struct thread *thread, uint64_t *ret_since_mono_ns);

/* A thread of a world. */
struct fiber {
	struct list link; /* in node->threads */
	struct list hot_link; /* in hot_fibers, while is_hot */
	struct node *node;
	char name[16];
	thread_step_fn step;
	void *arg;
	struct thread_next next; /* what its last step wanted; until_mono_ns on the node's clock */
	bool is_woken;
	uint64_t seen_news; /* node->news before its last step */
	bool is_running;
	bool is_hot; /* busy-polls: stepped without a switch, it never blocks */
	uint64_t asleep_until_ns; /* in a slow verb; 0: not */
	const char *doing;
	uint64_t doing_since_mono_ns;
	ucontext_t context;
	void *stack;
	void *sanitizer_stack; /* fake stack (address) or fiber (thread sanitizer) */
};

static struct list hot_fibers = LIST_INIT(hot_fibers);
/* The earliest that one of the others wants; only a hint if must_look. */
static uint64_t cool_next_ns;
static bool must_look = true;

/* The one that runs, or NULL: the world itself. */
static struct fiber *running;
/* The same, and one that is stepped without a switch. */
static struct fiber *stepped;
static ucontext_t world_context;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void *world_sanitizer_stack;
#endif
#if defined(__SANITIZE_ADDRESS__)
static const void *world_stack;
static size_t world_stack_bytes;
#endif

static void switch_to_world(struct fiber *fiber, bool is_last)
{
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(is_last ? NULL : &fiber->sanitizer_stack, world_stack,
				       world_stack_bytes);
#elif defined(__SANITIZE_THREAD__)
	__tsan_switch_to_fiber(world_sanitizer_stack, 0);
#endif
	(void)is_last;
	swapcontext(&fiber->context, &world_context);
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(fiber->sanitizer_stack, &world_stack, &world_stack_bytes);
#endif
}

static void switch_to_fiber(struct fiber *fiber)
{
	running = fiber;
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_start_switch_fiber(&world_sanitizer_stack, fiber->stack, FIBER_STACK_BYTES);
#elif defined(__SANITIZE_THREAD__)
	world_sanitizer_stack = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(fiber->sanitizer_stack, 0);
#endif
	swapcontext(&world_context, &fiber->context);
#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(world_sanitizer_stack, NULL, NULL);
#endif
	running = NULL;
}

static void fiber_main(void)
{
	struct fiber *fiber = running;

#if defined(__SANITIZE_ADDRESS__)
	__sanitizer_finish_switch_fiber(NULL, &world_stack, &world_stack_bytes);
#endif
	do {
		fiber->next = fiber->step(fiber->arg);
		switch_to_world(fiber, fiber->next.want == THREAD_DONE);
	} while (fiber->next.want != THREAD_DONE);
}

static struct fiber *fiber_new(struct node *node, const struct thread_options *options,
			       thread_step_fn step, void *arg)
{
	struct fiber *fiber = memory_new(sizeof(*fiber));

	fiber->node = node;
	fiber->step = step;
	fiber->arg = arg;
	fiber->next.want = THREAD_AGAIN;
	text_copy(fiber->name, sizeof(fiber->name), options->name);
	fiber->stack = mmap(NULL, FIBER_STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fiber->stack == MAP_FAILED) {
		inside_die(node->world, "no memory for a thread's stack");
	}
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = FIBER_STACK_BYTES;
	makecontext(&fiber->context, fiber_main, 0);
#if defined(__SANITIZE_THREAD__)
	fiber->sanitizer_stack = __tsan_create_fiber(0);
#endif
	list_init(&fiber->hot_link);
	list_append(&node->threads, &fiber->link);
	must_look = true;
	return fiber;
}

static void fiber_free(struct fiber *fiber)
{
	list_remove(&fiber->link);
	list_remove(&fiber->hot_link);
#if defined(__SANITIZE_THREAD__)
	__tsan_destroy_fiber(fiber->sanitizer_stack);
#endif
	munmap(fiber->stack, FIBER_STACK_BYTES);
	free(fiber);
}

static bool is_held(const struct fiber *fiber)
{
	return fiber->node->held[0] != '\0' && strcmp(fiber->name, fiber->node->held) == 0;
}

static bool waits_for_descriptor(const struct fiber *fiber)
{
	return fiber->next.want == THREAD_WAIT_FD && fiber->asleep_until_ns == 0;
}

static bool has_descriptor_ready(const struct fiber *fiber)
{
	struct pollfd fd = { .fd = fiber->next.fd, .events = POLLIN };

	return waits_for_descriptor(fiber) && poll(&fd, 1, 0) > 0;
}

static uint64_t wants_at_ns(const struct fiber *fiber)
{
	if (is_held(fiber)) {
		return UINT64_MAX;
	}
	if (fiber->asleep_until_ns > 0) {
		return fiber->asleep_until_ns;
	}
	if (fiber->next.want == THREAD_DONE) {
		return UINT64_MAX;
	}
	if (fiber->next.want == THREAD_AGAIN || fiber->is_woken || has_descriptor_ready(fiber)) {
		return 0;
	}
	if (fiber->next.until_mono_ns == CLOCK_NEVER) {
		return UINT64_MAX;
	}
	return fiber->next.until_mono_ns > fiber->node->mono_offset_ns
		       ? fiber->next.until_mono_ns - fiber->node->mono_offset_ns
		       : 0;
}

static unsigned fiber_run(struct fiber *fiber)
{
	bool is_due = wants_at_ns(fiber) <= fake_clock_now_ns();
	bool was_hot = fiber->is_hot;

	if (fiber->is_running || is_held(fiber) || (fiber->asleep_until_ns > 0 && !is_due) ||
	    (fiber->asleep_until_ns == 0 && fiber->next.want != THREAD_POLL && !is_due) ||
	    (was_hot && !is_due && fiber->seen_news == fiber->node->news)) {
		return 0;
	}
	struct node *before = inside_enter(fiber->node);
	fiber->asleep_until_ns = 0;
	fiber->seen_news = fiber->node->news;
	fiber->is_woken = false;
	fiber->is_running = true;
	struct fiber *stepped_before = stepped;
	stepped = fiber;
	if (fiber->is_hot) {
		fiber->next = fiber->step(fiber->arg);
	} else {
		switch_to_fiber(fiber);
	}
	stepped = stepped_before;
	fiber->is_hot = fiber->asleep_until_ns == 0 &&
			(fiber->next.want == THREAD_POLL ||
			 (fiber->is_hot && fiber->next.want == THREAD_AGAIN));
	if (was_hot != fiber->is_hot) {
		list_remove(&fiber->hot_link);
		if (fiber->is_hot) {
			list_append(&hot_fibers, &fiber->hot_link);
		}
	}
	if (!was_hot || !fiber->is_hot) {
		must_look = true;
		fiber->node->news++;
	}
	fiber->is_running = false;
	inside_enter(before);
	if (!is_due && fiber->next.want != THREAD_AGAIN && fiber->next.want != THREAD_DONE) {
		return 0;
	}
	return was_hot && fiber->is_hot ? STEPPED_HOT : STEPPED;
}

static unsigned step_hot(uint64_t *steps)
{
	unsigned done = 0;
	struct fiber *fiber;

	list_each(fiber, &hot_fibers, hot_link) {
		if (!fiber->node->is_frozen) {
			done |= fiber_run(fiber);
			(*steps)++;
		}
	}
	return done;
}

void thread_look_again(void)
{
	must_look = true;
}

/* Of all threads that do not busy-poll. */
static void find_next(struct world *world)
{
	struct node *node;

	cool_next_ns = UINT64_MAX;
	must_look = false;
	list_each(node, inside_nodes(world), link) {
		for (struct list *at = node->threads.next; at != &node->threads && !node->is_frozen;
		     at = at->next) {
			struct fiber *fiber = list_entry(at, struct fiber, link);
			uint64_t at_ns = fiber->is_hot ? UINT64_MAX : wants_at_ns(fiber);
			cool_next_ns = at_ns < cool_next_ns ? at_ns : cool_next_ns;
			/* Nobody says when it can be read. */
			must_look |= waits_for_descriptor(fiber);
		}
	}
}

static unsigned step_node(struct node *node, uint64_t *steps)
{
	unsigned done = 0;
	struct fiber *fiber;

	list_each(fiber, &node->threads, link) {
		done |= fiber_run(fiber);
		(*steps)++;
	}
	return done;
}

unsigned thread_step_all(struct world *world, struct node *node, uint64_t *steps)
{
	unsigned done = 0;

	if (node != NULL) {
		return step_node(node, steps);
	}
	if (!must_look && cool_next_ns > fake_clock_now_ns()) {
		return step_hot(steps);
	}
	list_each(node, inside_nodes(world), link) {
		if (!node->is_frozen) {
			done |= step_node(node, steps);
		}
	}
	return done;
}

uint64_t thread_next_ns(struct world *world)
{
	struct fiber *fiber;

	if (must_look) {
		find_next(world);
	}
	uint64_t next_ns = cool_next_ns;
	list_each(fiber, &hot_fibers, hot_link) {
		uint64_t at_ns = fiber->node->is_frozen ? UINT64_MAX : wants_at_ns(fiber);
		next_ns = at_ns < next_ns ? at_ns : next_ns;
	}
	return next_ns;
}

void thread_print_all(struct world *world)
{
	static const char *const wants[] = { "runs", "polls", "waits", "waits for a descriptor",
					     "is done" };
	struct node *node;

	list_each(node, inside_nodes(world), link) {
		for (struct list *at = node->threads.next; at != &node->threads; at = at->next) {
			struct fiber *fiber = list_entry(at, struct fiber, link);
			fprintf(stderr, "world: %s: thread %s %s until %lu ns\n", node->name,
				fiber->name,
				fiber->asleep_until_ns > 0 ? "is in a slow verb"
							   : wants[fiber->next.want],
				(unsigned long)wants_at_ns(fiber));
		}
	}
}

void thread_pass_time(void *world, uint64_t ns)
{
	uint64_t until_ns = fake_clock_now_ns() + ns;

	(void)world;
	if (running == NULL) {
		fake_clock_set(until_ns); /* the loop itself is held up, and the world with it */
		return;
	}
	running->asleep_until_ns = until_ns;
	switch_to_world(running, false);
}

int thread_start(struct thread **ret, const struct thread_options *options, thread_step_fn step,
		 void *arg, struct error *err)
{
	if (inside_node() == NULL) {
		return real_thread_start((struct real_thread **)ret, options, step, arg, err);
	}
	*ret = (struct thread *)fiber_new(inside_node(), options, step, arg);
	return 0;
}

void thread_wake(struct thread *thread)
{
	if (inside_world() == NULL) {
		real_thread_wake((struct real_thread *)thread);
	} else {
		((struct fiber *)thread)->is_woken = true;
		must_look = true;
	}
}

/* Lets a little time pass for the others of the node, up to the deadline. */
static void wait_for_others(struct node *node, uint64_t step_ns, uint64_t deadline_ns)
{
	uint64_t steps = 0;
	uint64_t until_ns = fake_clock_now_ns() + step_ns;

	until_ns = until_ns < deadline_ns ? until_ns : deadline_ns;
	if (running != NULL) {
		running->asleep_until_ns = until_ns;
		switch_to_world(running, false);
		return;
	}
	for (int i = 0; thread_step_all(node->world, node, &steps) != 0; i++) {
		if (i == 1000000) {
			inside_die(node->world, "thread_join: the node's threads never rest");
		}
	}
	fake_clock_set(until_ns);
	fabric_run(world_fabric(node->world));
}

int thread_join(struct thread **thread, uint64_t deadline_mono_ns)
{
	if (inside_world() == NULL) {
		return real_thread_join((struct real_thread **)thread, deadline_mono_ns);
	}
	struct fiber *fiber = (struct fiber *)*thread;
	uint64_t offset_ns = fiber->node->mono_offset_ns;
	uint64_t deadline_ns = deadline_mono_ns == CLOCK_NEVER ? UINT64_MAX
			       : deadline_mono_ns < offset_ns  ? 0
							       : deadline_mono_ns - offset_ns;
	uint64_t step_ns = FIBER_JOIN_STEP_NS;
	while (running == NULL && fiber_run(fiber) != 0) {
	}
	while (fiber->next.want != THREAD_DONE || fiber->is_running) {
		if (fake_clock_now_ns() >= deadline_ns) {
			return -ETIMEDOUT;
		}
		wait_for_others(fiber->node, step_ns, deadline_ns);
		step_ns = 2 * step_ns < FIBER_JOIN_STEP_MOST_NS ? 2 * step_ns
								: FIBER_JOIN_STEP_MOST_NS;
	}
	fiber_free(fiber);
	*thread = NULL;
	return 0;
}

unsigned thread_cpus(int *cpus, unsigned max)
{
	if (inside_world() == NULL) {
		return real_thread_cpus(cpus, max);
	}
	for (unsigned i = 0; i < FIBER_CPUS && i < max; i++) {
		cpus[i] = (int)i;
	}
	return FIBER_CPUS;
}

void thread_mark(const char *doing)
{
	if (inside_world() == NULL) {
		real_thread_mark(doing);
	} else if (stepped != NULL) {
		stepped->doing_since_mono_ns = clock_mono_ns();
		stepped->doing = doing;
	}
}

const char *thread_doing(const struct thread *thread, uint64_t *ret_since_mono_ns)
{
	if (inside_world() == NULL) {
		return real_thread_doing((const struct real_thread *)thread, ret_since_mono_ns);
	}
	const struct fiber *fiber = (const struct fiber *)thread;

	*ret_since_mono_ns = fiber->doing_since_mono_ns;
	return fiber->doing;
}

/* All of a world happens on its first CPU. */
int thread_cpu(void)
{
	return inside_world() == NULL ? real_thread_cpu() : 0;
}

/* One of a world has all the time there is. */
uint64_t thread_cpu_ns(const struct thread *thread)
{
	return inside_world() == NULL ? real_thread_cpu_ns((const struct real_thread *)thread)
				      : fake_clock_now_ns();
}
