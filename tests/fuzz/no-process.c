// SPDX-License-Identifier: MIT
/* In place of http/process: what a program takes of its machine is not the same twice. */
#include "http/process.h"

void process_write(struct exposition *exposition, int64_t started_real_ns)
{
}
