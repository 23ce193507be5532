// SPDX-License-Identifier: MIT
/*
 * Time as sd-event and other libraries see it. Defined in the program, these come before the C
 * library's; without a world (and with real threads) they are the next definition's, which may be a
 * sanitizer's.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>

#include "fake/fake-clock.h"
#include "fake/inside.h"
#include "util/clock.h"

#define LIBC_FDS 4096

static bool is_real_clock[LIBC_FDS]; /* timerfds on the wall clock */

#define NEXT(name)                                       \
	({                                               \
		static _Atomic(void *) next;             \
		void *found = atomic_load(&next);        \
		if (found == NULL) {                     \
			found = dlsym(RTLD_NEXT, #name); \
			atomic_store(&next, found);      \
		}                                        \
		(typeof(&(name)))found;                  \
	})

int clock_gettime(clockid_t clock, struct timespec *time)
{
	uint64_t ns;

	if (inside_world() == NULL) {
		return NEXT(clock_gettime)(clock, time);
	}
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		ns = (uint64_t)clock_real_ns();
		break;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		ns = clock_mono_ns();
		break;
	default:
		return NEXT(clock_gettime)(clock, time);
	}
	time->tv_sec = (time_t)(ns / 1000000000);
	time->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

/* A thread that busy-polls uses all the time there is. */
int getrusage(__rusage_who_t who, struct rusage *usage)
{
	if (inside_world() == NULL) {
		return NEXT(getrusage)(who, usage);
	}
	uint64_t us = fake_clock_now_ns() / 1000;
	*usage = (struct rusage){
		.ru_utime = { (time_t)(us / 1000000), (suseconds_t)(us % 1000000) },
	};
	return 0;
}

int timerfd_create(int clock, int flags)
{
	int fd = NEXT(timerfd_create)(clock, flags);

	if (fd >= 0 && fd < LIBC_FDS) {
		is_real_clock[fd] = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_ALARM;
	}
	return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *value, struct itimerspec *old)
{
	if (inside_world() == NULL) {
		return NEXT(timerfd_settime)(fd, flags, value, old);
	}
	uint64_t at_ns =
		(uint64_t)value->it_value.tv_sec * 1000000000 + (uint64_t)value->it_value.tv_nsec;
	if (at_ns == 0) {
		at_ns = UINT64_MAX;
	} else if (!(flags & TFD_TIMER_ABSTIME)) {
		at_ns += clock_mono_ns();
	}
	inside_timer_set(fd, fd < LIBC_FDS && is_real_clock[fd], at_ns);
	if (old != NULL) {
		*old = (struct itimerspec){ 0 };
	}
	return 0; /* the kernel's timer stays quiet: sd-event looks at the clock when its loop is
		     turned */
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
	return NEXT(epoll_wait)(fd, events, max, inside_world() != NULL ? 0 : timeout_ms);
}
