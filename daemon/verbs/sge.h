// SPDX-License-Identifier: MIT
#pragma once

/*
 * Scatter/gather lists over memory that lies in one piece: so that what a message is written to and
 * read from is the same with any number of entries.
 */

#include <infiniband/verbs.h>
#include <stdint.h>

/*
 * Cuts `length` bytes at addr into `most` entries (1 or more) of one length, the last with what is
 * left; fewer where there are fewer bytes. Returns how many were filled: 0 for no bytes, but then
 * too ret[0] has the address. Pure.
 */
int sge_split(struct ibv_sge *ret, uint64_t most, uint64_t addr, uint32_t length, uint32_t lkey);
