// SPDX-License-Identifier: MIT
#include "util/thread.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cpu_list.h"
#include "util/memory.h"
#include "util/text.h"

#define NS_PER_S 1000000000ull
#define NAME_SIZE 16
#define MAX_CPUS 65536

/* Of `wake`. */
enum { WAKE_NONE, WAKE_PENDING, WAKE_SLEEPING, WAKE_POLLING };
/* Of `life`. */
enum { LIFE_RUNNING, LIFE_ENDED, LIFE_DETACHED };

struct thread {
	pthread_t id;
	char name[NAME_SIZE];
	bool is_measuring;
	int wake_fd; /* an eventfd that wakes who waits for a descriptor, or -1 */
	thread_step_fn step;
	void *arg;
	_Atomic uint32_t wake; /* a futex: who sleeps, whether to */
	_Atomic uint32_t life; /* a futex: changed last of all */
	_Atomic(const char *) doing; /* written after `since_mono_ns`, read before it: never too old
				      */
	_Atomic uint64_t since_mono_ns;
};

static _Thread_local struct thread *self;
/* Written once, before there are threads. */
static bool gives_way;
static cpu_set_t *measuring_cpus; /* of those that measure, where others stay off them; else NULL */
static size_t measuring_size_bytes;

/* Of the calling thread; sched_param: 0 is all that these policies know. */
static bool set_policy(int policy)
{
	return sched_setscheduler(0, policy, &(struct sched_param){ 0 }) == 0;
}

void thread_give_way(void)
{
	gives_way = sched_getscheduler(0) == SCHED_OTHER && set_policy(SCHED_BATCH);
}

/* Until woken, the value differs, or the deadline: the caller looks again. */
static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t deadline_mono_ns)
{
	struct timespec deadline = {
		.tv_sec = (time_t)(deadline_mono_ns / NS_PER_S),
		.tv_nsec = (long)(deadline_mono_ns % NS_PER_S),
	};

	syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value,
		deadline_mono_ns == CLOCK_NEVER ? NULL : &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, NULL, NULL, 0);
}

void thread_wake(struct thread *thread)
{
	int saved_errno = errno; /* signal handlers may call */

	switch (atomic_exchange(&thread->wake, WAKE_PENDING)) {
	case WAKE_SLEEPING:
		futex_wake_all(&thread->wake);
		break;
	case WAKE_POLLING:
		(void)eventfd_write(thread->wake_fd, 1);
		break;
	default:
		break;
	}
	errno = saved_errno;
}

/* Until a wake, the descriptor, or the deadline; returns early for a signal. */
static void wait_for_fd(struct thread *thread, int fd, uint64_t until_mono_ns)
{
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = thread->wake_fd, .events = POLLIN } };
	uint32_t expected = WAKE_NONE;
	eventfd_t ignored;

	if (atomic_compare_exchange_strong(&thread->wake, &expected, WAKE_POLLING)) {
		uint64_t now_mono_ns = clock_mono_ns();
		uint64_t left_ns = until_mono_ns > now_mono_ns ? until_mono_ns - now_mono_ns : 0;
		struct timespec timeout = { .tv_sec = (time_t)(left_ns / NS_PER_S),
					    .tv_nsec = (long)(left_ns % NS_PER_S) };

		(void)ppoll(fds, sizeof(fds) / sizeof(fds[0]),
			    until_mono_ns == CLOCK_NEVER ? NULL : &timeout, NULL);
		/* A wake may be told a moment after it was seen: whenever it is, it is taken. */
		if (fds[1].revents) {
			(void)eventfd_read(thread->wake_fd, &ignored);
		}
	}
	/* An exchange, to see what the waker wrote before it woke. */
	atomic_exchange(&thread->wake, WAKE_NONE);
}

static void thread_end(struct thread *thread)
{
	if (thread->wake_fd >= 0) {
		close(thread->wake_fd);
	}
	free(thread);
}

static void wait_for_wake(struct thread *thread, uint64_t until_mono_ns)
{
	uint32_t expected = WAKE_NONE;

	if (atomic_compare_exchange_strong(&thread->wake, &expected, WAKE_SLEEPING)) {
		do {
			futex_wait(&thread->wake, WAKE_SLEEPING, until_mono_ns);
		} while (atomic_load(&thread->wake) == WAKE_SLEEPING &&
			 clock_mono_ns() < until_mono_ns);
	}
	/* An exchange, to see what the waker wrote before it woke. */
	atomic_exchange(&thread->wake, WAKE_NONE);
}

