// SPDX-License-Identifier: MIT
#include "model/load.h"

bool load_is_open(const struct workload *workload)
{
	return workload->workload.load.model == LOAD_OPEN;
}

const char *load_outstanding_key(const struct workload *workload)
{
	return load_is_open(workload) ? "workload.load.max_outstanding"
				      : "workload.load.outstanding";
}

double load_ops_per_s(const struct workload *workload)
{
	const struct workload_settings *settings = &workload->workload;
	double mean_bytes;

	if (!load_is_open(workload)) {
		return 0;
	}
	if (settings->load.ops_rate > 0) {
		return (double)settings->load.ops_rate;
	}
	mean_bytes = operation_mean_bytes(settings->ops, settings->op_count);
	return mean_bytes > 0 ? (double)settings->load.rate_bps / 8 / mean_bytes : 0;
}

double load_payload_bps(const struct workload *workload)
{
	const struct workload_settings *settings = &workload->workload;

	return load_ops_per_s(workload) * 8 *
	       operation_mean_bytes(settings->ops, settings->op_count);
}
