// SPDX-License-Identifier: MIT
#include "ctl/run_name.h"

#include "ctl/client.h"

#define SHORT_LENGTH 10

const char *run_name_short(const char *id, char *buf)
{
	text_copy(buf, SHORT_LENGTH + 1, id);
	return buf;
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
