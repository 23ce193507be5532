// SPDX-License-Identifier: MIT
#include "run/doctor_address.h"

#include <arpa/inet.h>
#include <string.h>

#include "run/doctor_port.h"

/* What the GIDs of a RoCE port are good for. */
struct gid_kinds {
	const struct infiniband_gid *ipv4; /* the first of each */
	const struct infiniband_gid *ipv6;
	const struct infiniband_gid *link_local;
	const struct infiniband_gid *version_1;
	const struct infiniband_gid *stale; /* of an address that is gone */
};

static void first(const struct infiniband_gid **kind, const struct infiniband_gid *gid)
{
	if (!*kind) {
		*kind = gid;
	}
}

static bool is_address(const struct doctor_facts *facts, const uint8_t *raw)
{
	for (size_t i = 0; i < facts->address_count; i++) {
		if (memcmp(facts->addresses[i].address, raw, 16) == 0) {
			return true;
		}
	}
	return false;
}

static struct gid_kinds sort_gids(const struct doctor_facts *facts,
				  const struct infiniband_port *port)
{
	struct gid_kinds kinds = { 0 };
	/* Addresses in another network namespace than the interface's are not its own. */
	const struct netdev *netdev = doctor_facts_netdev(facts, port->netdev);
	bool is_local = facts->addresses_error == 0 && netdev && !netdev->is_elsewhere;

	for (size_t i = 0; i < port->gid_count; i++) {
		const struct infiniband_gid *gid = &port->gids[i];

		if (gid->type == GID_TYPE_ROCE_V1) {
			first(&kinds.version_1, gid);
		} else if (netdev_is_link_local(gid->raw)) {
			first(&kinds.link_local, gid);
		} else if (is_local && !is_address(facts, gid->raw)) {
			first(&kinds.stale, gid);
		} else if (netdev_is_ipv4(gid->raw)) {
			first(&kinds.ipv4, gid);
		} else {
			first(&kinds.ipv6, gid);
		}
	}
	return kinds;
}

static const char *show_gid(const struct infiniband_gid *gid, char *buf, size_t size)
{
	if (netdev_is_ipv4(gid->raw)) {
		inet_ntop(AF_INET, gid->raw + 12, buf, (socklen_t)size);
	} else {
		inet_ntop(AF_INET6, gid->raw, buf, (socklen_t)size);
	}
	return buf;
}

static void say_no_gid(const struct gid_kinds *kinds, const struct doctor_device *device,
		       const struct infiniband_port *port, struct doctor_line *line)
{
	const char *netdev = port->netdev[0] != '\0' ? port->netdev : "INTERFACE";
	char gid[INET6_ADDRSTRLEN];

	if (kinds->stale) {
		doctor_line_finding(
			line,
			"GID %s (a port's address, made of the IP addresses of its interface) is "
			"of an address that %s no longer has",
			show_gid(kinds->stale, gid, sizeof(gid)), netdev);
	} else if (kinds->link_local) {
		doctor_line_finding(
			line,
			"only link-local GIDs (a port's addresses, made of the IP addresses of its "
			"interface), such as %s: %s has no IP address of its own, so no other subnet "
			"is reached, and rdmatestd never takes them by itself",
			show_gid(kinds->link_local, gid, sizeof(gid)), netdev);
	} else if (kinds->version_1) {
		doctor_line_finding(
			line,
			"only GIDs (a port's addresses) of RoCE version 1, which no router and not "
			"rdmatestd takes");
		doctor_line_cure(
			line,
			"switch the adapter to RoCE v2 (firmware setting); its driver: dmesg | grep -i "
			"roce");
		doctor_port_block(line, device, port, "has only RoCE v1 addresses");
		return;
	} else {
		doctor_line_finding(
			line,
			"no GID (a port's address, made of the IP addresses of its interface %s)",
			netdev);
	}
	doctor_line_cure(
		line,
		"give %s an address of your fabric's network: ip link set %s up; ip address add "
		"ADDRESS/PREFIX dev %s",
		netdev, netdev, netdev);
	doctor_port_block(line, device, port, "has no usable address");
}

static void say_gids(const struct gid_kinds *kinds, const struct infiniband_port *port,
		     struct doctor_line *line)
{
	const struct infiniband_gid *best = kinds->ipv4 ? kinds->ipv4 : kinds->ipv6;
	char gid[INET6_ADDRSTRLEN];
	char stale[INET6_ADDRSTRLEN];

