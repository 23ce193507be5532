// SPDX-License-Identifier: MIT
#include "model/inventory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const port_state_names[] = { "unknown", "down", "init", "armed", "active", NULL };
const char *const link_layer_names[] = { "unknown", "infiniband", "ethernet", NULL };
const char *const gid_type_names[] = { "ib", "roce_v1", "roce_v2", NULL };

#define U64(noun, name)                                                                     \
	{                                                                                   \
		.key = #name, .type = SCHEMA_INTEGER, .offset = offsetof(struct noun, name) \
	}
#define U64_AUTO(noun, name)                                              \
	{                                                                 \
		.key = #name, .type = SCHEMA_INTEGER, .has_auto = true,   \
		.offset = offsetof(struct noun, name), .fallback = "auto" \
	}
#define STRING(noun, name)                                                                  \
	{                                                                                   \
		.key = #name, .type = SCHEMA_STRING, .offset = offsetof(struct noun, name), \
		.size = sizeof(((struct noun *)0)->name)                                    \
	}
#define WORD(noun, name, words)                                                           \
	{                                                                                 \
		.key = #name, .type = SCHEMA_ENUM, .offset = offsetof(struct noun, name), \
		.names = (words)                                                          \
	}

static const struct schema_field gid_fields[] = {
	{ .key = "index",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct gid_entry, index),
	  .max = 65535 },
	WORD(gid_entry, type, gid_type_names),
	STRING(gid_entry, gid),
	STRING(gid_entry, netdev),
	{ .key = "vlan",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct gid_entry, vlan),
	  .max = 4095 },
	{ 0 },
};

static const struct schema_field device_limit_fields[] = {
	U64(device_limits, max_qp),
	U64(device_limits, max_qp_wr),
	U64(device_limits, max_sge),
	U64(device_limits, max_cqe),
	U64(device_limits, max_mr_bytes),
	U64(device_limits, max_qp_rd_atom),
	U64(device_limits, max_qp_init_rd_atom),
	U64(device_limits, max_msg_bytes),
	{ 0 },
};

static const struct schema_field port_fields[] = {
	STRING(port, device),
	{ .key = "port_num",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct port, port_num),
	  .min = 1,
	  .max = 255,
	  .fallback = "1" },
	{ .key = "rail", .type = SCHEMA_INTEGER, .offset = offsetof(struct port, rail), .max = 255 },
	WORD(port, state, port_state_names),
	WORD(port, link_layer, link_layer_names),
	U64(port, active_mtu_bytes),
	U64(port, max_mtu_bytes),
	U64(port, link_rate_bps),
	{ .key = "link_width",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct port, link_width),
	  .max = 255 },
	{ .key = "lid", .type = SCHEMA_INTEGER, .offset = offsetof(struct port, lid), .max = 65535 },
	U64_AUTO(port, configured_gid_index),
	U64(port, pkey_count),
	STRING(port, firmware),
	STRING(port, driver),
	STRING(port, node_guid),
	U64_AUTO(port, numa_node),
	{ .key = "limits",
	  .type = SCHEMA_MAP,
	  .offset = offsetof(struct port, limits),
	  .fields = device_limit_fields },
	{ .key = "gids",
	  .type = SCHEMA_LIST,
	  .offset = offsetof(struct port, gids),
	  .fields = gid_fields,
	  .item_size = sizeof(struct gid_entry),
	  .count_offset = offsetof(struct port, gid_count),
	  .max_items = LIMIT_GIDS },
	{ 0 },
};

const struct schema_field inventory_fields[] = {
	{ .key = "node",
	  .type = SCHEMA_NAME,
	  .is_required = true,
	  .offset = offsetof(struct inventory, node),
	  .size = LIMIT_NAME },
	STRING(inventory, boot_id),
	STRING(inventory, version),
	STRING(inventory, kernel),
	STRING(inventory, clock),
	STRING(inventory, problem),
	{ .key = "problem_errno",
	  .type = SCHEMA_INTEGER,
	  .offset = offsetof(struct inventory, problem_errno),
	  .max = 4095 },
	{ .key = "ports",
	  .type = SCHEMA_LIST,
	  .offset = offsetof(struct inventory, ports),
	  .fields = port_fields,
	  .item_size = sizeof(struct port),
	  .count_offset = offsetof(struct inventory, port_count),
	  .max_items = LIMIT_PORTS },
	{ 0 },
};

const struct port *inventory_port(const struct inventory *inventory, const char *device,
				  uint64_t port_num)
{
	for (size_t i = 0; i < inventory->port_count; i++) {
		const struct port *port = &inventory->ports[i];

		if (port->port_num == port_num && !strcmp(port->device, device)) {
			return port;
		}
	}
	return NULL;
}

const struct gid_entry *inventory_gid(const struct port *port, uint64_t index)
{
	for (size_t i = 0; i < port->gid_count; i++) {
		if (port->gids[i].index == index) {
			return &port->gids[i];
		}
	}
	return NULL;
}

/* --- which GIDs reach each other --- */

struct address {
	unsigned char bytes[16];
	bool is_valid; /* parses and is not zero */
	bool is_v4;
	bool is_link_local;
};

static struct address address_of(const struct gid_entry *entry)
{
	static const unsigned char v4_prefix[12] = { [10] = 0xff, [11] = 0xff };
	static const unsigned char zero[16];
	struct address address = { 0 };
	const unsigned char *b = address.bytes;

