// SPDX-License-Identifier: MIT
#include "run/backoff.h"

#include <stddef.h>

#define SECOND_NS 1000000000ull

static uint64_t value_of(const struct totals *totals, enum counter counter)
{
	const struct counter_value *value = &totals->counters.values[counter];

	return value->state == COUNTER_READ ? value->value : 0;
}

uint64_t backoff_weight(const struct totals *totals, uint64_t traffic_ns)
{
	double events;

	if (totals == NULL || !totals->has_counters || traffic_ns == 0) {
		return 1;
	}
	events = (double)value_of(totals, COUNTER_PAUSES_RECEIVED) +
		 (double)value_of(totals, COUNTER_CNPS_HANDLED);
	return events * SECOND_NS >= (double)BACKOFF_EVENTS_PER_S * (double)traffic_ns
		       ? BACKOFF_WEIGHT
		       : 1;
}
