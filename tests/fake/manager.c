// SPDX-License-Identifier: MIT
/* The fake librdmacm: identifiers and the calls on them, RC and UD, by address and port. */
#include "fake/manager.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PORT 49152
#define RESOLVE_NS 20000 /* a neighbour that is known */
#define MAPPED_BYTES 12

static struct manager_id *id_of(struct rdma_cm_id *ib)
{
	return list_entry(ib, struct manager_id, ib);
}

static int fail(int error)
{
	errno = error;
	return -1;
}

struct manager_id *manager_find(struct fabric *fabric, uint32_t handle)
{
	struct manager_id *id;

	list_each(id, &fabric->manager_ids, link) {
		if (id->handle == handle) {
			return id;
		}
	}
	return NULL;
}

struct manager_id *manager_listener(struct fabric *fabric, const struct fabric_device *device,
				    enum rdma_port_space ps, uint16_t port)
{
	struct manager_id *id;

	list_each(id, &fabric->manager_ids, link) {
		if (id->state == MANAGER_LISTENING && id->device == device && id->ib.ps == ps &&
		    id->port == port) {
			return id;
		}
	}
	return NULL;
}

struct manager_id *manager_new_id(struct fabric *fabric, struct manager_channel *channel)
{
	struct manager_id *id = nic_alloc(1, sizeof(*id));

	id->fabric = fabric;
	id->channel = channel;
	id->ib.channel = &channel->ib;
	id->handle = ++fabric->manager_handles;
	id->psn = (uint32_t)nic_random(fabric) & NIC_PSN_MASK;
	list_append(&fabric->manager_ids, &id->link);
	channel->ids++;
	fabric->manager_objects++;
	return id;
}

void manager_bind(struct manager_id *id, struct fabric_device *device)
{
	id->device = device;
	device->has_manager_context = true;
	id->ib.verbs = &device->manager_context;
	id->ib.port_num = NIC_PORT;
	id->ib.route.addr.addr.ibaddr.sgid = device->gids[1];
}

void manager_end(struct manager_id *id)
{
	manager_forget(id);
	if (id->device != NULL) {
		manager_part(id);
	}
	list_remove(&id->link);
	id->channel->ids--;
	id->fabric->manager_objects--;
	free(id);
}

static void read_address(const struct sockaddr *address, union ibv_gid *ret_gid, uint16_t *ret_port)
{
	memset(ret_gid, 0, sizeof(*ret_gid));
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)address;

		ret_gid->raw[10] = 0xff;
		ret_gid->raw[11] = 0xff;
		memcpy(ret_gid->raw + MAPPED_BYTES, &in->sin_addr, sizeof(in->sin_addr));
		*ret_port = ntohs(in->sin_port);
	} else {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;

		memcpy(ret_gid->raw, &in6->sin6_addr, sizeof(in6->sin6_addr));
		*ret_port = ntohs(in6->sin6_port);
	}
}

/* Those of other hosts are in no list of this one. */
static bool is_of_host(const struct fabric_device *device)
{
	const char *host = fabric_host();

	return host == NULL || device->host == NULL || strcmp(host, device->host) == 0;
}

/* --- life --- */

int rdma_create_id(struct rdma_event_channel *ib, struct rdma_cm_id **ret, void *context,
		   enum rdma_port_space ps)
{
	struct manager_channel *channel = list_entry(ib, struct manager_channel, ib);

	if (ps != RDMA_PS_TCP && ps != RDMA_PS_UDP) {
		return fail(EPROTONOSUPPORT);
	}
	nic_lock(channel->fabric);
	struct manager_id *id = manager_new_id(channel->fabric, channel);
	id->ib.context = context;
	id->ib.ps = ps;
	id->ib.qp_type = ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	nic_unlock(channel->fabric);
	*ret = &id->ib;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *ib)
{
	struct manager_id *id = id_of(ib);
	struct fabric *fabric = id->fabric;

	nic_lock(fabric);
	object_wait_acked(fabric, &id->unacked, "rdma_destroy_id");
	manager_end(id);
	nic_unlock(fabric);
	return 0;
}

/* As the kernel: the device behind the address, if this host has one. */
static int bind_to(struct manager_id *id, const struct sockaddr *address)
{
	struct fabric *fabric = id->fabric;
	struct fabric_device *device;
	union ibv_gid gid;
	uint16_t port;

	read_address(address, &gid, &port);
	device = nic_find_gid(fabric, &gid);
	if (device == NULL || !is_of_host(device)) {
		return EADDRNOTAVAIL;
	}
	manager_bind(id, device);
	id->ib.route.addr.addr.ibaddr.sgid = gid;
	id->port = port != 0 ? port : (uint16_t)(FIRST_PORT + fabric->manager_ports++ % 16384);
	id->state = MANAGER_BOUND;
	return 0;
}

/* The lock is held afterwards, and the device is there: 0, or the errno. */
static int enter(struct manager_id *id)
{
	return verb_enter(id->device, FABRIC_RDMA_CM);
}

