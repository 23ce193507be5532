// SPDX-License-Identifier: MIT
#pragma once

/*
 * What came of payload that was looked at where it arrived (workload.verify): of all traffic,
 * warm-up and what was drained counted. Each end tells what it saw; what was lost on the way only
 * both together know.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"
#include "util/json.h"

#define VERIFICATION_HEAD_BYTES 24 /* of a message: the least that can be verified */
#define VERIFICATION_SHOWN_BYTES 8
#define VERIFICATION_READ_BYTES 8 /* the least of a read */

/* The first payload that was not what it should be. */
struct verification_fault {
	bool is_set;
	int operation; /* enum operation_kind */
	uint64_t qp_num; /* of the end that found it */
	uint64_t number; /* of the message, or operation, on its queue pair */
	uint64_t offset_bytes;
	uint64_t length; /* shown */
	uint8_t expected[VERIFICATION_SHOWN_BYTES];
	uint8_t found[VERIFICATION_SHOWN_BYTES];
};

struct verification {
	uint64_t sent; /* messages that take a receive, by this end */
	uint64_t received; /* of the other end's, each once */
	uint64_t verified; /* payloads that were compared, and were right */
	uint64_t corrupted; /* that were not */
	uint64_t lost; /* whose place was empty when they should have been there; of both ends: and
			  messages that did not arrive */
	uint64_t duplicated; /* that came again */
	uint64_t reordered; /* that came after later ones, or stood in the place of others */
	struct verification_fault first;
};

uint64_t verification_errors(const struct verification *verification);
json_t *verification_write(const struct verification *verification);
/* 0, or -EINVAL with err. */
int verification_read(const json_t *json, struct verification *ret, struct error *err);

/* In hexadecimal. */
#define VERIFICATION_HEX_SIZE (2 * VERIFICATION_SHOWN_BYTES + 1)
void verification_hex(const uint8_t *bytes, uint64_t length, char text[VERIFICATION_HEX_SIZE]);
