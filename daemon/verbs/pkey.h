// SPDX-License-Identifier: MIT
#pragma once

/*
 * Partitions: which entry of its port's P_Key table a queue pair takes (IBTA volume 1, 10.9).
 */

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/workload.h"
#include "util/error.h"
#include "verbs/device.h"

/* Whether queue pairs with these two reach each other: one partition, and not limited members both
 * (IBTA volume 1, 9.6.1.1.1). 0, of which nothing is known, reaches all. Pure. */
bool pkey_reaches(uint16_t a, uint16_t b);
/* Names what err tells (class DEVICE): call "pkey", by which judgements know it. Returns ret. */
int pkey_refuse(int ret, enum error_stage stage, struct error *err);
/*
 * The entry that qp.pkey asks for: the port's membership of that partition, full before limited;
 * without qp.pkey the entry qp.pkey_index, which must be in the table and not be empty. 0 with the
 * index and what is there (0: it cannot be read); or -ENOENT with err (DEVICE, call "pkey") telling
 * what the port has, or -EIO where a partition is asked for by value and entries cannot be read.
 * Asks the device: on a setup thread.
 */
int pkey_find(const struct device *device, uint64_t port_num, const struct ibv_port_attr *port,
	      const struct qp_settings *qp, uint16_t *ret_index, uint16_t *ret_pkey,
	      struct error *err);
