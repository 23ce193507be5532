// SPDX-License-Identifier: MIT
#pragma once

/* What the sources of verbs/cm share and nobody else sees: cm.c (life, events, deadlines),
 * cm_active.c (the initiator), cm_passive.c (the responder), cm_error.c (words for what failed),
 * cm_address.c (addresses). */

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include "verbs/cm.h"
#include "verbs/cm_rounds.h"
#include "verbs/connect.h"

#define CM_SECOND_NS 1000000000ull
/* Of the coordinator's 20 s: two for each resolution, as the kernel keeps it, and one until it says
 * so; the rest for the other end. */
#define CM_RESOLVE_MS 2000
#define CM_RESOLVE_NS (3 * CM_SECOND_NS)
#define CM_CONNECT_NS (8 * CM_SECOND_NS)
#define CM_INITIATOR_NS (15 * CM_SECOND_NS)
/* The initiator knows more about it, and speaks first. */
#define CM_RESPONDER_NS (17 * CM_SECOND_NS)
#define CM_DISCONNECT_NS CM_SECOND_NS
#define CM_AT_ONCE 16 /* connections under way, so that no listener's queue is flooded */
#define CM_EVENTS_AT_ONCE 64
#define CM_ATTEMPTS 20
#define CM_RETRY_NS 20000000ull /* times the number of the attempt */
#define CM_PRIVATE_BYTES 24 /* that we send; a request of the port space TCP has room for 56 */

enum cm_phase {
	CM_NONE,
	CM_RETRY, /* waits before the next attempt */
	CM_RESOLVE_ADDR,
	CM_RESOLVE_ROUTE,
	CM_CONNECT, /* initiator: the request is out */
	CM_ESTABLISH, /* responder: its answer is out */
	CM_ESTABLISHED,
	CM_DISCONNECT,
	CM_OVER,
};

/* Why we reject a request ourselves, told in the private data of the rejection. */
enum cm_refusal { CM_REFUSAL_NONE, CM_REFUSAL_TOKEN, CM_REFUSAL_NUMBER, CM_REFUSAL_QP };

struct cm_connection {
	struct cm *cm;
	size_t index; /* of the queue pair */
	enum cm_phase phase;
	struct rdma_cm_id *id; /* its context is this connection */
	uint64_t since_mono_ns; /* the phase */
	uint64_t deadline_mono_ns; /* of the phase; CLOCK_NEVER: none */
	unsigned attempts;
	/* Of a round. */
	int round_phase; /* enum connection_phase */
	uint64_t round_mono_ns; /* since when it is in it */
	uint64_t begun_mono_ns;
	uint64_t phase_ns[CONNECTION_PHASES];
};

struct cm_rounds {
	const struct cm_rounds_events *events;
	void *arg;
	uint64_t left; /* to begin; UINT64_MAX: without end */
	size_t under_way;
	uint64_t retried;
};

struct cm {
	struct resources *resources;
	const struct assignment *assignment;
	const struct endpoint_info *remote; /* NULL before cm_connect */
	bool is_initiator;
	bool is_repeating; /* pattern connect: rounds */
	bool is_datagram; /* UD: addresses are resolved (SIDR), nothing is connected or parted */
	struct rdma_event_channel *channel;
	struct sockaddr_storage own_address;
	struct sockaddr_storage remote_address;
	struct rdma_cm_id *listener; /* of the responder, until all are in */
	uint16_t port;
	uint8_t token[CM_TOKEN_BYTES]; /* own one, or what the other end wants to see */
	struct ibv_ah_attr path;
	struct cm_connection *connections;
	size_t count;
	size_t next; /* initiator: the next to begin */
	size_t under_way;
	size_t established;
	size_t rejected; /* requests of others */
	uint64_t deadline_mono_ns; /* of all together; CLOCK_NEVER: none */
	struct cm_rounds rounds;
};

/* An event, copied and acknowledged. */
struct cm_news {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	struct rdma_conn_param conn;
	uint8_t data[256]; /* private data */
	size_t data_bytes;
};

