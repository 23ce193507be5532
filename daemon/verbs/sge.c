// SPDX-License-Identifier: MIT
#include "verbs/sge.h"

int sge_split(struct ibv_sge *ret, uint64_t most, uint64_t addr, uint32_t length, uint32_t lkey)
{
	uint64_t count = most < length ? most : length;
	uint32_t each = count > 0 ? length / (uint32_t)count : 0;

	ret[0] = (struct ibv_sge){ .addr = addr, .lkey = lkey };
	for (uint64_t i = 0; i < count; i++) {
		ret[i] = (struct ibv_sge){
			.addr = addr + i * each,
			.length = i + 1 < count ? each : length - (uint32_t)i * each,
			.lkey = lkey,
		};
	}
	return (int)count;
}
