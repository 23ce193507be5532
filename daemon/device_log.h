// SPDX-License-Identifier: MIT
#pragma once

/*
 * A log line when the devices, or one of them, cannot be asked, when the reason is another one, and
 * when all can be again: not one for every scan. Loop thread.
 */

#include "util/error.h"

struct device_log;

struct device_log *device_log_new(void);
void device_log_free(struct device_log *log);
/* error: of the last scan; not set when all was well. */
void device_log_tell(struct device_log *log, const struct error *error);
