// SPDX-License-Identifier: MIT
/* The fake libibverbs: device list, open, close, queries. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake/nic.h"
#include "fake/srq.h"
#include "fake/way.h"

#undef ibv_get_device_list
#undef ibv_query_port

#define VERBS_GUID_PREFIX 0x02000000fe000000ULL

static struct fabric_device *device_of(struct ibv_device *ib)
{
	return list_entry(ib, struct fabric_device, ib);
}

static bool is_shown(const struct fabric_device *device)
{
	const char *host = fabric_host();

	return !device->is_removed &&
	       (host == NULL || device->host == NULL || strcmp(host, device->host) == 0);
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct fabric *fabric = fabric_current();
	struct ibv_device **list;
	int count = 0;
	int error = 0;
	/* As libibverbs does without a descriptor for what it reads. */
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		errno = ENOSYS;
		return NULL;
	}
	close(fd);
	list = nic_alloc(NIC_DEVICES_MAX + 1, sizeof(*list));
	if (fabric != NULL) {
		nic_lock(fabric);
		error = fabric->listing_error;
		for (unsigned i = 0; i < fabric->device_count; i++) {
			if (is_shown(fabric->devices[i])) {
				list[count++] = &fabric->devices[i]->ib;
			}
		}
		nic_unlock(fabric);
	}
	if (error != 0) {
		free(list);
		errno = error;
		return NULL;
	}
	if (num_devices != NULL) {
		*num_devices = count;
	}
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
	return (int)device_of(device)->index;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(VERBS_GUID_PREFIX | device_of(device)->index);
}

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		      size_t size);
static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size);

struct ibv_context *ibv_open_device(struct ibv_device *ib)
{
	struct fabric_device *device = device_of(ib);
	int error = verb_enter(device, FABRIC_OPEN_DEVICE);

	if (error != 0) {
		errno = error;
		return NULL;
	}
	struct fake_context *context = nic_alloc(1, sizeof(*context));
	struct ibv_context *ret = &context->verbs.context;
	ret->async_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (ret->async_fd < 0) {
		free(context);
		verb_leave(device);
		return NULL;
	}
	ret->device = ib;
	ret->cmd_fd = -1;
	ret->num_comp_vectors = 4;
	ret->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&ret->mutex, NULL);
	ret->ops.poll_cq = cq_poll;
	ret->ops.req_notify_cq = cq_req_notify;
	ret->ops.post_send = post_send;
	ret->ops.post_recv = post_recv;
	ret->ops.post_srq_recv = post_srq_recv;
	context->verbs.sz = sizeof(context->verbs);
	context->verbs.query_port = query_port;
	context->verbs.query_device_ex = query_device_ex;
	context->verbs.modify_cq = cq_modify;
	context->device = device;
	list_init(&context->objects);
	list_init(&context->events);
	list_append(&device->contexts, &context->link);
	device->objects[OBJECT_CONTEXT]++;
	verb_leave(device);
	return ret;
}

int ibv_close_device(struct ibv_context *ib)
{
	struct fake_context *context = context_of(ib);
	struct fabric_device *device = context->device;

	nic_lock(device->fabric);
	if (device->is_removed) {
		object_end_all(context);
	}
	if (!list_is_empty(&context->objects)) {
		nic_unlock(device->fabric);
		return EBUSY;
	}
	async_forget(context, NULL);
	list_remove(&context->link);
	device->objects[OBJECT_CONTEXT]--;
	nic_unlock(device->fabric);
	close(ib->async_fd);
	pthread_mutex_destroy(&ib->mutex);
	free(context);
	return 0;
}

static void fill_device(const struct fabric_device *device, struct ibv_device_attr *attr)
{
	const struct fabric_device_config *config = &device->config;

	memset(attr, 0, sizeof(*attr));
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "1.0.fake");
	attr->node_guid = htobe64(VERBS_GUID_PREFIX | device->index);
	attr->sys_image_guid = attr->node_guid;
	attr->max_mr_size = config->max_mr_size_bytes;
	attr->page_size_cap = 0xfffff000;
	attr->vendor_id = 0xffffff;
	attr->vendor_part_id = 1;
	attr->max_qp = config->max_qp;
	attr->max_qp_wr = config->max_qp_wr;
	attr->device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT |
				 IBV_DEVICE_CURR_QP_STATE_MOD;
	attr->max_srq = config->max_srq < 0 ? 0 : config->max_srq;
	attr->max_srq_wr = config->max_qp_wr;
	attr->max_srq_sge = config->max_sge;
	attr->max_sge = config->max_sge;
	attr->max_sge_rd = config->max_sge;
	attr->max_cq = config->max_cq;
	attr->max_cqe = config->max_cqe;
	attr->max_mr = config->max_mr;
	attr->max_pd = config->max_pd;
	attr->max_qp_rd_atom = config->max_rd_atomic;
	attr->max_qp_init_rd_atom = config->max_rd_atomic;
	attr->max_res_rd_atom = config->max_rd_atomic * config->max_qp;
	attr->atomic_cap = config->has_no_atomics ? IBV_ATOMIC_NONE : IBV_ATOMIC_HCA;
	attr->max_ah = config->max_ah;
	attr->max_pkeys = FABRIC_PKEYS;
	attr->local_ca_ack_delay = 15;
	attr->phys_port_cnt = 1;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct fabric_device *device = device_of(context->device);
	int error = verb_enter(device, FABRIC_QUERY_DEVICE);

	if (error == 0) {
		fill_device(device, attr);
		verb_leave(device);
	}
	return error;
}

