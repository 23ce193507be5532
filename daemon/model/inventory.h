// SPDX-License-Identifier: MIT
#pragma once

/*
 * What a node has to offer: told in hello, again when it changes, used by the planner. Plain data,
 * copied freely.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/limits.h"
#include "util/schema.h"

enum port_state {
	PORT_STATE_UNKNOWN,
	PORT_STATE_DOWN,
	PORT_STATE_INIT,
	PORT_STATE_ARMED,
	PORT_STATE_ACTIVE
};
enum link_layer { LINK_LAYER_UNKNOWN, LINK_LAYER_INFINIBAND, LINK_LAYER_ETHERNET };
enum gid_type { GID_TYPE_IB, GID_TYPE_ROCE_V1, GID_TYPE_ROCE_V2 };

struct gid_entry {
	uint64_t index;
	int type;
	char gid[48]; /* IPv6 text form */
	char netdev[LIMIT_NAME];
	uint64_t vlan; /* 0 = none */
};

struct device_limits {
	uint64_t max_qp;
	uint64_t max_qp_wr;
	uint64_t max_sge;
	uint64_t max_cqe;
	uint64_t max_mr_bytes;
	uint64_t max_qp_rd_atom; /* as responder */
	uint64_t max_qp_init_rd_atom; /* as initiator */
	uint64_t max_msg_bytes; /* of the port */
};

struct port {
	char device[LIMIT_NAME];
	uint64_t port_num;
	uint64_t rail;
	int state;
	int link_layer;
	uint64_t active_mtu_bytes;
	uint64_t max_mtu_bytes;
	uint64_t link_rate_bps; /* 0 = unknown */
	uint64_t link_width; /* lanes of the link, as verbs has them; 0 = unknown */
	uint64_t lid;
	uint64_t configured_gid_index; /* daemon.devices[].gid_index or auto */
	uint64_t pkey_count;
	char firmware[LIMIT_NAME];
	char driver[LIMIT_NAME];
	char node_guid[32];
	uint64_t numa_node; /* auto = unknown */
	struct device_limits limits;
	size_t gid_count;
	struct gid_entry gids[LIMIT_GIDS];
};

struct inventory {
	char node[LIMIT_NAME];
	char boot_id[40];
	char version[32]; /* of rdmatestd */
	char kernel[LIMIT_NAME];
	char clock[16]; /* "tsc", "monotonic" */
	char problem[LIMIT_TEXT]; /* why a device, or the list of them, could not be asked; or "" */
	uint64_t problem_errno; /* of the call that failed; 0: none did */
	size_t port_count;
	struct port ports[LIMIT_PORTS];
};

extern const struct schema_field inventory_fields[];
extern const char *const port_state_names[];
extern const char *const link_layer_names[];
extern const char *const gid_type_names[];

const struct port *inventory_port(const struct inventory *inventory, const char *device,
				  uint64_t port_num);
/*
 * gid_index auto: RoCE v2, an address of a family and subnet that the remote can reach (IPv4-mapped
 * preferred, then global IPv6, compared by longest common prefix with the remote's candidates),
 * never link-local. On InfiniBand: index 0. Picks both ends together. 0 and both indexes, or
 * -ENOENT with err telling what each end has.
 */
int inventory_pick_gids(const struct port *a, uint64_t wish_a, const struct port *b,
			uint64_t wish_b, uint64_t *ret_a, uint64_t *ret_b, struct error *err);
const struct gid_entry *inventory_gid(const struct port *port, uint64_t index);
