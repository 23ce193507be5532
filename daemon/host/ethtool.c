// SPDX-License-Identifier: MIT
#include "host/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/text.h"

/* mlx5 with all its queues has some thousands. The kernel writes as many as there are at that
 * moment, whatever room there is: a driver may have got more queues since it was asked how many. */
#define MOST_STATISTICS 16384u
#define ROOM_STATISTICS (4 * MOST_STATISTICS)

/* A '#' stands for one digit. */
static const struct {
	const char *name;
	enum counter counter;
} sources[] = {
	{ "rx_pause_ctrl_phy", COUNTER_PAUSES_RECEIVED }, /* mlx5: of both kinds */
	{ "tx_pause_ctrl_phy", COUNTER_PAUSES_SENT },
	{ "rx_discards_phy", COUNTER_RECEIVE_DISCARDS },
	{ "tx_discards_phy", COUNTER_SEND_DISCARDS },
	{ "link_xoff_rx.nic", COUNTER_PAUSES_RECEIVED }, /* ice: each kind and priority apart */
	{ "link_xoff_tx.nic", COUNTER_PAUSES_SENT },
	{ "rx_priority_#_xoff.nic", COUNTER_PAUSES_RECEIVED },
	{ "tx_priority_#_xoff.nic", COUNTER_PAUSES_SENT },
	{ "rx_pause_frames", COUNTER_PAUSES_RECEIVED }, /* bnxt_en */
	{ "tx_pause_frames", COUNTER_PAUSES_SENT },
	{ "rx_pfc_frames", COUNTER_PAUSES_RECEIVED },
	{ "tx_pfc_frames", COUNTER_PAUSES_SENT },
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

static bool matches(const char *pattern, const char *name)
{
	size_t i;

	for (i = 0; i < ETHTOOL_NAME && pattern[i] != '\0'; i++) {
		if (pattern[i] == '#' ? name[i] < '0' || name[i] > '9' : pattern[i] != name[i]) {
			return false;
		}
	}
	return i == ETHTOOL_NAME || name[i] == '\0';
}

void ethtool_pick(const char (*names)[ETHTOOL_NAME], const uint64_t *values, size_t count,
		  struct counters *ret)
{
	struct counters found = { 0 };

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < SOURCES; k++) {
			struct counter_value *value = &found.values[sources[k].counter];

			if (matches(sources[k].name, names[i])) {
				value->state = COUNTER_READ;
				value->value += values[i];
			}
		}
	}
	for (int i = 0; i < COUNTER_COUNT; i++) {
		if (ret->values[i].state == COUNTER_ABSENT) {
			ret->values[i] = found.values[i];
		}
	}
}

static int ask(int fd, struct ifreq *request, void *question)
{
	request->ifr_data = question;
	return ioctl(fd, SIOCETHTOOL, request);
}

/* 0 when there are none, or too many to be true. */
static uint32_t count_statistics(int fd, struct ifreq *request)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t count;
	} question = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_STATS } };

	return ask(fd, request, &question) == 0 && question.info.sset_mask != 0 &&
			       question.count <= MOST_STATISTICS
		       ? question.count
		       : 0;
}

void ethtool_counters(const char *netdev, struct counters *ret)
{
	struct ifreq request = { 0 };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	_cleanup_free_ struct ethtool_gstrings *names = NULL;
	_cleanup_free_ struct ethtool_stats *values = NULL;
	uint32_t count;

	if (fd < 0 || netdev[0] == '\0' ||
	    !text_copy(request.ifr_name, sizeof(request.ifr_name), netdev)) {
		return;
	}
	count = count_statistics(fd, &request);
	if (count == 0) {
		return;
	}
	names = memory_new(sizeof(*names) + (size_t)ROOM_STATISTICS * ETHTOOL_NAME);
	values = memory_new(sizeof(*values) + (size_t)ROOM_STATISTICS * sizeof(values->data[0]));
	*names = (struct ethtool_gstrings){ .cmd = ETHTOOL_GSTRINGS,
					    .string_set = ETH_SS_STATS,
					    .len = count };
	*values = (struct ethtool_stats){ .cmd = ETHTOOL_GSTATS, .n_stats = count };
	if (ask(fd, &request, names) == 0 && names->len == count &&
	    ask(fd, &request, values) == 0 && values->n_stats == count) {
		ethtool_pick((const char(*)[ETHTOOL_NAME])names->data,
			     (const uint64_t *)(const void *)values->data, count, ret);
	}
}
