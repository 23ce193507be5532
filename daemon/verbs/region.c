// SPDX-License-Identifier: MIT
#include "verbs/region.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <linux/mman.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/fact.h"
#include "host/hugepages.h"
#include "host/process.h"
#include "host/sysfs.h"
#include "util/clock.h"
#include "util/units.h"
#include "verbs/call.h"

#define NODES_MOST 1024 /* as memory.numa has it */
#define BITS_PER_LONG (8 * sizeof(long))

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

static int no_huge_pages(const char *call, int error, size_t size_bytes,
			 const struct memory_settings *memory, struct error *err)
{
	uint64_t need = size_bytes / memory->hugepage_bytes;
	struct hugepages pages;
	char page[UNITS_SIZE];

	units_format_size(memory->hugepage_bytes, page);
	if (hugepages_read_size("", memory->hugepage_bytes, &pages) < 0) {
		_cleanup_text_ struct text sizes = TEXT_INIT;

		hugepages_sizes("", &sizes);
		return error_set_call(
			err, error, ERROR_RESOURCE, STAGE_RESOURCE, call,
			"memory.hugepage_size: this host has no huge pages of %s (it has: %s); name one of these",
			page, sizes.data);
	}
	return error_set_call(
		err, error, ERROR_RESOURCE, STAGE_RESOURCE, call,
		"%llu huge pages of %s are needed, and %llu of this host's %llu are free%s; raise vm.nr_hugepages (or, "
		"for another size than the default, nr_hugepages below /sys/kernel/mm/hugepages), use smaller sizes, "
		"or memory.kind: host",
		(unsigned long long)need, page, (unsigned long long)pages.free,
		(unsigned long long)pages.total,
		pages.free >= need ? ", but not to this service or on this NUMA node" : "");
}

/* A node that is full would have the kernel end a process on it, not refuse. */
static bool has_room(uint64_t node, size_t size_bytes, uint64_t *ret_free_bytes)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	const char *free;

	if (fact_text(&text, "/sys/devices/system/node/node%llu/meminfo",
		      (unsigned long long)node) < 0 ||
	    !(free = strstr(text.data, "MemFree:"))) {
		return true; /* not known: mbind says whether the node is there */
	}
	*ret_free_bytes = strtoull(free + strlen("MemFree:"), NULL, 10) * 1024;
	return size_bytes <= *ret_free_bytes / 2;
}

/* Before the first page is there. */
static int bind_node(void *buffer, size_t size_bytes, const struct memory_settings *memory,
		     struct error *err)
{
	uint64_t node = memory->numa_node;
	unsigned long mask[NODES_MOST / BITS_PER_LONG] = { 0 };
	uint64_t free_bytes;
	char need[UNITS_SIZE], free[UNITS_SIZE];

	if (memory->kind == MEMORY_HOST && !has_room(node, size_bytes, &free_bytes)) {
		return error_set_call(
			err, ENOMEM, ERROR_RESOURCE, STAGE_RESOURCE, "mbind",
			"memory.numa: a buffer of %s is more than half of what is free on NUMA node %llu, %s; use smaller "
			"sizes, or another node",
			units_format_size(size_bytes, need), (unsigned long long)node,
			units_format_size(free_bytes, free));
	}
	mask[node / BITS_PER_LONG] = 1ul << node % BITS_PER_LONG;
	/* The kernel takes one bit less than it is told. */
	if (syscall(SYS_mbind, buffer, size_bytes, MPOL_BIND, mask, NODES_MOST + 1ul, 0u) < 0) {
		return error_set_call(
			err, errno, ERROR_RESOURCE, STAGE_RESOURCE, "mbind",
			"memory.numa: the buffer cannot be placed on NUMA node %llu (this host has %u, see lscpu; a cpuset "
			"may allow fewer); name one of them, or auto",
			(unsigned long long)node, sysfs_node_count(""));
	}
	return 0;
}

/* A huge page that is not to be had would be a SIGBUS on its first write. */
static int touch(void *buffer, size_t size_bytes, const struct memory_settings *memory,
		 struct error *err)
{
	if (memory->kind != MEMORY_HUGEPAGE) {
		/* So that registering finds pages, and its duration tells what pinning costs. */
		memset(buffer, 0, size_bytes);
		return 0;
	}
	if (madvise(buffer, size_bytes, MADV_POPULATE_WRITE) == 0) {
		return 0;
	}
	if (errno == EINVAL) {
		return error_set_call(
			err, EOPNOTSUPP, ERROR_RESOURCE, STAGE_RESOURCE, "madvise",
			"memory.kind: hugepage needs Linux 5.14 or later on this host; use memory.kind: host");
	}
	return no_huge_pages("madvise", ENOMEM, size_bytes, memory, err);
}

static int map(struct region *region, size_t size_bytes, const struct memory_settings *memory,
	       struct error *err)
{
	bool is_huge = memory->kind == MEMORY_HUGEPAGE;
	uint64_t page = is_huge ? memory->hugepage_bytes : 1;
	size_t mapped_bytes = (size_bytes + page - 1) / page * page;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char text[UNITS_SIZE];
	void *buffer;

	if (is_huge) {
		flags |= MAP_HUGETLB | (__builtin_ctzll(page) << MAP_HUGE_SHIFT);
	}
	buffer = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (buffer == MAP_FAILED && is_huge) {
		return no_huge_pages("mmap", errno, mapped_bytes, memory, err);
	}
	if (buffer == MAP_FAILED) {
		return error_set_call(err, errno, ERROR_RESOURCE, STAGE_RESOURCE, "mmap",
				      "a buffer of %s cannot be had",
				      units_format_size(size_bytes, text));
	}
	region->buffer = buffer;
	region->size_bytes = size_bytes;
	region->mapped_bytes = mapped_bytes;
	return 0;
}

int region_init(struct region *region, struct ibv_pd *pd, size_t size_bytes, unsigned access,
		const struct memory_settings *memory, struct steps *steps, struct error *err)
{
	uint64_t started_mono_ns = clock_mono_ns();
	int ret = map(region, size_bytes, memory, err);

	if (ret < 0) {
		return ret;
	}
	if ((memory->numa_node != SCHEMA_AUTO &&
	     (ret = bind_node(region->buffer, region->mapped_bytes, memory, err)) < 0) ||
	    (ret = touch(region->buffer, region->mapped_bytes, memory, err)) < 0) {
		region_done(region, NULL);
		return ret;
	}
	step_add(steps, "map_buffer", clock_mono_ns() - started_mono_ns, size_bytes);
	started_mono_ns = call_begin("ibv_reg_mr");
	region->mr = ibv_reg_mr(pd, region->buffer, size_bytes, (int)access);
	if (!region->mr) {
		ret = refused(errno ? errno : EIO, size_bytes, err);

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
		munmap(region->buffer, region->mapped_bytes);
	}
	*region = (struct region){ 0 };
}
