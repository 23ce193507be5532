// SPDX-License-Identifier: MIT
#pragma once

/*
 * Why a connection manager rejected a connection: the reasons of a REJ message (IBTA volume 1,
 * table "REJ reason field"), numbered as in the kernel's rdma/ib_cm.h. Pure.
 */

#include <stdbool.h>

/* Who rejects a connection of ours besides the connection manager itself says so with this one. */
#define REJECT_CONSUMER 28
/* Nobody listens at that address and port. */
#define REJECT_NO_LISTENER 8
/* What a refusal of datagrams can say, too. */
#define REJECT_NO_QP 1
#define REJECT_REDIRECT 25
#define REJECT_VERSION 31
/* Remains of an earlier connection are in the way; they go away by themselves. */
#define REJECT_STALE 10

/* IB_CM_REJ_INVALID_SERVICE_ID for 8 and so on; "unknown" otherwise. */
const char *reject_name(int reason);
/* What it means, to stand behind a colon; never NULL. */
const char *reject_words(int reason);
/* The other end's own word or state, rather than what lies between the two. */
bool reject_is_of_peer(int reason);