int rdma_bind_addr(struct rdma_cm_id *ib, struct sockaddr *address)
{
	struct manager_id *id = id_of(ib);

	nic_lock(id->fabric);
	int error = bind_to(id, address);
	nic_unlock(id->fabric);
	if (error == 0) {
		error = enter(id);
		if (error == 0) {
			verb_leave(id->device);
		}
	}
	return error == 0 ? 0 : fail(error);
}

int rdma_listen(struct rdma_cm_id *ib, int backlog)
{
	struct manager_id *id = id_of(ib);
	int error = enter(id);

	if (error != 0) {
		return fail(error);
	}
	id->state = MANAGER_LISTENING;
	id->backlog = id->fabric->manager_backlog > 0 && backlog > id->fabric->manager_backlog
			      ? id->fabric->manager_backlog
			      : backlog;
	verb_leave(id->device);
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *ib)
{
	return htobe16(id_of(ib)->port);
}

/* --- to connect --- */

int rdma_resolve_addr(struct rdma_cm_id *ib, struct sockaddr *from, struct sockaddr *to,
		      int timeout_ms)
{
	struct manager_id *id = id_of(ib);
	int error = 0;

	nic_lock(id->fabric);
	if (id->state == MANAGER_IDLE) {
		error = bind_to(id, from);
	}
	nic_unlock(id->fabric);
	if (error == 0) {
		error = enter(id);
	}
	if (error != 0) {
		return fail(error);
	}
	read_address(to, &id->dgid, &id->to_port);
	id->to = nic_find_gid(id->fabric, &id->dgid);
	id->ib.route.addr.addr.ibaddr.dgid = id->dgid;
	id->state = MANAGER_RESOLVING;
	if (id->device->is_up && id->to != NULL && id->to->is_up) {
		manager_later(id, MANAGER_ADDRESS, -ETIMEDOUT, RESOLVE_NS);
	} else {
		manager_later(id, MANAGER_ADDRESS, -ETIMEDOUT, (uint64_t)timeout_ms * 1000000);
	}
	verb_leave(id->device);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *ib, int timeout_ms)
{
	struct manager_id *id = id_of(ib);
	int error = enter(id);

	(void)timeout_ms;
	if (error == 0 && id->state != MANAGER_RESOLVED) {
		verb_leave(id->device);
		error = EINVAL;
	}
	if (error != 0) {
		return fail(error);
	}
	id->state = MANAGER_ROUTING;
	manager_later(id, MANAGER_ROUTE, -ETIMEDOUT, RESOLVE_NS);
	verb_leave(id->device);
	return 0;
}

/* As librdmacm compares: 0xff stands for the most that there is. */
static bool is_param_fine(const struct manager_id *id, const struct rdma_conn_param *param)
{
	int most = id->device->config.max_rd_atomic;

	return (param->responder_resources == RDMA_MAX_RESP_RES ||
		param->responder_resources <= most) &&
	       (param->initiator_depth == RDMA_MAX_INIT_DEPTH || param->initiator_depth <= most) &&
	       param->private_data_len <= MANAGER_DATA_MAX;
}

static void fill(struct manager_message *message, const struct rdma_conn_param *param)
{
	message->param = *param;
	message->param.private_data = NULL;
	message->data_bytes = param->private_data != NULL ? param->private_data_len : 0;
	if (message->data_bytes > 0) {
		memcpy(message->data, param->private_data, message->data_bytes);
	}
}

/* 0: the lock is held, the state is right, and the message is filled. */
static int enter_with(struct manager_id *id, enum manager_state state,
		      const struct rdma_conn_param *param, struct manager_message *message)
{
	int error = enter(id);

	if (error != 0) {
		return error;
	}
	if (id->state != state || (param != NULL && !is_param_fine(id, param))) {
		verb_leave(id->device);
		return EINVAL;
	}
	message->to = id->peer;
	if (param != NULL) {
		fill(message, param);
	}
	return 0;
}

int rdma_connect(struct rdma_cm_id *ib, struct rdma_conn_param *param)
{
	struct manager_id *id = id_of(ib);
	struct manager_message message = { .kind = MANAGER_REQ, .port = id->to_port };
	int status = -ETIMEDOUT;
	int error = param->private_data_len > MANAGER_REQUEST_BYTES
			    ? EINVAL
			    : enter_with(id, MANAGER_ROUTED, param, &message);

	if (error != 0) {
		return fail(error);
	}
	id->state = MANAGER_REQ_SENT;
	if (manager_fails(id->device, FABRIC_CM_UNREACHABLE, &status)) {
		manager_later(id, MANAGER_GIVE_UP, status, RESOLVE_NS);
	} else {
		manager_send(id, &message);
	}
	verb_leave(id->device);
	return 0;
}

