// SPDX-License-Identifier: MIT
#pragma once

/*
 * A call to a device's driver that does not return: the device is sick while it is out, and gets no
 * job.
 */

#include <stdint.h>

#include "model/limits.h"
#include "util/error.h"
#include "util/json.h"

/* So many sick devices of a node are told. */
#define HANGS_MAX 16

struct hang {
	char device[LIMIT_NAME];
	char call[LIMIT_NAME]; /* as libibverbs has it, or words */
	uint64_t since_mono_ns;
	int64_t since_real_ns;
};

/* Why the device gets no job: -EBUSY, class resource, call "sick". */
int hang_refuse(const struct hang *hang, uint64_t now_mono_ns, struct error *err);
/* {device, call, since, for_ns}. New reference. */
json_t *hang_write(const struct hang *hang, uint64_t now_mono_ns);
