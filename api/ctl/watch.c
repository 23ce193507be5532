// SPDX-License-Identifier: MIT
#include "ctl/watch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "ctl/field.h"
#include "ctl/live.h"
#include "ctl/run_name.h"
#include "util/clock.h"

#define POLL_NS 200000000ull
#define HTTP_NOT_FOUND 404
#define CLEAR_LINE "\r\033[K"

int watch_block_signals(struct error *err)
{
	sigset_t mask;
	int fd;

	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_NONE, "sigprocmask",
				      "Ctrl-C cannot be caught");
	}
	fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_NONE, "signalfd",
				      "Ctrl-C cannot be caught");
	}
	return fd;
}

static bool shows_line(const struct watch *watch)
{
	return watch->caller->is_terminal && !watch->caller->is_json;
}

static void clear_line(const struct watch *watch)
{
	if (shows_line(watch)) {
		fputs(CLEAR_LINE, stdout);
		fflush(stdout);
	}
}

static void show(const struct watch *watch, const json_t *before, const json_t *progress)
{
	_cleanup_paper_ struct paper paper = PAPER_INIT;

	if (watch->caller->is_json) {
		return;
	}
	if (shows_line(watch)) {
		/* The last column stays free: some terminals wrap when it is written. */
		paper.columns = watch->caller->columns - 1;
		live_print_line(progress, watch->scenario, &paper);
		fputs(CLEAR_LINE, stdout);
	} else {
		live_print_changes(before, progress, watch->scenario, &paper);
	}
	paper_print(&paper, stdout); /* who stops reading finds the result with `results` */
}

/* Takes one Ctrl-C off the descriptor. */
static bool take_signal(const struct watch *watch)
{
	struct signalfd_siginfo info;

	return read(watch->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

/* Waits for Ctrl-C, at most this long. */
static bool wait_for_signal(const struct watch *watch, uint64_t ns)
{
	struct pollfd item = { .fd = watch->signal_fd, .events = POLLIN };
	int milliseconds = (int)((ns + 999999) / 1000000);

	return poll(&item, 1, milliseconds) > 0;
}

/* The first Ctrl-C. An answer that the run is over already is as good. */
static int cancel(struct watch *watch, struct error *err)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	_cleanup_text_ struct text path = TEXT_INIT;
	char name[RUN_NAME_SIZE];

	watch->is_cancelled = true;
	clear_line(watch);
	fprintf(stderr,
		"cancelling run %s and waiting for what it measured so far; Ctrl-C again leaves at once\n",
		run_name_short(watch->id, name));
	run_name_add_path(&path, watch->id, "/cancel");
	return client_request(watch->client, "POST", path.data, &reply, err);
}

/* One question. -EALREADY: the run is over. */
static int ask(const struct watch *watch, const char *path, json_t **ret_progress,
	       struct error *err)
{
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	int ret = client_request(watch->client, "GET", path, &reply, err);

	if (ret < 0) {
		return ret;
	}
	if (reply.status == HTTP_NOT_FOUND) {
		/* Either over, or forgotten by a daemon that was started anew: asking for the
		 * record will tell. */
		return -EALREADY;
	}
	ret = client_reply_check(&reply, err);
	if (ret < 0) {
		return ret;
	}
	if (strcmp(live_state(reply.json), "done") == 0) {
		return -EALREADY;
	}
	*ret_progress = json_incref(reply.json);
	return 0;
}

/* What to do about Ctrl-C; true: leave. */
static bool on_interrupt(struct watch *watch, enum watch_end *ret_end, struct error *err)
{
	int ret;

	if (!take_signal(watch)) {
		return false;
	}
	if (watch->is_cancelled) {
		*ret_end = WATCH_LEFT;
		return true;
	}
	ret = cancel(watch, err);
	if (ret == -EINTR) {
		*err = ERROR_INIT;
		*ret_end = WATCH_LEFT;
		return true;
	}
	*ret_end = WATCH_FAILED;
	return ret < 0;
}

static bool is_queued(const json_t *progress)
{
	return strcmp(live_state(progress), "queued") == 0;
}

static enum watch_end follow(struct watch *watch, const char *path, struct error *err)
{
	uint64_t start_ns = clock_mono_ns();
	_cleanup_json_ json_t *before = NULL;
	enum watch_end end;
	unsigned queued = 0;

	for (;;) {
		uint64_t waited_ns = clock_mono_ns() - start_ns;
		json_t *progress = NULL;
		uint64_t next_ns = POLL_NS;
		int ret = ask(watch, path, &progress, err);

		if (ret == -EALREADY) {
			return WATCH_DONE;
		}
		if (ret == -EINTR) {
			*err = ERROR_INIT;
		} else if (ret < 0) {
			return WATCH_FAILED;
		} else {
			bool waits = is_queued(progress);

			/* Waiting for a turn of the loop only is not worth a word; the second time
			 * it is. */
			queued += waits;
			if (!waits || queued > 1) {
				show(watch, waits && queued == 2 ? NULL : before, progress);
			}
			json_decref(before);
			before = progress;
		}
		if (waited_ns >= watch->wait_ns) {
			return WATCH_WAITED;
		}
		if (watch->wait_ns - waited_ns < next_ns) {
			next_ns = watch->wait_ns - waited_ns;
		}
		if (wait_for_signal(watch, next_ns) && on_interrupt(watch, &end, err)) {
			return end;
		}
	}
}

enum watch_end watch_run(struct watch *watch, struct error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	enum watch_end end;

	run_name_add_path(&path, watch->id, "/progress");
	client_set_interrupt(watch->client, watch->signal_fd);
	end = follow(watch, path.data, err);
	client_set_interrupt(watch->client, -1);
	clear_line(watch);
	return end;
}
