// SPDX-License-Identifier: MIT
#include "model/counter.h"

#include <errno.h>
#include <string.h>

const char *const counter_names[] = {
	[COUNTER_SENT_BYTES] = "sent_bytes",
	[COUNTER_RECEIVED_BYTES] = "received_bytes",
	[COUNTER_SENT_PACKETS] = "sent_packets",
	[COUNTER_RECEIVED_PACKETS] = "received_packets",
	[COUNTER_RETRANSMISSIONS] = "retransmissions",
	[COUNTER_ACK_TIMEOUTS] = "ack_timeouts",
	[COUNTER_RETRIES_EXCEEDED] = "retries_exceeded",
	[COUNTER_SEQUENCE_NAKS] = "sequence_naks",
	[COUNTER_OUT_OF_SEQUENCE] = "out_of_sequence",
	[COUNTER_DUPLICATE_REQUESTS] = "duplicate_requests",
	[COUNTER_RNR_NAKS_SENT] = "rnr_naks_sent",
	[COUNTER_RNR_NAKS_RECEIVED] = "rnr_naks_received",
	[COUNTER_RNR_RETRIES_EXCEEDED] = "rnr_retries_exceeded",
	[COUNTER_ICRC_ERRORS] = "icrc_errors",
	[COUNTER_SEND_DISCARDS] = "send_discards",
	[COUNTER_RECEIVE_ERRORS] = "receive_errors",
	[COUNTER_LINK_ERRORS] = "link_errors",
	[COUNTER_LINK_RECOVERIES] = "link_recoveries",
	[COUNTER_LINK_DOWNED] = "link_downed",
	[COUNTER_SEND_WAIT] = "send_wait",
	[COUNTER_ECN_MARKED] = "ecn_marked",
	[COUNTER_CNPS_SENT] = "cnps_sent",
	[COUNTER_CNPS_HANDLED] = "cnps_handled",
	[COUNTER_PAUSES_RECEIVED] = "pauses_received",
	[COUNTER_PAUSES_SENT] = "pauses_sent",
	[COUNTER_RECEIVE_DISCARDS] = "receive_discards",
	[COUNTER_COUNT] = NULL,
};

const char *const counter_state_names[] = {
	[COUNTER_ABSENT] = "absent",	     [COUNTER_READ] = "read",
	[COUNTER_UNREADABLE] = "unreadable", [COUNTER_SATURATED] = "saturated",
	[COUNTER_RESET] = "reset",	     NULL,
};

static struct counter_value growth_of(struct counter_value before, struct counter_value after)
{
	if (after.state != COUNTER_READ) {
		return (struct counter_value){ .state = after.state };
	}
	if (before.state != COUNTER_READ) {
		/* A counter that came into being meanwhile is one that nobody saw begin. */
		return (struct counter_value){ .state = before.state == COUNTER_ABSENT
								? COUNTER_UNREADABLE
								: before.state };
	}
	if (after.value < before.value) {
		return (struct counter_value){ .state = COUNTER_RESET };
	}
	return (struct counter_value){ .state = COUNTER_READ, .value = after.value - before.value };
}

void counter_growth(const struct counters *before, const struct counters *after,
		    struct counters *ret)
{
	struct counters growth;

	for (size_t i = 0; i < COUNTER_COUNT; i++) {
		growth.values[i] = growth_of(before->values[i], after->values[i]);
	}
	*ret = growth;
}

void counter_unknown_growth(const struct counters *before, struct counters *ret)
{
	for (size_t i = 0; i < COUNTER_COUNT; i++) {
		bool is_there = before->values[i].state != COUNTER_ABSENT;

		ret->values[i] = (struct counter_value){
			.state = is_there ? COUNTER_RESET : COUNTER_ABSENT,
		};
	}
}

bool counter_grew(const struct counters *growth, enum counter counter)
{
	return growth->values[counter].state == COUNTER_READ && growth->values[counter].value > 0;
}

json_t *counter_write(const struct counters *counters)
{
	json_t *object = json_object();

	for (size_t i = 0; i < COUNTER_COUNT; i++) {
		const struct counter_value *value = &counters->values[i];

		if (value->state == COUNTER_READ) {
			json_set_u64(object, counter_names[i], value->value);
		} else if (value->state != COUNTER_ABSENT) {
			json_set_string(object, counter_names[i],
					counter_state_names[value->state]);
		}
	}
	return object;
}

static int read_value(const json_t *json, const char *name, struct counter_value *ret,
		      struct error *err)
{
	if (json_is_integer(json) && json_integer_value(json) >= 0) {
		*ret = (struct counter_value){ .state = COUNTER_READ,
					       .value = (uint64_t)json_integer_value(json) };
		return 0;
	}
	for (int state = COUNTER_UNREADABLE; json_is_string(json) && state <= COUNTER_RESET;
	     state++) {
		if (strcmp(json_string_value(json), counter_state_names[state]) == 0) {
			*ret = (struct counter_value){ .state = state };
			return 0;
		}
	}
	return error_set(err, -EINVAL, ERROR_INPUT,
			 "counters: \"%s\" must be a number of at least 0, \"unreadable\", "
			 "\"saturated\" or \"reset\"",
			 name);
}

int counter_read(const json_t *json, struct counters *ret, struct error *err)
{
	struct counters counters = { 0 };

	if (!json_is_object(json)) {
		return error_set(err, -EINVAL, ERROR_INPUT, "counters must be an object");
	}
	for (size_t i = 0; i < COUNTER_COUNT; i++) {
		const json_t *value = json_object_get(json, counter_names[i]);

		if (value) {
			int r = read_value(value, counter_names[i], &counters.values[i], err);

			if (r < 0) {
				return r;
			}
		}
	}
	*ret = counters;
	return 0;
}
