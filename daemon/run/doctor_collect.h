// SPDX-License-Identifier: MIT
#pragma once

/*
 * Reads all facts. Changes nothing: it loads no module, makes no verbs object, sends nothing.
 */

#include "run/doctor_facts.h"

/*
 * root as host/sysfs.h; what only the kernel tells (addresses, users of devices, the clock's cost)
 * is asked of it where root is "" and left unread elsewhere. Takes
 * DOCTOR_LIMIT_NS at most for each of: all devices, the kernel's list of users; less for the rest.
 */
void doctor_collect(const char *root, struct doctor_facts *ret);
void doctor_collect_done(struct doctor_facts *facts);
