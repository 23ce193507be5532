// SPDX-License-Identifier: MIT
#include "host/netdev.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const uint8_t ipv4_prefix[12] = { [10] = 0xff, [11] = 0xff };

/* The larger of two settings counts: net.ipv4.conf.all and the interface's own. */
static bool read_setting(const char *root, const char *name, const char *file, uint64_t *ret)
{
	int64_t all;
	int64_t own;

	if (fact_integer(&all, "%s/proc/sys/net/ipv4/conf/all/%s", root, file) < 0 ||
	    fact_integer(&own, "%s/proc/sys/net/ipv4/conf/%s/%s", root, name, file) < 0) {
		return false;
	}
	*ret = (uint64_t)(all > own ? all : own);
	return true;
}

void netdev_read(const char *root, const char *name, struct netdev *ret)
{
	char path[512];
	int64_t value;

	*ret = (struct netdev){ 0 };
	text_copy(ret->name, sizeof(ret->name), name);
	snprintf(path, sizeof(path), "%.300s/sys/class/net/%.64s", root, name);
	if (!fact_is_component(name) || fact_exists("%s", path) < 0) {
		return;
	}
	ret->is_there = true;
	if (fact_integer(&value, "%s/flags", path) == 0) {
		ret->is_enabled = value & IFF_UP;
	}
	if (fact_integer(&value, "%s/ifindex", path) == 0) {
		ret->index = value;
	}
	/* EINVAL while it is not enabled. */
	ret->has_carrier = fact_integer(&value, "%s/carrier", path) == 0 && value == 1;
	if (fact_integer(&value, "%s/mtu", path) == 0 && value > 0) {
		ret->mtu_bytes = (uint64_t)value;
	}
	ret->is_arp_known = read_setting(root, name, "arp_ignore", &ret->arp_ignore) &&
			    read_setting(root, name, "arp_announce", &ret->arp_announce);
}

bool netdev_is_here(const struct netdev *netdev)
{
	return netdev->index != 0 && if_nametoindex(netdev->name) == (unsigned)netdev->index;
}

static unsigned count_bits(const uint8_t *mask, size_t size)
{
	unsigned bits = 0;

	for (size_t i = 0; i < size; i++) {
		bits += (unsigned)__builtin_popcount(mask[i]);
	}
	return bits;
}

static bool read_address(const struct ifaddrs *from, struct netdev_address *ret)
{
	*ret = (struct netdev_address){ 0 };
	if (!from->ifa_addr || !from->ifa_netmask ||
	    !text_copy(ret->netdev, sizeof(ret->netdev), from->ifa_name)) {
		return false;
	}
	if (from->ifa_addr->sa_family == AF_INET) {
		const struct sockaddr_in *address = (const struct sockaddr_in *)from->ifa_addr;
		const struct sockaddr_in *mask = (const struct sockaddr_in *)from->ifa_netmask;

		memcpy(ret->address, ipv4_prefix, sizeof(ipv4_prefix));
		memcpy(ret->address + 12, &address->sin_addr, 4);
		ret->prefix_bits = 96 + count_bits((const uint8_t *)&mask->sin_addr, 4);
		return true;
	}
	if (from->ifa_addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *address = (const struct sockaddr_in6 *)from->ifa_addr;
		const struct sockaddr_in6 *mask = (const struct sockaddr_in6 *)from->ifa_netmask;

		memcpy(ret->address, &address->sin6_addr, 16);
		ret->prefix_bits = count_bits((const uint8_t *)&mask->sin6_addr, 16);
		return true;
	}
	return false;
}

int netdev_addresses(struct netdev_address *ret, size_t max)
{
	struct ifaddrs *list;
	struct netdev_address address;
	int count = 0;

	if (getifaddrs(&list) < 0) {
		return -errno;
	}
	for (const struct ifaddrs *from = list; from; from = from->ifa_next) {
		if (read_address(from, &address)) {
			if ((size_t)count < max) {
				ret[count] = address;
			}
			count++;
		}
	}
	freeifaddrs(list);
	return count;
}

bool netdev_is_ipv4(const uint8_t *address)
{
	return memcmp(address, ipv4_prefix, sizeof(ipv4_prefix)) == 0;
}

bool netdev_is_link_local(const uint8_t *address)
{
	/* fe80::/10; 169.254.0.0/16 */
	return (address[0] == 0xfe && (address[1] & 0xc0) == 0x80) ||
	       (netdev_is_ipv4(address) && address[12] == 169 && address[13] == 254);
}

bool netdev_is_same_subnet(const struct netdev_address *a, const struct netdev_address *b)
{
	unsigned bits = a->prefix_bits < 128 ? a->prefix_bits : 128;
	unsigned whole = bits / 8;
	uint8_t mask = (uint8_t)(0xff00 >> bits % 8);

	return a->prefix_bits == b->prefix_bits && memcmp(a->address, b->address, whole) == 0 &&
	       (whole == 16 || ((a->address[whole] ^ b->address[whole]) & mask) == 0);
}
