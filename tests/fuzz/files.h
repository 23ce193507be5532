// SPDX-License-Identifier: MIT
#pragma once

/*
 * The file system that the target sees: open, realpath and glob of whatever is linked with this
 * (--wrap, see meson.build) find files of the input and nothing of the machine.
 *
 * An input is the main file; a line "%%KIND NAME" begins another one, NAME below the main file's
 * folder. KIND: f a file, d a folder, n something else than both, x a file that may not be read.
 */

#include <stddef.h>
#include <stdint.h>

#define FILES_MAIN "config/main.yaml"

/* Borrows the input until files_done. */
void files_set(const uint8_t *data, size_t size);
/* Aborts when nobody opened the main file: then the seam does not hold, and the machine was read.
 */
void files_done(void);
