// SPDX-License-Identifier: MIT
#pragma once

/*
 * CRC32C (Castagnoli), as iSCSI has it (RFC 3720, appendix B.4): by the instruction of SSE4.2 where
 * the CPU has it, else by a table. Any thread.
 */

#include <stddef.h>
#include <stdint.h>

/* Of `bytes` bytes from data on. crc: 0, or the sum of what stands before them. */
uint32_t crc32c(uint32_t crc, const void *data, size_t bytes);
/* The same by the table, whatever the CPU has. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t bytes);
