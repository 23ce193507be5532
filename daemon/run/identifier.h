// SPDX-License-Identifier: MIT
#pragma once

/* Run ids: ULIDs (48 bits of real time in ms, 80 random bits, Crockford base 32): sortable by
 * start, unique without a coordinator. */

/* ret: at least 27 bytes. */
void identifier_new(char *ret);
