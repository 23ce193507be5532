// SPDX-License-Identifier: MIT
#pragma once

/*
 * What systemd is told (sd_notify): the state, one human line at most once a second, the watchdog.
 * Without $NOTIFY_SOCKET nothing happens.
 */

#include "parts.h"

struct notify;

/*
 * Starts to tell the status line when it changes. With a watchdog configured, WATCHDOG=1 at half
 * its period, only while the loop turns and the workers make steps; while they do not it looks
 * again each second, and feeds at once when they do.
 */
struct notify *notify_new(const struct parts *parts);
void notify_free(struct notify *notify);
void notify_ready(struct notify *notify);
void notify_reloading(struct notify *notify);
void notify_stopping(struct notify *notify, const char *reason);
