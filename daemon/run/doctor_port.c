// SPDX-License-Identifier: MIT
#include "run/doctor_port.h"

#include <stdio.h>
#include <string.h>

#include "util/units.h"

#define LARGEST_MTU_BYTES 4096
/* With it RoCE has room for 4096 bytes and all headers. */
#define NETDEV_MTU_BYTES 4200

static bool is_active(const struct infiniband_port *port)
{
	return port->state == PORT_STATE_ACTIVE;
}

static bool has_active_port(const struct doctor_facts *facts)
{
	for (size_t i = 0; i < facts->device_count; i++) {
		const struct infiniband_device *sysfs = &facts->devices[i].sysfs;

		for (size_t j = 0; j < sysfs->port_count && j < INFINIBAND_PORTS; j++) {
			if (is_active(&sysfs->ports[j])) {
				return true;
			}
		}
	}
	return false;
}

struct doctor_line *doctor_port_line(struct doctor_report *report, const char *id,
				     enum doctor_status status, const struct doctor_device *device,
				     const struct infiniband_port *port)
{
	return doctor_line_add(report, id, status, "%s port %llu", device->name,
			       (unsigned long long)port->port_num);
}

void doctor_port_block(struct doctor_line *line, const struct doctor_device *device,
		       const struct infiniband_port *port, const char *what)
{
	doctor_line_block(line, device->name, port->port_num, "%s port %llu %s", device->name,
			  (unsigned long long)port->port_num, what);
}

static void say_ethernet_down(const struct infiniband_port *port, const struct netdev *netdev,
			      struct doctor_line *line)
{
	if (!netdev) {
		doctor_line_finding(
			line,
			"down; its network interface %s is not seen here (in another network "
			"namespace?)",
			port->netdev);
		doctor_line_cure(line,
				 "where the interface is: ip link show; ip link set INTERFACE up");
	} else if (!netdev->is_enabled) {
		doctor_line_finding(line, "down: its network interface %s is switched off",
				    netdev->name);
		doctor_line_cure(line, "ip link set %s up", netdev->name);
	} else if (!netdev->has_carrier) {
		doctor_line_finding(
			line, "down: its network interface %s is switched on, but sees no link",
			netdev->name);
		doctor_line_cure(
			line,
			"look at cable, transceiver, switch port and the other end; ethtool %s",
			netdev->name);
	} else {
		doctor_line_finding(line, "down, though its network interface %s has a link (%s)",
				    netdev->name,
				    port->physical_state[0] != '\0' ? port->physical_state
								    : "physical state not seen");
		doctor_line_cure(line,
				 "ip link set %s down; ip link set %s up; then dmesg | tail -50",
				 netdev->name, netdev->name);
	}
}

static void say_infiniband_down(const struct doctor_device *device,
				const struct infiniband_port *port, struct doctor_line *line)
{
	if (port->state == PORT_STATE_INIT || port->state == PORT_STATE_ARMED) {
		doctor_line_finding(
			line,
			"linked, but waits for a subnet manager (the program that gives InfiniBand "
			"ports their addresses)");
		doctor_line_cure(
			line,
			"start one on the fabric: systemctl enable --now opensm on one host, or switch "
			"on that of a switch; then sminfo");
	} else {
		doctor_line_finding(line, "down: no link to the other end (%s)",
				    port->physical_state[0] != '\0' ? port->physical_state
								    : "physical state not seen");
		doctor_line_cure(
			line,
			"look at cable, transceiver, switch port and the other end; ibstat %s %llu",
			device->name, (unsigned long long)port->port_num);
	}
}

static const char *kind_of(int link_layer)
{
	return link_layer == LINK_LAYER_ETHERNET     ? "RoCE (RDMA over Ethernet)"
	       : link_layer == LINK_LAYER_INFINIBAND ? "InfiniBand"
						     : "link layer not seen";
}

static void say_active(const struct infiniband_port *port, struct doctor_line *line)
{
	char rate[UNITS_SIZE] = "rate not seen";

	if (port->link_rate_bps > 0) {
		units_format_rate((double)port->link_rate_bps, rate);
	}
	doctor_line_finding(line, "active, %s, %s%s%s", rate, kind_of(port->link_layer),
			    port->netdev[0] != '\0' ? " on " : "", port->netdev);
	if (port->link_layer == LINK_LAYER_INFINIBAND && port->lid == 0) {
		line->status = DOCTOR_WARN;
		doctor_line_finding(line, "active, but without a LID (local address)");
		doctor_line_cure(line, "the subnet manager gives it: sminfo; look at its log");
	}
}

