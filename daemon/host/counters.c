// SPDX-License-Identifier: MIT
#include "host/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/ethtool.h"
#include "util/memory.h"

#define MS_NS 1000000ull
#define MAX_LIFESPAN_MS 60000
#define MAX_FILES 3

enum place { PLACE_HW, PLACE_PORT, PLACE_NETDEV };

/* Where a driver counts something: the sum of up to three files, of which the first decides whether
 * this driver has it. */
struct source {
	enum counter counter;
	enum place place;
	const char *files[MAX_FILES];
	unsigned width_bits; /* where it stops; 64: never */
	unsigned unit; /* of the file, in ours */
};

/* The first that is there counts; those of soft-RoCE's network device are last, since for a device
 * with hardware offload they do not see RDMA at all. */
static const struct source sources[] = {
	{ COUNTER_SENT_BYTES, PLACE_PORT, { "port_xmit_data" }, 64, 4 },
	/* irdma: without the Ethernet header */
	{ COUNTER_SENT_BYTES, PLACE_HW, { "ip4OutOctets", "ip6OutOctets" }, 64, 1 },
	{ COUNTER_SENT_BYTES, PLACE_NETDEV, { "tx_bytes" }, 64, 1 },
	{ COUNTER_RECEIVED_BYTES, PLACE_PORT, { "port_rcv_data" }, 64, 4 },
	{ COUNTER_RECEIVED_BYTES, PLACE_HW, { "ip4InOctets", "ip6InOctets" }, 64, 1 },
	{ COUNTER_RECEIVED_BYTES, PLACE_NETDEV, { "rx_bytes" }, 64, 1 },
	{ COUNTER_SENT_PACKETS, PLACE_HW, { "sent_pkts" }, 64, 1 },
	{ COUNTER_SENT_PACKETS, PLACE_PORT, { "port_xmit_packets" }, 64, 1 },
	{ COUNTER_SENT_PACKETS, PLACE_HW, { "ip4OutPkts", "ip6OutPkts" }, 64, 1 },
	{ COUNTER_RECEIVED_PACKETS, PLACE_HW, { "rcvd_pkts" }, 64, 1 },
	{ COUNTER_RECEIVED_PACKETS, PLACE_PORT, { "port_rcv_packets" }, 64, 1 },
	{ COUNTER_RECEIVED_PACKETS, PLACE_HW, { "ip4InPkts", "ip6InPkts" }, 64, 1 },
	/* soft-RoCE counts here what a sequence NAK began, too; mlx5 counts each cause apart */
	{ COUNTER_RETRANSMISSIONS, PLACE_HW, { "completer_retry_err" }, 64, 1 },
	{ COUNTER_RETRANSMISSIONS,
	  PLACE_HW,
	  { "packet_seq_err", "local_ack_timeout_err", "roce_adp_retrans" },
	  64,
	  1 },
	{ COUNTER_RETRANSMISSIONS, PLACE_HW, { "RetransSegs" }, 64, 1 },
	{ COUNTER_RETRANSMISSIONS, PLACE_HW, { "tcpRetransSegs" }, 64, 1 },
	{ COUNTER_ACK_TIMEOUTS, PLACE_HW, { "local_ack_timeout_err" }, 64, 1 },
	{ COUNTER_RETRIES_EXCEEDED, PLACE_HW, { "retry_exceeded_err" }, 64, 1 },
	{ COUNTER_SEQUENCE_NAKS, PLACE_HW, { "rcvd_seq_err" }, 64, 1 },
	{ COUNTER_SEQUENCE_NAKS, PLACE_HW, { "packet_seq_err" }, 64, 1 },
	{ COUNTER_OUT_OF_SEQUENCE, PLACE_HW, { "out_of_seq_request" }, 64, 1 },
	{ COUNTER_OUT_OF_SEQUENCE, PLACE_HW, { "out_of_sequence" }, 64, 1 },
	{ COUNTER_DUPLICATE_REQUESTS, PLACE_HW, { "duplicate_request" }, 64, 1 },
	{ COUNTER_RNR_NAKS_SENT, PLACE_HW, { "send_rnr_err" }, 64, 1 },
	{ COUNTER_RNR_NAKS_SENT, PLACE_HW, { "out_of_buffer" }, 64, 1 },
	{ COUNTER_RNR_NAKS_RECEIVED, PLACE_HW, { "rcvd_rnr_err" }, 64, 1 },
	{ COUNTER_RNR_NAKS_RECEIVED, PLACE_HW, { "rnr_nak_retry_err" }, 64, 1 },
	{ COUNTER_RNR_RETRIES_EXCEEDED, PLACE_HW, { "retry_rnr_exceeded_err" }, 64, 1 },
	{ COUNTER_RNR_RETRIES_EXCEEDED, PLACE_HW, { "req_rnr_retries_exceeded" }, 64, 1 },
	{ COUNTER_ICRC_ERRORS, PLACE_HW, { "rx_icrc_encapsulated" }, 64, 1 },
	{ COUNTER_SEND_DISCARDS, PLACE_PORT, { "port_xmit_discards" }, 16, 1 },
	{ COUNTER_RECEIVE_ERRORS, PLACE_PORT, { "port_rcv_errors" }, 16, 1 },
	{ COUNTER_RECEIVE_ERRORS, PLACE_HW, { "ip4InDiscards", "ip6InDiscards" }, 64, 1 },
	{ COUNTER_LINK_ERRORS, PLACE_PORT, { "symbol_error" }, 16, 1 },
	{ COUNTER_LINK_RECOVERIES, PLACE_PORT, { "link_error_recovery" }, 8, 1 },
	{ COUNTER_LINK_DOWNED, PLACE_HW, { "link_downed" }, 64, 1 },
	{ COUNTER_LINK_DOWNED, PLACE_PORT, { "link_downed" }, 8, 1 },
	{ COUNTER_SEND_WAIT, PLACE_PORT, { "port_xmit_wait" }, 32, 1 },
	{ COUNTER_ECN_MARKED, PLACE_HW, { "np_ecn_marked_roce_packets" }, 64, 1 },
	{ COUNTER_CNPS_SENT, PLACE_HW, { "np_cnp_sent" }, 64, 1 },
	{ COUNTER_CNPS_SENT, PLACE_HW, { "cnpSent" }, 64, 1 },
	{ COUNTER_CNPS_HANDLED, PLACE_HW, { "rp_cnp_handled" }, 64, 1 },
	{ COUNTER_CNPS_HANDLED, PLACE_HW, { "cnpHandled" }, 64, 1 },
};

