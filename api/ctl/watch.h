// SPDX-License-Identifier: MIT
#pragma once

/*
 * Follows a run until it is over and shows how it goes, with as few questions as that takes: they
 * cost time of the host that is measured. The first Ctrl-C asks the daemon to cancel the run and
 * goes on waiting for its record, the second leaves at once. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "ctl/client.h"
#include "ctl/command.h"

enum watch_end {
	WATCH_DONE, /* the run is over; its record can be asked for */
	WATCH_WAITED, /* wait_ns passed */
	WATCH_LEFT, /* the second Ctrl-C */
	WATCH_FAILED, /* err says why */
};

struct watch {
	struct client *client; /* borrowed */
	const struct command_caller *caller; /* borrowed */
	const char *id; /* of the run; borrowed */
	const char *scenario; /* borrowed */
	uint64_t wait_ns; /* CLOCK_NEVER: until it is over */
	int signal_fd; /* of watch_block_signals */
	bool is_cancelled; /* set when Ctrl-C was pressed */
};

/* From now on Ctrl-C is a message to read, not an end. The descriptor, the caller's; or -errno. */
int watch_block_signals(struct error *err);
enum watch_end watch_run(struct watch *watch, struct error *err);