static inline enum rdma_port_space cm_port_space(const struct cm *cm)
{
	return cm->is_datagram ? RDMA_PS_UDP : RDMA_PS_TCP;
}

/* cm.c */
/* To another phase; timeout_ns 0: without a deadline. */
void cm_enter(struct cm_connection *connection, enum cm_phase phase, uint64_t timeout_ns);
/* What the phase took, into the steps. */
void cm_end_phase(const struct cm_connection *connection, struct steps *steps);
/* Both ends know of it. */
void cm_settle(struct cm_connection *connection);
/* Destroys the identifier, if there is one. */
void cm_drop(struct cm_connection *connection, struct steps *steps);
/* The queue pair to RTS with the numbers that were agreed on for it. */
int cm_modify(struct cm_connection *connection, struct steps *steps, struct error *err);
/* What we take and answer at once (`initiator_depth`, `responder_resources`), queue pair, retries;
 * no private data. */
void cm_fill(const struct cm_connection *connection, struct rdma_conn_param *ret);
/* The identifier, which is bound to the address of the plan, got its device and port; else -ENODEV
 * with err. */
int cm_check_device(const struct cm *cm, const struct rdma_cm_id *id, const char *call,
		    struct error *err);

/* The next event, copied and acknowledged: CM_DONE, CM_WAITS when there is none, or -errno. */
int cm_take_news(struct cm *cm, struct cm_news *ret, struct error *err);
/* News that mean the same whatever goes on: true, with what came of it in *ret. */
bool cm_take_common(struct cm *cm, const struct cm_news *news, struct steps *steps, int *ret,
		    struct error *err);

/* cm_active.c */
/* As many as may be under way. */
int cm_active_start(struct cm *cm, struct error *err);
int cm_active_begin(struct cm_connection *connection, struct error *err);
int cm_active_news(struct cm_connection *connection, const struct cm_news *news,
		   struct steps *steps, struct error *err);

/* cm_passive.c */
int cm_passive_listen(struct cm *cm, struct steps *steps, struct error *err);
/* Nobody can come in any more, and who came and was not looked at is rejected. */
void cm_passive_close(struct cm *cm);
int cm_passive_request(struct cm *cm, const struct cm_news *news, struct steps *steps,
		       struct error *err);
int cm_passive_news(struct cm_connection *connection, const struct cm_news *news,
		    struct steps *steps, struct error *err);
/* The magic word, the token, the number of the queue pair: CM_PRIVATE_BYTES of them. */
void cm_passive_write(const uint8_t *token, size_t index, uint8_t ret[CM_PRIVATE_BYTES]);
/* What a rejection of ours says; CM_REFUSAL_NONE: it is not ours. */
enum cm_refusal cm_passive_refusal(const struct cm_news *news);

/* cm_rounds.c: a request with the token came: its queue pair is made. Then the answer went. */
int cm_rounds_accepting(struct cm_connection *connection, struct error *err);
void cm_rounds_accepted(struct cm_connection *connection);

/* cm_error.c */
/* A call of librdmacm that failed. */
int cm_error_call(const struct cm *cm, int number, enum error_stage stage, const char *call,
		  struct error *err);
/* An event that ends the attempt. */
int cm_error_news(const struct cm_connection *connection, const struct cm_news *news,
		  struct error *err);
/* The deadline of its phase passed. */
int cm_error_late(const struct cm_connection *connection, struct error *err);
/* The deadline of all passed. */
int cm_error_whole(const struct cm *cm, struct error *err);

/* cm_address.c */
/* The address that a RoCE GID stands for, without a port. -EAFNOSUPPORT for a link-local one whose
 * interface is not known (scope_id 0). */
int cm_address_of(const union ibv_gid *gid, uint32_t scope_id, struct sockaddr_storage *ret);
void cm_address_set_port(struct sockaddr_storage *address, uint16_t port);
/* The address in words. */
const char *cm_address_write(const struct sockaddr_storage *address, char *buf, size_t size);
