// SPDX-License-Identifier: MIT
#pragma once

/*
 * An entry of the journal with fields of its own, which its stream of lines cannot have
 * (systemd.io/JOURNAL_NATIVE_PROTOCOL). Any thread.
 */

#include "util/text.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* priority: of syslog(3). The strings have no control characters: who writes them escaped them. */
void journal_entry(int priority, const char *identifier, const char *message_id,
		   const char *message, struct text *ret);