static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	struct ibv_device_attr_ex whole = { 0 };

	if (input != NULL && input->comp_mask != 0) {
		return EINVAL;
	}
	int error = ibv_query_device(context, &whole.orig_attr);
	if (error == 0) {
		whole.phys_port_cnt_ex = 1;
		if (device_of(context->device)->config.has_odp) {
			whole.odp_caps = (struct ibv_odp_caps){
				.general_caps = IBV_ODP_SUPPORT,
				.per_transport_caps = { UINT32_MAX, UINT32_MAX, UINT32_MAX },
			};
		}
		memset(attr, 0, size);
		memcpy(attr, &whole, size < sizeof(whole) ? size : sizeof(whole));
	}
	return error;
}

/* IBTA codes of width and of speed per lane, the nearest that is at least the rate. */
static void fill_speed(uint64_t rate_bps, struct ibv_port_attr *attr)
{
	static const struct {
		uint64_t rate_bps;
		uint8_t width;
		uint8_t speed;
	} table[] = {
		{ 2500000000, 1, 1 },	 { 10000000000, 1, 8 },	   { 25000000000, 1, 32 },
		{ 40000000000, 2, 8 },	 { 50000000000, 1, 64 },   { 100000000000, 2, 32 },
		{ 200000000000, 2, 64 }, { 400000000000, 2, 128 },
	};
	size_t i = 0;

	while (i + 1 < sizeof(table) / sizeof(table[0]) && table[i].rate_bps < rate_bps) {
		i++;
	}
	attr->active_width = table[i].width;
	attr->active_speed = table[i].speed;
}

static int query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		      size_t size)
{
	struct fabric_device *device = device_of(context->device);
	struct ibv_port_attr whole = { 0 };
	int error = verb_enter(device, FABRIC_QUERY_PORT);

	if (error != 0) {
		return error;
	}
	whole.state = device->is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	whole.phys_state = device->is_up ? 5 : 3;
	whole.max_mtu = device->config.mtu;
	whole.active_mtu = device->config.mtu;
	whole.gid_tbl_len = NIC_GIDS;
	whole.max_msg_sz = device->config.max_msg_bytes;
	whole.pkey_tbl_len = device->config.is_infiniband ? FABRIC_PKEYS : 1;
	whole.lid = way_lid(device);
	whole.link_layer = device->config.is_infiniband ? IBV_LINK_LAYER_INFINIBAND
							: IBV_LINK_LAYER_ETHERNET;
	fill_speed(device->config.rate_bps, &whole);
	verb_leave(device);
	if (port_num != NIC_PORT) {
		return EINVAL;
	}
	memset(attr, 0, size);
	memcpy(attr, &whole, size < sizeof(whole) ? size : sizeof(whole));
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *attr)
{
	return query_port(context, port_num, (struct ibv_port_attr *)attr,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct fabric_device *device = device_of(context->device);
	struct ibv_gid_entry whole = { 0 };
	int error = verb_enter(device, FABRIC_QUERY_GID);

	if (error != 0) {
		return error;
	}
	bool is_there = gid_index == 0 || (gid_index == 1 && device->has_address);
	whole.gid = device->gids[gid_index < NIC_GIDS ? gid_index : 0];
	whole.gid_type = device->config.is_infiniband	      ? IBV_GID_TYPE_IB
			 : device->has_defect[FABRIC_ROCE_V1] ? IBV_GID_TYPE_ROCE_V1
							      : IBV_GID_TYPE_ROCE_V2;
	verb_leave(device);
	if (port_num != NIC_PORT || flags != 0 || gid_index >= NIC_GIDS) {
		return EINVAL;
	}
	if (!is_there) {
		return ENODATA;
	}
	whole.gid_index = gid_index;
	whole.port_num = port_num;
	whole.ndev_ifindex = device->config.is_infiniband ? 0 : device->index + 1;
	memset(entry, 0, entry_size);
	memcpy(entry, &whole, entry_size < sizeof(whole) ? entry_size : sizeof(whole));
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	size_t count = 0;

	for (uint32_t i = 0; i < NIC_GIDS; i++) {
		struct ibv_gid_entry entry;
		int error = _ibv_query_gid_ex(context, NIC_PORT, i, &entry, flags, sizeof(entry));
		if (error == ENODATA) {
			continue;
		}
		if (error != 0) {
			return -error;
		}
		if (count == max_entries) {
			return -EINVAL;
		}
		char *at = (char *)entries + count * entry_size;
		memset(at, 0, entry_size);
		memcpy(at, &entry, entry_size < sizeof(entry) ? entry_size : sizeof(entry));
		count++;
	}
	return (ssize_t)count;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	struct ibv_gid_entry entry;
	int error = _ibv_query_gid_ex(context, port_num, (uint32_t)index, &entry, 0, sizeof(entry));

	if (error == ENODATA) {
		memset(gid, 0, sizeof(*gid)); /* an empty slot reads as zeroes */
		return 0;
	}
	if (error != 0) {
		errno = error;
		return -1;
	}
	*gid = entry.gid;
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	struct fabric_device *device = device_of(context->device);
	int error = verb_enter(device, FABRIC_QUERY_GID);

	if (error == 0) {
		verb_leave(device);
		error = port_num != NIC_PORT || index < 0 ||
					index >= (device->config.is_infiniband ? FABRIC_PKEYS : 1)
				? EINVAL
				: 0;
	}
	if (error != 0) {
		errno = error;
		return -1;
	}
	*pkey = htobe16(way_pkey(device, (unsigned)index));
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	const struct fabric_device *device = device_of(context->device);

	for (unsigned i = 0; port_num == NIC_PORT && pkey != 0 && i < FABRIC_PKEYS; i++) {
		if (way_pkey(device, i) == be16toh(pkey)) {
			return (int)i;
		}
	}
	errno = EINVAL;
	return -1;
}

int ibv_fork_init(void)
{
	return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
