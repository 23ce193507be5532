// SPDX-License-Identifier: MIT
#pragma once

/*
 * All checks, in the order of causes: what comes first explains what comes later. Pure.
 */

#include "run/doctor_facts.h"
#include "run/doctor_line.h"

/* Adds their lines and sorts them. */
void doctor_check_all(const struct doctor_facts *facts, struct doctor_report *report);
