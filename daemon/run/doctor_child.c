// SPDX-License-Identifier: MIT
#include "run/doctor_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/fact.h"
#include "util/clock.h"
#include "util/memory.h"

#define NS_PER_MS 1000000u
/* A machine that is emulated, or starved, stands still for a second at times. */
#define LOOK_EVERY_NS 1000000000u
#define MAX_IDLE_LOOKS 3

void doctor_child_tell(int fd, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count > 0) {
		ssize_t written = write(fd, at, count);

		if (written < 0 && errno == EINTR) {
			continue;
		}
		if (written <= 0) {
			return;
		}
		at += written;
		count -= (size_t)written;
	}
}

static void start(struct doctor_child *child)
{
	int fds[2];

	child->fd = -1;
	child->process = -1;
	child->got_bytes = 0;
	child->is_late = false;
	child->progress = 0;
	child->idle_looks = 0;
	child->error = 0;
	/* The child's end blocks: it has nothing else to do. */
	if (pipe2(fds, O_CLOEXEC) < 0) {
		child->error = -errno;
		return;
	}
	child->process = fork();
	if (child->process < 0) {
		child->error = -errno;
		close(fds[0]);
		close(fds[1]);
		return;
	}
	if (child->process == 0) {
		close(fds[0]);
		child->run(child->arg, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	child->fd = fds[0];
}

static void end(struct doctor_child *child)
{
	close(child->fd);
	child->fd = -1;
	if (child->is_late) {
		kill(child->process, SIGKILL);
	}
	/* Nobody waits for one that is stuck in the kernel, be it at its end: it may never die. */
	(void)waitpid(child->process, NULL, WNOHANG);
}

/* At its end the pipe says so. */
static void receive(struct doctor_child *child)
{
	char excess[256];
	bool is_full = child->got_bytes == child->answer_bytes;
	ssize_t count = is_full ? read(child->fd, excess, sizeof(excess))
				: read(child->fd, (char *)child->answer + child->got_bytes,
				       child->answer_bytes - child->got_bytes);

	if (count > 0 && !is_full) {
		child->got_bytes += (size_t)count;
	} else if (count == 0 || (count < 0 && errno != EINTR)) {
		end(child);
	}
}

static int milliseconds_until(uint64_t deadline_mono_ns)
{
	uint64_t now_mono_ns = clock_mono_ns();

	return now_mono_ns >= deadline_mono_ns
		       ? 0
		       : (int)((deadline_mono_ns - now_mono_ns + NS_PER_MS - 1) / NS_PER_MS);
}

/* Whether it runs, or ran since one of the last looks: then it waits for nothing that hangs. */
static bool gets_on(struct doctor_child *child)
{
	_cleanup_text_ struct text status = TEXT_INIT;
	const char *state;
	const char *waits;
	const char *losses;
	uint64_t progress;
	bool is_getting_on;

	if (fact_text(&status, "/proc/%d/status", child->process) < 0) {
		return false;
	}
	state = fact_find(status.data, "State:");
	waits = fact_find(status.data, "voluntary_ctxt_switches:");
	losses = fact_find(status.data, "nonvoluntary_ctxt_switches:");
	progress = 1 + (waits ? strtoull(waits, NULL, 10) : 0) +
		   (losses ? strtoull(losses, NULL, 10) : 0);
	is_getting_on = (state && *state == 'R') || progress != child->progress;
	child->progress = progress;
	child->idle_looks = is_getting_on ? 0 : child->idle_looks + 1;
	return child->idle_looks < MAX_IDLE_LOOKS;
}

static void give_up(struct doctor_child *child)
{
	child->is_late = true;
	end(child);
}

/* Takes what there is until then; returns how many have not come to their end. */
static size_t wait_until(struct doctor_child *children, size_t count, uint64_t deadline_mono_ns)
{
	_cleanup_free_ struct pollfd *waits = memory_new_array(count + 1, sizeof(*waits));

	for (;;) {
		int timeout_ms = milliseconds_until(deadline_mono_ns);
		size_t left = 0;

		for (size_t i = 0; i < count; i++) {
			waits[i] = (struct pollfd){ .fd = children[i].fd, .events = POLLIN };
			left += children[i].fd >= 0;
		}
		if (left == 0 || (poll(waits, count, timeout_ms) == 0 && timeout_ms == 0)) {
			return left;
		}
		for (size_t i = 0; i < count; i++) {
			if (children[i].fd >= 0 && waits[i].revents != 0) {
				receive(&children[i]);
			}
		}
	}
}

void doctor_child_run(struct doctor_child *children, size_t count, uint64_t patience_ns,
		      uint64_t limit_ns)
{
	uint64_t started_mono_ns = clock_mono_ns();
	uint64_t limit_mono_ns = started_mono_ns + limit_ns;
	uint64_t until_mono_ns = started_mono_ns + patience_ns;

	for (size_t i = 0; i < count; i++) {
		start(&children[i]);
	}
	while (wait_until(children, count, until_mono_ns) > 0) {
		bool is_over = until_mono_ns >= limit_mono_ns;

		for (size_t i = 0; i < count; i++) {
			if (children[i].fd >= 0 && (is_over || !gets_on(&children[i]))) {
				give_up(&children[i]);
			}
		}
		until_mono_ns += LOOK_EVERY_NS;
		until_mono_ns = until_mono_ns < limit_mono_ns ? until_mono_ns : limit_mono_ns;
	}
}
