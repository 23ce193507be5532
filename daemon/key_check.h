// SPDX-License-Identifier: MIT
#pragma once

/*
 * The key of the fleet, looked at with the configuration that names its file: at the start, by
 * --check and at each reload. May block as reading a file does; any thread.
 */

#include <stdbool.h>

#include "config/config.h"
#include "control/tls.h"

/*
 * 0 and *ret (zero when there is no key_file), or -errno and an error among the problems. is_check:
 * a user who may not read it learns nothing of it, and is warned of that instead.
 */
int key_check(const struct config *config, bool is_check, struct tls_key *ret,
	      struct problems *problems);
