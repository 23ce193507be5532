// SPDX-License-Identifier: MIT
#include "host/pcie.h"

#include <stdio.h>
#include <string.h>

#include "model/host_report.h"

#define CLASS_NETWORK 0x02

/* "8.0 GT/s PCIe", "16 GT/s"; "Unknown" is 0. */
static uint64_t parse_speed_mtps(const char *text)
{
	char *end;
	double speed = strtod(text, &end);

	if (end == text || !text_starts_with(end, " GT/s") || !(speed > 0 && speed < 10000)) {
		return 0;
	}
	return (uint64_t)(speed * 1000 + 0.5);
}

static uint64_t read_speed(const char *path, const char *file)
{
	char line[64];

	return fact_line(line, sizeof(line), "%s/%s", path, file) == 0 ? parse_speed_mtps(line) : 0;
}

/* 255 stands for unknown. */
static uint64_t read_width(const char *path, const char *file)
{
	int64_t width;

	return fact_integer(&width, "%s/%s", path, file) == 0 && width > 0 && width <= 64
		       ? (uint64_t)width
		       : 0;
}

void pcie_link(const char *root, const char *device, struct pcie_link *ret)
{
	char path[512];
	char subsystem[FACT_NAME];

	*ret = (struct pcie_link){ 0 };
	if (!fact_is_component(device)) {
		return;
	}
	snprintf(path, sizeof(path), "%.300s/sys/class/infiniband/%.64s/device", root, device);
	if (fact_link(subsystem, sizeof(subsystem), "%s/subsystem", path) < 0 ||
	    strcmp(subsystem, "pci") != 0) {
		return;
	}
	fact_link(ret->address, sizeof(ret->address), "%s", path);
	if (fact_exists("%s/physfn", path) == 0) {
		ret->is_virtual_function = true;
		snprintf(path, sizeof(path), "%.300s/sys/class/infiniband/%.64s/device/physfn",
			 root, device);
	}
	ret->speed_mtps = read_speed(path, "current_link_speed");
	ret->max_speed_mtps = read_speed(path, "max_link_speed");
	ret->width = read_width(path, "current_link_width");
	ret->max_width = read_width(path, "max_link_width");
}

uint64_t pcie_rate_bps(uint64_t speed_mtps, uint64_t width)
{
	return host_report_pcie_bps(speed_mtps, width);
}

int pcie_adapters(const char *root, struct pcie_adapter *ret, size_t max)
{
	_cleanup_fact_names_ struct fact_names names = { 0 };
	int error = fact_names(&names, "%s/sys/bus/pci/devices", root);
	int count = 0;

	if (error < 0) {
		return error;
	}
	for (size_t i = 0; i < names.count; i++) {
		char path[512];
		int64_t class;

		snprintf(path, sizeof(path), "%.300s/sys/bus/pci/devices/%.64s", root,
			 names.names[i]);
		if (fact_integer(&class, "%s/class", path) < 0 || class >> 16 != CLASS_NETWORK) {
			continue;
		}
		if ((size_t)count < max) {
			struct pcie_adapter *adapter = &ret[count];

			*adapter = (struct pcie_adapter){ 0 };
			text_copy(adapter->address, sizeof(adapter->address), names.names[i]);
			fact_link(adapter->driver, sizeof(adapter->driver), "%s/driver", path);
			adapter->has_rdma = fact_exists("%s/infiniband", path) == 0;
		}
		count++;
	}
	return count;
}
