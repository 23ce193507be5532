// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the kernel counts time with. Below a root path as host/sysfs.h. Any thread.
 */

#include <stdbool.h>

struct clocksource {
	char current[32]; /* "tsc", "hpet", "kvm-clock", "arch_sys_counter" */
	bool is_tsc_available; /* the CPU's own counter, the cheapest, could be chosen */
};

/* 0 or -errno. */
int clocksource_read(const char *root, struct clocksource *ret);
