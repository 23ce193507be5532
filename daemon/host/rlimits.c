// SPDX-License-Identifier: MIT
#include "host/rlimits.h"

#include <errno.h>
#include <string.h>

#include "host/fact.h"

/* A number or "unlimited"; behind it, or NULL. */
static const char *read_value(const char *at, uint64_t *ret)
{
	char *end;

	at += strspn(at, " ");
	if (text_starts_with(at, "unlimited")) {
		*ret = RLIMITS_NONE;
		return at + strlen("unlimited");
	}
	if (*at < '0' || *at > '9') {
		return NULL;
	}
	*ret = strtoull(at, &end, 10);
	return end;
}

static int read_pair(const char *text, const char *key, struct rlimits_pair *ret)
{
	const char *at = fact_find(text, key);

	at = at ? read_value(at, &ret->soft) : NULL;
	at = at ? read_value(at, &ret->hard) : NULL;
	return at ? 0 : -EINVAL;
}

int rlimits_read(const char *root, const char *process, struct rlimits *ret)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	struct rlimits limits = { 0 };
	int error = fact_text(&text, "%s/proc/%s/limits", root, process);

	if (error < 0) {
		return error;
	}
	if (read_pair(text.data, "Max locked memory", &limits.locked_bytes) < 0 ||
	    read_pair(text.data, "Max open files", &limits.open_files) < 0) {
		return -EINVAL;
	}
	*ret = limits;
	return 0;
}
