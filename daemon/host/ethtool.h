// SPDX-License-Identifier: MIT
#pragma once

/*
 * What only a driver's own statistics tell (ethtool -S): pause frames and packets dropped at the
 * port. Names by driver: mlx5 (kernel documentation of its counters), ice (irdma's), bnxt_en.
 * Setup thread: a driver may ask its firmware.
 */

#include <stddef.h>
#include <stdint.h>

#include "model/counter.h"

#define ETHTOOL_NAME 32 /* bytes of a statistic's name; the longest have no NUL */

/* Asks the kernel, below no root. What the driver does not have, or refuses, stays as it is. */
void ethtool_counters(const char *netdev, struct counters *ret);
/* Of these statistics: sums of those that count the same; the others stay as they are. Pure. */
void ethtool_pick(const char (*names)[ETHTOOL_NAME], const uint64_t *values, size_t count,
		  struct counters *ret);
