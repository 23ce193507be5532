// SPDX-License-Identifier: MIT
#pragma once

/*
 * Combinations inside of the scenarios, their selectors against the nodes there are, and what one
 * should know of all of them together. Private to config/. One thread.
 */

#include "config/reader.h"

void check_scenario_all(struct reader *reader);
