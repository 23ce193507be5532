// SPDX-License-Identifier: MIT
#pragma once

/*
 * The inside of the fake NIC: what its files share. Tests use fabric.h only.
 *
 * Everything here is protected by fabric->lock; functions whose names do not say otherwise are
 * called with it held. Inside an event fabric->now_ns is the time the event was due, not the time
 * it was run, so a starved thread delays what it sees but causes no timeouts.
 */

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fake/fabric.h"
#include "fake/recv_ring.h"
#include "fake/timeline.h"
#include "util/list.h"

#define NIC_DEVICES_MAX 256
#define NIC_PORT 1
#define NIC_PSN_MASK 0xffffffU
#define NIC_GIDS 2 /* 0: link-local, 1: the configured address */

enum object_kind {
	OBJECT_CONTEXT,
	OBJECT_PD,
	OBJECT_MR,
	OBJECT_CQ,
	OBJECT_CHANNEL,
	OBJECT_QP,
	OBJECT_SRQ,
	OBJECT_AH,
	OBJECT_KINDS,
};

/* What every verbs object has; first member of each. */
struct object {
	struct list link; /* in context->objects */
	enum object_kind kind;
	struct fake_context *context;
	unsigned users; /* objects that hang on this one */
	unsigned unacked; /* asynchronous events given out about it */
};

/* A hash table of embedded nodes. */
struct table_node {
	struct table_node *next;
	uint32_t key;
};

#define TABLE_BUCKETS 1024
struct table {
	struct table_node *buckets[TABLE_BUCKETS];
};

void table_add(struct table *table, struct table_node *node, uint32_t key);
void table_remove(struct table *table, struct table_node *node);
struct table_node *table_find(const struct table *table, uint32_t key);

struct link_state {
	struct fabric_link config;
	uint32_t next[FABRIC_FATES];
	uint64_t free_ns;
	uint64_t last_arrival_ns;
};

/* Payload that is kept to come once more, or later. */
struct held {
	uint64_t addr; /* 0: of a message */
	uint64_t value; /* of an atomic */
	uint32_t bytes;
	uint32_t qpn; /* whose queue pair waits for it */
	bool is_waiting;
	uint8_t *data; /* owned */
};
#define LIE_HELD_MOST 64

struct fabric_device {
	struct ibv_device ib; /* first: an ibv_device is one of ours */
	struct fabric *fabric;
	struct fabric_device_config config;
	char *host;
	unsigned index;
	union ibv_gid gids[NIC_GIDS];
	bool has_address;
	bool is_up;
	bool is_removed;

	struct list contexts;
	unsigned objects[OBJECT_KINDS];
	uint64_t pinned_bytes;
	uint32_t next_qpn;
	uint32_t next_key;
	uint64_t next_cq;
	struct table qps;
	struct table mrs;

	struct list ready; /* queue pairs with something to send, in turn */
	uint64_t tx_free_ns;
	uint64_t rx_free_ns;
	bool has_port_event;

	bool has_defect[FABRIC_DEFECTS];
	struct fabric_verb_fault faults[FABRIC_VERBS];
	struct fabric_lie lie;
	uint32_t lie_seen;
	struct held held[LIE_HELD_MOST]; /* to come again over what comes to their place */
	unsigned held_count;
	struct held swapped; /* what waits for the next one */
	bool has_fault[FABRIC_VERBS];
	unsigned fault_version[FABRIC_VERBS]; /* changes when it is set or cleared */
	struct fabric_counters counters;
	struct ibv_context manager_context; /* the one that librdmacm has of it */
	bool has_manager_context;
	struct fabric_cm_fault manager_fault;
	bool has_manager_fault;
	bool is_touched; /* something happened on it that a program could notice */
};

struct fabric {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* an event was acknowledged, a fault cleared, the fabric became
				   threaded */
	pthread_cond_t pump_wake;
	atomic_bool is_threaded;
	atomic_uint waiters; /* for the lock, who have something to do: pollers step back */
	uint64_t now_ns;
	uint64_t random;
	struct timeline timeline;
	struct event *free_events;
	uint64_t allocated_events;

