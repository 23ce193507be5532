// SPDX-License-Identifier: MIT
#include "host/infiniband.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/sysfs.h"

#define MAX_GIDS 1024
/* Tables are filled from below: so many empty entries in a row are taken for the end. */
#define MAX_EMPTY_GIDS 16

/* "4: ACTIVE", "1: DOWN" */
static int parse_state(const char *text)
{
	static const int states[] = { PORT_STATE_UNKNOWN, PORT_STATE_DOWN,   PORT_STATE_INIT,
				      PORT_STATE_ARMED,	  PORT_STATE_ACTIVE, PORT_STATE_ACTIVE };
	unsigned long state = strtoul(text, NULL, 10);

	return state < sizeof(states) / sizeof(states[0]) ? states[state] : PORT_STATE_UNKNOWN;
}

static int parse_link_layer(const char *text)
{
	return strcmp(text, "Ethernet") == 0	 ? LINK_LAYER_ETHERNET
	       : strcmp(text, "InfiniBand") == 0 ? LINK_LAYER_INFINIBAND
						 : LINK_LAYER_UNKNOWN;
}

static bool read_gid(const char *path, uint64_t index, struct infiniband_gid *ret)
{
	static const uint8_t empty[16];
	unsigned long long number = index;
	char line[64];

	*ret = (struct infiniband_gid){ .index = index };
	if (fact_line(line, sizeof(line), "%s/gids/%llu", path, number) < 0 ||
	    inet_pton(AF_INET6, line, ret->raw) != 1 || memcmp(ret->raw, empty, 16) == 0) {
		return false;
	}
	fact_line(line, sizeof(line), "%s/gid_attrs/types/%llu", path, number);
	/* RoCE v1 and InfiniBand have one word, "IB/RoCE v1": the link layer tells them apart. */
	ret->type = strcmp(line, "RoCE v2") == 0 ? GID_TYPE_ROCE_V2 : GID_TYPE_IB;
	fact_line(ret->netdev, sizeof(ret->netdev), "%s/gid_attrs/ndevs/%llu", path, number);
	return true;
}

static void read_gids(const char *path, struct infiniband_port *port)
{
	struct infiniband_gid gid;

	for (uint64_t i = 0, empty = 0; i < MAX_GIDS && empty < MAX_EMPTY_GIDS; i++) {
		if (!read_gid(path, i, &gid)) {
			empty++;
			continue;
		}
		empty = 0;
		if (gid.type == GID_TYPE_IB && port->link_layer == LINK_LAYER_ETHERNET) {
			gid.type = GID_TYPE_ROCE_V1;
		}
		if (port->gid_count == LIMIT_GIDS) {
			port->has_more_gids = true;
			return;
		}
		port->gids[port->gid_count++] = gid;
	}
}

static void read_port(const char *root, const char *device, uint64_t port_num,
		      struct infiniband_port *ret)
{
	struct sysfs_port facts;
	char path[512];
	char line[64];
	int64_t lid;

	ret->port_num = port_num;
	snprintf(path, sizeof(path), "%.300s/sys/class/infiniband/%.64s/ports/%llu", root, device,
		 (unsigned long long)port_num);
	fact_line(line, sizeof(line), "%s/state", path);
	ret->state = parse_state(line);
	if (fact_line(line, sizeof(line), "%s/phys_state", path) == 0) {
		const char *word = strstr(line, ": ");

		text_copy(ret->physical_state, sizeof(ret->physical_state), word ? word + 2 : line);
	}
	fact_line(line, sizeof(line), "%s/link_layer", path);
	ret->link_layer = parse_link_layer(line);
	if (fact_integer(&lid, "%s/lid", path) == 0) {
		ret->lid = (uint64_t)lid;
	}
	sysfs_port(root, device, port_num, &facts);
	ret->link_rate_bps = facts.link_rate_bps;
	text_copy(ret->netdev, sizeof(ret->netdev), facts.netdev);
	read_gids(path, ret);
}

/* The node whose ibdev file names the device. */
static void find_node(const char *root, struct infiniband_device *device)
{
	_cleanup_fact_names_ struct fact_names names = { 0 };
	char line[FACT_NAME];
	int64_t version;

	device->abi_version = -1;
	(void)fact_names(&names, "%s/sys/class/infiniband_verbs", root);
	for (size_t i = 0; i < names.count; i++) {
		const char *node = names.names[i];

		if (fact_line(line, sizeof(line), "%s/sys/class/infiniband_verbs/%s/ibdev", root,
			      node) < 0 ||
		    strcmp(line, device->name) != 0) {
			continue;
		}
		text_copy(device->node, sizeof(device->node), node);
		if (fact_line(line, sizeof(line), "%s/sys/class/infiniband_verbs/%s/dev", root,
			      node) == 0) {
			char *end;

			device->node_major = (uint32_t)strtoul(line, &end, 10);
			device->node_minor = *end == ':' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
		}
		if (fact_integer(&version, "%s/sys/class/infiniband_verbs/%s/abi_version", root,
				 node) == 0) {
			device->abi_version = version;
		}
		return;
	}
}

int infiniband_device(const char *root, const char *name, struct infiniband_device *ret)
{
	_cleanup_fact_names_ struct fact_names ports = { 0 };
	struct sysfs_port facts;
	char line[FACT_NAME];
	int error;

	if (!fact_is_component(name)) {
		return -EINVAL;
	}
	error = fact_exists("%s/sys/class/infiniband/%s", root, name);
	if (error < 0) {
		return error;
	}
	memset(ret, 0, sizeof(*ret));
	text_copy(ret->name, sizeof(ret->name), name);
	find_node(root, ret);
	sysfs_port(root, name, 1, &facts);
	text_copy(ret->driver, sizeof(ret->driver), facts.driver);
	fact_line(ret->node_guid, sizeof(ret->node_guid), "%s/sys/class/infiniband/%s/node_guid",
		  root, name);
	/* "4: RNIC" */
	fact_line(line, sizeof(line), "%s/sys/class/infiniband/%s/node_type", root, name);
	ret->is_iwarp = strtoul(line, NULL, 10) == 4;
	ret->numa_node = sysfs_numa_node(root, name);
	pcie_link(root, name, &ret->link);
	(void)fact_names(&ports, "%s/sys/class/infiniband/%s/ports", root, name);
	for (size_t i = 0; i < ports.count; i++) {
		uint64_t port_num = strtoull(ports.names[i], NULL, 10);

		if (i < INFINIBAND_PORTS) {
			read_port(root, name, port_num, &ret->ports[i]);
		}
	}
	ret->port_count = ports.count;
	return 0;
}
