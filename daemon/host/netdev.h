// SPDX-License-Identifier: MIT
#pragma once

/*
 * Network interfaces, as far as RoCE depends on them: state, MTU, addresses, how they answer ARP.
 * Below a root path as host/sysfs.h, but the addresses, which only the kernel itself tells. Any
 * thread.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/fact.h"

struct netdev {
	char name[FACT_NAME];
	bool is_there;
	bool is_enabled; /* IFF_UP: somebody switched it on */
	bool has_carrier; /* the cable or what is below it works; false when it is not enabled */
	int64_t index; /* ifindex; 0 = unknown */
	bool is_elsewhere; /* in another network namespace; left to who asks netdev_is_here */
	uint64_t mtu_bytes; /* 0 = unknown */
	/* net.ipv4.conf: the larger of "all" and this interface's, which is what counts */
	uint64_t arp_ignore;
	uint64_t arp_announce;
	bool is_arp_known;
};

void netdev_read(const char *root, const char *name, struct netdev *ret);

/* Whether this process' network namespace has this interface: asks the kernel, below no root. */
bool netdev_is_here(const struct netdev *netdev);

struct netdev_address {
	char netdev[IF_NAMESIZE];
	uint8_t address[16]; /* IPv4 mapped, ::ffff:a.b.c.d */
	unsigned prefix_bits; /* of 128; 96 + n for IPv4 */
};

/* Addresses of this network namespace: fills up to max, returns how many there are, or -errno. */
int netdev_addresses(struct netdev_address *ret, size_t max);
bool netdev_is_ipv4(const uint8_t *address);
bool netdev_is_link_local(const uint8_t *address);
/* Whether two addresses lie in one subnet, by the prefix of the first. */
bool netdev_is_same_subnet(const struct netdev_address *a, const struct netdev_address *b);