struct port_path {
	char hw[PATH_MAX];
	char port[PATH_MAX];
	char netdev[PATH_MAX];
};

static bool is_component(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && !strchr(name, '/');
}

/* A place that cannot be is the empty path, where nothing is. */
static void find_places(const char *root, const char *device, uint64_t port_num, const char *netdev,
			struct port_path *ret)
{
	*ret = (struct port_path){ 0 };
	if (!is_component(device) || strlen(root) > PATH_MAX / 2) {
		return;
	}
	snprintf(ret->port, sizeof(ret->port),
		 "%.2000s/sys/class/infiniband/%.255s/ports/%llu/counters", root, device,
		 (unsigned long long)port_num);
	snprintf(ret->hw, sizeof(ret->hw),
		 "%.2000s/sys/class/infiniband/%.255s/ports/%llu/hw_counters", root, device,
		 (unsigned long long)port_num);
	if (is_component(netdev)) {
		snprintf(ret->netdev, sizeof(ret->netdev),
			 "%.2000s/sys/class/net/%.255s/statistics", root, netdev);
	}
}

static const char *folder_of(const struct port_path *path, enum place place)
{
	switch (place) {
	case PLACE_HW:
		return path->hw;
	case PLACE_PORT:
		return path->port;
	case PLACE_NETDEV:
		break;
	}
	return path->netdev;
}

