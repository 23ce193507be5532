// SPDX-License-Identifier: MIT
#include "util/cpu_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define MAX_RANGES 16 /* shown to a person */

/* "3" or "3-5" at *at, which moves behind it. False: it is neither. */
static bool take_range(const char **at, unsigned long *ret_first, unsigned long *ret_last)
{
	char *end;

	if (!isdigit((unsigned char)**at)) {
		return false;
	}
	*ret_first = *ret_last = strtoul(*at, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1])) {
			return false;
		}
		*ret_last = strtoul(end + 1, &end, 10);
	}
	*at = end;
	return true;
}

void cpu_list_each(const char *list, void (*add)(void *arg, unsigned number), void *arg)
{
	unsigned long first, last;

	while (take_range(&list, &first, &last)) {
		for (unsigned long number = first; number <= last && number < CPU_LIST_MAX;
		     number++) {
			add(arg, (unsigned)number);
		}
		if (*list != ',') {
			return;
		}
		list++;
	}
}

int cpu_list_read(const char *list, int *cpus, struct error *err)
{
	const char *at = list;
	unsigned long first, last, next = 0;
	int count = 0;

	do {
		if (!take_range(&at, &first, &last) || (*at != ',' && *at != '\0')) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "\"%s\" is not a list of CPUs; write numbers and ranges, "
					 "such as 0-3,8",
					 list);
		}
		if (first >= CPU_LIST_MAX || last >= CPU_LIST_MAX) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "\"%s\": the highest number of a CPU is %d", list,
					 CPU_LIST_MAX - 1);
		}
		if (first < next || last < first) {
			return error_set(err, -EINVAL, ERROR_INPUT,
					 "\"%s\" does not ascend; write each CPU once, the lowest "
					 "first",
					 list);
		}
		for (next = first; next <= last; next++) {
			cpus[count++] = (int)next;
		}
	} while (*at++ == ',');
	return count;
}

void cpu_list_write(const int *cpus, unsigned count, struct text *out)
{
	unsigned ranges = 0;

	for (unsigned i = 0; i < count; i++) {
		unsigned last = i;

		while (last + 1 < count && cpus[last + 1] == cpus[last] + 1) {
			last++;
		}
		if (ranges++ == MAX_RANGES) {
			text_add(out, ",...");
			return;
		}
		text_format(out, last > i ? "%s%d-%d" : "%s%d", ranges > 1 ? "," : "", cpus[i],
			    cpus[last]);
		i = last;
	}
}
