// SPDX-License-Identifier: MIT
#pragma once

/*
 * This node among the peers: one file may serve all nodes, so that each finds itself in the list.
 * Private to config/. One thread.
 */

#include "config/reader.h"

/*
 * The labels of this node's own entry become its labels, beside those of daemon.labels; two values
 * of one key are an error. Warns of an entry that looks like this node under another name. After
 * the node's name is known, before scenarios are looked at.
 */
void check_self(struct reader *reader);
