// SPDX-License-Identifier: MIT
#include "host/hugepages.h"

#include <errno.h>
#include <stdio.h>

#include "host/fact.h"
#include "util/units.h"

int hugepages_read(const char *root, struct hugepages *ret)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	int error = fact_text(&text, "%s/proc/meminfo", root);
	const char *size;
	const char *total;
	const char *available;

	if (error < 0) {
		return error;
	}
	size = fact_find(text.data, "Hugepagesize:");
	total = fact_find(text.data, "HugePages_Total:");
	available = fact_find(text.data, "HugePages_Free:");
	if (!size || !total || !available) {
		return -EINVAL;
	}
	*ret = (struct hugepages){
		.size_bytes = strtoull(size, NULL, 10) * 1024,
		.total = strtoull(total, NULL, 10),
		.free = strtoull(available, NULL, 10),
	};
	return 0;
}

#define DIRECTORY "%s/sys/kernel/mm/hugepages"

int hugepages_read_size(const char *root, uint64_t size_bytes, struct hugepages *ret)
{
	unsigned long long size_kib = size_bytes / 1024;
	int64_t total, available;
	int error =
		fact_integer(&total, DIRECTORY "/hugepages-%llukB/nr_hugepages", root, size_kib);

	if (error == 0) {
		error = fact_integer(&available, DIRECTORY "/hugepages-%llukB/free_hugepages", root,
				     size_kib);
	}
	if (error < 0) {
		return error;
	}
	*ret = (struct hugepages){ .size_bytes = size_bytes,
				   .total = total > 0 ? (uint64_t)total : 0,
				   .free = available > 0 ? (uint64_t)available : 0 };
	return 0;
}

void hugepages_sizes(const char *root, struct text *ret)
{
	_cleanup_fact_names_ struct fact_names names = { 0 };
	char size[UNITS_SIZE];
	unsigned long long size_kib;

	if (fact_names(&names, DIRECTORY, root) == 0) {
		for (size_t i = 0; i < names.count; i++) {
			if (sscanf(names.names[i], "hugepages-%llukB", &size_kib) == 1) {
				text_format(ret, "%s%s", ret->length ? ", " : "",
					    units_write_size(size_kib * 1024, size));
			}
		}
	}
	if (ret->length == 0) {
		text_add(ret, "none");
	}
}
