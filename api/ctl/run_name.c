// SPDX-License-Identifier: MIT
#include "ctl/run_name.h"

#include <errno.h>
#include <string.h>

#include "ctl/client.h"

#define SHORT_LENGTH 10
#define SHORTEST 6
#define LONGEST 26

const char *run_name_short(const char *id, char *buf)
{
	text_copy(buf, SHORT_LENGTH + 1, id);
	return buf;
}

int run_name_check(const char *id, struct error *err)
{
	size_t length = strlen(id);
	char quoted[TEXT_QUOTED_SIZE];

	if (length >= SHORTEST && length <= LONGEST &&
	    strspn(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz") == length) {
		return 0;
	}
	return error_set(err, -EINVAL, ERROR_INPUT,
			 "\"%s\" is no ID of a run, nor its beginning of at least %d characters; "
			 "rdmatestctl results lists them",
			 text_quote(quoted, id), SHORTEST);
}

void run_name_add_path(struct text *path, const char *id, const char *rest)
{
	_cleanup_free_ char *capitals = memory_copy_string(id);

	for (char *at = capitals; *at != '\0'; at++) {
		if (*at >= 'a' && *at <= 'z') {
			*at = (char)(*at - 'a' + 'A');
		}
	}
	text_add(path, "/v1/runs/");
	client_add_escaped(path, capitals);
	text_add(path, rest);
}
