// SPDX-License-Identifier: MIT
#include "host/hugepages.h"

#include <errno.h>

#include "host/fact.h"

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
