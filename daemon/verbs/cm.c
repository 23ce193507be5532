// SPDX-License-Identifier: MIT
#include "verbs/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "model/reject.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"
#include "verbs/call.h"
#include "verbs/cm_internal.h"

/* --- one connection --- */

void cm_enter(struct cm_connection *connection, enum cm_phase phase, uint64_t timeout_ns)
{
	connection->phase = phase;
	connection->since_mono_ns = clock_mono_ns();
	connection->deadline_mono_ns = timeout_ns ? connection->since_mono_ns + timeout_ns
						  : CLOCK_NEVER;
}

void cm_end_phase(const struct cm_connection *connection, struct steps *steps)
{
	static const char *const names[CM_OVER + 1] = {
		[CM_RETRY] = "connect_retry",	      [CM_RESOLVE_ADDR] = "resolve_addr",
		[CM_RESOLVE_ROUTE] = "resolve_route", [CM_CONNECT] = "connect",
		[CM_ESTABLISH] = "established",	      [CM_DISCONNECT] = "disconnect",
	};

	if (steps && names[connection->phase]) {
		step_add(steps, names[connection->phase],
			 clock_mono_ns() - connection->since_mono_ns, 0);
	}
}

void cm_settle(struct cm_connection *connection)
{
	cm_enter(connection, CM_ESTABLISHED, 0);
	connection->cm->under_way--;
	connection->cm->established++;
}

void cm_drop(struct cm_connection *connection, struct steps *steps)
{
	uint64_t started_mono_ns;

	if (!connection->id) {
		return;
	}
	started_mono_ns = call_begin("rdma_destroy_id");
	(void)rdma_destroy_id(take(connection->id));
	call_end(steps, "destroy_id", started_mono_ns, 0);
}

static uint64_t smaller(uint64_t a, int b)
{
	return b >= 0 && (uint64_t)b < a ? (uint64_t)b : a;
}

void cm_fill(const struct cm_connection *connection, struct rdma_conn_param *ret)
{
	const struct resources *resources = connection->cm->resources;
	const struct qp_settings *qp = &connection->cm->assignment->workload.qp;
	const struct ibv_device_attr *limits = &resources->device->attr;

	*ret = (struct rdma_conn_param){
		.initiator_depth = (uint8_t)smaller(qp->max_rd_atomic, limits->max_qp_init_rd_atom),
		.responder_resources = (uint8_t)smaller(qp->max_rd_atomic, limits->max_qp_rd_atom),
		.flow_control = 1,
		.retry_count = (uint8_t)qp->retry_cnt,
		.rnr_retry_count = (uint8_t)qp->rnr_retry,
		.srq = resources->srq != NULL,
		.qp_num = resources->qps[connection->index]->qp_num,
	};
}

int cm_modify(struct cm_connection *connection, struct steps *steps, struct error *err)
{
	struct cm *cm = connection->cm;
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	struct connect_numbers numbers;
	int mask;

	(void)call_begin("rdma_init_qp_attr");
	if (rdma_init_qp_attr(connection->id, &rtr, &mask) != 0 ||
	    rdma_init_qp_attr(connection->id, &rts, &mask) != 0) {
		return cm_error_call(cm, errno, STAGE_CONNECT, "rdma_init_qp_attr", err);
	}
	numbers = (struct connect_numbers){ .dest_qp_num = rtr.dest_qp_num,
					    .rq_psn = rtr.rq_psn,
					    .sq_psn = rts.sq_psn };
	/* The path is that of the plan, as with `exchange`: the connection manager went the same,
	 * between the same addresses. */
	return connect_qp(cm->resources, connection->index, cm->assignment, cm->remote, &cm->path,
			  &numbers, steps, err);
}

int cm_check_device(const struct cm *cm, const struct rdma_cm_id *id, const char *call,
		    struct error *err)
{
	const struct endpoint *local = assignment_local(cm->assignment);
	char address[64];

	(void)cm_address_write(&cm->own_address, address, sizeof(address));
	if (!id->verbs) {
		error_set(err, -ENODEV, ERROR_DEVICE,
			  "the connection manager found no RDMA device behind %s, which is an "
			  "address of %s; is its node GUID zero? (`rdmatestd --doctor`)",
			  address, local->device);
	} else if (strcmp(ibv_get_device_name(id->verbs->device), local->device) != 0 ||
		   id->port_num != local->port_num) {
		error_set(err, -ENODEV, ERROR_DEVICE,
			  "the connection manager went to %s port %u, and not to %s port %llu, "
			  "which has the address %s; check the routes to the other end "
			  "(`ip route get`), or use qp.cm: exchange",
			  ibv_get_device_name(id->verbs->device), id->port_num, local->device,
			  (unsigned long long)local->port_num, address);
	} else {
		return 0;
	}
	error_number(err, ENODEV);
	err->stage = STAGE_RESOLVE;
	text_copy(err->call, sizeof(err->call), call);
	return -ENODEV;
}

