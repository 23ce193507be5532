// SPDX-License-Identifier: MIT
#pragma once

/* How far a measurement is, for the live line of rdmatestctl. Loop thread. */

#include "run/measure.h"
#include "util/json.h"

/* {initiator, initiator_device, responder, responder_device, phase, progress}. New reference. */
json_t *progress_write(struct measure *measure);
