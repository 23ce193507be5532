// SPDX-License-Identifier: MIT
#include "run/progress.h"

json_t *progress_write(struct measure *measure)
{
	const struct measurement *measurement = measure_measurement(measure);
	const struct progress *progress = measure_progress(measure);
	json_t *json = json_object();
	uint64_t retry_ns = 0;
	uint64_t give_up_ns = 0;
	const char *in_use = measure_in_use(measure, &retry_ns, &give_up_ns);

	json_set_string(json, "initiator", measurement->assignment.initiator.node);
	json_set_string(json, "initiator_device", measurement->assignment.initiator.device);
	json_set_string(json, "responder", measurement->assignment.responder.node);
	json_set_string(json, "responder_device", measurement->assignment.responder.device);
	json_set_string(json, "phase", measure_phase(measure));
	if (in_use != NULL) {
		json_t *waits = json_object();

		json_set_string(waits, "text", in_use);
		json_set_u64(waits, "retry_in_ns", retry_ns);
		json_set_u64(waits, "gives_up_in_ns", give_up_ns);
		json_set_take(json, "in_use", waits);
	}
	json_set_take(json, "progress",
		      progress != NULL ? sample_progress_write(progress) : json_null());
	return json;
}
