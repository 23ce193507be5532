// SPDX-License-Identifier: MIT
#include "reload.h"

#include <stdlib.h>
#include <string.h>

#include "key_check.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/mailbox.h"
#include "util/memory.h"
#include "util/text.h"
#include "util/thread.h"

#define PROBLEM_LINES 50
#define SECOND_NS 1000000000ull

struct reload {
	struct message message; /* first: the thread's answer is the reload itself */
	struct mailbox mailbox;
	sd_event_source *source;
	sd_event_source *timer; /* the deadline of a reading, or a refusal to be told */
	struct thread *thread;
	reload_done_fn done;
	void *arg;
	char *host_name;
	char *path;
	bool wants_again; /* asked for while one went on: the files may have changed since */
	bool is_hung; /* past its deadline, and told so */
	struct text refusal; /* to be told in the next turn */
	/* Written by the thread before it posts. */
	struct config *config;
	struct text errors;
	struct text warnings;
	struct tls_key key;
};

static struct thread_next read_files(void *arg)
{
	struct reload *reload = arg;
	struct problems problems;

	problems_init(&problems);
	reload->config = config_load(reload->path, reload->host_name, &problems);
	if (reload->config != NULL &&
	    key_check(reload->config, false, &reload->key, &problems) < 0) {
		config_unref(take(reload->config));
	}
	problems_print_errors(&problems, PROBLEM_LINES, &reload->errors);
	problems_print_warnings(&problems, PROBLEM_LINES, &reload->warnings);
	problems_done(&problems);
	mailbox_post(&reload->mailbox, &reload->message);
	return (struct thread_next){ .want = THREAD_DONE };
}

static void arm(struct reload *reload, uint64_t after_ns)
{
	sd_event_source_set_time(reload->timer, (clock_mono_ns() + after_ns) / 1000);
	sd_event_source_set_enabled(reload->timer, SD_EVENT_ONESHOT);
}

static void begin(struct reload *reload)
{
	struct thread_options options = { .name = "reload", .cpu = -1 };
	struct error err = ERROR_INIT;

	text_done(&reload->refusal);
	if (thread_start(&reload->thread, &options, read_files, reload, &err) < 0) {
		text_add(&reload->refusal, err.text);
		arm(reload, 0);
	} else {
		arm(reload, RELOAD_TIMEOUT_NS);
	}
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct reload *reload = arg;
	_cleanup_text_ struct text refusal = reload->refusal;
	struct reload_result result = { .errors = "", .warnings = "" };

	reload->refusal = TEXT_INIT;
	if (refusal.data == NULL) {
		reload->is_hung = true;
		reload->wants_again = false;
		text_format(
			&refusal,
			"%s: not read within %llu s: the disk or file system that holds it or an included "
			"file does not answer; reload again once it does",
			reload->path, RELOAD_TIMEOUT_NS / SECOND_NS);
	}
	result.unread = refusal.data;
	reload->done(reload->arg, &result);
	return 0;
}

static void forget_result(struct reload *reload)
{
	config_unref(take(reload->config));
	text_reset(&reload->errors);
	text_reset(&reload->warnings);
	explicit_bzero(&reload->key, sizeof(reload->key));
}

static const char *lines_of(const struct text *text)
{
	return text->data != NULL ? text->data : "";
}

static void tell(struct reload *reload)
{
	struct reload_result result = {
		.config = reload->config,
		.errors = lines_of(&reload->errors),
		.warnings = lines_of(&reload->warnings),
		.key = reload->key.count > 0 ? &reload->key : NULL,
	};

	reload->config = NULL;
	reload->done(reload->arg, &result);
	forget_result(reload);
}

