// SPDX-License-Identifier: MIT
#pragma once

/*
 * Lists of CPUs as the kernel and people write them: "0-3,8,10-11". Pure; any thread.
 */

#include "util/error.h"
#include "util/text.h"

/* Numbers are below, and there are no more of them. */
#define CPU_LIST_MAX 4096

/* Calls add(arg, n) for each number of a list of the kernel's; stops at what it cannot read. */
void cpu_list_each(const char *list, void (*add)(void *arg, unsigned number), void *arg);

/*
 * A list that somebody wrote, in ascending order, each CPU once. Returns how many there are, at
 * least one, in cpus[CPU_LIST_MAX]; or -EINVAL with err, a sentence that quotes the list.
 */
int cpu_list_read(const char *list, int *cpus, struct error *err);

/* Of ascending numbers; the first 16 ranges, then ",...". */
void cpu_list_write(const int *cpus, unsigned count, struct text *out);