	line->status = DOCTOR_OK;
	doctor_line_finding(line, "%s%zu GID%s (its addresses); RoCE v2 as %s, index %llu",
			    port->has_more_gids ? "more than " : "", port->gid_count,
			    port->gid_count == 1 ? "" : "s", show_gid(best, gid, sizeof(gid)),
			    (unsigned long long)best->index);
	if (kinds->stale) {
		line->status = DOCTOR_WARN;
		doctor_line_finding(
			line,
			"GID %llu (%s) is of an address that %s no longer has: what chooses it by number "
			"hangs; RoCE v2 works as %s, index %llu",
			(unsigned long long)kinds->stale->index,
			show_gid(kinds->stale, stale, sizeof(stale)), port->netdev,
			show_gid(best, gid, sizeof(gid)), (unsigned long long)best->index);
		doctor_line_cure(
			line,
			"ip link set %s down; ip link set %s up builds the table anew; leave "
			"qp.gid_index: auto",
			port->netdev, port->netdev);
	}
}

/* The addresses are then not those of this namespace either. */
static void say_elsewhere(const struct netdev *netdev, struct doctor_line *line)
{
	if (!netdev || !netdev->is_elsewhere) {
		return;
	}
	line->status = DOCTOR_WARN;
	doctor_line_finding(
		line,
		"its network interface %s, of which its GIDs (addresses) are made, is not in this network namespace: whether they are in use still cannot be seen, and rdma_cm does not find them",
		netdev->name);
	doctor_line_cure(
		line,
		"let rdmatestd run in the namespace of the interface: PrivateNetwork=no in the unit, docker --network=host");
}

void doctor_address_gids(const struct doctor_facts *facts, const struct doctor_device *device,
			 size_t index, struct doctor_report *report)
{
	const struct infiniband_port *port = &device->sysfs.ports[index];
	struct gid_kinds kinds = sort_gids(facts, port);
	struct doctor_line *line;

	/* Before it is up a port need not have any; InfiniBand has its first from the factory. */
	if (port->state != PORT_STATE_ACTIVE || port->link_layer != LINK_LAYER_ETHERNET ||
	    device->sysfs.is_iwarp) {
		return;
	}
	line = doctor_port_line(report, "port-gid", DOCTOR_BAD, device, port);
	doctor_line_source(line, "/sys/class/infiniband/%s/ports/%llu/gids, gid_attrs",
			   device->name, (unsigned long long)port->port_num);
	if (kinds.ipv4 || kinds.ipv6) {
		say_gids(&kinds, port, line);
		say_elsewhere(doctor_facts_netdev(facts, port->netdev), line);
	} else {
		say_no_gid(&kinds, device, port, line);
	}
}

static bool answers_for_itself(const struct netdev *netdev)
{
	return netdev->arp_ignore >= 1 && netdev->arp_announce >= 2;
}

/* The address of another of the devices' interfaces in the same subnet. */
static const struct netdev_address *find_neighbour(const struct doctor_facts *facts, size_t from)
{
	const struct netdev_address *address = &facts->addresses[from];

	for (size_t i = from + 1; i < facts->address_count; i++) {
		const struct netdev_address *other = &facts->addresses[i];

		if (strcmp(other->netdev, address->netdev) != 0 &&
		    doctor_facts_netdev(facts, other->netdev) &&
		    netdev_is_same_subnet(address, other)) {
			return other;
		}
	}
	return NULL;
}

void doctor_address_arp(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct netdev *one = NULL;
	const struct netdev *other = NULL;
	bool is_guarded = true;
	struct doctor_line *line;

	for (size_t i = 0; i < facts->address_count && is_guarded; i++) {
		const struct netdev *netdev =
			doctor_facts_netdev(facts, facts->addresses[i].netdev);
		const struct netdev_address *neighbour =
			netdev && netdev_is_ipv4(facts->addresses[i].address)
				? find_neighbour(facts, i)
				: NULL;

		if (!neighbour || !netdev->is_arp_known) {
			continue;
		}
		one = netdev;
		other = doctor_facts_netdev(facts, neighbour->netdev);
		is_guarded = answers_for_itself(one) && answers_for_itself(other);
	}
	if (!one) {
		return;
	}
	line = doctor_line_add(report, "arp", is_guarded ? DOCTOR_OK : DOCTOR_WARN, "%s, %s",
			       one->name, other->name);
	doctor_line_source(line, "/proc/sys/net/ipv4/conf: arp_ignore, arp_announce");
	if (is_guarded) {
		doctor_line_finding(line,
				    "are in one subnet, and each answers for its own address only");
		return;
	}
	doctor_line_finding(
		line, "are in one subnet, and each may answer for the other's address: packets can "
		      "go to the wrong port and time out there");
	doctor_line_cure(
		line, "give each a subnet of its own, or: sysctl -w net.ipv4.conf.all.arp_ignore=1 "
		      "net.ipv4.conf.all.arp_announce=2");
}
