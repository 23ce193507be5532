// SPDX-License-Identifier: MIT
#pragma once

/*
 * The doctor's checks of what this process and this host leave a program: memory, files, CPU,
 * clock. Pure.
 */

#include "run/doctor_facts.h"
#include "run/doctor_line.h"

void doctor_limits_memory_lock(const struct doctor_facts *facts, struct doctor_report *report);
/* Of an rdmatestd that runs. */
void doctor_limits_service(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_limits_open_files(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_limits_cgroup(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_limits_sandbox(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_limits_huge_pages(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_limits_clock(const struct doctor_facts *facts, struct doctor_report *report);
/* Where there is one NUMA node, or it is not known how many; else it is said of each device. */
void doctor_limits_numa(const struct doctor_facts *facts, struct doctor_report *report);
