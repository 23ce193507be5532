// SPDX-License-Identifier: MIT
#pragma once

/*
 * A file descriptor held back: who accepts connections gives it up when there is no other, so that
 * one more connection can be accepted and told why it is refused. One thread.
 */

#include <stdbool.h>

#include "util/error.h"

struct spare {
	int fd; /* -1: not held */
};

#define SPARE_INIT ((struct spare){ .fd = -1 })

/* Holds one, from now on or still. False when there is none to be had. */
bool spare_hold(struct spare *spare);
/* Gives it up: the next call that needs a descriptor may have it. */
void spare_drop(struct spare *spare);

/*
 * Whether `count` more descriptors can be had at this moment: 0, or -errno with err that begins
 * with `what` ("the devices cannot be listed"). For calls whose failure would be taken for
 * something else.
 */
int spare_check(unsigned count, const char *what, struct error *err);
