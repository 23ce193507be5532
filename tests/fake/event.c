// SPDX-License-Identifier: MIT
/* Events: asynchronous ones and those of completion channels; queued, and told through a
 * descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake/nic.h"
#include "fake/srq.h"

static void add_token(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one)) {
		nic_die("eventfd: write failed");
	}
}

/* An item was taken out of a queue without a read: so must its token. */
static void take_token(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	uint64_t token;

	/* a reader may have taken it already; it will find the queue empty */
	if (poll(&poll_fd, 1, 0) == 1 && read(fd, &token, sizeof(token)) != sizeof(token)) {
		nic_die("eventfd: read failed");
	}
}

void async_raise(struct fake_context *context, const struct ibv_async_event *event)
{
	struct async_item *item = nic_alloc(1, sizeof(*item));

	nic_touch(context->device);
	item->event = *event;
	list_append(&context->events, &item->link);
	add_token(context->verbs.context.async_fd);
}

void fabric_fail_srqs(struct fabric *fabric, const char *name)
{
	struct fake_context *context;

	nic_lock(fabric);
	list_each(context, &nic_device(fabric, name)->contexts, link) {
		struct object *object;

		list_each(object, &context->objects, link) {
			if (object->kind == OBJECT_SRQ) {
				struct fake_srq *srq = list_entry(object, struct fake_srq, object);
				struct ibv_async_event event = { .element.srq = &srq->ib,
								 .event_type = IBV_EVENT_SRQ_ERR };

				srq->ring.head = srq->ring.tail;
				async_raise(context, &event);
			}
		}
	}
	nic_unlock(fabric);
}

void async_raise_device(struct fabric_device *device, enum ibv_event_type type)
{
	struct ibv_async_event event = { .element.port_num = NIC_PORT, .event_type = type };
	struct fake_context *context;

	list_each(context, &device->contexts, link) {
		async_raise(context, &event);
	}
}

static bool is_of_element(const struct ibv_async_event *event)
{
	return event->event_type == IBV_EVENT_CQ_ERR || event->event_type == IBV_EVENT_SRQ_ERR ||
	       event->event_type == IBV_EVENT_QP_FATAL ||
	       event->event_type == IBV_EVENT_QP_REQ_ERR ||
	       event->event_type == IBV_EVENT_QP_ACCESS_ERR;
}

void async_forget(struct fake_context *context, const void *element)
{
	struct async_item *item;

	list_each(item, &context->events, link) {
		if (element != NULL && (!is_of_element(&item->event) ||
					(const void *)item->event.element.qp != element)) {
			continue;
		}
		list_remove(&item->link);
		free(item);
		take_token(context->verbs.context.async_fd);
	}
}

/* Whose destruction waits for the acknowledgement; NULL: nobody's. */
static struct object *owner_of(const struct ibv_async_event *event)
{
	if (event->event_type == IBV_EVENT_CQ_ERR) {
		return &cq_of(event->element.cq)->object;
	}
	if (event->event_type == IBV_EVENT_SRQ_ERR) {
		return &srq_of(event->element.srq)->object;
	}
	return is_of_element(event) ? &qp_of(event->element.qp)->object : NULL;
}

bool token_read(struct fabric *fabric, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	uint64_t token;

	pthread_mutex_lock(&fabric->lock);
	bool is_threaded = fabric->is_threaded;
	pthread_mutex_unlock(&fabric->lock);
	if (!is_threaded && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 && poll(&poll_fd, 1, 0) == 0) {
		nic_die("reading an event would block for ever");
	}
	return read(fd, &token, sizeof(token)) == sizeof(token);
}

int ibv_get_async_event(struct ibv_context *ib, struct ibv_async_event *event)
{
	struct fake_context *context = context_of(ib);
	struct fabric *fabric = context->device->fabric;

	while (token_read(fabric, ib->async_fd)) {
		pthread_mutex_lock(&fabric->lock);
		struct async_item *item = list_first(&context->events, struct async_item, link);
		if (item != NULL) {
			list_remove(&item->link);
			*event = item->event;
			free(item);
			struct object *owner = owner_of(event);
			if (owner != NULL) {
				owner->unacked++;
			}
		}
		pthread_mutex_unlock(&fabric->lock);
		if (item != NULL) {
			return 0;
		}
	}
	return -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct object *owner = owner_of(event);

	if (owner == NULL) {
		return;
	}
	struct fabric *fabric = owner->context->device->fabric;
	pthread_mutex_lock(&fabric->lock);
	if (owner->unacked == 0) {
		nic_die("ibv_ack_async_event for an event that was not given out");
	}
	owner->unacked--;
	pthread_cond_broadcast(&fabric->changed);
	pthread_mutex_unlock(&fabric->lock);
}

/* --- completion channels --- */

static struct fake_channel *channel_of(struct ibv_comp_channel *channel)
{
	return list_entry(channel, struct fake_channel, ib);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ib)
{
	struct fake_context *context = context_of(ib);
	int error = verb_enter(context->device, FABRIC_CREATE_CHANNEL);

	if (error != 0) {
		errno = error;
		return NULL;
	}
	struct fake_channel *channel = nic_alloc(1, sizeof(*channel));
	list_init(&channel->events);
	channel->ib.context = ib;
	channel->ib.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (channel->ib.fd < 0) {
		verb_leave(context->device);
		free(channel);
		return NULL;
	}
	object_add(context, &channel->object, OBJECT_CHANNEL);
	verb_leave(context->device);
	return &channel->ib;
}

void channel_end(struct fake_channel *channel)
{
	object_remove(&channel->object);
	close(channel->ib.fd);
	free(channel);
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ib)
{
	struct fake_channel *channel = channel_of(ib);
	struct fabric_device *device = channel->object.context->device;

	nic_lock(device->fabric);
	int error = channel->object.users > 0 ? EBUSY : 0;
	if (error == 0 && !device->is_removed) {
		channel_end(channel);
	}
	error = device->is_removed ? EIO : error;
	nic_unlock(device->fabric);
	return error;
}

void channel_use(struct ibv_comp_channel *ib, int change)
{
	channel_of(ib)->object.users += (unsigned)change;
}

void channel_raise(struct fake_cq *cq)
{
	struct comp_item *item = nic_alloc(1, sizeof(*item));

	item->cq = cq;
	list_append(&channel_of(cq->ib.channel)->events, &item->link);
	add_token(cq->ib.channel->fd);
}

void channel_forget(struct fake_cq *cq)
{
	struct comp_item *item;

	list_each(item, &channel_of(cq->ib.channel)->events, link) {
		if (item->cq == cq) {
			list_remove(&item->link);
			free(item);
			take_token(cq->ib.channel->fd);
		}
	}
}

int ibv_get_cq_event(struct ibv_comp_channel *ib, struct ibv_cq **cq, void **cq_context)
{
	struct fake_channel *channel = channel_of(ib);
	struct fabric *fabric = channel->object.context->device->fabric;

	while (token_read(fabric, ib->fd)) {
		pthread_mutex_lock(&fabric->lock);
		struct comp_item *item = list_first(&channel->events, struct comp_item, link);
		if (item != NULL) {
			list_remove(&item->link);
			item->cq->comp_unacked++;
			*cq = &item->cq->ib;
			*cq_context = item->cq->ib.cq_context;
			free(item);
		}
		pthread_mutex_unlock(&fabric->lock);
		if (item != NULL) {
			return 0;
		}
	}
	return -1;
}
