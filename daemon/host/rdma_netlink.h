// SPDX-License-Identifier: MIT
#pragma once

/*
 * Who has queue pairs on the RDMA devices, as the kernel keeps count (what `rdma resource` shows,
 * RDMA_NLDEV_CMD_RES_QP_GET of <rdma/rdma_netlink.h>). Needs no privilege; processes outside this
 * process' PID namespace are not told. Plain data of fixed size. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/fact.h"

#define RDMA_NETLINK_DEVICES 64
#define RDMA_NETLINK_USERS 64

struct rdma_netlink_device {
	uint32_t index;
	char name[FACT_NAME];
	uint64_t qp_count; /* of all users, the kernel's own too; UINT64_MAX = not told */
};

struct rdma_netlink_user {
	char device[FACT_NAME];
	uint32_t process; /* 0: the kernel */
	char part[FACT_NAME]; /* of the kernel: "ib_ipoib", "nvme_rdma"; "" for processes */
	uint64_t qp_count; /* without those every port has for management */
	uint64_t connected_count; /* of these, ready to receive or to send (RTR, RTS, SQD) */
};

struct rdma_netlink {
	/* A device is seen in its own network namespace only; else in all of them. */
	bool is_exclusive;
	size_t device_count;
	struct rdma_netlink_device devices[RDMA_NETLINK_DEVICES];
	size_t user_count;
	struct rdma_netlink_user users[RDMA_NETLINK_USERS];
	bool is_cut; /* there were more */
};

/*
 * Asks the kernel; a question that is not answered within a second is given up (-ETIMEDOUT). 0 or
 * -errno. Opening the socket would load ib_core: ask only where that is loaded already.
 */
int rdma_netlink_ask(struct rdma_netlink *ret);

enum rdma_netlink_more { RDMA_NETLINK_DONE, RDMA_NETLINK_MORE };
/*
 * Adds what one datagram of an answer tells; of messages that are cut or of another kind nothing.
 * RDMA_NETLINK_DONE at the end of an answer, or the -errno that the kernel answered.
 */
int rdma_netlink_add(struct rdma_netlink *netlink, const void *bytes, size_t length);