/* --- life --- */

static int open_channel(struct cm *cm, struct error *err)
{
	int flags;

	(void)call_begin("rdma_create_event_channel");
	errno = 0;
	cm->channel = rdma_create_event_channel();
	if (!cm->channel) {
		return error_set_call(
			err, errno ? errno : ENODEV, ERROR_RESOURCE, STAGE_RESOURCE,
			"rdma_create_event_channel",
			"the kernel's connection manager cannot be used (/dev/infiniband/rdma_cm); "
			"`modprobe rdma_ucm`, `rdmatestd --doctor`, or use qp.cm: exchange");
	}
	flags = fcntl(cm->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(cm->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(cm->channel->fd, F_SETFD, FD_CLOEXEC) < 0) {
		return error_set_call(
			err, errno, ERROR_RESOURCE, STAGE_RESOURCE, "fcntl",
			"the event channel of the connection manager cannot be made non-blocking");
	}
	return 0;
}

/* Which interface a link-local address belongs to. */
static uint32_t scope_of(const struct cm *cm)
{
	const struct endpoint *local = assignment_local(cm->assignment);
	struct ibv_gid_entry entry = { 0 };

	(void)call_begin("ibv_query_gid_ex");
	if (ibv_query_gid_ex(cm->resources->device->context, (uint32_t)local->port_num,
			     (uint32_t)local->gid_index, &entry, 0) != 0) {
		return 0;
	}
	return entry.ndev_ifindex;
}

static int find_address(struct cm *cm, struct error *err)
{
	if (cm->resources->is_infiniband) {
		return error_set_call(
			err, EOPNOTSUPP, ERROR_INPUT, STAGE_RESOURCE, "rdma_bind_addr",
			"qp.cm: rdma_cm connects IP addresses, and the GIDs of %s (InfiniBand) are "
			"none; use exchange",
			cm->resources->device->name);
	}
	if (cm_address_of(&cm->resources->gid, scope_of(cm), &cm->own_address) < 0) {
		return error_set_call(
			err, EOPNOTSUPP, ERROR_INPUT, STAGE_RESOURCE, "rdma_bind_addr",
			"qp.cm: rdma_cm needs the interface of the link-local GID of %s, and it "
			"has none; use another qp.gid_index, or exchange",
			cm->resources->device->name);
	}
	return 0;
}

int cm_new(struct cm **ret_cm, struct resources *resources, const struct assignment *assignment,
	   struct steps *steps, struct error *err)
{
	struct cm *cm = memory_new(sizeof(*cm));
	int ret;

	cm->resources = resources;
	cm->assignment = assignment;
	cm->is_initiator = assignment->role == ROLE_INITIATOR;
	cm->is_datagram = assignment->workload.qp.qp_type == QP_TYPE_UD;
	cm->is_repeating = workload_is_connecting(&assignment->workload);
	cm->count = resources->qp_slots;
	cm->deadline_mono_ns = CLOCK_NEVER;
	cm->connections = memory_new_array(cm->count, sizeof(cm->connections[0]));
	for (size_t i = 0; i < cm->count; i++) {
		cm->connections[i] = (struct cm_connection){ .cm = cm,
							     .index = i,
							     .deadline_mono_ns = CLOCK_NEVER };
	}
	ret = find_address(cm, err);
	if (ret == 0) {
		ret = open_channel(cm, err);
	}
	if (ret == 0 && !cm->is_initiator) {
		random_fill(cm->token, sizeof(cm->token));
		ret = cm_passive_listen(cm, steps, err);
	}
	if (ret < 0) {
		cm_free(cm, NULL);
		return ret;
	}
	resources->cm = cm;
	*ret_cm = cm;
	return 0;
}

void cm_info(const struct cm *cm, struct endpoint_info *ret)
{
	if (cm->is_initiator) {
		return;
	}
	ret->cm_port = cm->port;
	for (size_t i = 0; i < CM_TOKEN_BYTES; i++) {
		snprintf(ret->cm_token + 2 * i, 3, "%02x", cm->token[i]);
	}
}

void cm_free(struct cm *cm, struct steps *steps)
{
	if (!cm) {
		return;
	}
	for (size_t i = 0; i < cm->count; i++) {
		cm_drop(&cm->connections[i], steps);
	}
	cm_passive_close(cm);
	call_end(NULL, NULL, 0, 0);
	if (cm->channel) {
		rdma_destroy_event_channel(cm->channel);
	}
	free(cm->connections);
	free(cm);
}

bool cm_forget_devices(void)
{
	struct ibv_context **contexts;

	(void)call_begin("rdma_get_devices");
	contexts = rdma_get_devices(NULL);
	if (contexts) {
		rdma_free_devices(contexts);
	}
	call_end(NULL, NULL, 0, 0);
	return contexts != NULL;
}

/* --- what the other end told --- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_token(const char *text, uint8_t ret[CM_TOKEN_BYTES])
{
	if (strlen(text) != 2 * CM_TOKEN_BYTES) {
		return false;
	}
	for (size_t i = 0; i < CM_TOKEN_BYTES; i++) {
		int high = hex_digit(text[2 * i]);
		int low = hex_digit(text[2 * i + 1]);

		if (high < 0 || low < 0) {
			return false;
		}
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static int take_remote(struct cm *cm, struct error *err)
{
	const struct endpoint_info *remote = cm->remote;
	uint32_t scope_id = cm->own_address.ss_family == AF_INET6
				    ? ((const struct sockaddr_in6 *)&cm->own_address)->sin6_scope_id
				    : 0;
	int ret = connect_check(cm->resources, cm->assignment, remote, &cm->path, err);

	if (ret < 0) {
		return ret;
	}
	if (cm_address_of(&cm->path.grh.dgid, scope_id, &cm->remote_address) < 0 ||
	    cm->remote_address.ss_family != cm->own_address.ss_family) {
		error_set(err, -EPROTO, ERROR_PEER,
			  "the other end's GID %s is no address that rdma_cm can reach from this "
			  "one: is one of them IPv4 and the other IPv6?",
			  remote->gid);
	} else if (cm->is_initiator &&
		   (remote->cm_port == 0 || !read_token(remote->cm_token, cm->token))) {
		error_set(err, -EPROTO, ERROR_PEER,
			  "the other end does not say where it listens for connections "
			  "(qp.cm: rdma_cm); are both daemons of the same version?");
	} else {
		cm_address_set_port(&cm->remote_address, (uint16_t)remote->cm_port);
		return 0;
	}
	err->stage = STAGE_CONNECT;
	text_copy(err->call, sizeof(err->call), "endpoint");
	return -EPROTO;
}

/* --- events --- */

/* Of datagrams a refusal comes as an address that cannot be reached, with the status of its answer
 * (SIDR_REP, IBTA volume 1); 0: it is none. */
static int reason_of(int sidr_status)
{
	static const int reasons[] = { 0,
				       REJECT_NO_LISTENER,
				       REJECT_CONSUMER,
				       REJECT_NO_QP,
				       REJECT_REDIRECT,
				       REJECT_VERSION };

	return sidr_status > 0 && (size_t)sidr_status < sizeof(reasons) / sizeof(reasons[0])
		       ? reasons[sidr_status]
		       : 0;
}

static void copy_news(const struct cm *cm, const struct rdma_cm_event *event, struct cm_news *ret)
{
	const void *data;

	*ret = (struct cm_news){ .type = event->event, .status = event->status, .id = event->id };
	if (cm->is_datagram) {
		data = event->param.ud.private_data;
		ret->data_bytes = data ? event->param.ud.private_data_len : 0;
		ret->conn.qp_num = event->param.ud.qp_num;
	} else {
		data = event->param.conn.private_data;
		ret->data_bytes = data ? event->param.conn.private_data_len : 0;
		ret->conn = event->param.conn;
		ret->conn.private_data = NULL;
	}
	if (ret->data_bytes > 0) {
		memcpy(ret->data, data, ret->data_bytes);
	}
	if (cm->is_datagram && ret->type == RDMA_CM_EVENT_UNREACHABLE &&
	    reason_of(ret->status) != 0) {
		ret->type = RDMA_CM_EVENT_REJECTED;
		ret->status = reason_of(ret->status);
	}
}

/* Copied and acknowledged at once: an event that is not would keep its identifier from going. */
int cm_take_news(struct cm *cm, struct cm_news *ret, struct error *err)
{
	struct rdma_cm_event *event;

	(void)call_begin("rdma_get_cm_event");
	if (rdma_get_cm_event(cm->channel, &event) != 0) {
		if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
			return CM_WAITS;
		}
		return cm_error_call(cm, errno, STAGE_CONNECT, "rdma_get_cm_event", err);
	}
	copy_news(cm, event, ret);
	(void)rdma_ack_cm_event(event);
	return CM_DONE;
}

