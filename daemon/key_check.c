// SPDX-License-Identifier: MIT
#include "key_check.h"

#include <errno.h>
#include <unistd.h>

int key_check(const struct config *config, bool is_check, struct tls_key *ret,
	      struct problems *problems)
{
	const char *path = config->daemon.key_file;
	struct error err = ERROR_INIT;
	int r;

	*ret = (struct tls_key){ 0 };
	if (path[0] == '\0') {
		return 0;
	}
	r = tls_key_read(path, ret, &err);
	if (r == -EACCES && is_check && geteuid() != 0) {
		problems_add(problems, true, config->path, 0, 0,
			     "daemon.key_file: not checked: this user may not read %s", path);
		return 0;
	}
	if (r < 0) {
		problems_add(problems, false, config->path, 0, 0, "daemon.key_file: %s", err.text);
	}
	return r;
}
