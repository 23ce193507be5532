// SPDX-License-Identifier: MIT
#include "util/journal.h"

void journal_entry(int priority, const char *identifier, const char *message_id,
		   const char *message, struct text *ret)
{
	text_format(ret, "PRIORITY=%d\nSYSLOG_IDENTIFIER=%s\nMESSAGE_ID=%s\nMESSAGE=%s\n", priority,
		    identifier, message_id, message);
}
