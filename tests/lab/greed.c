// SPDX-License-Identifier: MIT

/*
 * Takes what file descriptors a program has left, for the lab: preloaded, it leaves as many as the
 * file $GREED has bytes while that exists, and makes the directory $GREED.done when it has them.
 * (Both without a descriptor.) Without the file it gives all of them back.
 */

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HELD_MAX 4096
#define LOOKS 100 /* what is open for a moment only is taken, too, when it is free again */

static int held[HELD_MAX];
static int held_count;

static void take(off_t left)
{
	int first = held_count;

	while (held_count < HELD_MAX && (held[held_count] = fcntl(0, F_DUPFD_CLOEXEC, 0)) >= 0) {
		held_count++;
	}
	for (; left > 0 && held_count > first; left--) {
		close(held[--held_count]);
	}
}

static void give_back(void)
{
	while (held_count > 0) {
		close(held[--held_count]);
	}
}

static void *follow(void *arg)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	const char *path = arg;
	char done[512];
	struct stat status;
	int looks = 0;

	snprintf(done, sizeof(done), "%s.done", path);
	for (;;) {
		if (stat(path, &status) < 0) {
			give_back();
			looks = 0;
		} else if (looks < LOOKS) {
			take(status.st_size);
			if (++looks == LOOKS) {
				(void)mkdir(done, 0700);
			}
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static __attribute__((constructor)) void begin(void)
{
	char *path = getenv("GREED");
	pthread_t thread;
	sigset_t all;
	sigset_t before;

	/* The program's signals are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (path && pthread_create(&thread, NULL, follow, path) != 0) {
		abort();
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
