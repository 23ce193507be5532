// SPDX-License-Identifier: MIT
#pragma once

/*
 * A log line when the devices, or one of them, cannot be asked, when the reason is another one, and
 * when all can be again: not one for every scan; and when one hangs. Loop thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "model/hang.h"
#include "util/error.h"

struct device_log;

struct device_log *device_log_new(void);
void device_log_free(struct device_log *log);
/* A device turned sick, or well again after *hang: a line each. */
void device_log_health(const struct hang *hang, bool is_sick, uint64_t now_mono_ns);
/* error: of the last scan; not set when all was well. */
void device_log_tell(struct device_log *log, const struct error *error);
