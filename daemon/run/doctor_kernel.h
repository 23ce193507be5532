// SPDX-License-Identifier: MIT
#pragma once

/*
 * The doctor's checks of the kernel: its RDMA modules, the devices it knows, what connects by
 * address. Pure.
 */

#include "run/doctor_facts.h"
#include "run/doctor_line.h"

void doctor_kernel_modules(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_kernel_devices(const struct doctor_facts *facts, struct doctor_report *report);
/* Adapters that can do RDMA, without their RDMA driver. */
void doctor_kernel_adapters(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_kernel_rdma_cm(const struct doctor_facts *facts, struct doctor_report *report);
/* Whether programs can reach RDMA in this kernel at all. */
bool doctor_kernel_has_rdma(const struct doctor_facts *facts);
