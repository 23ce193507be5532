// SPDX-License-Identifier: MIT
#include "run/doctor_hardware.h"

#include <string.h>

#include "util/units.h"

static bool has_other_kind(const struct doctor_facts *facts)
{
	for (size_t i = 0; i < facts->device_count; i++) {
		const struct doctor_device *device = &facts->devices[i];

		if (device->answer != DOCTOR_ANSWER_NONE && !device->sysfs.is_iwarp) {
			return true;
		}
	}
	return false;
}

void doctor_hardware_kind(const struct doctor_facts *facts, const struct doctor_device *device,
			  struct doctor_report *report)
{
	struct doctor_line *line;

	if (device->answer == DOCTOR_ANSWER_NONE) {
		return;
	}
	if (device->sysfs.port_count > INFINIBAND_PORTS) {
		line = doctor_line_add(report, "device-ports", DOCTOR_NOT_SEEN, "%s", device->name);
		doctor_line_finding(line, "has %zu ports, of which only the first %d are looked at",
				    device->sysfs.port_count, INFINIBAND_PORTS);
		doctor_line_source(line, "/sys/class/infiniband/%s/ports", device->name);
	}
	if (device->sysfs.is_iwarp) {
		line = doctor_line_add(report, "device-kind",
				       has_other_kind(facts) ? DOCTOR_WARN : DOCTOR_BAD, "%s",
				       device->name);
		doctor_line_finding(
			line, "is an iWARP device (RDMA over TCP), which connects by rdma_cm only: "
			      "rdmatestd cannot test it yet");
		doctor_line_cure(
			line,
			"test with InfiniBand or RoCE devices, or switch the adapter to RoCE");
		doctor_line_source(line, "/sys/class/infiniband/%s/node_type", device->name);
		doctor_line_block(line, device->name, 0, "%s is an iWARP device", device->name);
	}
	if (strcmp(device->sysfs.node_guid, "0000:0000:0000:0000") == 0) {
		line = doctor_line_add(report, "device-guid", DOCTOR_WARN, "%s", device->name);
		doctor_line_finding(
			line,
			"its GUID (hardware address) is zero: older versions of librdmacm crash "
			"on it");
		doctor_line_cure(
			line, "set it in the firmware, or for a virtual function: ip link set dev "
			      "INTERFACE vf N node_guid GUID");
		doctor_line_source(line, "/sys/class/infiniband/%s/node_guid", device->name);
	}
}

static uint64_t fastest_port_bps(const struct infiniband_device *sysfs)
{
	uint64_t fastest_bps = 0;

	for (size_t i = 0; i < sysfs->port_count && i < INFINIBAND_PORTS; i++) {
		if (sysfs->ports[i].link_rate_bps > fastest_bps) {
			fastest_bps = sysfs->ports[i].link_rate_bps;
		}
	}
	return fastest_bps;
}

void doctor_hardware_pcie(const struct doctor_facts *facts, const struct doctor_device *device,
			  struct doctor_report *report)
{
	const struct pcie_link *link = &device->sysfs.link;
	uint64_t rate_bps = pcie_rate_bps(link->speed_mtps, link->width);
	uint64_t port_bps = fastest_port_bps(&device->sysfs);
	char rate[UNITS_SIZE];
	char port[UNITS_SIZE];
	struct doctor_line *line;

	(void)facts;
	if (device->answer == DOCTOR_ANSWER_NONE || link->address[0] == '\0') {
		return;
	}
	line = doctor_line_add(report, "pcie", DOCTOR_OK, "%s", device->name);
	doctor_line_source(line, "/sys/bus/pci/devices/%s", link->address);
	if (rate_bps == 0) {
		line->status = DOCTOR_NOT_SEEN;
		doctor_line_finding(
			line,
			"PCI Express link of %s: the kernel does not tell its speed (as in "
			"virtual machines)",
			link->address);
		return;
	}
	units_format_rate((double)rate_bps, rate);
	units_format_rate((double)port_bps, port);
	doctor_line_finding(
		line, "PCI Express (the bus to the CPU): %.3g GT/s x%llu, %s for a port of %s%s",
		(double)link->speed_mtps / 1000, (unsigned long long)link->width, rate,
		port_bps > 0 ? port : "unknown rate",
		link->is_virtual_function ? " (of the card it is a part of)" : "");
	if (link->speed_mtps < link->max_speed_mtps || link->width < link->max_width) {
		line->status = DOCTOR_WARN;
		doctor_line_finding(
			line,
			"PCI Express (the bus to the CPU) runs at %.3g GT/s x%llu, the adapter can %.3g "
			"GT/s x%llu: %s for a port of %s",
			(double)link->speed_mtps / 1000, (unsigned long long)link->width,
			(double)link->max_speed_mtps / 1000, (unsigned long long)link->max_width,
			rate, port_bps > 0 ? port : "unknown rate");
	} else if (port_bps > rate_bps) {
		line->status = DOCTOR_WARN;
	}
	if (line->status == DOCTOR_WARN) {
		doctor_line_cure(
			line,
			"put the adapter into a slot with as many lanes, of that generation, wired to the CPU "
			"(lspci -vv -s %s | grep Lnk); reseat it if it is in one",
			link->address);
	}
}

void doctor_hardware_numa(const struct doctor_facts *facts, const struct doctor_device *device,
			  struct doctor_report *report)
{
	int node = device->sysfs.numa_node;
	struct doctor_line *line;

	if (device->answer == DOCTOR_ANSWER_NONE || device->sysfs.link.address[0] == '\0' ||
	    facts->numa_nodes < 2) {
		return;
	}
	line = doctor_line_add(report, "device-numa", DOCTOR_WARN, "%s", device->name);
	doctor_line_source(line, "/sys/class/infiniband/%s/device/numa_node", device->name);
	if (node < 0) {
		doctor_line_finding(
			line,
			"which of the %u NUMA nodes (CPUs with their own memory) it is near, the "
			"firmware does not tell: tests may run on far CPUs",
			facts->numa_nodes);
		doctor_line_cure(
			line,
			"set cpu.affinity in scenarios to a CPU of its socket; look for NUMA settings "
			"in the BIOS");
	} else if (device->near_cpus == 0) {
		doctor_line_finding(
			line,
			"this process may use no CPU of NUMA node %d (the CPUs near it): each "
			"operation crosses between sockets",
			node);
		doctor_line_cure(
			line,
			"AllowedCPUs= and CPUAffinity= of the unit, the container's cpuset: let them "
			"hold /sys/devices/system/node/node%d/cpulist",
			node);
	} else {
		line->status = DOCTOR_OK;
		doctor_line_finding(line,
				    "near NUMA node %d, of which this process may use %u CPU%s",
				    node, device->near_cpus, device->near_cpus == 1 ? "" : "s");
	}
}
