// SPDX-License-Identifier: MIT
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "model/reject.h"
#include "util/text.h"
#include "verbs/cm_internal.h"

#define WHAT_SIZE 240 /* which connection, in words */

static const char *describe(const struct cm_connection *connection, char *buf)
{
	const struct cm *cm = connection->cm;
	const struct endpoint *remote = assignment_remote(cm->assignment);
	char address[INET6_ADDRSTRLEN];
	const struct ibv_qp *qp = cm->resources->qps[connection->index];

	snprintf(buf, WHAT_SIZE, "qp 0x%x of %s to %s/%s (%s)", qp ? qp->qp_num : 0,
		 cm->resources->device->name, remote->node, remote->device,
		 cm_address_write(&cm->remote_address, address, sizeof(address)));
	return buf;
}

int cm_error_call(const struct cm *cm, int number, enum error_stage stage, const char *call,
		  struct error *err)
{
	char address[INET6_ADDRSTRLEN];

	return error_set_call(err, number, ERROR_DEVICE, stage, call, "%s failed for %s (%s)", call,
			      cm->resources->device->name,
			      cm_address_write(&cm->own_address, address, sizeof(address)));
}

/* Of which phase an event tells the end, and what its call and stage are. */
static const struct phase_words {
	const char *call;
	enum error_stage stage;
	const char *late;
} phases[CM_OVER + 1] = {
	[CM_RESOLVE_ADDR] = { "rdma_resolve_addr", STAGE_RESOLVE,
			      "the address was not resolved; check route, VLAN and neighbour "
			      "(`ip route get`, `ip neigh`)" },
	[CM_RESOLVE_ROUTE] = { "rdma_resolve_route", STAGE_RESOLVE, "no route was found" },
	[CM_CONNECT] = { "rdma_connect", STAGE_CONNECT,
			 "the connection manager there did not answer; is UDP port 4791 (RoCE v2) "
			 "dropped on the way?" },
	[CM_ESTABLISH] = { "rdma_accept", STAGE_CONNECT,
			   "its connection manager did not confirm our answer" },
	[CM_DISCONNECT] = { "rdma_disconnect", STAGE_CONNECT,
			    "its connection manager did not answer that the connection is closed" },
};

/* Nothing is awaited in the others. */
static const struct phase_words *words_of(const struct cm_connection *connection)
{
	return phases[connection->phase].call ? &phases[connection->phase] : &phases[CM_CONNECT];
}

static const char *refusal_words(enum cm_refusal refusal)
{
	switch (refusal) {
	case CM_REFUSAL_TOKEN:
		return "it does not know the token of this run";
	case CM_REFUSAL_NUMBER:
		return "it has no queue pair of that number that is still to be connected";
	case CM_REFUSAL_QP:
		return "it was told of another queue pair";
	default:
		return NULL;
	}
}

static int set_rejected(const struct cm_connection *connection, const struct cm_news *news,
			struct error *err)
{
	const char *own = refusal_words(cm_passive_refusal(news));
	char what[WHAT_SIZE];

	error_set(err, -ECONNREFUSED, reject_is_of_peer(news->status) ? ERROR_PEER : ERROR_DEVICE,
		  "%s was rejected: %s (%s %d)", describe(connection, what),
		  own ? own : reject_words(news->status), reject_name(news->status), news->status);
	err->stage = STAGE_CONNECT;
	err->kind = ERROR_KIND_CM_REJECT;
	err->number = news->status;
	text_copy(err->call, sizeof(err->call), words_of(connection)->call);
	return -ECONNREFUSED;
}

static int set_removed(const struct cm_connection *connection, struct error *err)
{
	error_set(err, -ENODEV, ERROR_DEVICE,
		  "RDMA device \"%s\" was removed while queue pairs were being connected",
		  connection->cm->resources->device->name);
	error_number(err, ENODEV);
	err->stage = STAGE_CONNECT;
	text_copy(err->call, sizeof(err->call), "device");
	return -ENODEV;
}

int cm_error_news(const struct cm_connection *connection, const struct cm_news *news,
		  struct error *err)
{
	/* Negative in some events, positive in others. */
	int number = news->status < 0 ? -news->status : news->status;
	char what[WHAT_SIZE];

	switch (news->type) {
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return set_removed(connection, err);
	case RDMA_CM_EVENT_REJECTED:
		/* iWARP tells an errno instead of a reason. */
		return news->status >= 0
			       ? set_rejected(connection, news, err)
			       : error_set_call(err, number, ERROR_PEER, STAGE_CONNECT,
						words_of(connection)->call, "%s was rejected",
						describe(connection, what));
	case RDMA_CM_EVENT_DISCONNECTED:
		return error_set_call(err, ECONNRESET, ERROR_PEER, STAGE_CONNECT,
				      words_of(connection)->call,
				      "%s was closed by the other end before all were connected",
				      describe(connection, what));
	case RDMA_CM_EVENT_ADDR_ERROR:
		if (number == ENODEV) {
			return error_set_call(
				err, number, ERROR_DEVICE, STAGE_RESOLVE, "rdma_resolve_addr",
				"%s: the way to that address goes through an "
				"interface that has no RDMA device here (`ip route get`)",
				describe(connection, what));
		}
		break;
	default:
		break;
	}
	return error_set_call(err, number ? number : ETIMEDOUT, ERROR_DEVICE,
			      words_of(connection)->stage, words_of(connection)->call,
			      "%s: %s (%s)", describe(connection, what), words_of(connection)->late,
			      rdma_event_str(news->type));
}

int cm_error_late(const struct cm_connection *connection, struct error *err)
{
	char what[WHAT_SIZE];

	return error_set_call(err, ETIMEDOUT, ERROR_DEVICE, words_of(connection)->stage,
			      words_of(connection)->call, "%s: %s", describe(connection, what),
			      words_of(connection)->late);
}

int cm_error_whole(const struct cm *cm, struct error *err)
{
	const struct endpoint *remote = assignment_remote(cm->assignment);
	char others[80] = "";

	if (cm->rejected > 0) {
		snprintf(others, sizeof(others), "; %zu requests without its token were rejected",
			 cm->rejected);
	}
	return error_set_call(
		err, ETIMEDOUT, ERROR_DEVICE, STAGE_CONNECT,
		cm->is_initiator ? "rdma_connect" : "rdma_accept",
		"%zu of %zu queue pairs between %s and %s/%s were connected in time%s",
		cm->established, cm->count, cm->resources->device->name, remote->node,
		remote->device, others);
}
