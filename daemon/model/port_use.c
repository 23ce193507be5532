// SPDX-License-Identifier: MIT
#include "model/port_use.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"
#include "util/units.h"

const char *const port_use_state_names[] = { "idle", "unseen", "busy", NULL };

static double percent_of(const struct port_use *use)
{
	return 100 * (double)use->traffic_bps / (double)use->rate_bps;
}

static bool has_much_traffic(const struct port_use *use)
{
	return use->has_traffic && percent_of(use) >= PORT_USE_LIMIT_PERCENT;
}

enum port_use_state port_use_state(const struct port_use *use)
{
	if (has_much_traffic(use) || (use->has_users && use->qp_count > 0)) {
		return PORT_USE_BUSY;
	}
	return use->has_traffic && use->has_users ? PORT_USE_IDLE : PORT_USE_UNSEEN;
}

static void say_traffic(const struct port_use *use, struct text *text)
{
	char rate[UNITS_SIZE];
	char window[UNITS_SIZE];

	text_format(text, "%s, %.3g %% of its rate, moved in the last %s",
		    units_format_rate((double)use->traffic_bps, rate), percent_of(use),
		    units_format_duration(use->window_ns, window));
}

static void say_users(const struct port_use *use, struct text *text)
{
	if (use->qp_count == 0) {
		text_add(text, "nobody else has a connected queue pair");
		return;
	}
	text_format(text, "%s: %" PRIu64 " connected queue pair%s", use->user, use->qp_count,
		    use->qp_count == 1 ? "" : "s");
}

void port_use_say(const struct port_use *use, char *ret, size_t size)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	if (use->has_users) {
		say_users(use, &text);
	}
	if (use->has_traffic) {
		text_add(&text, text.length > 0 ? "; " : "");
		say_traffic(use, &text);
	}
	if (use->unseen[0] != '\0') {
		text_format(&text, "%snot seen: %s", text.length > 0 ? "; " : "", use->unseen);
	}
	text_copy(ret, size, text.length > 0 ? text.data : "");
}

void port_use_note(const struct port_use *use, struct port_use_note *ret)
{
	ret->is_told = true;
	ret->state = (int)port_use_state(use);
	port_use_say(use, ret->text, sizeof(ret->text));
}

json_t *port_use_note_write(const struct port_use_note *note)
{
	json_t *json;

	if (!note->is_told) {
		return json_null();
	}
	json = json_object();
	json_set_string(json, "state", port_use_state_names[note->state]);
	json_set_string(json, "text", note->text);
	return json;
}

int port_use_note_read(const json_t *json, struct port_use_note *ret, struct error *err)
{
	struct port_use_note note = { .is_told = true, .state = -1 };
	char state[16];

	if (json_get_string(json, "state", state, sizeof(state), err) < 0 ||
	    json_get_string(json, "text", note.text, sizeof(note.text), err) < 0) {
		return -EINVAL;
	}
	for (int i = 0; port_use_state_names[i] != NULL; i++) {
		note.state = strcmp(port_use_state_names[i], state) == 0 ? i : note.state;
	}
	if (note.state < 0) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "port_use.state: \"%s\" is not one of idle, unseen, busy", state);
	}
	*ret = note;
	return 0;
}
