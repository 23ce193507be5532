// SPDX-License-Identifier: MIT
#include "judge/driver.h"

#include <stddef.h>
#include <string.h>

/* enum ibv_wc_status as far as the table has it; judge/ knows no verbs. */
enum {
	STATUS_LOC_QP_OP = 2,
	STATUS_FLUSH = 5,
	STATUS_RETRY_EXC = 12,
	STATUS_FATAL = 19,
	STATUS_RESP_TIMEOUT = 20,
};

#define UNANSWERED (DRIVER_SILENCE | DRIVER_PORT_DOWN | DRIVER_NO_WAY)

/* A row of the driver itself goes before that of any driver (""). */
static const struct {
	const char *driver;
	int wc_status;
	unsigned meanings;
} statuses[] = {
	/* What cannot be handed to the network device fails at once, where hardware goes on trying:
	 * a device that is taken away loses its network device first. */
	{ "rdma_rxe", STATUS_LOC_QP_OP, DRIVER_PORT_DOWN | DRIVER_NO_WAY | DRIVER_DEVICE_GONE },
	/* A device that is being removed waits for its users, who notice nothing in their queues.
	 */
	{ "rdma_rxe", STATUS_FLUSH, DRIVER_FLUSH },
	{ "rdma_rxe", STATUS_FATAL, 0 },
	/* irdma tells what its table of flush codes does not know as fatal: older rdma-core used
	 * up retries, every one receives that were missing. */
	{ "ice", STATUS_FATAL, UNANSWERED | DRIVER_DEVICE_GONE | DRIVER_UNTOLD },
	{ "i40e", STATUS_FATAL, UNANSWERED | DRIVER_DEVICE_GONE | DRIVER_UNTOLD },
	{ "", STATUS_RETRY_EXC, UNANSWERED },
	{ "", STATUS_RESP_TIMEOUT, UNANSWERED },
	/* A driver whose device dies flushes what was outstanding in its name. */
	{ "", STATUS_FLUSH, DRIVER_FLUSH | DRIVER_DEVICE_GONE },
	{ "", STATUS_FATAL, DRIVER_DEVICE_GONE },
};

/*
 * What is counted as retransmission although nothing was lost. The timer of soft-RoCE runs on while
 * acknowledgements come, and goes off now and then on a busy queue pair: the other end then gets
 * what it had, and counts duplicates.
 */
static const struct {
	const char *driver;
	bool resends_without_loss;
} counting[] = {
	{ "rdma_rxe", true },
};

bool driver_may_mean(const char *driver, int wc_status, enum driver_meaning meaning)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (statuses[i].wc_status == wc_status &&
		    (statuses[i].driver[0] == '\0' || strcmp(statuses[i].driver, driver) == 0)) {
			return statuses[i].meanings & meaning;
		}
	}
	return false;
}

bool driver_resends_without_loss(const char *driver)
{
	for (size_t i = 0; i < sizeof(counting) / sizeof(counting[0]); i++) {
		if (strcmp(counting[i].driver, driver) == 0) {
			return counting[i].resends_without_loss;
		}
	}
	return false;
}
