// SPDX-License-Identifier: MIT
#pragma once

/*
 * What others do on a port, as far as it was seen: what a disruptive job asks first. Plain data;
 * pure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/limits.h"
#include "util/error.h"
#include "util/json.h"

/* Of the port's rate: below it a port counts as idle. */
#define PORT_USE_LIMIT_PERCENT 1

struct port_use {
	bool has_traffic; /* the next three are known */
	uint64_t traffic_bps; /* of the busier direction */
	uint64_t rate_bps; /* of the port; not 0 */
	uint64_t window_ns; /* over which it was counted */
	bool has_users; /* the next two are known */
	uint64_t qp_count; /* of others, connected */
	char user[128]; /* "ib_write_bw (process 4711)", and others; "" when none */
	char unseen[160]; /* why something is not known; "" when all is */
};

enum port_use_state {
	PORT_USE_IDLE,
	PORT_USE_UNSEEN, /* nothing speaks against it, and not all could be seen */
	PORT_USE_BUSY,
};

enum port_use_state port_use_state(const struct port_use *use);
/* A sentence about it: "idle: 0.02 % of its rate moved in 2.0 s, ..." */
void port_use_say(const struct port_use *use, char *ret, size_t size);

extern const char *const port_use_state_names[]; /* "idle", "unseen", "busy" */

/* What an end of a measurement said of its port before it began. */
struct port_use_note {
	bool is_told; /* nobody looks before a load that disturbs nobody */
	int state; /* enum port_use_state */
	char text[LIMIT_TEXT];
};

void port_use_note(const struct port_use *use, struct port_use_note *ret);
json_t *port_use_note_write(const struct port_use_note *note); /* {state, text}, or null. New
								  reference. */
/* From a peer. 0, or -EINVAL with err. */
int port_use_note_read(const json_t *json, struct port_use_note *ret, struct error *err);
