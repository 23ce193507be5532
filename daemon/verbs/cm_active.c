// SPDX-License-Identifier: MIT
/* The end that connects. */
#include <errno.h>

#include "model/reject.h"
#include "util/clock.h"
#include "verbs/call.h"
#include "verbs/cm_internal.h"

int cm_active_begin(struct cm_connection *connection, struct error *err)
{
	struct cm *cm = connection->cm;

	(void)call_begin("rdma_create_id");
	if (rdma_create_id(cm->channel, &connection->id, connection, cm_port_space(cm)) != 0) {
		return cm_error_call(cm, errno, STAGE_RESOURCE, "rdma_create_id", err);
	}
	connection->attempts++;
	cm_enter(connection, CM_RESOLVE_ADDR, CM_RESOLVE_NS);
	/* From the address of the chosen GID: the kernel would take any by its routes. */
	(void)call_begin("rdma_resolve_addr");
	if (rdma_resolve_addr(connection->id, (struct sockaddr *)&cm->own_address,
			      (struct sockaddr *)&cm->remote_address, CM_RESOLVE_MS) != 0) {
		return cm_error_call(cm, errno, STAGE_RESOLVE, "rdma_resolve_addr", err);
	}
	return 0;
}

int cm_active_start(struct cm *cm, struct error *err)
{
	int ret = 0;

	while (ret == 0 && cm->next < cm->count && cm->under_way < CM_AT_ONCE) {
		cm->under_way++;
		ret = cm_active_begin(&cm->connections[cm->next++], err);
	}
	return ret;
}

static int resolve_route(struct cm_connection *connection, struct steps *steps, struct error *err)
{
	int ret = cm_check_device(connection->cm, connection->id, "rdma_resolve_addr", err);

	if (ret < 0) {
		return ret;
	}
	cm_end_phase(connection, steps);
	cm_enter(connection, CM_RESOLVE_ROUTE, CM_RESOLVE_NS);
	(void)call_begin("rdma_resolve_route");
	if (rdma_resolve_route(connection->id, CM_RESOLVE_MS) != 0) {
		return cm_error_call(connection->cm, errno, STAGE_RESOLVE, "rdma_resolve_route",
				     err);
	}
	return 0;
}

static int request(struct cm_connection *connection, struct steps *steps, struct error *err)
{
	uint8_t data[CM_PRIVATE_BYTES];
	struct rdma_conn_param param;

	cm_end_phase(connection, steps);
	cm_enter(connection, CM_CONNECT, CM_CONNECT_NS);
	cm_fill(connection, &param);
	cm_passive_write(connection->cm->token, connection->index, data);
	param.private_data = data;
	param.private_data_len = sizeof(data);
	(void)call_begin("rdma_connect");
	if (rdma_connect(connection->id, &param) != 0) {
		return cm_error_call(connection->cm, errno, STAGE_CONNECT, "rdma_connect", err);
	}
	return 0;
}

/* Both ends were asked for the same: whoever grants less is not of our making. Nobody was told of
 * the queue pairs of rounds before. */
static int check_answer(const struct cm_connection *connection, const struct cm_news *news,
			struct error *err)
{
	const struct cm *cm = connection->cm;
	uint64_t told_qp_num = cm->is_repeating ? news->conn.qp_num
						: cm->remote->qps[connection->index].qp_num;
	struct rdma_conn_param own;

	cm_fill(connection, &own);
	if (news->conn.qp_num == told_qp_num &&
	    (cm->is_datagram || news->conn.initiator_depth >= own.initiator_depth)) {
		return 0;
	}
	error_set(err, -EPROTO, ERROR_PEER,
		  "the answer to qp 0x%x is from qp 0x%x and grants %u reads at once, where qp "
		  "0x%llx and %u were agreed on; do both daemons and devices agree?",
		  own.qp_num, news->conn.qp_num, news->conn.initiator_depth,
		  (unsigned long long)told_qp_num, own.initiator_depth);
	error_number(err, EPROTO);
	err->stage = STAGE_CONNECT;
	text_copy(err->call, sizeof(err->call), "rdma_connect");
	return -EPROTO;
}

static int establish(struct cm_connection *connection, const struct cm_news *news,
		     struct steps *steps, struct error *err)
{
	struct cm *cm = connection->cm;
	uint64_t begun_mono_ns = clock_mono_ns();
	int ret = check_answer(connection, news, err);

	cm_end_phase(connection, steps);
	if (ret == 0) {
		ret = cm_modify(connection, steps, err);
	}
	if (ret < 0) {
		return ret;
	}
	(void)call_begin("rdma_establish");
	if (rdma_establish(connection->id) != 0) {
		return cm_error_call(cm, errno, STAGE_CONNECT, "rdma_establish", err);
	}
	call_end(steps, "established", begun_mono_ns, 0);
	cm_settle(connection);
	return 0;
}

/* All that there is to know of a datagram's other end. */
static int settle_datagram(struct cm_connection *connection, const struct cm_news *news,
			   struct steps *steps, struct error *err)
{
	cm_end_phase(connection, steps);
	cm_settle(connection);
	return check_answer(connection, news, err);
}

/*
 * A queue of requests that is full and what is left of an earlier connection pass: another attempt,
 * with an identifier of its own.
 */
static bool is_passing(const struct cm_connection *connection, const struct cm_news *news)
{
	return connection->phase == CM_CONNECT && connection->attempts < CM_ATTEMPTS &&
	       ((news->status == REJECT_CONSUMER && cm_passive_refusal(news) == CM_REFUSAL_NONE) ||
		news->status == REJECT_STALE);
}

int cm_active_news(struct cm_connection *connection, const struct cm_news *news,
		   struct steps *steps, struct error *err)
{
	switch (news->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return resolve_route(connection, steps, err);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return request(connection, steps, err);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return establish(connection, news, steps, err);
	case RDMA_CM_EVENT_ESTABLISHED:
		return connection->cm->is_datagram && connection->phase == CM_CONNECT
			       ? settle_datagram(connection, news, steps, err)
			       : 0;
	case RDMA_CM_EVENT_REJECTED:
		if (is_passing(connection, news)) {
			cm_end_phase(connection, steps);
			cm_drop(connection, steps);
			cm_enter(connection, CM_RETRY, connection->attempts * CM_RETRY_NS);
			return 0;
		}
		break;
	default:
		break;
	}
	cm_end_phase(connection, steps);
	return cm_error_news(connection, news, err);
}
