// SPDX-License-Identifier: MIT
/* The fake librdmacm: event channels. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake/manager.h"

static struct manager_channel *channel_of(struct rdma_event_channel *ib)
{
	return list_entry(ib, struct manager_channel, ib);
}

void manager_raise(struct manager_id *id, struct manager_id *owner, enum rdma_cm_event_type type,
		   int status, const struct manager_message *message, size_t data_bytes)
{
	struct manager_item *item = nic_alloc(1, sizeof(*item));
	uint64_t one = 1;

	item->owner = owner;
	item->event.id = &id->ib;
	item->event.listen_id = owner != id ? &owner->ib : NULL;
	item->event.event = type;
	item->event.status = status;
	if (message != NULL) {
		memcpy(item->data, message->data, message->data_bytes);
	}
	if (message != NULL && id->ib.ps != RDMA_PS_UDP) {
		item->event.param.conn = message->param;
		/* What the other end asks for is what we give. */
		item->event.param.conn.initiator_depth = message->param.responder_resources;
		item->event.param.conn.responder_resources = message->param.initiator_depth;
	}
	if (id->ib.ps == RDMA_PS_UDP) {
		item->event.param.ud = (struct rdma_ud_param){
			.qp_num = message != NULL ? message->param.qp_num : 0,
			.qkey = RDMA_UDP_QKEY,
			.private_data = data_bytes > 0 ? item->data : NULL,
			.private_data_len = (uint8_t)data_bytes,
		};
	} else {
		item->event.param.conn.private_data = data_bytes > 0 ? item->data : NULL;
		item->event.param.conn.private_data_len = (uint8_t)data_bytes;
	}
	list_append(&owner->channel->items, &item->link);
	owner->unread += type == RDMA_CM_EVENT_CONNECT_REQUEST;
	owner->fabric->is_touched = true;
	if (id->device != NULL) {
		nic_touch(id->device);
	}
	if (write(owner->channel->ib.fd, &one, sizeof(one)) != sizeof(one)) {
		nic_die("eventfd: write failed");
	}
}

static void remove_item(struct manager_channel *channel, struct manager_item *item)
{
	struct pollfd poll_fd = { .fd = channel->ib.fd, .events = POLLIN };
	uint64_t token;

	list_remove(&item->link);
	free(item);
	/* A reader may have taken the token already; it will find the queue empty. */
	if (poll(&poll_fd, 1, 0) == 1 &&
	    read(channel->ib.fd, &token, sizeof(token)) != sizeof(token)) {
		nic_die("eventfd: read failed");
	}
}

/* The first that is about it; NULL: none. */
static struct manager_item *find_item(struct manager_id *id)
{
	struct manager_item *item;

	list_each(item, &id->channel->items, link) {
		if (item->owner == id || item->event.id == &id->ib) {
			return item;
		}
	}
	return NULL;
}

void manager_forget(struct manager_id *id)
{
	struct manager_item *item;

	while ((item = find_item(id)) != NULL) {
		struct manager_id *child = list_entry(item->event.id, struct manager_id, ib);

		item->owner->unread -= item->event.event == RDMA_CM_EVENT_CONNECT_REQUEST;
		remove_item(id->channel, item);
		if (child != id) {
			manager_end(child);
		}
	}
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct fabric *fabric = fabric_current();
	struct manager_channel *channel;
	int error = fabric == NULL ? ENODEV : 0;

	if (fabric != NULL) {
		nic_lock(fabric);
		error = fabric->manager_error;
		nic_unlock(fabric);
	}
	if (error != 0) {
		errno = error;
		return NULL;
	}
	channel = nic_alloc(1, sizeof(*channel));
	channel->fabric = fabric;
	list_init(&channel->items);
	channel->ib.fd = eventfd(0, EFD_SEMAPHORE);
	if (channel->ib.fd < 0) {
		free(channel);
		return NULL;
	}
	nic_lock(fabric);
	fabric->manager_objects++;
	nic_unlock(fabric);
	return &channel->ib;
}

void rdma_destroy_event_channel(struct rdma_event_channel *ib)
{
	struct manager_channel *channel = channel_of(ib);
	struct fabric *fabric = channel->fabric;

	nic_lock(fabric);
	if (channel->ids > 0) {
		nic_die("rdma_destroy_event_channel with %u identifiers left", channel->ids);
	}
	fabric->manager_objects--;
	nic_unlock(fabric);
	close(ib->fd);
	free(channel);
}

int rdma_get_cm_event(struct rdma_event_channel *ib, struct rdma_cm_event **ret)
{
	struct manager_channel *channel = channel_of(ib);
	struct fabric *fabric = channel->fabric;

	fabric_run(fabric);
	while (token_read(fabric, ib->fd)) {
		nic_lock(fabric);
		struct manager_item *item = list_first(&channel->items, struct manager_item, link);
		if (item != NULL) {
			list_remove(&item->link);
			item->owner->unacked++;
			item->owner->unread -= item->event.event == RDMA_CM_EVENT_CONNECT_REQUEST;
			*ret = &item->event;
		}
		nic_unlock(fabric);
		if (item != NULL) {
			return 0;
		}
	}
	return -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct manager_item *item = list_entry(event, struct manager_item, event);
	struct fabric *fabric = item->owner->fabric;

	nic_lock(fabric);
	item->owner->unacked--;
	pthread_cond_broadcast(&fabric->changed);
	nic_unlock(fabric);
	free(item);
	return 0;
}

const char *rdma_event_str(enum rdma_cm_event_type event)
{
	static const char *const names[] = {
		"RDMA_CM_EVENT_ADDR_RESOLVED",	 "RDMA_CM_EVENT_ADDR_ERROR",
		"RDMA_CM_EVENT_ROUTE_RESOLVED",	 "RDMA_CM_EVENT_ROUTE_ERROR",
		"RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
		"RDMA_CM_EVENT_CONNECT_ERROR",	 "RDMA_CM_EVENT_UNREACHABLE",
		"RDMA_CM_EVENT_REJECTED",	 "RDMA_CM_EVENT_ESTABLISHED",
		"RDMA_CM_EVENT_DISCONNECTED",	 "RDMA_CM_EVENT_DEVICE_REMOVAL",
		"RDMA_CM_EVENT_MULTICAST_JOIN",	 "RDMA_CM_EVENT_MULTICAST_ERROR",
		"RDMA_CM_EVENT_ADDR_CHANGE",	 "RDMA_CM_EVENT_TIMEWAIT_EXIT",
	};

	return (size_t)event < sizeof(names) / sizeof(names[0]) ? names[event] : "UNKNOWN EVENT";
}
