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

#define MS_NS 1000000ull
#define SECOND_NS 1000000000ull
/* How long the daemon is asked to hold an answer back: the first briefly, so that a run that begins
 * at once is not shown as waiting; then up to the end of the run, or as often as there is something
 * to show. */
#define FIRST_NS (200 * MS_NS)
#define REDRAW_NS (500 * MS_NS)
#define LINES_MIN_NS SECOND_NS
#define LINES_MAX_NS (10 * SECOND_NS)
#define LONGEST_NS (50 * SECOND_NS)
/* Between questions that a daemon with too many askers answers at once. */
#define SLOW_NS SECOND_NS
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

/*
 * Each question costs the host time that a measurement may miss. Where nobody looks, none is needed
 * before the end; lines are for new phases, and one that measures stays as it is for a known time.
 */
static uint64_t choose_wait(const struct watch *watch, const json_t *progress)
{
	uint64_t left_ns;

	if (watch->caller->is_json) {
		return LONGEST_NS;
	}
	if (progress == NULL) {
		return FIRST_NS;
	}
	if (shows_line(watch)) {
		return REDRAW_NS;
	}
	left_ns = live_remaining_ns(progress);
	left_ns = left_ns < LINES_MAX_NS ? left_ns : LINES_MAX_NS;
	return left_ns > LINES_MIN_NS ? left_ns : LINES_MIN_NS;
}

static const struct field_wanted wanted[] = { { "state", FIELD_STRING }, { 0 } };

/* One question, answered when the run is over or the time has passed. -EALREADY: the run is over.
 */
static int ask(const struct watch *watch, uint64_t wait_ns, json_t **ret_progress,
	       struct error *err)
{
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_reply_ struct client_reply reply = CLIENT_REPLY_INIT;
	int ret;

	run_name_add_path(&path, watch->id, "/progress");
	if (wait_ns > 0) {
		text_format(&path, "?wait=%llums", (wait_ns + MS_NS - 1) / MS_NS);
	}
	client_set_held(watch->client, wait_ns);
	ret = client_request(watch->client, "GET", path.data, &reply, err);
	client_set_held(watch->client, 0);
	if (ret < 0) {
		return ret;
	}
	if (reply.status == HTTP_NOT_FOUND) {
		/* Either over, or forgotten by a daemon that was started anew: asking for the
		 * record will tell. */
		return -EALREADY;
	}
	ret = client_reply_check(&reply, wanted, err);
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

static enum watch_end follow(struct watch *watch, struct error *err)
{
	uint64_t start_ns = clock_mono_ns();
	_cleanup_json_ json_t *before = NULL;
	enum watch_end end;
	unsigned queued = 0;

	for (;;) {
		uint64_t asked_ns = clock_mono_ns();
		bool is_time_over = asked_ns - start_ns >= watch->wait_ns;
		uint64_t left_ns = is_time_over ? 0 : watch->wait_ns - (asked_ns - start_ns);
		uint64_t wait_ns = choose_wait(watch, before);
		json_t *progress = NULL;
		uint64_t took_ns;
		int ret;

		wait_ns = wait_ns < left_ns ? wait_ns : left_ns;
		ret = ask(watch, wait_ns, &progress, err);
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
		if (is_time_over) {
			return WATCH_WAITED;
		}
		took_ns = clock_mono_ns() - asked_ns;
		wait_ns = took_ns < wait_ns ? wait_ns - took_ns : 0;
		if (wait_for_signal(watch, wait_ns < SLOW_NS ? wait_ns : SLOW_NS) &&
		    on_interrupt(watch, &end, err)) {
			return end;
		}
	}
}

enum watch_end watch_run(struct watch *watch, struct error *err)
{
	enum watch_end end;

	client_set_interrupt(watch->client, watch->signal_fd);
	end = follow(watch, err);
	client_set_interrupt(watch->client, -1);
	clear_line(watch);
	return end;
}