	struct fabric_device *devices[NIC_DEVICES_MAX];
	unsigned device_count;
	int listing_error;
	struct link_rule *rules;
	unsigned rule_count;
	struct link_state **links; /* [from * NIC_DEVICES_MAX + to], made when first used */

	void (*pass_time)(void *arg, uint64_t ns);
	void *pass_time_arg;
	uint64_t spent_ns;
	bool is_touched; /* a device is */

	struct list manager_ids; /* of librdmacm: struct manager_id */
	uint32_t manager_handles;
	uint16_t manager_ports;
	unsigned manager_objects; /* identifiers and event channels */
	int manager_error;
	int manager_backlog;

	pthread_t pump;
	bool is_pumping;
	uint64_t pump_until_ns; /* what the pump waits for; 0: it does not wait */
};

struct fake_context {
	struct object object;
	struct list link; /* in device->contexts */
	struct fabric_device *device;
	struct list objects;
	struct list events; /* asynchronous, unread: struct async_item */
	struct verbs_context verbs; /* last: ends with the ibv_context */
};

struct async_item {
	struct list link;
	struct ibv_async_event event;
};

struct fake_pd {
	struct object object;
	struct ibv_pd ib;
};

struct fake_mr {
	struct object object;
	struct table_node node; /* by key; lkey and rkey are the same number */
	struct ibv_mr ib;
	unsigned access;
};

struct fake_ah {
	struct object object;
	struct ibv_ah ib;
	struct fabric_device *to; /* NULL: leads nowhere */
	struct ibv_ah_attr attr;
};

struct fake_channel {
	struct object object;
	struct list events; /* unread: struct comp_item */
	struct ibv_comp_channel ib;
};

struct comp_item {
	struct list link;
	struct fake_cq *cq;
};

struct cqe {
	struct ibv_wc wc;
	struct fake_qp *qp; /* for send completions: whose slots come free */
	uint64_t reclaim;
};

enum cq_armed { CQ_QUIET, CQ_SOLICITED, CQ_ANY };

struct fake_cq {
	struct object object;
	struct ibv_cq ib;
	struct cqe *ring;
	uint64_t head;
	uint64_t tail;
	enum cq_armed armed;
	uint64_t serial; /* one of its own */
	uint32_t moderate_count; /* 0: none */
	uint64_t moderate_ns;
	uint32_t untold; /* completions that an event would tell of */
	bool is_overrun;
	unsigned comp_unacked;
};

struct send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t compare_add;
	uint64_t swap;
	uint64_t sent_until_ns; /* when its last bit so far left the port */
	uint32_t rkey;
	uint32_t length;
	uint32_t psn;
	uint32_t packets;
	uint32_t ever_sent; /* packets, again ones not counted */
	uint32_t acked; /* packets of it the other side confirmed or, for a read, sent */
	uint32_t imm;
	enum ibv_wr_opcode opcode;
	unsigned flags;
	enum ibv_wc_status status; /* a local error found when it was sent */
	int sge_count;
	struct fabric_device *to; /* UD */
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	struct ibv_ah_attr ah_attr;
};

enum response_kind { RESPONSE_ACK, RESPONSE_NAK, RESPONSE_READ, RESPONSE_ATOMIC };

enum nak_kind {
	NAK_SEQUENCE,
	NAK_RNR,
	NAK_INVALID_REQUEST,
	NAK_REMOTE_ACCESS,
	NAK_REMOTE_OPERATION
};

struct response {
	enum response_kind kind;
	enum nak_kind nak;
	uint32_t psn;
	uint32_t packets;
	uint32_t sent;
	uint32_t first; /* its first packet's number in the message */
	uint32_t key;
	uint32_t length;
	uint64_t addr; /* of the whole message */
	uint64_t value; /* before the atomic operation */
};

struct atomic_memory {
	uint32_t psn;
	bool is_valid;
	uint64_t value;
};

struct fake_qp {
	struct object object;
	struct table_node node; /* by number */
	struct list ready; /* in device->ready */
	struct ibv_qp ib;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct fabric_device *device;
	struct fabric_device *peer; /* RC, UC: from RTR on */
	uint32_t epoch; /* of its life: changes at RESET */
	uint32_t mtu_bytes;

