// SPDX-License-Identifier: MIT
/* The part of fabric.h that is about devices: what they are, coming, going, ports, addresses,
 * counts. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"

static struct fabric_device *find_device(struct fabric *fabric, const char *name)
{
	for (unsigned i = 0; i < fabric->device_count; i++) {
		struct fabric_device *device = fabric->devices[i];
		if (!device->is_removed && strcmp(device->ib.name, name) == 0) {
			return device;
		}
	}
	return NULL;
}

struct fabric_device *nic_device(struct fabric *fabric, const char *name)
{
	struct fabric_device *device = find_device(fabric, name);

	if (device == NULL) {
		nic_die("there is no device \"%s\"", name);
	}
	return device;
}

struct fabric_device *nic_find_gid(struct fabric *fabric, const union ibv_gid *gid)
{
	for (unsigned i = 0; i < fabric->device_count; i++) {
		struct fabric_device *device = fabric->devices[i];
		if (device->is_removed) {
			continue;
		}
		if (memcmp(&device->gids[0], gid, sizeof(*gid)) == 0 ||
		    (device->has_address && memcmp(&device->gids[1], gid, sizeof(*gid)) == 0)) {
			return device;
		}
	}
	return NULL;
}

static void parse_address(const char *address, union ibv_gid *ret_gid)
{
	struct in_addr ipv4;

	memset(ret_gid, 0, sizeof(*ret_gid));
	if (inet_pton(AF_INET, address, &ipv4) == 1) {
		ret_gid->raw[10] = 0xff;
		ret_gid->raw[11] = 0xff;
		memcpy(&ret_gid->raw[12], &ipv4, sizeof(ipv4));
	} else if (inet_pton(AF_INET6, address, ret_gid->raw) != 1) {
		nic_die("\"%s\" is neither an IPv4 nor an IPv6 address", address);
	}
}

static void set_defaults(struct fabric_device_config *config)
{
#define SET_DEFAULT(field, value) config->field = config->field ? config->field : (value)
	SET_DEFAULT(mtu, IBV_MTU_4096);
	SET_DEFAULT(rate_bps, 100000000000);
	SET_DEFAULT(message_ns, 100);
	SET_DEFAULT(max_qp, 65536);
	SET_DEFAULT(max_qp_wr, 16384);
	SET_DEFAULT(max_sge, 16);
	SET_DEFAULT(max_srq, 65536);
	SET_DEFAULT(max_cq, 65536);
	SET_DEFAULT(max_cqe, 65535);
	SET_DEFAULT(max_mr, 65536);
	SET_DEFAULT(max_pd, 4096);
	SET_DEFAULT(max_ah, 65536);
	SET_DEFAULT(max_rd_atomic, 16);
	SET_DEFAULT(max_inline_bytes, 256);
	SET_DEFAULT(max_mr_size_bytes, 1ULL << 40);
	SET_DEFAULT(max_msg_bytes, 1U << 30);
	SET_DEFAULT(memlock_bytes, UINT64_MAX);
	SET_DEFAULT(pkeys[0], 0xffff);
#undef SET_DEFAULT
}

static void name_device(struct fabric_device *device)
{
	struct ibv_device *ib = &device->ib;

	ib->node_type = IBV_NODE_CA;
	ib->transport_type = IBV_TRANSPORT_IB;
	snprintf(ib->name, sizeof(ib->name), "%s", device->config.name);
	snprintf(ib->dev_name, sizeof(ib->dev_name), "uverbs%u", device->index);
	snprintf(ib->dev_path, sizeof(ib->dev_path), "/sys/class/infiniband_verbs/uverbs%u",
		 device->index);
	snprintf(ib->ibdev_path, sizeof(ib->ibdev_path), "/sys/class/infiniband/%.64s", ib->name);
	device->config.name = ib->name;
	device->host = device->config.host ? strdup(device->config.host) : NULL;
	device->config.host = device->host;
}

void fabric_add_device(struct fabric *fabric, const struct fabric_device_config *config)
{
	pthread_mutex_lock(&fabric->lock);
	if (config->name == NULL || strlen(config->name) >= IBV_SYSFS_NAME_MAX) {
		nic_die("a device needs a name shorter than %d", IBV_SYSFS_NAME_MAX);
	}
	if (find_device(fabric, config->name) != NULL) {
		nic_die("there is a device \"%s\" already", config->name);
	}
	if (fabric->device_count == NIC_DEVICES_MAX) {
		nic_die("more than %d devices added to one fabric", NIC_DEVICES_MAX);
	}

	struct fabric_device *device = nic_alloc(1, sizeof(*device));
	device->fabric = fabric;
	device->config = *config;
	device->index = fabric->device_count;
	set_defaults(&device->config);
	name_device(device);
	list_init(&device->contexts);
	list_init(&device->ready);
	device->manager_context.device = &device->ib;
	device->next_qpn = 0x11;
	device->next_key = 0x1001;
	device->is_up = true;
	device->gids[0].raw[0] = 0xfe;
	device->gids[0].raw[1] = 0x80;
	device->gids[0].raw[8] = 0x02;
	device->gids[0].raw[11] = 0xff;
	device->gids[0].raw[12] = 0xfe;
	device->gids[0].raw[14] = (uint8_t)(device->index >> 8);
	device->gids[0].raw[15] = (uint8_t)device->index;
	if (config->address != NULL) {
		parse_address(config->address, &device->gids[1]);
		device->has_address = true;
	}
	device->config.address = NULL;
	fabric->devices[fabric->device_count++] = device;
	pthread_mutex_unlock(&fabric->lock);
}

static void remove_device(struct fabric *fabric, const char *name, bool is_told)
{
	nic_lock(fabric);
	struct fabric_device *device = nic_device(fabric, name);
	device->is_removed = true;
	while (!list_is_empty(&device->ready)) {
		list_remove(device->ready.next);
	}
	if (is_told) {
		async_raise_device(device, IBV_EVENT_DEVICE_FATAL);
	}
	nic_tell_manager(device);
	pthread_cond_broadcast(&fabric->changed);
	nic_unlock(fabric);
}

void fabric_remove_device(struct fabric *fabric, const char *name)
{
	remove_device(fabric, name, true);
}

void fabric_lose_device(struct fabric *fabric, const char *name)
{
	remove_device(fabric, name, false);
}

void fabric_set_listing(struct fabric *fabric, int error)
{
	nic_lock(fabric);
	fabric->listing_error = error;
	nic_unlock(fabric);
}

void fabric_set_port(struct fabric *fabric, const char *name, bool is_up)
{
	nic_lock(fabric);
	struct fabric_device *device = nic_device(fabric, name);
	if (device->is_up != is_up) {
		device->is_up = is_up;
		async_raise_device(device, is_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
	}
	nic_unlock(fabric);
}

void fabric_raise_port(struct fabric *fabric, const char *name, enum ibv_event_type type,
		       int port_num)
{
	struct ibv_async_event event = { .element.port_num = port_num, .event_type = type };
	struct fake_context *context;

	nic_lock(fabric);
	list_each(context, &nic_device(fabric, name)->contexts, link) {
		async_raise(context, &event);
	}
	nic_unlock(fabric);
}

void fabric_set_lie(struct fabric *fabric, const char *name, const struct fabric_lie *lie)
{
	nic_lock(fabric);
	struct fabric_device *device = nic_device(fabric, name);
	lie_forget(device);
	device->lie_seen = 0;
	device->lie = lie != NULL ? *lie : (struct fabric_lie){ 0 };
	nic_unlock(fabric);
}

void fabric_set_defect(struct fabric *fabric, const char *name, enum fabric_defect defect,
		       bool is_on)
{
	nic_lock(fabric);
	nic_device(fabric, name)->has_defect[defect] = is_on;
	nic_unlock(fabric);
}

void fabric_set_mtu(struct fabric *fabric, const char *name, enum ibv_mtu mtu)
{
	nic_lock(fabric);
	nic_device(fabric, name)->config.mtu = mtu;
	nic_unlock(fabric);
}

void fabric_set_rate(struct fabric *fabric, const char *name, uint64_t rate_bps)
{
	nic_lock(fabric);
	nic_device(fabric, name)->config.rate_bps = rate_bps;
	nic_unlock(fabric);
}

void fabric_set_address(struct fabric *fabric, const char *name, const char *address)
{
	nic_lock(fabric);
	struct fabric_device *device = nic_device(fabric, name);
	memset(&device->gids[1], 0, sizeof(device->gids[1]));
	device->has_address = address != NULL;
	if (address != NULL) {
		parse_address(address, &device->gids[1]);
	}
	async_raise_device(device, IBV_EVENT_GID_CHANGE);
	nic_unlock(fabric);
}

void fabric_set_verb(struct fabric *fabric, const char *name, enum fabric_verb verb,
		     const struct fabric_verb_fault *fault)
{
	pthread_mutex_lock(&fabric->lock);
	struct fabric_device *device = nic_device(fabric, name);
	device->has_fault[verb] = fault != NULL;
	device->fault_version[verb]++;
	if (fault != NULL) {
		device->faults[verb] = *fault;
	}
	pthread_cond_broadcast(&fabric->changed);
	pthread_mutex_unlock(&fabric->lock);
}

void fabric_counters(struct fabric *fabric, const char *name, struct fabric_counters *ret)
{
	pthread_mutex_lock(&fabric->lock);
	*ret = nic_device(fabric, name)->counters;
	pthread_mutex_unlock(&fabric->lock);
}

static void count_objects(struct fabric *fabric, unsigned counts[OBJECT_KINDS])
{
	pthread_mutex_lock(&fabric->lock);
	for (unsigned i = 0; i < fabric->device_count; i++) {
		for (int kind = 0; kind < OBJECT_KINDS; kind++) {
			counts[kind] += fabric->devices[i]->objects[kind];
		}
	}
	pthread_mutex_unlock(&fabric->lock);
}

static unsigned manager_objects(struct fabric *fabric)
{
	pthread_mutex_lock(&fabric->lock);
	unsigned count = fabric->manager_objects;
	pthread_mutex_unlock(&fabric->lock);
	return count;
}

unsigned fabric_objects(struct fabric *fabric)
{
	unsigned counts[OBJECT_KINDS] = { 0 };
	unsigned sum = 0;

	count_objects(fabric, counts);
	for (int kind = 0; kind < OBJECT_KINDS; kind++) {
		sum += counts[kind];
	}
	return sum + manager_objects(fabric);
}

void fabric_print_objects(struct fabric *fabric, FILE *to)
{
	static const char *const names[OBJECT_KINDS] = {
		[OBJECT_CONTEXT] = "contexts", [OBJECT_PD] = "PDs",	      [OBJECT_MR] = "MRs",
		[OBJECT_CQ] = "CQs",	       [OBJECT_CHANNEL] = "channels", [OBJECT_QP] = "QPs",
		[OBJECT_SRQ] = "SRQs",	       [OBJECT_AH] = "AHs",
	};
	unsigned counts[OBJECT_KINDS] = { 0 };

	count_objects(fabric, counts);
	for (int kind = 0; kind < OBJECT_KINDS; kind++) {
		if (counts[kind] > 0) {
			fprintf(to, "fake fabric: %u %s left\n", counts[kind], names[kind]);
		}
	}
	if (manager_objects(fabric) > 0) {
		fprintf(to, "fake fabric: %u of librdmacm left\n", manager_objects(fabric));
	}
}
