// SPDX-License-Identifier: MIT
#include "model/reject.h"

#include <stddef.h>

static const struct {
	int reason;
	bool is_of_peer;
	const char *name;
	const char *words;
} reasons[] = {
	{ REJECT_NO_QP, true, "IB_CM_REJ_NO_QP", "it has no queue pair for it" },
	{ 3, true, "IB_CM_REJ_NO_RESOURCES", "it has no resources for it" },
	{ 4, true, "IB_CM_REJ_TIMEOUT", "it waited too long for our answer" },
	{ 5, true, "IB_CM_REJ_UNSUPPORTED", "it does not support what was asked for" },
	{ 6, true, "IB_CM_REJ_INVALID_COMM_ID", "it does not know the connection" },
	{ 7, true, "IB_CM_REJ_INVALID_COMM_INSTANCE", "it does not know the connection" },
	{ REJECT_NO_LISTENER, true, "IB_CM_REJ_INVALID_SERVICE_ID",
	  "nobody listens at that address and port any more" },
	{ 9, true, "IB_CM_REJ_INVALID_TRANSPORT_TYPE", "it expects another queue pair type" },
	{ REJECT_STALE, true, "IB_CM_REJ_STALE_CONN",
	  "it still knows an earlier connection of that queue pair" },
	{ 12, false, "IB_CM_REJ_INVALID_GID", "the GID of the path is not its own" },
	{ 13, false, "IB_CM_REJ_INVALID_LID", "the LID of the path is not its own" },
	{ 14, false, "IB_CM_REJ_INVALID_SL", "it does not take that service level" },
	{ 15, false, "IB_CM_REJ_INVALID_TRAFFIC_CLASS", "it does not take that traffic class" },
	{ 16, false, "IB_CM_REJ_INVALID_HOP_LIMIT", "it does not take that hop limit" },
	{ 17, false, "IB_CM_REJ_INVALID_PACKET_RATE", "it does not take that packet rate" },
	{ 24, false, "IB_CM_REJ_PORT_CM_REDIRECT", "it wants another port to be asked" },
	{ REJECT_REDIRECT, false, "IB_CM_REJ_PORT_REDIRECT", "it wants another port to be asked" },
	{ 26, false, "IB_CM_REJ_INVALID_MTU", "the path MTU is above what it takes" },
	{ 27, true, "IB_CM_REJ_INSUFFICIENT_RESP_RESOURCES",
	  "it cannot answer that many reads and atomics at once (qp.max_rd_atomic)" },
	{ REJECT_CONSUMER, true, "IB_CM_REJ_CONSUMER_DEFINED",
	  "the program there did not want it, or has no room for requests "
	  "(net.rdma_ucm.max_backlog)" },
	{ 29, false, "IB_CM_REJ_INVALID_RNR_RETRY", "it does not take that rnr_retry" },
	{ 30, true, "IB_CM_REJ_DUPLICATE_LOCAL_COMM_ID", "it knows that connection already" },
	{ REJECT_VERSION, false, "IB_CM_REJ_INVALID_CLASS_VERSION",
	  "it speaks another version of the connection manager's protocol" },
	{ 32, false, "IB_CM_REJ_INVALID_FLOW_LABEL", "it does not take that flow label" },
};

#define REASON_COUNT (sizeof(reasons) / sizeof(reasons[0]))

static size_t index_of(int reason)
{
	size_t i = 0;

	while (i < REASON_COUNT && reasons[i].reason != reason) {
		i++;
	}
	return i;
}

const char *reject_name(int reason)
{
	size_t i = index_of(reason);

	return i < REASON_COUNT ? reasons[i].name : "unknown";
}

const char *reject_words(int reason)
{
	size_t i = index_of(reason);

	return i < REASON_COUNT ? reasons[i].words : "for a reason that has no name here";
}

bool reject_is_of_peer(int reason)
{
	size_t i = index_of(reason);

	return i < REASON_COUNT && reasons[i].is_of_peer;
}