	/* Requester. Positions count from 0 for ever: reclaimed <= head <= next <= fresh <= tail.
	 */
	struct send_wqe *sq;
	struct ibv_sge *sq_sge;
	uint8_t *sq_inline;
	uint64_t sq_reclaimed;
	uint64_t sq_head; /* oldest not completed */
	uint64_t sq_next; /* being sent */
	uint64_t sq_fresh; /* first never sent */
	uint64_t sq_tail;
	uint32_t sent_packets; /* of sq_next */
	uint32_t sq_psn; /* of the next fresh packet */
	uint32_t reads_in_flight;
	uint32_t retries_left;
	uint32_t rnr_retries_left;
	bool is_rnr_waiting;
	bool is_stuck; /* a local error waits for its turn */
	bool has_rewound; /* for a missing response; further ones are not news */
	bool has_timer;
	bool has_answered; /* the last turn at the port went to the responder */
	uint64_t deadline_ns;

	/* Responder. */
	struct recv_ring rq; /* own; of a queue pair with an SRQ: the one that it has taken there */
	struct fake_srq *srq;
	uint32_t expected_psn;
	bool has_nak; /* sent, and nothing in order since */
	bool drops_message; /* UC: the rest of a message with a hole */
	uint32_t uc_first; /* UC: the next packet's number in the message */
	struct response *responses;
	uint32_t response_size;
	uint32_t response_head;
	uint32_t response_count;
	struct atomic_memory *atomics;
	uint32_t atomic_size;
	uint32_t atomic_next;
};

/* What flies: packets psn .. psn + count - 1. */
struct flight {
	struct fabric_device *from;
	struct fabric_device *to;
	uint32_t from_qpn;
	uint32_t to_qpn;
	uint32_t from_epoch;
	uint16_t pkey;
	uint32_t psn;
	uint32_t count;
	uint32_t wire_packets; /* as count; 1 for a read request, which stands for all its answers
				*/
	uint32_t first; /* number of its first packet in the message */
	uint32_t bytes; /* on the wire, all of it */
	bool has_gap; /* packets after these arrived, the ones between did not */
	enum nak_kind nak;
	uint8_t rnr_timer;
	uint32_t key;
	uint32_t length;
	uint64_t position; /* of the work request in the sender's queue */
	uint64_t addr;
	uint64_t value;
	struct payload *payload; /* UC, UD: owned */
};

/* What an unreliable packet carries, taken when it was sent. */
struct payload {
	enum ibv_wr_opcode opcode;
	bool is_solicited;
	bool is_last;
	uint32_t imm;
	uint32_t rkey;
	uint32_t qkey;
	uint32_t length; /* of the message */
	uint32_t offset;
	uint64_t remote_addr;
	union ibv_gid from_gid;
	union ibv_gid to_gid;
	uint8_t traffic_class;
	uint8_t sl;
	bool has_grh;
	uint32_t bytes;
	uint8_t data[];
};

struct event {
	void (*run)(struct fabric *fabric, struct event *event);
	struct event *next_free;
	struct flight flight;
};

/* Says what is wrong and ends the test. */
void nic_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Zeroed, never NULL. */
void *nic_alloc(size_t count, size_t size_bytes);

/* Without the lock: take it and run what is due; release it. */
void nic_lock(struct fabric *fabric);
/* For who looks whether there is something: false, and not locked, when others have more to do. */
bool nic_try_lock(struct fabric *fabric);
void nic_unlock(struct fabric *fabric);
void nic_run_due(struct fabric *fabric, uint64_t now_ns);
struct event *nic_event(struct fabric *fabric, uint64_t at_ns,
			void (*run)(struct fabric *fabric, struct event *event));
uint64_t nic_random(struct fabric *fabric);
/* Something happened on it that a program could notice. */
static inline void nic_touch(struct fabric_device *device)
{
	device->is_touched = true;
	device->fabric->is_touched = true;
}

/* A present device of that name; the test ends if there is none. */
struct fabric_device *nic_device(struct fabric *fabric, const char *name);
/* To whoever has an identifier of librdmacm on it: the device is gone. */
void nic_tell_manager(struct fabric_device *device);
/* A present device with that GID, or NULL. */
struct fabric_device *nic_find_gid(struct fabric *fabric, const union ibv_gid *gid);

