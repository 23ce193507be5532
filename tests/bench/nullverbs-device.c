// SPDX-License-Identifier: MIT
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nullverbs.h"

#define NULL_GUID 0x0002c90300000001ull
#define NULL_GIDS 4

static struct ibv_device null_device = {
	.node_type = IBV_NODE_CA,
	.transport_type = IBV_TRANSPORT_IB,
	.name = "null0",
	.dev_name = "uverbs0",
	.dev_path = "/sys/class/infiniband_verbs/uverbs0",
	.ibdev_path = "/sys/class/infiniband/null0",
};

struct ibv_device **ibv_get_device_list(int *ret_count)
{
	struct ibv_device **list = null_alloc(2 * sizeof(*list));

	list[0] = &null_device;
	if (ret_count) {
		*ret_count = 1;
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

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return htobe64(NULL_GUID);
}

int ibv_get_device_index(struct ibv_device *device)
{
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *ret)
{
	*ret = (struct ibv_device_attr){
		.fw_ver = "null.1",
		.node_guid = htobe64(NULL_GUID),
		.sys_image_guid = htobe64(NULL_GUID),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffff000,
		.vendor_id = 0x2c9,
		.vendor_part_id = 4119,
		.max_qp = 65536,
		.max_qp_wr = 32768,
		.max_sge = 30,
		.max_sge_rd = 30,
		.max_cq = 65536,
		.max_cqe = 1 << 22,
		.max_mr = 1 << 20,
		.max_pd = 65536,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_res_rd_atom = 1 << 20,
		.atomic_cap = IBV_ATOMIC_HCA,
		.max_ah = 1 << 20,
		.max_srq = 4096,
		.max_srq_wr = 32767,
		.max_srq_sge = 31,
		.max_pkeys = 128,
		.phys_port_cnt = 1,
	};
	return 0;
}

static int query_device_ex(struct ibv_context *context,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *ret, size_t size_bytes)
{
	memset(ret, 0, size_bytes);
	return ibv_query_device(context, &ret->orig_attr);
}

static const struct ibv_port_attr null_port = {
	.state = IBV_PORT_ACTIVE,
	.max_mtu = IBV_MTU_4096,
	.active_mtu = IBV_MTU_4096,
	.gid_tbl_len = NULL_GIDS,
	.pkey_tbl_len = 1,
	.max_msg_sz = 1u << 31,
	.active_width = 2,
	.active_speed = 128,
	.phys_state = 5,
	.link_layer = IBV_LINK_LAYER_ETHERNET,
};

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *ret)
{
	memcpy(ret, &null_port, offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *ret,
		      size_t size_bytes)
{
	memcpy(ret, &null_port, size_bytes < sizeof(null_port) ? size_bytes : sizeof(null_port));
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *ret)
{
	*ret = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } };
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
		      struct ibv_gid_entry *ret, uint32_t flags, size_t size_bytes)
{
	memset(ret, 0, size_bytes);
	ibv_query_gid(context, (uint8_t)port, (int)index, &ret->gid);
	ret->gid_index = index;
	ret->port_num = port;
	ret->gid_type = IBV_GID_TYPE_ROCE_V2;
	ret->ndev_ifindex = 1;
	return index < NULL_GIDS ? 0 : ENODATA;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t size_bytes)
{
	uint32_t count = max < NULL_GIDS ? (uint32_t)max : NULL_GIDS;

	for (uint32_t i = 0; i < count; i++) {
		_ibv_query_gid_ex(context, 1, i, (void *)((char *)entries + i * size_bytes), flags,
				  size_bytes);
	}
	return count;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *ret)
{
	*ret = 0xffff;
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 pkey)
{
	return 0;
}

static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	values->comp_mask = 0;
	return EOPNOTSUPP;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct verbs_context *verbs = null_alloc(sizeof(*verbs));
	struct ibv_context *context = &verbs->context;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		free(verbs);
		return NULL;
	}
	context->device = device;
	context->async_fd = ends[0];
	context->cmd_fd = ends[1];
	context->num_comp_vectors = 2;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&context->mutex, NULL);
	context->ops.post_send = null_post_send;
	context->ops.post_recv = null_post_recv;
	context->ops.post_srq_recv = null_post_srq_recv;
	context->ops.poll_cq = null_poll_cq;
	context->ops.req_notify_cq = null_req_notify_cq;
	verbs->sz = sizeof(*verbs);
	verbs->query_port = query_port;
	verbs->query_device_ex = query_device_ex;
	verbs->query_rt_values = query_rt_values;
	verbs->create_qp_ex = null_create_qp_ex;
	verbs->create_cq_ex = null_create_cq_ex;
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	close(context->async_fd);
	close(context->cmd_fd);
	free((char *)context - offsetof(struct verbs_context, context));
	return 0;
}

/* Nothing ever happens to this device. */
int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	errno = EAGAIN;
	return -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
}
