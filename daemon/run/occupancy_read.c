// SPDX-License-Identifier: MIT
#include "run/occupancy_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/holders.h"
#include "host/rdma_netlink.h"
#include "host/sandbox.h"
#include "host/sysfs.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull

void occupancy_read(const char *root, const char *device, uint64_t port_num,
		    struct occupancy_reading *ret)
{
	struct sysfs_port port;

	*ret = (struct occupancy_reading){ 0 };
	if (sysfs_port(root, device, port_num, &port)) {
		ret->rate_bps = port.link_rate_bps;
		counters_traffic(root, device, port_num, port.netdev, &ret->bytes);
	}
	ret->mono_ns = clock_mono_ns();
}

static void add_unseen(struct port_use *use, const char *why)
{
	size_t length = strlen(use->unseen);

	snprintf(use->unseen + length, sizeof(use->unseen) - length, "%s%s", length > 0 ? "; " : "",
		 why);
}

/* --- queue pairs of others --- */

/* The kernel's own that lie still: IP over InfiniBand has one on each port. */
static bool is_quiet_part(const char *part)
{
	return strcmp(part, "ib_ipoib") == 0 || strcmp(part, "ib_core") == 0 ||
	       strcmp(part, "ib_mad") == 0;
}

static bool is_other(const struct rdma_netlink_user *user, const char *device)
{
	return strcmp(user->device, device) == 0 && user->connected_count > 0 &&
	       (user->process == 0 ? !is_quiet_part(user->part)
				   : user->process != (uint32_t)getpid());
}

static void name_user(const char *root, const struct rdma_netlink_user *user, char *ret,
		      size_t size)
{
	char process[12];
	char program[FACT_NAME];

	if (user->process == 0) {
		snprintf(ret, size, "%s of the kernel", user->part[0] ? user->part : "a part");
		return;
	}
	snprintf(process, sizeof(process), "%" PRIu32, user->process);
	holders_program(root, process, program, sizeof(program));
	snprintf(ret, size, "%s (process %s)", program[0] ? program : "a program", process);
}

static void add_users(const char *root, const char *device, const struct rdma_netlink *netlink,
		      struct port_use *use)
{
	const struct rdma_netlink_user *most = NULL;
	size_t users = 0;
	char more[32] = "";

	for (size_t i = 0; i < netlink->user_count; i++) {
		const struct rdma_netlink_user *user = &netlink->users[i];

		if (is_other(user, device)) {
			users++;
			use->qp_count += user->connected_count;
			most = most == NULL || user->connected_count > most->connected_count ? user
											     : most;
		}
	}
	if (most != NULL) {
		char name[FACT_NAME + 32];

		name_user(root, most, name, sizeof(name));
		if (users > 1) {
			snprintf(more, sizeof(more), " and %zu more", users - 1);
		}
		snprintf(use->user, sizeof(use->user), "%s%s", name, more);
	}
}

/* The kernel does not tell of processes outside our own PID namespace. */
static bool sees_all(const char *root)
{
	struct sandbox sandbox;

	return sandbox_read(root, &sandbox) == 0 && !sandbox.is_in_pid_namespace;
}

void occupancy_read_told(const char *root, const char *device, const struct rdma_netlink *netlink,
			 struct port_use *use)
{
	bool is_known = false;

	for (size_t i = 0; i < netlink->device_count; i++) {
		is_known = is_known || strcmp(netlink->devices[i].name, device) == 0;
	}
	add_users(root, device, netlink, use);
	use->has_users = use->qp_count > 0;
	if (use->has_users) {
		return;
	}
	if (!is_known) {
		add_unseen(use, "queue pairs of others (the kernel tells nothing of it)");
	} else if (netlink->is_cut) {
		add_unseen(use, "all queue pairs of others (they are too many)");
	} else if (!sees_all(root)) {
		add_unseen(use, "queue pairs of processes outside of this container");
	} else {
		use->has_users = true;
	}
}

void occupancy_read_users(const char *root, const char *device, struct port_use *use)
{
	_cleanup_free_ struct rdma_netlink *netlink = memory_new(sizeof(*netlink));
	int error = rdma_netlink_ask(netlink);
	char why[96];

	if (error < 0) {
		snprintf(why, sizeof(why), "queue pairs of others (%s)", strerrordesc_np(-error));
		add_unseen(use, why);
		return;
	}
	occupancy_read_told(root, device, netlink, use);
}

/* --- what moved --- */

/* Of the sources that could be read both times, the one that grew most; false when there is none.
 */
static bool growth_of(const struct counter_value *from, const struct counter_value *to,
		      uint64_t *ret_bytes)
{
	bool is_known = false;

	*ret_bytes = 0;
	for (size_t i = 0; i < COUNTERS_TRAFFIC_PLACES; i++) {
		if (from[i].state == COUNTER_READ && to[i].state == COUNTER_READ &&
		    to[i].value >= from[i].value) {
			uint64_t growth = to[i].value - from[i].value;

			*ret_bytes = growth > *ret_bytes ? growth : *ret_bytes;
			is_known = true;
		}
	}
	return is_known;
}

void occupancy_read_growth(const struct occupancy_reading *from, const struct occupancy_reading *to,
			   struct port_use *use)
{
	uint64_t sent;
	uint64_t received;

	if (to->mono_ns <= from->mono_ns || !growth_of(from->bytes.sent, to->bytes.sent, &sent) ||
	    !growth_of(from->bytes.received, to->bytes.received, &received)) {
		add_unseen(use, "traffic (the port has no byte counters that can be read)");
		return;
	}
	if (to->rate_bps == 0) {
		add_unseen(use, "the share of traffic (the port's rate is not known)");
		return;
	}
	use->has_traffic = true;
	use->rate_bps = to->rate_bps;
	use->window_ns = to->mono_ns - from->mono_ns;
	use->traffic_bps = (uint64_t)((double)(sent > received ? sent : received) * 8 *
				      (double)SECOND_NS / (double)use->window_ns);
}
