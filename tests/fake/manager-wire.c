// SPDX-License-Identifier: MIT
/*
 * The fake librdmacm: what two connection managers send each other. A message that a link or a port
 * swallows is gone: the retransmissions of a kernel take longer than anybody waits here.
 */
#include <errno.h>
#include <string.h>

#include "fake/manager.h"

#define PROCESS_NS 10000 /* at the receiving end */
#define REJECT_TIMEOUT 4
#define REJECT_NO_LISTENER 8
#define REJECT_CONSUMER 28

bool manager_fails(struct fabric_device *device, enum fabric_cm_fate fate, int *ret_status)
{
	struct fabric_cm_fault *fault = &device->manager_fault;

	if (!device->has_manager_fault || fault->fate != fate) {
		return false;
	}
	if (ret_status != NULL) {
		*ret_status = fault->status;
	}
	if (fault->count > 0 && --fault->count == 0) {
		device->has_manager_fault = false;
	}
	return true;
}

/* --- arrival --- */

static void answer_rejected(struct fabric_device *from, const struct manager_message *request,
			    int reason);

static void take_request(struct fabric_device *device, const struct manager_message *message)
{
	struct fabric *fabric = device->fabric;
	struct manager_id *sender = manager_find(fabric, message->from);
	struct manager_id *listener;
	struct manager_id *id;
	int reason = 0;

	if (manager_fails(device, FABRIC_CM_SILENT, NULL)) {
		return;
	}
	listener = manager_listener(fabric, device, message->ps, message->port);
	if (!manager_fails(device, FABRIC_CM_REJECTS, &reason)) {
		reason = listener == NULL				   ? REJECT_NO_LISTENER
			 : listener->unread >= (unsigned)listener->backlog ? REJECT_CONSUMER
									   : 0;
	}
	if (reason != 0) {
		answer_rejected(device, message, reason);
		return;
	}
	id = manager_new_id(fabric, listener->channel);
	id->ib.context = listener->ib.context;
	id->ib.ps = listener->ib.ps;
	id->ib.qp_type = listener->ib.qp_type;
	manager_bind(id, device);
	id->state = MANAGER_REQ_RECEIVED;
	id->port = listener->port;
	id->dgid = message->from_gid;
	id->ib.route.addr.addr.ibaddr.dgid = message->from_gid;
	id->to = nic_find_gid(fabric, &message->from_gid);
	id->peer = message->from;
	id->peer_psn = message->psn;
	id->peer_qpn = message->param.qp_num;
	if (sender != NULL) {
		sender->peer = id->handle;
	}
	manager_raise(id, listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, message,
		      MANAGER_REQUEST_BYTES);
}

static void take_answer(struct manager_id *id, const struct manager_message *message)
{
	if (id->state != MANAGER_REQ_SENT ||
	    manager_fails(id->device, FABRIC_CM_LOSES_ANSWERS, NULL)) {
		return;
	}
	id->state = id->ib.ps == RDMA_PS_UDP ? MANAGER_CLOSED : MANAGER_REP_RECEIVED;
	id->peer_psn = message->psn;
	id->peer_qpn = message->param.qp_num;
	if (id->ib.ps == RDMA_PS_UDP) {
		manager_raise(id, id, RDMA_CM_EVENT_ESTABLISHED, 0, message, MANAGER_ANSWER_BYTES);
		return;
	}
	manager_raise(id, id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, message, MANAGER_ANSWER_BYTES);
}

/* As SIDR_REP says it. */
static int sidr_status(int reason)
{
	return reason == REJECT_NO_LISTENER ? 1 : reason == REJECT_CONSUMER ? 2 : reason;
}

static void take_rejection(struct manager_id *id, const struct manager_message *message)
{
	if (id->state == MANAGER_REQ_SENT || id->state == MANAGER_REQ_RECEIVED ||
	    id->state == MANAGER_REP_SENT) {
		id->state = MANAGER_CLOSED;
		manager_raise(id, id,
			      id->ib.ps == RDMA_PS_UDP ? RDMA_CM_EVENT_UNREACHABLE
						       : RDMA_CM_EVENT_REJECTED,
			      id->ib.ps == RDMA_PS_UDP ? sidr_status(message->status)
						       : message->status,
			      message, MANAGER_REJECTION_BYTES);
	}
}

static void send_kind(struct manager_id *id, enum manager_kind kind, int status)
{
	manager_send(id,
		     &(struct manager_message){ .kind = kind, .to = id->peer, .status = status });
}

