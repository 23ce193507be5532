// SPDX-License-Identifier: MIT
/* Payload that a device changes behind the verbs' back: fabric_set_lie. */
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"

#define LIE_BYTES_LEAST 8

enum fabric_lie_kind lie_next(struct fabric_device *device, uint64_t bytes)
{
	struct fabric_lie *lie = &device->lie;
	uint32_t every = lie->every > 0 ? lie->every : 1;

	if (lie->kind == FABRIC_LIE_NONE || bytes < LIE_BYTES_LEAST || lie->count == 0) {
		return FABRIC_LIE_NONE;
	}
	uint32_t number = device->lie_seen++;
	if (number < lie->skip || (number - lie->skip) % every != 0) {
		return FABRIC_LIE_NONE;
	}
	lie->count--;
	return lie->kind;
}

void lie_corrupt(uint8_t *bytes, uint64_t length)
{
	bytes[length - 1] ^= 0x40;
}

void lie_repeat(struct fabric_device *device, uint64_t addr, uint64_t bytes)
{
	struct held *held = &device->held[device->held_count++];

	if (device->held_count > LIE_HELD_MOST) {
		nic_die("more than %d payloads are to come again", LIE_HELD_MOST);
	}
	*held = (struct held){ .addr = addr, .bytes = (uint32_t)bytes };
	held->data = nic_alloc(1, bytes);
	memcpy(held->data, (const void *)(uintptr_t)addr, bytes);
}

void lie_replay(struct fabric_device *device, uint64_t addr, uint64_t bytes)
{
	for (unsigned i = 0; i < device->held_count; i++) {
		struct held *held = &device->held[i];

		if (held->addr == addr && held->bytes == bytes) {
			memcpy((void *)(uintptr_t)addr, held->data, bytes);
			free(held->data);
			*held = device->held[--device->held_count];
			return;
		}
	}
}

void lie_forget(struct fabric_device *device)
{
	for (unsigned i = 0; i < device->held_count; i++) {
		free(device->held[i].data);
	}
	device->held_count = 0;
	free(device->swapped.data);
	device->swapped = (struct held){ 0 };
}
