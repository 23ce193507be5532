// SPDX-License-Identifier: MIT
#include "verbs/port.h"

#include <arpa/inet.h>
#include <endian.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "host/sysfs.h"
#include "util/memory.h"
#include "util/text.h"
#include "verbs/call.h"

#define MAX_TABLE 1024 /* GID entries asked for */

static int state_of(enum ibv_port_state state)
{
	switch (state) {
	case IBV_PORT_DOWN:
		return PORT_STATE_DOWN;
	case IBV_PORT_INIT:
		return PORT_STATE_INIT;
	case IBV_PORT_ARMED:
		return PORT_STATE_ARMED;
	case IBV_PORT_ACTIVE:
	case IBV_PORT_ACTIVE_DEFER:
		return PORT_STATE_ACTIVE;
	default:
		return PORT_STATE_UNKNOWN;
	}
}

static int link_layer_of(uint8_t link_layer)
{
	return link_layer == IBV_LINK_LAYER_INFINIBAND ? LINK_LAYER_INFINIBAND
	       : link_layer == IBV_LINK_LAYER_ETHERNET ? LINK_LAYER_ETHERNET
						       : LINK_LAYER_UNKNOWN;
}

static uint64_t mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128ull << mtu : 0;
}

static uint64_t count_of(int value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static void fill_gid(struct port *port, const struct ibv_gid_entry *entry)
{
	struct gid_entry *gid = &port->gids[port->gid_count++];
	char netdev[IF_NAMESIZE] = "";

	gid->index = entry->gid_index;
	gid->type = entry->gid_type == IBV_GID_TYPE_ROCE_V2   ? GID_TYPE_ROCE_V2
		    : entry->gid_type == IBV_GID_TYPE_ROCE_V1 ? GID_TYPE_ROCE_V1
							      : GID_TYPE_IB;
	inet_ntop(AF_INET6, entry->gid.raw, gid->gid, sizeof(gid->gid));
	if (entry->ndev_ifindex != 0 && if_indextoname(entry->ndev_ifindex, netdev)) {
		text_copy(gid->netdev, sizeof(gid->netdev), netdev);
		gid->vlan = sysfs_vlan(netdev);
	}
}

static int compare_gids(const void *a, const void *b)
{
	const struct gid_entry *x = a;
	const struct gid_entry *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

/*
 * When a table has more entries than an inventory holds, those of RoCE v1 go first: nothing here
 * uses them by itself.
 */
static void fill_gids(struct device *device, struct port *port)
{
	_cleanup_free_ struct ibv_gid_entry *entries =
		memory_new_array(MAX_TABLE, sizeof(*entries));
	uint64_t started_mono_ns = call_begin("ibv_query_gid_table");
	ssize_t count = ibv_query_gid_table(device->context, entries, MAX_TABLE, 0);

	call_end(NULL, NULL, started_mono_ns, 0);

	for (int pass = 0; pass < 2; pass++) {
		for (ssize_t i = 0; i < count && port->gid_count < LIMIT_GIDS; i++) {
			bool is_v1 = entries[i].gid_type == IBV_GID_TYPE_ROCE_V1;

			if (entries[i].port_num == port->port_num && is_v1 == (pass == 1)) {
				fill_gid(port, &entries[i]);
			}
		}
	}
	qsort(port->gids, port->gid_count, sizeof(port->gids[0]), compare_gids);
}

static void fill_limits(const struct ibv_device_attr *attr, uint64_t max_msg_bytes,
			struct device_limits *ret)
{
	*ret = (struct device_limits){
		.max_qp = count_of(attr->max_qp),
		.max_qp_wr = count_of(attr->max_qp_wr),
		.max_sge = count_of(attr->max_sge),
		.max_cqe = count_of(attr->max_cqe),
		/* Without a limit it is 2^64 - 1: more than an integer of JSON holds. */
		.max_mr_bytes = attr->max_mr_size > INT64_MAX ? INT64_MAX : attr->max_mr_size,
		.max_qp_rd_atom = count_of(attr->max_qp_rd_atom),
		.max_qp_init_rd_atom = count_of(attr->max_qp_init_rd_atom),
		.max_msg_bytes = max_msg_bytes,
	};
}

static uint64_t lane_rate_bps(uint8_t speed)
{
	switch (speed) {
	case 1:
		return 2500000000;
	case 2:
		return 5000000000;
	case 4:
	case 8:
		return 10000000000;
	case 16:
		return 14000000000;
	case 32:
		return 25000000000;
	case 64:
		return 50000000000;
	case 128:
		return 100000000000;
	default:
		return 0;
	}
}

/* IBTA's LinkWidthActive of PortInfo; 0 when it is unknown. */
static uint64_t link_width(const struct ibv_port_attr *attr)
{
	static const struct {
		uint8_t width;
		uint8_t lanes;
	} widths[] = { { 1, 1 }, { 2, 4 }, { 4, 8 }, { 8, 12 }, { 16, 2 } };

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		if (widths[i].width == attr->active_width) {
			return widths[i].lanes;
		}
	}
	return 0;
}

/* As the kernel has it, where it has; else nominal from the codes of PortInfo. 0: unknown. */
static uint64_t link_rate_bps(uint64_t kernel_bps, const struct ibv_port_attr *attr)
{
	return kernel_bps ? kernel_bps : link_width(attr) * lane_rate_bps(attr->active_speed);
}

static void fill_device_facts(const char *sys_root, const struct device *device, struct port *port)
{
	uint64_t guid = be64toh(device->attr.node_guid);
	struct sysfs_port facts;
	int numa_node = sysfs_numa_node(sys_root, device->name);

	sysfs_port(sys_root, device->name, port->port_num, &facts);
	port->link_rate_bps = facts.link_rate_bps;
	text_copy(port->driver, sizeof(port->driver), facts.driver);
	text_copy(port->firmware, sizeof(port->firmware), device->attr.fw_ver);
	snprintf(port->node_guid, sizeof(port->node_guid), "%04x:%04x:%04x:%04x",
		 (unsigned)(guid >> 48), (unsigned)(guid >> 32 & 0xffff),
		 (unsigned)(guid >> 16 & 0xffff), (unsigned)(guid & 0xffff));
	port->numa_node = numa_node >= 0 ? (uint64_t)numa_node : SCHEMA_AUTO;
}

int port_ask(const char *sys_root, struct device *device, uint64_t port_num, struct port *ret,
	     struct error *err)
{
	struct ibv_port_attr attr;
	uint64_t started_mono_ns = call_begin("ibv_query_port");
	int error = ibv_query_port(device->context, (uint8_t)port_num, &attr);

	call_end(NULL, NULL, started_mono_ns, 0);
	if (error != 0) {
		return error_set_call(err, error, ERROR_DEVICE, STAGE_DISCOVER, "ibv_query_port",
				      "port %llu of RDMA device \"%s\" cannot be asked",
				      (unsigned long long)port_num, device->name);
	}
	/* All of it, padding too: inventories are compared byte by byte. */
	memset(ret, 0, sizeof(*ret));
	ret->port_num = port_num;
	ret->state = state_of(attr.state);
	ret->link_layer = link_layer_of(attr.link_layer);
	ret->active_mtu_bytes = mtu_bytes(attr.active_mtu);
	ret->max_mtu_bytes = mtu_bytes(attr.max_mtu);
	ret->lid = attr.lid;
	ret->configured_gid_index = SCHEMA_AUTO;
	ret->pkey_count = attr.pkey_tbl_len;
	text_copy(ret->device, sizeof(ret->device), device->name);
	fill_limits(&device->attr, attr.max_msg_sz, &ret->limits);
	fill_device_facts(sys_root, device, ret);
	ret->link_rate_bps = link_rate_bps(ret->link_rate_bps, &attr);
	ret->link_width = link_width(&attr);
	fill_gids(device, ret);
	return 0;
}

void port_look(const char *sys_root, struct device *device, uint64_t port_num, uint64_t gid_index,
	       struct port_after *ret)
{
	int index = gid_index == SCHEMA_AUTO ? 0 : (int)gid_index;
	int listed = device_is_listed(device->name);
	struct ibv_port_attr attr;
	struct sysfs_port facts;
	union ibv_gid gid;

	*ret = (struct port_after){ .is_known = listed == 0 };
	/* A context of a device that was removed may well answer, but not of this port. */
	if (listed == 0 || ibv_query_port(device->context, (uint8_t)port_num, &attr) != 0) {
		return;
	}
	ret->is_known = true;
	ret->is_present = true;
	ret->state = state_of(attr.state);
	ret->active_mtu_bytes = mtu_bytes(attr.active_mtu);
	sysfs_port(sys_root, device->name, port_num, &facts);
	ret->link_rate_bps = link_rate_bps(facts.link_rate_bps, &attr);
	ret->link_width = link_width(&attr);
	if (ibv_query_gid(device->context, (uint8_t)port_num, index, &gid) == 0) {
		inet_ntop(AF_INET6, gid.raw, ret->gid, sizeof(ret->gid));
	}
}
