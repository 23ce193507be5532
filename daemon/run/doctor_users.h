// SPDX-License-Identifier: MIT
#pragma once

/*
 * The doctor's check of who else uses the devices. Pure.
 */

#include "run/doctor_facts.h"
#include "run/doctor_line.h"

void doctor_users_check(const struct doctor_facts *facts, struct doctor_report *report);
