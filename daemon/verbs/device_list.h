// SPDX-License-Identifier: MIT
#pragma once

/*
 * The list of RDMA devices that programs see. Setup thread.
 */

#include <infiniband/verbs.h>

#include "util/error.h"

/*
 * A whole list, to be freed by ibv_free_device_list, or -errno. Short of descriptors libibverbs
 * says ENOSYS, or leaves devices out: that is -EMFILE or -ENFILE here. -ENODEV: the kernel shows
 * programs no RDMA at all.
 */
int device_list_get(struct ibv_device ***ret_list, int *ret_count, struct error *err);
