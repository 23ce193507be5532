// SPDX-License-Identifier: MIT
#include "verbs/region.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "host/process.h"
#include "util/clock.h"
#include "util/units.h"
#include "verbs/call.h"

static int refused(int error, size_t size_bytes, struct error *err)
{
	struct process_memlock memlock;
	char need[UNITS_SIZE];
	char limit[UNITS_SIZE];
	char pinned[UNITS_SIZE];

	process_memlock("", &memlock);
	units_format_size(size_bytes, need);
	units_format_size(memlock.limit_bytes, limit);
	units_format_size(memlock.pinned_bytes, pinned);
	if (error != ENOMEM && error != EAGAIN) {
		return error_set_call(err, error, ERROR_DEVICE, STAGE_RESOURCE, "ibv_reg_mr",
				      "a buffer of %s cannot be registered", need);
	}
	if (memlock.is_exempt || memlock.limit_bytes == UINT64_MAX) {
		return error_set_call(
			err, error, ERROR_RESOURCE, STAGE_RESOURCE, "ibv_reg_mr",
			"a buffer of %s cannot be registered (no memory lock limit applies; %s are pinned already): "
			"the kernel or the device has no more memory for it",
			need, pinned);
	}
	if (size_bytes + memlock.pinned_bytes > memlock.limit_bytes) {
		return error_set_call(
			err, error, ERROR_RESOURCE, STAGE_RESOURCE, "ibv_reg_mr",
			"a buffer of %s cannot be registered: the memory lock limit (RLIMIT_MEMLOCK) of this process "
			"is %s, %s are pinned already; raise LimitMEMLOCK= of the unit, or `ulimit -l`",
			need, limit, pinned);
	}
	return error_set_call(
		err, error, ERROR_RESOURCE, STAGE_RESOURCE, "ibv_reg_mr",
		"a buffer of %s cannot be registered, though the memory lock limit (RLIMIT_MEMLOCK) of %s would allow "
		"it (%s are pinned already): the kernel or the device has no more memory for it",
		need, limit, pinned);
}

int region_init(struct region *region, struct ibv_pd *pd, size_t size_bytes, unsigned access,
		struct steps *steps, struct error *err)
{
	uint64_t started_mono_ns = clock_mono_ns();
	char text[UNITS_SIZE];
	void *buffer =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffer == MAP_FAILED) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_RESOURCE, "mmap",
				      "a buffer of %s cannot be had",
				      units_format_size(size_bytes, text));
	}
	region->buffer = buffer;
	region->size_bytes = size_bytes;
	/* So that registering finds pages, and its duration tells what pinning costs. */
	memset(buffer, 0, size_bytes);
	step_add(steps, "map_buffer", clock_mono_ns() - started_mono_ns, size_bytes);
	started_mono_ns = call_begin("ibv_reg_mr");
	region->mr = ibv_reg_mr(pd, buffer, size_bytes, (int)access);
	if (!region->mr) {
		int ret = refused(errno ? errno : EIO, size_bytes, err);

		region_done(region, NULL);
		return ret;
	}
	call_end(steps, "reg_mr", started_mono_ns, size_bytes);
	return 0;
}

void region_done(struct region *region, struct steps *steps)
{
	uint64_t started_mono_ns = call_begin("ibv_dereg_mr");

	if (region->mr) {
		/*
		 * Of a device that is gone it may fail: the kernel keeps the pages as long as it
		 * needs them.
		 */
		(void)ibv_dereg_mr(region->mr);
		call_end(steps, "dereg_mr", started_mono_ns, region->size_bytes);
	}
	if (region->buffer) {
		munmap(region->buffer, region->size_bytes);
	}
	*region = (struct region){ 0 };
}
