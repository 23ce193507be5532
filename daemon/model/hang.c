// SPDX-License-Identifier: MIT
#include "model/hang.h"

#include <errno.h>
#include <inttypes.h>

#include "util/text.h"

#define SECOND_NS 1000000000u

static uint64_t age_ns(const struct hang *hang, uint64_t now_mono_ns)
{
	return now_mono_ns > hang->since_mono_ns ? now_mono_ns - hang->since_mono_ns : 0;
}

int hang_refuse(const struct hang *hang, uint64_t now_mono_ns, struct error *err)
{
	int ret = error_set(err, -EBUSY, ERROR_RESOURCE,
			    "RDMA device \"%s\" is sick: %s has not returned for %" PRIu64
			    " s; it gets no job until that does; see the kernel's log",
			    hang->device, hang->call, age_ns(hang, now_mono_ns) / SECOND_NS);

	if (err) {
		err->stage = STAGE_RESOURCE;
		text_copy(err->call, sizeof(err->call), "sick");
	}
	return ret;
}

json_t *hang_write(const struct hang *hang, uint64_t now_mono_ns)
{
	json_t *object = json_object();

	json_set_string(object, "device", hang->device);
	json_set_string(object, "call", hang->call);
	json_set_time(object, "since", hang->since_real_ns);
	json_set_u64(object, "for_ns", age_ns(hang, now_mono_ns));
	return object;
}
