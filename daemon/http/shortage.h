// SPDX-License-Identifier: MIT
#pragma once

/*
 * No file descriptor is left for one more connection: it is accepted all the same with the one that
 * is held back, told so, and closed; one after the other. libmicrohttpd would leave them waiting,
 * and turn in circles. Loop thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/spare.h"

struct shortage {
	struct spare spare;
	int fd; /* of who is told, until it has read that; else -1 */
	uint64_t until_mono_ns; /* it has time for that */
};

void shortage_init(struct shortage *shortage);
void shortage_done(struct shortage *shortage);
/*
 * Before libmicrohttpd runs. True: a connection that it accepts finds a descriptor. False: who
 * waited first is being told, others may still wait: look again soon.
 */
bool shortage_look(struct shortage *shortage, int listen_fd);
