// SPDX-License-Identifier: MIT
#pragma once

/*
 * The inside of the fake librdmacm: what manager.c (the calls), manager-wire.c (what goes between
 * two connection managers) and manager-event.c (what a program is told) share. As nic.h: under
 * fabric->lock, unless the name or the place says otherwise.
 */

#include <rdma/rdma_cma.h>

#include "fake/nic.h"

#define MANAGER_DATA_MAX 196 /* private data of an answer */
#define MANAGER_REQUEST_BYTES 56 /* as much a program gets to see, whatever was sent */
#define MANAGER_ANSWER_BYTES 196
#define MANAGER_REJECTION_BYTES 148

enum manager_state {
	MANAGER_IDLE,
	MANAGER_BOUND,
	MANAGER_LISTENING,
	MANAGER_RESOLVING,
	MANAGER_RESOLVED,
	MANAGER_ROUTING,
	MANAGER_ROUTED,
	MANAGER_REQ_SENT,
	MANAGER_REQ_RECEIVED,
	MANAGER_REP_SENT,
	MANAGER_REP_RECEIVED,
	MANAGER_CONNECTED,
	MANAGER_DREQ_SENT,
	MANAGER_DREQ_RECEIVED,
	MANAGER_CLOSED,
};

struct manager_channel {
	struct rdma_event_channel ib;
	struct fabric *fabric;
	struct list items; /* unread: struct manager_item */
	unsigned ids;
};

struct manager_id {
	struct rdma_cm_id ib;
	struct list link; /* in fabric->manager_ids */
	struct manager_channel *channel;
	struct fabric *fabric;
	uint32_t handle;
	enum manager_state state;
	struct fabric_device *device; /* NULL: not bound */
	struct fabric_device *to;
	union ibv_gid dgid;
	uint16_t port;
	uint16_t to_port;
	uint32_t peer; /* its handle; 0: not known */
	uint32_t psn; /* what the other end has to begin with */
	uint32_t peer_psn;
	uint32_t peer_qpn;
	int backlog; /* of a listener */
	unsigned unread; /* requests that wait there */
	unsigned unacked;
};

struct manager_item {
	struct list link;
	struct rdma_cm_event event;
	uint8_t data[MANAGER_DATA_MAX];
	struct manager_id *owner; /* whose destruction waits for it: of a request the listener */
};

enum manager_kind {
	/* Of the own kernel. */
	MANAGER_ADDRESS,
	MANAGER_ROUTE,
	MANAGER_GIVE_UP,
	/* Over the wire. */
	MANAGER_REQ,
	MANAGER_REP,
	MANAGER_RTU,
	MANAGER_REJ,
	MANAGER_DREQ,
	MANAGER_DREP,
};

struct manager_message {
	enum manager_kind kind;
	uint32_t to; /* handle; 0: by port */
	uint32_t from;
	enum rdma_port_space ps;
	uint16_t port;
	int status;
	union ibv_gid from_gid;
	uint32_t psn;
	struct rdma_conn_param param;
	size_t data_bytes;
	uint8_t data[MANAGER_DATA_MAX];
};

/* manager.c */
struct manager_id *manager_find(struct fabric *fabric, uint32_t handle);
struct manager_id *manager_listener(struct fabric *fabric, const struct fabric_device *device,
				    enum rdma_port_space ps, uint16_t port);
/* In `channel`; with a handle and a sequence number. */
struct manager_id *manager_new_id(struct fabric *fabric, struct manager_channel *channel);
/* Of that device: with the context that librdmacm has of it. */
void manager_bind(struct manager_id *id, struct fabric_device *device);
/* Frees it; its unread events are forgotten, and the other end is told. */
void manager_end(struct manager_id *id);

/* manager-wire.c */
/* The fault of that kind, if there is one; counts it. */
bool manager_fails(struct fabric_device *device, enum fabric_cm_fate fate, int *ret_status);
void manager_send(struct manager_id *id, const struct manager_message *message);
/* To itself, later. */
void manager_later(struct manager_id *id, enum manager_kind kind, int status, uint64_t after_ns);
/* Tells the other end that this one goes, if it knows of it. */
void manager_part(struct manager_id *id);

/* manager-event.c */
void manager_raise(struct manager_id *id, struct manager_id *owner, enum rdma_cm_event_type type,
		   int status, const struct manager_message *message, size_t data_bytes);
/* Those about it, and of a listener the requests that nobody looked at. */
void manager_forget(struct manager_id *id);