/*
 * Without the lock: begins a verb on a device. 0 and the lock is held, or the positive errno it
 * fails with, and it is not. Spends what the verb costs first.
 */
int verb_enter(struct fabric_device *device, enum fabric_verb verb);
void verb_leave(struct fabric_device *device);
/* With the lock: EIO on a removed device, and injected failures of posts. */
int verb_check(struct fabric_device *device, enum fabric_verb verb);

static inline struct fake_context *context_of(struct ibv_context *context)
{
	return list_entry(verbs_get_ctx(context), struct fake_context, verbs);
}

/* ENOMEM when the device has no more of them. */
int object_add(struct fake_context *context, struct object *object, enum object_kind kind);
void object_remove(struct object *object);
/* Waits (threaded) or aborts (stepped) while `*count` events given out are not acknowledged. */
void object_wait_acked(struct fabric *fabric, const unsigned *count, const char *what);
/* Ends whatever a removed device's context still has. */
void object_end_all(struct fake_context *context);

void async_raise(struct fake_context *context, const struct ibv_async_event *event);
void async_raise_device(struct fabric_device *device, enum ibv_event_type type);
/* Unread events about this element are forgotten. */
void async_forget(struct fake_context *context, const void *element);

/* NULL when [addr, addr + length) with these rights is not inside a region of the PD (any PD:
 * NULL). */
struct fake_mr *mr_check(struct fabric_device *device, const struct ibv_pd *pd, uint32_t key,
			 uint64_t addr, uint64_t length, unsigned access);
bool mr_check_sges(struct fabric_device *device, const struct ibv_pd *pd,
		   const struct ibv_sge *sges, int count, unsigned access);

/* A list of pieces of memory. */
struct pieces {
	const struct ibv_sge *sges;
	int count;
};
/* Moves bytes between two lists, lowest address first, the last byte last, unseen by the thread
 * sanitizer. */
void copy_pieces(struct pieces to, uint64_t to_offset, struct pieces from, uint64_t from_offset,
		 uint64_t bytes);

void cq_push(struct fake_cq *cq, const struct cqe *cqe, bool is_solicited);
/* Forgets what a queue pair has in it. */
void cq_purge(struct fake_cq *cq, const struct fake_qp *qp);
void cq_end(struct fake_cq *cq);
void channel_end(struct fake_channel *channel);
/* The queues of its channel, one more or less. */
void channel_use(struct ibv_comp_channel *channel, int change);
void channel_raise(struct fake_cq *cq);
/* Unread events of this queue. */
void channel_forget(struct fake_cq *cq);
/* Without the lock: one event off a descriptor; aborts where a stepped test would hang. */
bool token_read(struct fabric *fabric, int fd);

/* The users of its PD, one more or less. */
void object_use_pd(struct ibv_pd *pd, int change);

static inline struct fake_cq *cq_of(struct ibv_cq *cq)
{
	return list_entry(cq, struct fake_cq, ib);
}

static inline struct fake_qp *qp_of(struct ibv_qp *qp)
{
	return list_entry(qp, struct fake_qp, ib);
}

/* By number; NULL when there is none. */
struct fake_qp *qp_find(struct fabric_device *device, uint32_t qpn);
/* Flushes both queues. What the responder already owes is still sent. */
void qp_to_error(struct fake_qp *qp);
/* Completes the receive at the head. */
void qp_complete_recv(struct fake_qp *qp, struct ibv_wc *wc, bool is_solicited);
/* Of the receive at the head, which is there. */
/* Whether a receive is there: one that it has already, or takes from its shared queue now. The two
 * below need one. */
bool qp_has_recv(struct fake_qp *qp);
struct pieces qp_recv_pieces(const struct fake_qp *qp);
uint32_t qp_recv_length(const struct fake_qp *qp);
void qp_end(struct fake_qp *qp);

/* The masks and the order of states; 0 or EINVAL. */
int state_check(const struct fake_qp *qp, const struct ibv_qp_attr *attr, int mask,
		enum ibv_qp_state *ret_next);

