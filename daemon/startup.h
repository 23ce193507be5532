// SPDX-License-Identifier: MIT
#pragma once

/*
 * Has the schedule begin once every device was looked at and every peer is up and told its own, or
 * after ten seconds: so that startup runs find what there is. Loop thread.
 */

#include "parts.h"

struct startup;

struct startup *startup_new(const struct parts *parts);
void startup_free(struct startup *startup);