bool cm_take_common(struct cm *cm, const struct cm_news *news, struct steps *steps, int *ret,
		    struct error *err)
{
	struct cm_connection *connection = news->id->context;

	switch (news->type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		*ret = cm_passive_request(cm, news, steps, err);
		return true;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		*ret = cm_error_news(connection ? connection : &cm->connections[0], news, err);
		return true;
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		*ret = 0;
		return true;
	default:
		return false;
	}
}

static int handle_news(struct cm *cm, const struct cm_news *news, struct steps *steps,
		       struct error *err)
{
	struct cm_connection *connection = news->id->context;
	int ret;

	if (cm_take_common(cm, news, steps, &ret, err)) {
		return ret;
	}
	if (!connection) {
		return 0;
	}
	if (connection->phase == CM_DISCONNECT) {
		cm_end_phase(connection, steps);
		cm_enter(connection, CM_OVER, 0);
		cm->under_way--;
		return 0;
	}
	if (connection->phase == CM_OVER) {
		return 0;
	}
	return cm->is_initiator ? cm_active_news(connection, news, steps, err)
				: cm_passive_news(connection, news, steps, err);
}

static int expire(struct cm_connection *connection, struct steps *steps, struct error *err)
{
	switch (connection->phase) {
	case CM_RETRY:
		cm_end_phase(connection, steps);
		return cm_active_begin(connection, err);
	case CM_DISCONNECT:
		cm_end_phase(connection, steps);
		cm_enter(connection, CM_OVER, 0);
		connection->cm->under_way--;
		return 0;
	default:
		/* The result shows how long it waited in vain. */
		cm_end_phase(connection, steps);
		return cm_error_late(connection, err);
	}
}

