// SPDX-License-Identifier: MIT
#pragma once

/*
 * Messages into one thread, from any thread, in order, off the hot path. Unbounded (senders are
 * bounded by protocol); a message is an embedded struct message; ownership moves with it. The
 * receiver is told through `wake`: an eventfd for an event loop, or a callback such as thread_wake.
 *
 * mailbox_has_mail is one relaxed atomic load: a measuring worker may ask it between batches.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "util/error.h"
#include "util/list.h"

struct message {
	struct list link;
};

typedef void (*mailbox_wake_fn)(void *arg);

struct mailbox {
	pthread_mutex_t lock;
	struct list queue;
	atomic_bool has_mail;
	mailbox_wake_fn wake;
	void *wake_arg;
	int fd; /* readable while there is mail, when made by mailbox_init_fd; else -1 */
};

/* Calls wake(arg), outside the lock, after each post; wake may be NULL (a receiver that polls). */
void mailbox_init(struct mailbox *mailbox, mailbox_wake_fn wake, void *arg);
/*
 * For sd-event: poll mailbox->fd for EPOLLIN. Without a descriptor it fails, and the mailbox is as
 * one that mailbox_init made: to be done.
 */
int mailbox_init_fd(struct mailbox *mailbox, struct error *err);
/* Must be empty. */
void mailbox_done(struct mailbox *mailbox);
/* Any thread; takes the message. */
void mailbox_post(struct mailbox *mailbox, struct message *message);
/* The oldest message or NULL (and then the descriptor is quiet). Receiver only. */
struct message *mailbox_get(struct mailbox *mailbox);

static inline bool mailbox_has_mail(struct mailbox *mailbox)
{
	return atomic_load_explicit(&mailbox->has_mail, memory_order_relaxed);
}
