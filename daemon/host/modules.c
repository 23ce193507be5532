// SPDX-License-Identifier: MIT
#include "host/modules.h"

#include <stdbool.h>
#include <string.h>

#include "host/fact.h"

static char as_underscore(char c)
{
	return c == '-' ? '_' : c;
}

/* "kernel/drivers/infiniband/core/ib_core.ko.xz" or what stands before its colon, of length. */
static bool is_path_of(const char *path, size_t length, const char *name)
{
	const char *slash = memrchr(path, '/', length);
	const char *base = slash ? slash + 1 : path;
	size_t rest = length - (size_t)(base - path);
	size_t i = 0;

	for (; name[i] != '\0'; i++) {
		if (i >= rest || as_underscore(base[i]) != as_underscore(name[i])) {
			return false;
		}
	}
	return rest - i >= 3 && memcmp(base + i, ".ko", 3) == 0;
}

static bool has_path_of(const char *list, const char *name)
{
	while (*list != '\0') {
		size_t length = strcspn(list, ":\n");

		if (is_path_of(list, length, name)) {
			return true;
		}
		list += length;
		list += strcspn(list, "\n");
		list += *list == '\n';
	}
	return false;
}

void modules_release(const char *root, char *ret, size_t size)
{
	fact_line(ret, size, "%s/proc/sys/kernel/osrelease", root);
}

enum modules_state modules_state(const char *root, const char *name)
{
	_cleanup_text_ struct text builtin = TEXT_INIT;
	_cleanup_text_ struct text list = TEXT_INIT;
	char release[128];

	if (fact_exists("%s/sys/module/%s/initstate", root, name) == 0) {
		return MODULES_LOADED;
	}
	if (fact_exists("%s/sys/module/%s", root, name) == 0) {
		return MODULES_BUILTIN;
	}
	modules_release(root, release, sizeof(release));
	if (!fact_is_component(release)) {
		return MODULES_UNKNOWN;
	}
	if (fact_text(&builtin, "%s/lib/modules/%s/modules.builtin", root, release) == 0 &&
	    has_path_of(builtin.data, name)) {
		return MODULES_BUILTIN;
	}
	if (fact_text(&list, "%s/lib/modules/%s/modules.dep", root, release) < 0) {
		return MODULES_UNKNOWN;
	}
	return has_path_of(list.data, name) ? MODULES_AVAILABLE : MODULES_ABSENT;
}
