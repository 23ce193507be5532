// SPDX-License-Identifier: MIT
#include "verbs/device_list.h"

#include <errno.h>

#include "util/spare.h"
#include "verbs/call.h"

#define DESCRIPTORS 8 /* that listing and asking one device may need at once */
#define WHAT "the RDMA devices of this host cannot be listed"

static int tell_failure(int error, struct error *err)
{
	if (error == ENOSYS) {
		return error_set_call(
			err, ENODEV, ERROR_DEVICE, STAGE_DISCOVER, "device",
			WHAT
			", since ib_uverbs is not loaded (modprobe ib_uverbs; rdmatestd --doctor tells more)");
	}
	return error_set_call(err, error, ERROR_DEVICE, STAGE_DISCOVER, "ibv_get_device_list",
			      WHAT);
}

int device_list_get(struct ibv_device ***ret_list, int *ret_count, struct error *err)
{
	uint64_t started_mono_ns;
	struct ibv_device **list;
	int error;
	int ret = spare_check(DESCRIPTORS, WHAT, err);

	if (ret < 0) {
		return ret;
	}
	errno = 0;
	started_mono_ns = call_begin("ibv_get_device_list");
	list = ibv_get_device_list(ret_count);
	error = errno;
	call_end(NULL, NULL, started_mono_ns, 0);
	/* Other threads may have taken them meanwhile. */
	ret = spare_check(DESCRIPTORS, WHAT, err);
	if (ret == 0 && !list) {
		ret = tell_failure(error, err);
	}
	if (ret < 0) {
		if (list) {
			ibv_free_device_list(list);
		}
		return ret;
	}
	*ret_list = list;
	return 0;
}
