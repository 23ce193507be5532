// SPDX-License-Identifier: MIT
#include "util/mailbox.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void mailbox_init(struct mailbox *mailbox, mailbox_wake_fn wake, void *arg)
{
	pthread_mutex_init(&mailbox->lock, NULL);
	list_init(&mailbox->queue);
	atomic_init(&mailbox->has_mail, false);
	mailbox->wake = wake;
	mailbox->wake_arg = arg;
	mailbox->fd = -1;
}

int mailbox_init_fd(struct mailbox *mailbox, struct error *err)
{
	mailbox_init(mailbox, NULL, NULL);
	mailbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (mailbox->fd < 0) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_RESOURCE, "eventfd",
				      "a queue between two threads cannot be made");
	}
	return 0;
}

void mailbox_done(struct mailbox *mailbox)
{
	assert(list_is_empty(&mailbox->queue));
	if (mailbox->fd >= 0) {
		close(mailbox->fd);
		mailbox->fd = -1;
	}
	pthread_mutex_destroy(&mailbox->lock);
}

/* The counter of a non-blocking eventfd: neither direction can fail but for "already so". */
static void raise_fd(int fd)
{
	ssize_t ignored = write(fd, &(uint64_t){ 1 }, sizeof(uint64_t));

	(void)ignored;
}

static void quiet_fd(int fd)
{
	uint64_t count;
	ssize_t ignored = read(fd, &count, sizeof(count));

	(void)ignored;
}

void mailbox_post(struct mailbox *mailbox, struct message *message)
{
	bool was_empty;

	pthread_mutex_lock(&mailbox->lock);
	was_empty = list_is_empty(&mailbox->queue);
	list_append(&mailbox->queue, &message->link);
	atomic_store_explicit(&mailbox->has_mail, true, memory_order_relaxed);
	/* Under the lock, so that it cannot cross with the receiver's quieting. */
	if (mailbox->fd >= 0 && was_empty) {
		raise_fd(mailbox->fd);
	}
	pthread_mutex_unlock(&mailbox->lock);
	if (mailbox->wake) {
		mailbox->wake(mailbox->wake_arg);
	}
}

struct message *mailbox_get(struct mailbox *mailbox)
{
	struct message *message;

	pthread_mutex_lock(&mailbox->lock);
	message = list_first(&mailbox->queue, struct message, link);
	if (message) {
		list_remove(&message->link);
	} else if (mailbox->fd >= 0) {
		quiet_fd(mailbox->fd);
	}
	atomic_store_explicit(&mailbox->has_mail, !list_is_empty(&mailbox->queue),
			      memory_order_relaxed);
	pthread_mutex_unlock(&mailbox->lock);
	return message;
}