static void *thread_run(void *arg)
{
	struct thread *thread = arg;
	bool is_done = false;

	self = thread;
	pthread_setname_np(pthread_self(), thread->name);
	if (gives_way && thread->is_measuring) {
		(void)set_policy(SCHED_OTHER);
	}
	if (thread->is_measuring) {
		/* The kernel would add 50 us to each of its waits. */
		(void)prctl(PR_SET_TIMERSLACK, 1);
	}
	while (!is_done) {
		struct thread_next next = thread->step(thread->arg);

		switch (next.want) {
		case THREAD_AGAIN:
		case THREAD_POLL:
			break;
		case THREAD_WAIT:
			wait_for_wake(thread, next.until_mono_ns);
			break;
		case THREAD_WAIT_FD:
			assert(thread->wake_fd >= 0);
			wait_for_fd(thread, next.fd, next.until_mono_ns);
			break;
		case THREAD_DONE:
			is_done = true;
			break;
		}
	}
	if (atomic_exchange(&thread->life, LIFE_ENDED) == LIFE_DETACHED) {
		thread_end(thread);
	} else {
		futex_wake_all(&thread->life);
	}
	return NULL;
}

static int start_pinned(struct thread *thread, const pthread_attr_t *attributes)
{
	sigset_t all;
	sigset_t old;
	int ret;

	/* A thread inherits the mask of who creates it. */
	sigfillset(&all);
	/* What a thread does wrong itself is told by whoever handles it: a sanitizer, say. */
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGABRT);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	ret = pthread_create(&thread->id, attributes, thread_run, thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

/*
 * What those that measure may use: the affinity of the process (its first thread), unless others
 * are kept to a part of it. In a set of *ret_size_bytes bytes; NULL with errno. Caller frees.
 */
static cpu_set_t *process_cpus(size_t *ret_size_bytes)
{
	if (measuring_cpus) {
		*ret_size_bytes = measuring_size_bytes;
		return memcpy(memory_new(measuring_size_bytes), measuring_cpus,
			      measuring_size_bytes);
	}
	for (unsigned count = 1024; count <= MAX_CPUS; count *= 2) {
		size_t size_bytes = CPU_ALLOC_SIZE(count);
		cpu_set_t *set = memory_new(size_bytes);

		if (sched_getaffinity(getpid(), size_bytes, set) == 0) {
			*ret_size_bytes = size_bytes;
			return set;
		}
		free(set);
		if (errno != EINVAL) { /* EINVAL: this kernel knows more CPUs than the set holds */
			break;
		}
	}
	return NULL;
}

/* `cpus` gets at most `max`; returns how many there are. */
static unsigned list_of(const cpu_set_t *set, size_t size_bytes, int *cpus, unsigned max)
{
	unsigned count = 0;

	for (size_t cpu = 0; cpu < 8 * size_bytes; cpu++) {
		if (CPU_ISSET_S(cpu, size_bytes, set)) {
			if (count < max) {
				cpus[count] = (int)cpu;
			}
			count++;
		}
	}
	return count;
}

static int forbidden_cpu(int cpu, const cpu_set_t *set, size_t size_bytes, struct error *err)
{
	_cleanup_text_ struct text list = TEXT_INIT;
	_cleanup_free_ int *allowed = memory_new_array(CPU_LIST_MAX, sizeof(*allowed));
	unsigned count = list_of(set, size_bytes, allowed, CPU_LIST_MAX);

	cpu_list_write(allowed, count < CPU_LIST_MAX ? count : CPU_LIST_MAX, &list);
	return error_set(err, -EINVAL, ERROR_INPUT,
			 "CPU %d is not among those that this process may use (%s); choose of "
			 "them, or see to CPUAffinity= and AllowedCPUs= of its unit",
			 cpu, list.data);
}

int thread_keep_to(const int *cpus, unsigned count, struct error *err)
{
	size_t size_bytes = 0;
	_cleanup_free_ cpu_set_t *all = process_cpus(&size_bytes);
	_cleanup_free_ cpu_set_t *kept = NULL;

	if (!all) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_RESOURCE,
				      "sched_getaffinity",
				      "the CPUs of this process cannot be read");
	}
	kept = memory_new(size_bytes);
	for (unsigned i = 0; i < count; i++) {
		if (cpus[i] < 0 || (size_t)cpus[i] >= 8 * size_bytes ||
		    !CPU_ISSET_S((size_t)cpus[i], size_bytes, all)) {
			return forbidden_cpu(cpus[i], all, size_bytes, err);
		}
		CPU_SET_S((size_t)cpus[i], size_bytes, kept);
	}
	if (sched_setaffinity(0, size_bytes, kept) < 0) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_RESOURCE,
				      "sched_setaffinity",
				      "this process cannot be kept to the CPUs of its choice");
	}
	if (!CPU_EQUAL_S(size_bytes, kept, all)) {
		CPU_XOR_S(size_bytes, all, all, kept);
	}
	measuring_cpus = take(all);
	measuring_size_bytes = size_bytes;
	return 0;
}

static int pin_to(const int *cpus, unsigned count, const char *name, pthread_attr_t *attributes,
		  struct error *err)
{
	size_t size_bytes = 0;
	_cleanup_free_ cpu_set_t *set = process_cpus(&size_bytes);
	_cleanup_free_ cpu_set_t *chosen = NULL;
	int ret;