static int on_mail(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct reload *reload = arg;

	if (mailbox_get(&reload->mailbox) == NULL) {
		return 0;
	}
	/* It posted as the last thing that it does. */
	thread_join(&reload->thread, CLOCK_NEVER);
	if (reload->is_hung) {
		reload->is_hung = false; /* a refusal that is still to be told stays */
		forget_result(reload);
		log_info("%s can be read again; reload to take it over", reload->path);
		return 0;
	}
	sd_event_source_set_enabled(reload->timer, SD_EVENT_OFF);
	if (reload->wants_again) {
		reload->wants_again = false;
		forget_result(reload);
		begin(reload);
	} else {
		tell(reload);
	}
	return 0;
}

static int add_sources(struct reload *reload, sd_event *event, struct error *err)
{
	int r = sd_event_add_io(event, &reload->source, reload->mailbox.fd, EPOLLIN, on_mail,
				reload);

	if (r >= 0) {
		r = sd_event_add_time(event, &reload->timer, CLOCK_MONOTONIC, 0, 1000, on_timer,
				      reload);
	}
	if (r < 0) {
		return error_set_call(err, -r, ERROR_RESOURCE, STAGE_RESOURCE, "sd_event_add",
				      "the event sources of reloads cannot be made");
	}
	sd_event_source_set_enabled(reload->timer, SD_EVENT_OFF);
	return 0;
}

int reload_new(struct reload **ret, sd_event *event, const char *host_name, reload_done_fn done,
	       void *arg, struct error *err)
{
	struct reload *reload = memory_new(sizeof(*reload));
	int r = mailbox_init_fd(&reload->mailbox, err);

	reload->host_name = memory_copy_string(host_name);
	reload->done = done;
	reload->arg = arg;
	if (r >= 0) {
		r = add_sources(reload, event, err);
	}
	if (r < 0) {
		reload_free(reload, 0);
		return r;
	}
	*ret = reload;
	return 0;
}

bool reload_start(struct reload *reload, const char *path)
{
	if (reload->is_hung) {
		text_reset(&reload->refusal);
		text_format(&reload->refusal,
			    "%s: an earlier reading of it still hangs; reload again once its disk "
			    "or file system answers",
			    reload->path);
		arm(reload, 0);
		return false;
	}
	if (reload->thread != NULL) {
		reload->wants_again = true;
		return false;
	}
	free(reload->path);
	reload->path = memory_copy_string(path);
	begin(reload);
	return true;
}

bool reload_is_busy(const struct reload *reload)
{
	return reload->thread != NULL;
}

void reload_free(struct reload *reload, uint64_t deadline_mono_ns)
{
	if (reload == NULL) {
		return;
	}
	sd_event_source_disable_unref(reload->source);
	sd_event_source_disable_unref(reload->timer);
	if (reload->thread != NULL && thread_join(&reload->thread, deadline_mono_ns) < 0) {
		return; /* it still uses the object */
	}
	mailbox_get(&reload->mailbox);
	mailbox_done(&reload->mailbox);
	config_unref(reload->config);
	text_done(&reload->errors);
	text_done(&reload->warnings);
	explicit_bzero(&reload->key, sizeof(reload->key));
	text_done(&reload->refusal);
	free(reload->host_name);
	free(reload->path);
	free(reload);
}

json_t *reload_split(const char *problems)
{
	json_t *list = json_array();
	_cleanup_free_ char *copy = memory_copy_string(problems);
	char *rest = copy;
	char *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		if (line[0] != '\0') {
			json_array_append_new(list, json_string(line));
		}
	}
	return list;
}

static void log_lines(enum log_level level, const char *problems)
{
	_cleanup_free_ char *copy = memory_copy_string(problems);
	char *rest = copy;
	char *line;

	while ((line = strsep(&rest, "\n")) != NULL) {
		if (line[0] != '\0') {
			log_line(level, "%s", line);
		}
	}
}

void reload_log(const struct reload_result *result)
{
	log_lines(LOG_LEVEL_WARNING, result->warnings);
	log_lines(LOG_LEVEL_ERROR, result->errors);
	if (result->unread != NULL) {
		log_error("%s", result->unread);
	}
}
