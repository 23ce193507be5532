// SPDX-License-Identifier: MIT
/* The end that listens, and what both ends write to each other. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "util/clock.h"
#include "util/memory.h"
#include "verbs/call.h"
#include "verbs/cm_internal.h"

/* In private data, in this order. */
static const uint8_t magic[4] = { 'R', 'D', 'T', '1' };
#define TOKEN_AT sizeof(magic)
#define INDEX_AT (TOKEN_AT + CM_TOKEN_BYTES)
#define INDEX_BYTES 4 /* big-endian */
#define REFUSAL_AT sizeof(magic) /* in a rejection */

void cm_passive_write(const uint8_t *token, size_t index, uint8_t ret[CM_PRIVATE_BYTES])
{
	memset(ret, 0, CM_PRIVATE_BYTES);
	memcpy(ret, magic, sizeof(magic));
	memcpy(ret + TOKEN_AT, token, CM_TOKEN_BYTES);
	for (size_t i = 0; i < INDEX_BYTES; i++) {
		ret[INDEX_AT + i] = (uint8_t)(index >> (8 * (INDEX_BYTES - 1 - i)));
	}
}

/* The whole of it is looked at, whatever its first byte is: time tells nothing of the token. */
static bool has_token(const struct cm *cm, const struct cm_news *news)
{
	uint8_t difference = 0;

	if (news->data_bytes < INDEX_AT + INDEX_BYTES ||
	    memcmp(news->data, magic, sizeof(magic)) != 0) {
		return false;
	}
	for (size_t i = 0; i < CM_TOKEN_BYTES; i++) {
		difference |= (uint8_t)(news->data[TOKEN_AT + i] ^ cm->token[i]);
	}
	return difference == 0;
}

static size_t read_index(const struct cm_news *news)
{
	size_t index = 0;

	for (size_t i = 0; i < INDEX_BYTES; i++) {
		index = index << 8 | news->data[INDEX_AT + i];
	}
	return index;
}

enum cm_refusal cm_passive_refusal(const struct cm_news *news)
{
	if (news->data_bytes <= REFUSAL_AT || memcmp(news->data, magic, sizeof(magic)) != 0 ||
	    news->data[REFUSAL_AT] > CM_REFUSAL_QP) {
		return CM_REFUSAL_NONE;
	}
	return news->data[REFUSAL_AT];
}

int cm_passive_listen(struct cm *cm, struct steps *steps, struct error *err)
{
	uint64_t started_mono_ns = call_begin("rdma_create_id");
	struct sockaddr_storage address = cm->own_address;
	int ret;

	if (rdma_create_id(cm->channel, &cm->listener, NULL, cm_port_space(cm)) != 0) {
		cm->listener = NULL;
		return cm_error_call(cm, errno, STAGE_RESOURCE, "rdma_create_id", err);
	}
	(void)call_begin("rdma_bind_addr");
	if (rdma_bind_addr(cm->listener, (struct sockaddr *)&address) != 0) {
		return cm_error_call(cm, errno, STAGE_RESOLVE, "rdma_bind_addr", err);
	}
	ret = cm_check_device(cm, cm->listener, "rdma_bind_addr", err);
	if (ret < 0) {
		return ret;
	}
	(void)call_begin("rdma_listen");
	if (rdma_listen(cm->listener, (int)cm->count + CM_AT_ONCE) != 0) {
		return cm_error_call(cm, errno, STAGE_RESOURCE, "rdma_listen", err);
	}
	cm->port = be16toh(rdma_get_src_port(cm->listener));
	call_end(steps, "listen", started_mono_ns, 0);
	return 0;
}

void cm_passive_close(struct cm *cm)
{
	if (cm->listener) {
		(void)call_begin("rdma_destroy_id");
		(void)rdma_destroy_id(take(cm->listener));
	}
}

static void settle(struct cm_connection *connection)
{
	struct cm *cm = connection->cm;

	cm_settle(connection);
	if (cm->established == cm->count && !cm->is_repeating) {
		cm_passive_close(cm);
	}
}

/* Who it is, and whether it is awaited. */
static enum cm_refusal check_request(const struct cm *cm, const struct cm_news *news,
				     struct cm_connection **ret)
{
	size_t index;

	if (!has_token(cm, news)) {
		return CM_REFUSAL_TOKEN;
	}
	index = read_index(news);
	if (index >= cm->count || cm->connections[index].phase != CM_NONE) {
		return CM_REFUSAL_NUMBER;
	}
	/* A request of datagrams does not say, and a round has a queue pair that nobody was told
	 * of. */
	if (!cm->is_datagram && !cm->is_repeating &&
	    news->conn.qp_num != cm->remote->qps[index].qp_num) {
		return CM_REFUSAL_QP;
	}
	*ret = &cm->connections[index];
	return CM_REFUSAL_NONE;
}

static void refuse(struct cm *cm, const struct cm_news *news, enum cm_refusal refusal,
		   struct steps *steps)
{
	uint64_t started_mono_ns = call_begin("rdma_reject");
	uint8_t data[sizeof(magic) + 1];

	memcpy(data, magic, sizeof(magic));
	data[REFUSAL_AT] = (uint8_t)refusal;
	(void)rdma_reject(news->id, data, sizeof(data));
	(void)call_begin("rdma_destroy_id");
	(void)rdma_destroy_id(news->id);
	call_end(steps, "rejected_request", started_mono_ns, 0);
	cm->rejected++;
}

int cm_passive_request(struct cm *cm, const struct cm_news *news, struct steps *steps,
		       struct error *err)
{
	struct cm_connection *connection = NULL;
	struct rdma_conn_param param;
	uint64_t begun_mono_ns = clock_mono_ns();
	enum cm_refusal refusal = check_request(cm, news, &connection);
	int ret;

	if (refusal != CM_REFUSAL_NONE) {
		refuse(cm, news, refusal, steps);
		return 0;
	}
	/* It has the listener's context until here. */
	connection->id = news->id;
	connection->id->context = connection;
	cm_enter(connection, CM_ESTABLISH, CM_CONNECT_NS);
	cm->under_way++;
	ret = cm_check_device(cm, connection->id, "rdma_accept", err);
	if (ret == 0 && cm->is_repeating) {
		ret = cm_rounds_accepting(connection, err);
	}
	if (ret == 0 && !cm->is_datagram) {
		ret = cm_modify(connection, steps, err);
	}
	if (ret < 0) {
		return ret;
	}
	cm_fill(connection, &param);
	(void)call_begin("rdma_accept");
	if (rdma_accept(connection->id, &param) != 0) {
		return cm_error_call(cm, errno, STAGE_CONNECT, "rdma_accept", err);
	}
	call_end(steps, "accept", begun_mono_ns, 0);
	cm_enter(connection, CM_ESTABLISH, CM_CONNECT_NS);
	if (cm->is_repeating) {
		cm_rounds_accepted(connection);
	}
	if (cm->is_datagram) {
		settle(connection);
	}
	return 0;
}

int cm_passive_news(struct cm_connection *connection, const struct cm_news *news,
		    struct steps *steps, struct error *err)
{
	if (news->type == RDMA_CM_EVENT_ESTABLISHED) {
		if (connection->phase != CM_ESTABLISH) {
			return 0;
		}
		cm_end_phase(connection, steps);
		settle(connection);
		return 0;
	}
	return cm_error_news(connection, news, err);
}