int rdma_accept(struct rdma_cm_id *ib, struct rdma_conn_param *param)
{
	struct manager_id *id = id_of(ib);
	struct manager_message message = { .kind = MANAGER_REP };
	int error = enter_with(id, MANAGER_REQ_RECEIVED, param, &message);

	if (error != 0) {
		return fail(error);
	}
	/* Of datagrams that is all. */
	id->state = id->ib.ps == RDMA_PS_UDP ? MANAGER_CLOSED : MANAGER_REP_SENT;
	manager_send(id, &message);
	verb_leave(id->device);
	return 0;
}

int rdma_establish(struct rdma_cm_id *ib)
{
	struct manager_id *id = id_of(ib);
	struct manager_message message = { .kind = MANAGER_RTU };
	int error = enter_with(id, MANAGER_REP_RECEIVED, NULL, &message);

	if (error != 0) {
		return fail(error);
	}
	id->state = MANAGER_CONNECTED;
	manager_send(id, &message);
	verb_leave(id->device);
	return 0;
}

int rdma_reject(struct rdma_cm_id *ib, const void *data, uint8_t data_bytes)
{
	struct manager_id *id = id_of(ib);
	struct manager_message message = { .kind = MANAGER_REJ, .status = 28 };
	struct rdma_conn_param param = { .private_data = data, .private_data_len = data_bytes };
	int error = enter_with(id, MANAGER_REQ_RECEIVED, &param, &message);

	if (error != 0) {
		return fail(error);
	}
	manager_send(id, &message);
	id->state = MANAGER_CLOSED;
	verb_leave(id->device);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *ib)
{
	struct manager_id *id = id_of(ib);
	int error = enter(id);

	if (error != 0) {
		return fail(error);
	}
	bool is_open = id->state == MANAGER_CONNECTED || id->state == MANAGER_REP_SENT;
	bool is_asked = id->state == MANAGER_DREQ_RECEIVED;
	if (is_open || is_asked) {
		manager_send(id, &(struct manager_message){ .kind = is_open ? MANAGER_DREQ
									    : MANAGER_DREP,
							    .to = id->peer });
		id->state = is_open ? MANAGER_DREQ_SENT : MANAGER_CLOSED;
	}
	verb_leave(id->device);
	return is_open || is_asked ? 0 : fail(EINVAL);
}

int rdma_init_qp_attr(struct rdma_cm_id *ib, struct ibv_qp_attr *attr, int *ret_mask)
{
	struct manager_id *id = id_of(ib);
	int error = enter(id);

	if (error != 0) {
		return fail(error);
	}
	attr->dest_qp_num = id->peer_qpn;
	attr->rq_psn = id->psn;
	attr->sq_psn = id->peer_psn;
	*ret_mask = attr->qp_state == IBV_QPS_RTR ? IBV_QP_STATE | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN
						  : IBV_QP_STATE | IBV_QP_SQ_PSN;
	verb_leave(id->device);
	return 0;
}

/* --- devices --- */

struct ibv_context **rdma_get_devices(int *ret_count)
{
	struct fabric *fabric = fabric_current();
	struct ibv_context **ret;
	int count = 0;

	nic_lock(fabric);
	ret = nic_alloc(fabric->device_count + 1, sizeof(*ret));
	for (unsigned i = 0; i < fabric->device_count; i++) {
		struct fabric_device *device = fabric->devices[i];

		if (is_of_host(device) && !device->is_removed) {
			device->has_manager_context = true;
			ret[count++] = &device->manager_context;
		}
	}
	/* What it has of the others is closed, unless the list is empty: so does librdmacm. */
	for (unsigned i = 0; count > 0 && i < fabric->device_count; i++) {
		struct fabric_device *device = fabric->devices[i];

		device->has_manager_context &= !(is_of_host(device) && device->is_removed);
	}
	nic_unlock(fabric);
	if (ret_count != NULL) {
		*ret_count = count;
	}
	if (count == 0) {
		free(ret);
		errno = ENODEV;
		return NULL;
	}
	return ret;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

void fabric_set_cm(struct fabric *fabric, const char *name, const struct fabric_cm_fault *fault)
{
	nic_lock(fabric);
	struct fabric_device *device = nic_device(fabric, name);
	device->has_manager_fault = fault != NULL;
	if (fault != NULL) {
		device->manager_fault = *fault;
	}
	nic_unlock(fabric);
}

void fabric_set_cm_channel(struct fabric *fabric, int error, int backlog)
{
	nic_lock(fabric);
	fabric->manager_error = error;
	fabric->manager_backlog = backlog;
	nic_unlock(fabric);
}

unsigned fabric_stale_contexts(struct fabric *fabric)
{
	unsigned count = 0;

	nic_lock(fabric);
	for (unsigned i = 0; i < fabric->device_count; i++) {
		count += fabric->devices[i]->is_removed && fabric->devices[i]->has_manager_context;
	}
	nic_unlock(fabric);
	return count;
}

void nic_tell_manager(struct fabric_device *device)
{
	struct manager_id *id;

	list_each(id, &device->fabric->manager_ids, link) {
		if (id->device == device) {
			id->state = MANAGER_CLOSED;
			manager_raise(id, id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL, 0);
		}
	}
}
