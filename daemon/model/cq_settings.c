// SPDX-License-Identifier: MIT
#include "model/cq_settings.h"

#include <stddef.h>

#include "model/limits.h"

#define CQ(member) .offset = offsetof(struct cq_settings, member)
#define RANGE(low, high) .min = (low), .max = (high)

const char *const cq_mode_names[] = { "poll", "event", NULL };

/* Of struct cq_settings. */
static const struct schema_field moderation_fields[] = {
	{ .key = "count",
	  .type = SCHEMA_INTEGER,
	  CQ(moderation_count),
	  RANGE(0, 65535),
	  .fallback = "0",
	  .doc = "Completions until an event is raised; 0: no moderation." },
	{ .key = "period",
	  .json_key = "period_ns",
	  .type = SCHEMA_DURATION,
	  CQ(moderation_period_ns),
	  RANGE(0, 65535000),
	  .fallback = "0s",
	  .doc = "Time after the first of them until an event is raised all the same, in whole microseconds." },
	{ 0 },
};

const struct schema_field cq_fields[] = {
	{ .key = "mode",
	  .type = SCHEMA_ENUM,
	  CQ(mode),
	  .names = cq_mode_names,
	  .fallback = "poll",
	  .doc = "How completions are found; event: the measuring thread sleeps when there are none (ibv_req_notify_cq)." },
	{ .key = "size",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  CQ(size),
	  RANGE(1, LIMIT_QUEUE_WRS),
	  .fallback = "auto",
	  .doc = "Entries of each of the two completion queues, of sends and of receives; auto: all that can wait there." },
	{ .key = "solicited",
	  .type = SCHEMA_BOOL,
	  CQ(solicited),
	  .fallback = "false",
	  .doc = "With mode: event: signalled requests are solicited (IBV_SEND_SOLICITED), and only these wake who takes "
		 "the messages." },
	{ .key = "moderation",
	  .type = SCHEMA_MAP,
	  .fields = moderation_fields,
	  .doc = "With mode: event: how many completions, or how long, the device waits before it tells of them "
		 "(ibv_modify_cq); refused by a device that cannot." },
	{ 0 },
};
