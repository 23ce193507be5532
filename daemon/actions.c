// SPDX-License-Identifier: MIT
#include "actions.h"

#include <errno.h>

int actions_run(const struct parts *parts, const char *name, char *ret_id, struct error *err)
{
	const struct scenario *scenario = config_scenario(parts->config, name);

	if (scenario == NULL) {
		return error_set(err, -ENOENT, ERROR_INPUT,
				 "there is no scenario \"%s\"; see `rdmatestctl scenarios`", name);
	}
	if (!scenario->is_enabled) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "scenario \"%s\" is disabled (enabled: false in %s)", name,
				 scenario->source);
	}
	if (!(scenario->schedule.on & SCHEDULE_MANUAL)) {
		return error_set(
			err, -EINVAL, ERROR_INPUT,
			"scenario \"%s\" does not run by hand; add manual to its schedule.on in %s",
			name, scenario->source);
	}
	return coordinator_submit(parts->coordinator, scenario, TRIGGER_MANUAL,
				  parts->config->generation, ret_id, err);
}

int actions_cancel(const struct parts *parts, const char *id, struct error *err)
{
	const struct run *run = history_find(parts->history, id);

	if (run == NULL) {
		return error_set(err, -ENOENT, ERROR_INPUT,
				 "there is no run \"%s\"; see `rdmatestctl results`", id);
	}
	if (coordinator_cancel(parts->coordinator, run->id, "cancelled by a person") < 0) {
		return error_set(err, -EALREADY, ERROR_INPUT, "run %s is over already", run->id);
	}
	return 0;
}

static int on_start(void *arg, const char *scenario, char *ret_id, struct error *err)
{
	return actions_run(arg, scenario, ret_id, err);
}

static int on_cancel(void *arg, const char *id, struct error *err)
{
	return actions_cancel(arg, id, err);
}

void actions_fill_view(struct view *view)
{
	view->start = on_start;
	view->cancel = on_cancel;
}