	if (!set) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_RESOURCE,
				      "sched_getaffinity",
				      "the CPUs of this process cannot be read");
	}
	chosen = memory_new(size_bytes);
	for (unsigned i = 0; i < count; i++) {
		if (cpus[i] >= 0 && (size_t)cpus[i] < 8 * size_bytes &&
		    CPU_ISSET_S((size_t)cpus[i], size_bytes, set)) {
			CPU_SET_S((size_t)cpus[i], size_bytes, chosen);
		}
	}
	if (CPU_COUNT_S(size_bytes, chosen) == 0) {
		error_set(err, -EINVAL, ERROR_RESOURCE,
			  "thread \"%s\": CPU %d%s is not among the %d CPUs that it may use; see "
			  "Cpus_allowed_list in /proc/self/status, and daemon.control_cpus",
			  name, count > 0 ? cpus[0] : -1, count > 1 ? " or another of its own" : "",
			  CPU_COUNT_S(size_bytes, set));
		return -EINVAL;
	}
	ret = pthread_attr_setaffinity_np(attributes, size_bytes, chosen);
	return ret ? error_set_call(err, ret, ERROR_RESOURCE, STAGE_RESOURCE,
				    "pthread_attr_setaffinity_np",
				    "thread \"%s\" cannot be pinned to CPU %d", name, cpus[0])
		   : 0;
}

int thread_start(struct thread **ret_thread, const struct thread_options *options,
		 thread_step_fn step, void *arg, struct error *err)
{
	struct thread *thread = memory_new(sizeof(*thread));
	pthread_attr_t attributes;
	int ret = 0;

	thread->step = step;
	thread->arg = arg;
	thread->is_measuring = options->is_measuring;
	thread->wake_fd = -1;
	text_copy(thread->name, sizeof(thread->name), options->name);
	pthread_attr_init(&attributes);
	if (options->has_descriptor) {
		thread->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (thread->wake_fd < 0) {
			ret = error_set_call(err, errno, ERROR_RESOURCE, STAGE_RESOURCE, "eventfd",
					     "thread \"%s\" cannot be started", options->name);
			goto out;
		}
	}
	if (measuring_cpus && options->is_measuring) {
		pthread_attr_setaffinity_np(&attributes, measuring_size_bytes, measuring_cpus);
	}
	if (options->cpus || options->cpu != -1) {
		bool is_set = options->cpus != NULL;

		ret = pin_to(is_set ? options->cpus : &options->cpu,
			     is_set ? options->cpu_count : 1, options->name, &attributes, err);
		if (ret < 0) {
			goto out;
		}
	}
	ret = start_pinned(thread, &attributes);
	if (ret > 0) {
		ret = error_set_call(
			err, ret, ERROR_RESOURCE, STAGE_RESOURCE, "pthread_create",
			"thread \"%s\" cannot be started (limits: ulimit -u, TasksMax of the unit)",
			options->name);
		goto out;
	}
	*ret_thread = take(thread);
out:
	if (thread) {
		thread_end(thread);
	}
	pthread_attr_destroy(&attributes);
	return ret;
}

int thread_join(struct thread **thread, uint64_t deadline_mono_ns)
{
	struct thread *joined = *thread;

	assert(!pthread_equal(joined->id, pthread_self()));
	while (atomic_load(&joined->life) != LIFE_ENDED) {
		if (clock_mono_ns() >= deadline_mono_ns) {
			return -ETIMEDOUT;
		}
		futex_wait(&joined->life, LIFE_RUNNING, deadline_mono_ns);
	}
	/* All that is left of it is its return. */
	pthread_join(joined->id, NULL);
	thread_end(joined);
	*thread = NULL;
	return 0;
}

void thread_detach(struct thread **thread)
{
	struct thread *detached = take(*thread);
	pthread_t id = detached->id;

	if (atomic_exchange(&detached->life, LIFE_DETACHED) == LIFE_ENDED) {
		pthread_join(id, NULL);
		thread_end(detached);
	} else {
		pthread_detach(id); /* its memory may be gone already */
	}
}

void thread_mark(const char *doing)
{
	if (self) {
		atomic_store(&self->since_mono_ns, clock_mono_ns());
		atomic_store(&self->doing, doing);
	}
}

const char *thread_doing(const struct thread *thread, uint64_t *ret_since_mono_ns)
{
	const char *doing = atomic_load(&((struct thread *)thread)->doing);

	*ret_since_mono_ns = atomic_load(&((struct thread *)thread)->since_mono_ns);
	return doing;
}

unsigned thread_cpus(int *cpus, unsigned max)
{
	size_t size_bytes = 0;
	_cleanup_free_ cpu_set_t *set = process_cpus(&size_bytes);

	return set ? list_of(set, size_bytes, cpus, max) : 0;
}

int thread_cpu(void)
{
	return sched_getcpu();
}

uint64_t thread_cpu_ns(const struct thread *thread)
{
	clockid_t id;

	return pthread_getcpuclockid(thread->id, &id) == 0 ? clock_cpu_ns(id) : UINT64_MAX;
}