void doctor_port_state(const struct doctor_facts *facts, const struct doctor_device *device,
		       size_t index, struct doctor_report *report)
{
	const struct infiniband_port *port = &device->sysfs.ports[index];
	struct doctor_line *line = doctor_port_line(report, "port-state", DOCTOR_OK, device, port);

	doctor_line_source(line, "/sys/class/infiniband/%s/ports/%llu/state, /sys/class/net/%s",
			   device->name, (unsigned long long)port->port_num, port->netdev);
	if (is_active(port)) {
		say_active(port, line);
		return;
	}
	line->status = has_active_port(facts) ? DOCTOR_WARN : DOCTOR_BAD;
	if (port->state == PORT_STATE_UNKNOWN) {
		line->status = line->status == DOCTOR_WARN ? DOCTOR_NOT_SEEN : DOCTOR_BAD;
		doctor_line_finding(line, "its state cannot be read");
		doctor_line_cure(line,
				 "cat /sys/class/infiniband/%s/ports/%llu/state; dmesg | tail -50",
				 device->name, (unsigned long long)port->port_num);
		doctor_port_block(line, device, port, "does not tell its state");
		return;
	}
	if (port->link_layer == LINK_LAYER_INFINIBAND) {
		say_infiniband_down(device, port, line);
	} else {
		say_ethernet_down(port, doctor_facts_netdev(facts, port->netdev), line);
	}
	doctor_port_block(line, device, port,
			  port->state == PORT_STATE_DOWN ? "is down" : "is not active yet");
}

static void say_low_mtu(const struct infiniband_port *port, const struct netdev *netdev,
			uint64_t active_bytes, uint64_t max_bytes, struct doctor_line *line)
{
	line->status = DOCTOR_WARN;
	if (port->link_layer == LINK_LAYER_INFINIBAND) {
		doctor_line_finding(
			line,
			"MTU (largest packet) %llu of %llu bytes: headers take more of the link",
			(unsigned long long)active_bytes, (unsigned long long)max_bytes);
		doctor_line_cure(
			line,
			"the subnet manager sets it: mtu=5 in the partition's line of opensm's "
			"partitions.conf");
		return;
	}
	if (!netdev) {
		doctor_line_finding(
			line,
			"MTU (largest packet) %llu of %llu bytes; it follows that of the network "
			"interface, which is not seen here",
			(unsigned long long)active_bytes, (unsigned long long)max_bytes);
	} else {
		doctor_line_finding(
			line,
			"MTU (largest packet) %llu of %llu bytes: RoCE follows the %llu bytes of %s; "
			"headers take more of the link, big messages need more packets",
			(unsigned long long)active_bytes, (unsigned long long)max_bytes,
			(unsigned long long)netdev->mtu_bytes, netdev->name);
	}
	doctor_line_cure(
		line,
		"where every switch and the other end take it too: ip link set %s mtu %d or more "
		"(often 9000)",
		netdev ? netdev->name : "INTERFACE", NETDEV_MTU_BYTES);
}

void doctor_port_mtu(const struct doctor_facts *facts, const struct doctor_device *device,
		     size_t index, struct doctor_report *report)
{
	const struct infiniband_port *port = &device->sysfs.ports[index];
	const struct netdev *netdev = doctor_facts_netdev(facts, port->netdev);
	uint64_t active_bytes = device->verbs.active_mtu_bytes[index];
	uint64_t max_bytes = device->verbs.max_mtu_bytes[index];
	struct doctor_line *line;

	if (!is_active(port)) {
		return;
	}
	line = doctor_port_line(report, "port-mtu", DOCTOR_OK, device, port);
	doctor_line_source(line, "ibv_query_port, /sys/class/net/%s/mtu", port->netdev);
	max_bytes = max_bytes > LARGEST_MTU_BYTES ? LARGEST_MTU_BYTES : max_bytes;
	if (active_bytes == 0) {
		line->status = DOCTOR_NOT_SEEN;
		doctor_line_finding(
			line,
			"MTU (largest packet): told only to programs that may open the device%s",
			netdev && netdev->mtu_bytes >= NETDEV_MTU_BYTES
				? "; what its network interface takes is enough for the largest"
				: "");
	} else if (active_bytes < max_bytes) {
		say_low_mtu(port, netdev, active_bytes, max_bytes, line);
	} else {
		doctor_line_finding(line, "MTU (largest packet) %llu bytes",
				    (unsigned long long)active_bytes);
	}
}
