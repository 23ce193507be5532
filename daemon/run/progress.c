// SPDX-License-Identifier: MIT
#include "run/progress.h"

json_t *progress_write(struct measure *measure)
{
	const struct measurement *measurement = measure_measurement(measure);
	const struct progress *progress = measure_progress(measure);
	json_t *json = json_object();

	json_set_string(json, "initiator", measurement->assignment.initiator.node);
	json_set_string(json, "initiator_device", measurement->assignment.initiator.device);
	json_set_string(json, "responder", measurement->assignment.responder.node);
	json_set_string(json, "responder_device", measurement->assignment.responder.device);
	json_set_string(json, "phase", measure_phase(measure));
	json_set_take(json, "progress",
		      progress != NULL ? sample_progress_write(progress) : json_null());
	return json;
}