int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

int cq_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc);
int cq_req_notify(struct ibv_cq *cq, int solicited_only);
int cq_modify(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

/* Queues the pair for its turn at the port if it has something to send. */
void wire_kick(struct fake_qp *qp);
/* Sends packets as data: takes the port's time. Returns when the last bit leaves. Takes
 * flight->payload. */
uint64_t wire_send(struct fabric *fabric, const struct flight *flight,
		   void (*arrive)(struct fabric *fabric, struct event *event));
/* Sends one small packet at once, beside the port's turn. */
void wire_send_control(struct fabric *fabric, const struct flight *flight,
		       void (*arrive)(struct fabric *fabric, struct event *event));
/* At arrival: counts; false if the port or device is not there. */
bool wire_arrived(const struct flight *flight);
struct link_state *link_state(struct fabric *fabric, const struct fabric_device *from,
			      const struct fabric_device *to);
void link_free_all(struct fabric *fabric);

/* What becomes of the next payload that came to a device whole. */
enum fabric_lie_kind lie_next(struct fabric_device *device, uint64_t bytes);
void lie_corrupt(uint8_t *bytes, uint64_t length);
/* Keeps what is at addr, and puts it there again over the payload that comes after. */
void lie_repeat(struct fabric_device *device, uint64_t addr, uint64_t bytes);
/* New payload is at addr: what was kept for that place comes over it. */
void lie_replay(struct fabric_device *device, uint64_t addr, uint64_t bytes);
void lie_forget(struct fabric_device *device);

#define WIRE_HEADER_BYTES 58 /* Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4 */
#define WIRE_GAP_BYTES 24 /* preamble, frame checksum, gap: takes time, not counted */
#define WIRE_BURST_PACKETS 64

bool requester_has_work(const struct fake_qp *qp);
/* Sends up to a burst; requester_has_work was true. */
void requester_send(struct fake_qp *qp);
/* Numbers the packets of the first fresh work request. */
void requester_begin(struct fake_qp *qp);
/* Completes everything not completed with WR_FLUSH_ERR. */
void requester_flush(struct fake_qp *qp);
void requester_reset(struct fake_qp *qp);
void requester_ack(struct fabric *fabric, struct event *event);
void requester_nak(struct fabric *fabric, struct event *event);
void requester_response(struct fabric *fabric, struct event *event);
void requester_atomic(struct fabric *fabric, struct event *event);
/* The retransmission timer counts from then on. */
void requester_start_timer(struct fake_qp *qp, uint64_t from_ns);
/* Sends again from the oldest on, or fails when that was tried often enough. */
void requester_retry(struct fake_qp *qp);
/* Completes the oldest with an error and moves the pair to ERR (RC) or SQE. */
void requester_fail(struct fake_qp *qp, enum ibv_wc_status status);
/* Completes the oldest. */
void requester_complete(struct fake_qp *qp, enum ibv_wc_status status);
/* Gives a local error to a work request; it shows when all before are done. */
void requester_spoil(struct fake_qp *qp, uint64_t position, enum ibv_wc_status status);
/* The local error sending would meet now, or IBV_WC_SUCCESS. */
enum ibv_wc_status requester_check(const struct fake_qp *qp, uint64_t position);
struct pieces requester_pieces(const struct fake_qp *qp, uint64_t position,
			       struct ibv_sge *scratch);

static inline struct send_wqe *requester_wqe(const struct fake_qp *qp, uint64_t position)
{
	return &qp->sq[position % qp->init.cap.max_send_wr];
}

bool responder_has_work(const struct fake_qp *qp);
void responder_send(struct fake_qp *qp);
void responder_request(struct fabric *fabric, struct event *event);
void responder_reset(struct fake_qp *qp);

/* UC and UD: sends up to a burst and completes what is sent whole. */
void unreliable_send(struct fake_qp *qp);

/* a - b of two packet sequence numbers. */
static inline int32_t psn_after(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t count)
{
	return (psn + count) & NIC_PSN_MASK;
}

static inline bool opcode_is_read(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static inline bool opcode_is_send(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
}

static inline bool opcode_has_imm(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}
