// SPDX-License-Identifier: MIT
#include "run/doctor_check.h"

#include "run/doctor_access.h"
#include "run/doctor_address.h"
#include "run/doctor_hardware.h"
#include "run/doctor_kernel.h"
#include "run/doctor_limits.h"
#include "run/doctor_port.h"
#include "run/doctor_users.h"

typedef void (*host_check_fn)(const struct doctor_facts *facts, struct doctor_report *report);
typedef void (*device_check_fn)(const struct doctor_facts *facts,
				const struct doctor_device *device, struct doctor_report *report);
typedef void (*port_check_fn)(const struct doctor_facts *facts, const struct doctor_device *device,
			      size_t index, struct doctor_report *report);

static const host_check_fn before_devices[] = {
	doctor_kernel_modules,
	doctor_kernel_devices,
	doctor_kernel_adapters,
};

static const device_check_fn of_devices[] = {
	doctor_access_node,   doctor_access_library, doctor_hardware_kind,
	doctor_hardware_pcie, doctor_hardware_numa,
};

static const port_check_fn of_ports[] = {
	doctor_port_state,
	doctor_address_gids,
	doctor_port_mtu,
};

static const host_check_fn behind_devices[] = {
	doctor_address_arp,	  doctor_users_check,	    doctor_limits_memory_lock,
	doctor_limits_service,	  doctor_limits_open_files, doctor_limits_cgroup,
	doctor_limits_sandbox,	  doctor_limits_clock,	    doctor_limits_numa,
	doctor_limits_huge_pages, doctor_kernel_rdma_cm,
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void check_device(const struct doctor_facts *facts, const struct doctor_device *device,
			 struct doctor_report *report)
{
	for (size_t i = 0; i < COUNT(of_devices); i++) {
		of_devices[i](facts, device, report);
	}
	if (device->answer == DOCTOR_ANSWER_NONE) {
		return;
	}
	for (size_t index = 0; index < device->sysfs.port_count && index < INFINIBAND_PORTS;
	     index++) {
		for (size_t i = 0; i < COUNT(of_ports); i++) {
			of_ports[i](facts, device, index, report);
		}
	}
}

void doctor_check_all(const struct doctor_facts *facts, struct doctor_report *report)
{
	for (size_t i = 0; i < COUNT(before_devices); i++) {
		before_devices[i](facts, report);
	}
	for (size_t i = 0; i < facts->device_count; i++) {
		check_device(facts, &facts->devices[i], report);
	}
	for (size_t i = 0; i < COUNT(behind_devices); i++) {
		behind_devices[i](facts, report);
	}
	doctor_line_sort(report);
}