	if (inet_pton(AF_INET6, entry->gid, address.bytes) != 1) {
		return address;
	}
	address.is_v4 = !memcmp(b, v4_prefix, sizeof(v4_prefix));
	address.is_valid = memcmp(b, zero, sizeof(zero)) != 0;
	address.is_link_local = address.is_v4 ? b[12] == 169 && b[13] == 254
					      : b[0] == 0xfe && (b[1] & 0xc0) == 0x80;
	return address;
}

static unsigned common_prefix(const struct address *a, const struct address *b)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < 16; i++) {
		unsigned char difference = a->bytes[i] ^ b->bytes[i];

		if (difference) {
			return bits + (unsigned)__builtin_clz(difference) - 24;
		}
		bits += 8;
	}
	return bits;
}

/*
 * How good a pair is; 0: it cannot work. What a person wished for by index is taken as it is; what
 * we choose is RoCE v2 and not link-local, unless the other end's wish leaves nothing else.
 */
static unsigned score_pair(const struct gid_entry *a, bool is_wish_a, const struct gid_entry *b,
			   bool is_wish_b)
{
	struct address address_a = address_of(a);
	struct address address_b = address_of(b);
	bool may_link_local = (is_wish_a && address_a.is_link_local) ||
			      (is_wish_b && address_b.is_link_local);

	if (!address_a.is_valid || !address_b.is_valid || a->type != b->type ||
	    address_a.is_v4 != address_b.is_v4 ||
	    address_a.is_link_local != address_b.is_link_local) {
		return 0;
	}
	if (address_a.is_link_local && !may_link_local) {
		return 0;
	}
	if (a->type != GID_TYPE_ROCE_V2 && !is_wish_a && !is_wish_b) {
		return 0;
	}
	return 1 + (address_a.is_v4 ? 1024 : 0) + 2 * common_prefix(&address_a, &address_b) +
	       (a->vlan == b->vlan ? 1 : 0);
}

static void list_gids(const struct port *port, uint64_t wish, char *out, size_t size)
{
	size_t length = 0;

	out[0] = '\0';
	for (size_t i = 0; i < port->gid_count && length < size; i++) {
		const struct gid_entry *entry = &port->gids[i];

		if (wish == SCHEMA_AUTO || entry->index == wish) {
			length += (size_t)snprintf(out + length, size - length,
						   "%s%" PRIu64 " %s (%s)", length ? ", " : "",
						   entry->index, entry->gid,
						   gid_type_names[entry->type]);
		}
	}
	if (length >= size) {
		memcpy(out + size - 4, "...", 4);
	}
	if (!out[0]) {
		snprintf(out, size, "none");
	}
}

static int refuse_gids(const struct port *a, uint64_t wish_a, const struct port *b, uint64_t wish_b,
		       struct error *err)
{
	char gids_a[160], gids_b[160];
	int r;

	list_gids(a, wish_a, gids_a, sizeof(gids_a));
	list_gids(b, wish_b, gids_b, sizeof(gids_b));
	r = error_set(err, -ENOENT, ERROR_INPUT,
		      "no GID of %s port %" PRIu64 " (%s) reaches one of %s port %" PRIu64
		      " (%s); give both ports addresses of one network, or set qp.gid_index",
		      a->device, a->port_num, gids_a, b->device, b->port_num, gids_b);
	if (err) {
		err->stage = STAGE_RESOLVE;
	}
	return r;
}

static int pick_infiniband(uint64_t wish_a, uint64_t wish_b, uint64_t *ret_a, uint64_t *ret_b)
{
	*ret_a = wish_a == SCHEMA_AUTO ? 0 : wish_a;
	*ret_b = wish_b == SCHEMA_AUTO ? 0 : wish_b;
	return 0;
}

int inventory_pick_gids(const struct port *a, uint64_t wish_a, const struct port *b,
			uint64_t wish_b, uint64_t *ret_a, uint64_t *ret_b, struct error *err)
{
	unsigned best = 0;

	if (a->link_layer != b->link_layer) {
		int r = error_set(err, -ENOENT, ERROR_INPUT,
				  "%s port %" PRIu64 " is %s and %s port %" PRIu64
				  " is %s; choose endpoints of one link layer",
				  a->device, a->port_num, link_layer_names[a->link_layer],
				  b->device, b->port_num, link_layer_names[b->link_layer]);

		if (err) {
			err->stage = STAGE_RESOLVE;
		}
		return r;
	}
	if (a->link_layer == LINK_LAYER_INFINIBAND) {
		return pick_infiniband(wish_a, wish_b, ret_a, ret_b);
	}
	for (size_t i = 0; i < a->gid_count; i++) {
		if (wish_a != SCHEMA_AUTO && wish_a != a->gids[i].index) {
			continue;
		}
		for (size_t j = 0; j < b->gid_count; j++) {
			unsigned score;

			if (wish_b != SCHEMA_AUTO && wish_b != b->gids[j].index) {
				continue;
			}
			score = score_pair(&a->gids[i], wish_a != SCHEMA_AUTO, &b->gids[j],
					   wish_b != SCHEMA_AUTO);
			if (score > best) {
				best = score;
				*ret_a = a->gids[i].index;
				*ret_b = b->gids[j].index;
			}
		}
	}
	return best ? 0 : refuse_gids(a, wish_a, b, wish_b, err);
}