/* Drivers say "N/A (no PMA)", an errno, or nothing at all where they have no number. */
static struct counter_value read_file(const char *folder, const char *name)
{
	struct counter_value value = { .state = COUNTER_UNREADABLE };
	char path[PATH_MAX];
	char text[64];
	char *end;
	ssize_t count;

	if (folder[0] == '\0' ||
	    snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
		return (struct counter_value){ .state = COUNTER_ABSENT };
	}
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		value.state = errno == ENOENT || errno == ENOTDIR ? COUNTER_ABSENT
								  : COUNTER_UNREADABLE;
		return value;
	}
	do {
		count = read(fd, text, sizeof(text) - 1);
	} while (count < 0 && errno == EINTR);
	if (count <= 0 || text[0] < '0' || text[0] > '9') {
		return value;
	}
	text[count] = '\0';
	errno = 0;
	value.value = strtoull(text, &end, 10);
	if (errno != 0 || (*end != '\0' && *end != '\n')) {
		value.value = 0;
		return value;
	}
	value.state = COUNTER_READ;
	return value;
}

/* Where a port has no 64-bit counters the kernel gives the old ones, which stop at 32 bits. */
static bool is_full(uint64_t value, const struct source *source)
{
	if (source->width_bits == 64) {
		return value == UINT64_MAX || (source->place == PLACE_PORT && value == UINT32_MAX);
	}
	return value >= (1ull << source->width_bits) - 1;
}

static struct counter_value read_source(const struct port_path *path, const struct source *source)
{
	struct counter_value sum = { .state = COUNTER_READ };

	for (size_t i = 0; i < MAX_FILES && source->files[i]; i++) {
		struct counter_value value =
			read_file(folder_of(path, source->place), source->files[i]);

		if (value.state == COUNTER_READ && is_full(value.value, source)) {
			value = (struct counter_value){ .state = COUNTER_SATURATED };
		}
		if (i > 0 && value.state == COUNTER_ABSENT) {
			continue; /* an older driver has fewer causes */
		}
		if (value.state != COUNTER_READ ||
		    __builtin_mul_overflow(value.value, source->unit, &value.value) ||
		    __builtin_add_overflow(sum.value, value.value, &sum.value)) {
			return (struct counter_value){ .state = value.state == COUNTER_READ
									? COUNTER_UNREADABLE
									: value.state };
		}
	}
	return sum;
}

void counters_read(const char *root, const char *device, uint64_t port_num, const char *netdev,
		   struct counters *ret)
{
	struct port_path path;

	*ret = (struct counters){ 0 };
	find_places(root, device, port_num, netdev, &path);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct counter_value *value = &ret->values[sources[i].counter];

		if (value->state == COUNTER_ABSENT) {
			*value = read_source(&path, &sources[i]);
		}
	}
	/* The kernel itself has no root. */
	if (root[0] == '\0' && is_component(netdev)) {
		ethtool_counters(netdev, ret);
	}
}

void counters_traffic(const char *root, const char *device, uint64_t port_num, const char *netdev,
		      struct counters_traffic *ret)
{
	struct port_path path;
	size_t sent = 0;
	size_t received = 0;

	*ret = (struct counters_traffic){ 0 };
	find_places(root, device, port_num, netdev, &path);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (sources[i].counter == COUNTER_SENT_BYTES) {
			ret->sent[sent++] = read_source(&path, &sources[i]);
		} else if (sources[i].counter == COUNTER_RECEIVED_BYTES) {
			ret->received[received++] = read_source(&path, &sources[i]);
		}
	}
}

uint64_t counters_lifespan_ns(const char *root, const char *device, uint64_t port_num)
{
	struct port_path path;
	struct counter_value value;

	find_places(root, device, port_num, "", &path);
	value = read_file(path.hw, "lifespan");
	if (value.state != COUNTER_READ) {
		return 0;
	}
	return (value.value < MAX_LIFESPAN_MS ? value.value : MAX_LIFESPAN_MS) * MS_NS;
}
