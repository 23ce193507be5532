// SPDX-License-Identifier: MIT
/*
 * What a thread costs that sleeps until there is something to do, at the least: two threads play
 * ping-pong over eventfds, RATE round trips a second, each sleeping in ppoll(2) in between. Prints
 * the CPU time of the one that begins them, for a round trip.
 *
 *   eventfd RATE SECONDS
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ull

static int there, back;
static uint64_t count;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static void need(int is_good, const char *what)
{
	if (!is_good) {
		perror(what);
		exit(2);
	}
}

/* Until it can be read, or that moment. True: it was. */
static int sleep_on(int fd, uint64_t until_ns)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	uint64_t left_ns = until_ns > now ? until_ns - now : 0;
	struct timespec left = { (time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S) };
	struct pollfd poll = { .fd = fd, .events = POLLIN };
	uint64_t value;
	int ret;

	do {
		ret = ppoll(&poll, 1, until_ns == UINT64_MAX ? NULL : &left, NULL);
	} while (ret < 0 && errno == EINTR);
	need(ret >= 0, "ppoll");
	if (ret > 0) {
		need(read(fd, &value, sizeof(value)) == sizeof(value), "read");
	}
	return ret > 0;
}

static void ring(int fd)
{
	uint64_t one = 1;

	need(write(fd, &one, sizeof(one)) == sizeof(one), "write");
}

static void *answer(void *arg)
{
	for (uint64_t i = 0; i < count; i++) {
		(void)sleep_on(there, UINT64_MAX);
		ring(back);
	}
	return arg;
}

int main(int argc, char **argv)
{
	uint64_t rate = argc == 3 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t seconds = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t next_ns, before_ns, spent_ns;
	pthread_t thread;

	if (rate == 0 || seconds == 0) {
		fputs("usage: eventfd RATE SECONDS\n", stderr);
		return 2;
	}
	count = rate * seconds;
	there = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	back = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	need(there >= 0 && back >= 0, "eventfd");
	errno = pthread_create(&thread, NULL, answer, NULL);
	need(errno == 0, "pthread_create");
	before_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	next_ns = now_ns(CLOCK_MONOTONIC);
	for (uint64_t i = 0; i < count; i++) {
		next_ns += NS_PER_S / rate;
		(void)sleep_on(back, next_ns);
		ring(there);
		(void)sleep_on(back, UINT64_MAX);
	}
	spent_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns;
	pthread_join(thread, NULL);
	printf("round_trips %" PRIu64 " cpu_ns_per_round_trip %.0f\n", count,
	       (double)spent_ns / (double)count);
	return 0;
}