static void take_disconnect(struct manager_id *id)
{
	if (id->state == MANAGER_DREQ_SENT) {
		send_kind(id, MANAGER_DREP, 0);
		id->state = MANAGER_CLOSED;
	} else if (id->state == MANAGER_CONNECTED || id->state == MANAGER_REP_SENT) {
		id->state = MANAGER_DREQ_RECEIVED;
	} else {
		return;
	}
	manager_raise(id, id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
}

static void take_address(struct manager_id *id, const struct manager_message *message)
{
	int status = message->status;
	bool is_whole = id->to != NULL && id->to->is_up && !id->to->is_removed;

	if (id->state != MANAGER_RESOLVING) {
		return;
	}
	if (manager_fails(id->device, FABRIC_CM_NO_ADDRESS, &status) || !is_whole) {
		id->state = MANAGER_CLOSED;
		manager_raise(id, id, RDMA_CM_EVENT_ADDR_ERROR, status, NULL, 0);
		return;
	}
	id->state = MANAGER_RESOLVED;
	if (manager_fails(id->device, FABRIC_CM_NO_DEVICE, NULL)) {
		id->ib.verbs = NULL;
	}
	if (manager_fails(id->device, FABRIC_CM_OTHER_DEVICE, NULL)) {
		id->ib.verbs = &id->to->manager_context;
	}
	manager_raise(id, id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
}

static void take_own(struct manager_id *id, const struct manager_message *message)
{
	int status = message->status;

	switch (message->kind) {
	case MANAGER_ADDRESS:
		take_address(id, message);
		break;
	case MANAGER_ROUTE:
		if (manager_fails(id->device, FABRIC_CM_NO_ROUTE, &status)) {
			id->state = MANAGER_CLOSED;
			manager_raise(id, id, RDMA_CM_EVENT_ROUTE_ERROR, status, NULL, 0);
			break;
		}
		id->state = MANAGER_ROUTED;
		manager_raise(id, id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
		break;
	default:
		if (id->state == MANAGER_REQ_SENT) {
			id->state = MANAGER_CLOSED;
			manager_raise(id, id, RDMA_CM_EVENT_UNREACHABLE, status, NULL, 0);
		}
		break;
	}
}

static void arrive(struct fabric *fabric, struct event *event)
{
	struct manager_message message;
	struct manager_id *id;

	memcpy(&message, event->flight.payload->data, sizeof(message));
	if (event->flight.to->is_removed) {
		return;
	}
	if (message.kind == MANAGER_REQ) {
		take_request(event->flight.to, &message);
		return;
	}
	id = manager_find(fabric, message.to);
	if (id == NULL) {
		return;
	}
	switch (message.kind) {
	case MANAGER_REP:
		take_answer(id, &message);
		break;
	case MANAGER_RTU:
		if (id->state == MANAGER_REP_SENT) {
			id->state = MANAGER_CONNECTED;
			manager_raise(id, id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
		}
		break;
	case MANAGER_REJ:
		take_rejection(id, &message);
		break;
	case MANAGER_DREQ:
		take_disconnect(id);
		break;
	case MANAGER_DREP:
		if (id->state == MANAGER_DREQ_SENT) {
			id->state = MANAGER_CLOSED;
			manager_raise(id, id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
		}
		break;
	default:
		take_own(id, &message);
		break;
	}
}

/* --- departure --- */

static void launch(struct fabric_device *to, const struct manager_message *message,
		   uint64_t after_ns)
{
	struct fabric *fabric = to->fabric;
	struct event *event = nic_event(fabric, fabric->now_ns + after_ns, arrive);

	event->flight.to = to;
	event->flight.payload = nic_alloc(1, sizeof(struct payload) + sizeof(*message));
	memcpy(event->flight.payload->data, message, sizeof(*message));
}

static void send_from(struct fabric_device *from, struct fabric_device *to,
		      const struct manager_message *message)
{
	const struct fabric_link *link;

	if (to == NULL) {
		return;
	}
	link = &link_state(from->fabric, from, to)->config;
	if (from->is_removed || !from->is_up || !to->is_up || link->is_black_hole) {
		return;
	}
	launch(to, message, link->latency_ns + PROCESS_NS);
}

static void answer_rejected(struct fabric_device *from, const struct manager_message *request,
			    int reason)
{
	struct manager_message message = { .kind = MANAGER_REJ,
					   .to = request->from,
					   .status = reason };

	send_from(from, nic_find_gid(from->fabric, &request->from_gid), &message);
}

void manager_send(struct manager_id *id, const struct manager_message *message)
{
	struct manager_message whole = *message;

	whole.from = id->handle;
	whole.from_gid = id->ib.route.addr.addr.ibaddr.sgid;
	whole.psn = id->psn;
	whole.ps = id->ib.ps;
	send_from(id->device, id->to, &whole);
}

void manager_later(struct manager_id *id, enum manager_kind kind, int status, uint64_t after_ns)
{
	launch(id->device,
	       &(struct manager_message){ .kind = kind, .to = id->handle, .status = status },
	       after_ns);
}

void manager_part(struct manager_id *id)
{
	switch (id->state) {
	case MANAGER_REQ_SENT:
	case MANAGER_REP_RECEIVED:
		send_kind(id, MANAGER_REJ, REJECT_TIMEOUT);
		break;
	case MANAGER_REQ_RECEIVED:
	case MANAGER_REP_SENT:
		send_kind(id, MANAGER_REJ, REJECT_CONSUMER);
		break;
	case MANAGER_CONNECTED:
		send_kind(id, MANAGER_DREQ, 0);
		break;
	case MANAGER_DREQ_RECEIVED:
		send_kind(id, MANAGER_DREP, 0);
		break;
	default:
		break;
	}
}