static int look_at_deadlines(struct cm *cm, struct steps *steps, struct error *err)
{
	uint64_t now_mono_ns = clock_mono_ns();
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < cm->count; i++) {
		if (cm->connections[i].deadline_mono_ns <= now_mono_ns) {
			ret = expire(&cm->connections[i], steps, err);
		}
	}
	if (ret == 0 && cm->deadline_mono_ns <= now_mono_ns) {
		ret = cm_error_whole(cm, err);
	}
	return ret;
}

static bool is_over(const struct cm *cm)
{
	return cm->deadline_mono_ns == CLOCK_NEVER ? cm->under_way == 0
						   : cm->established == cm->count;
}

int cm_go_on(struct cm *cm, struct steps *steps, struct error *err)
{
	struct cm_news news;
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < CM_EVENTS_AT_ONCE; i++) {
		ret = cm_take_news(cm, &news, err);
		if (ret == CM_DONE) {
			ret = handle_news(cm, &news, steps, err);
		}
	}
	if (ret >= 0) {
		ret = look_at_deadlines(cm, steps, err);
	}
	if (ret == 0 && cm->is_initiator && cm->deadline_mono_ns != CLOCK_NEVER) {
		ret = cm_active_start(cm, err);
	}
	call_end(NULL, NULL, 0, 0);
	if (ret < 0) {
		return ret;
	}
	if (!is_over(cm)) {
		return CM_WAITS;
	}
	if (cm->is_datagram && cm->deadline_mono_ns != CLOCK_NEVER) {
		/* The numbers were compared; each message carries its way. */
		ret = connect_qps(cm->resources, cm->assignment, cm->remote, steps, err);
	}
	cm->deadline_mono_ns = CLOCK_NEVER;
	return ret < 0 ? ret : CM_DONE;
}

int cm_connect(struct cm *cm, const struct endpoint_info *remote, struct steps *steps,
	       struct error *err)
{
	int ret;

	cm->remote = remote;
	ret = take_remote(cm, err);
	if (ret < 0 || cm->is_repeating) {
		/* What is to be connected is the traffic: verbs/cm_rounds. */
		return ret;
	}
	cm->deadline_mono_ns =
		clock_mono_ns() + (cm->is_initiator ? CM_INITIATOR_NS : CM_RESPONDER_NS);
	return cm_go_on(cm, steps, err);
}

int cm_fd(const struct cm *cm)
{
	return cm->channel->fd;
}

uint64_t cm_deadline_mono_ns(const struct cm *cm)
{
	uint64_t earliest = cm->deadline_mono_ns;

	for (size_t i = 0; i < cm->count; i++) {
		uint64_t deadline = cm->connections[i].deadline_mono_ns;

		earliest = deadline < earliest ? deadline : earliest;
	}
	return earliest;
}

int cm_disconnect(struct cm *cm, struct steps *steps)
{
	struct error err = ERROR_INIT;

	/* From here on nothing is an error. */
	cm->deadline_mono_ns = CLOCK_NEVER;
	cm->under_way = 0;
	cm_passive_close(cm);
	for (size_t i = 0; i < cm->count; i++) {
		struct cm_connection *connection = &cm->connections[i];

		if (connection->phase == CM_ESTABLISHED && !cm->is_datagram) {
			(void)call_begin("rdma_disconnect");
			cm_enter(connection, CM_DISCONNECT, CM_DISCONNECT_NS);
			cm->under_way++;
			if (rdma_disconnect(connection->id) == 0) {
				continue;
			}
			cm->under_way--;
		}
		cm_enter(connection, CM_OVER, 0);
	}
	return cm_go_on(cm, steps, &err) == CM_WAITS ? CM_WAITS : CM_DONE;
}
