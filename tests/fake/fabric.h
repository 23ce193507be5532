// SPDX-License-Identifier: MIT
#pragma once

/*
 * A network of RDMA devices that exists only in this process, below the fake libibverbs (verbs*.c).
 *
 * A test makes a fabric, adds devices, makes it the current one with fabric_use, and runs the
 * product, which finds the devices through ibv_get_device_list. All that happens later is an event;
 * events run in the order of (time, sequence) when somebody polls, posts or calls fabric_run. Time
 * is the fake clock's. Same seed and same calls: same results.
 *
 * Stepped (the default): one thread, virtual time; what would block for ever aborts with a message
 * instead. Threaded: fabric_set_threaded, any number of threads, real time; fabric_pump_start lets
 * completion channels become readable while nobody polls.
 *
 * Every function may be called from any thread. Mistakes of the test itself (unknown name) abort
 * with a message.
 */

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct fabric;

#define FABRIC_PKEYS 4

/* Zero in any field: the default in brackets. */
struct fabric_device_config {
	const char *name; /* copied; unique among present devices */
	const char *host; /* copied; shown only to this host (fabric_enter_host); NULL: to all */
	const char *address; /* "10.0.0.1" or IPv6; copied into GID index 1, RoCE v2; NULL: no such
				GID */
	enum ibv_mtu mtu; /* active and maximum [IBV_MTU_4096] */
	uint64_t rate_bps; /* of the port, each direction [100 Gbit/s] */
	uint64_t message_ns; /* least time the port spends on a message [100] */
	int max_qp; /* [65536] */
	int max_qp_wr; /* [16384] */
	int max_sge; /* [16] */
	int max_srq; /* [65536]; -1: it has none */
	int max_cq; /* [65536] */
	int max_cqe; /* [65535] */
	int max_mr; /* [65536] */
	int max_pd; /* [4096] */
	int max_ah; /* [65536] */
	int max_rd_atomic; /* both directions [16] */
	uint32_t max_inline_bytes; /* [256] */
	uint64_t max_mr_size_bytes; /* [1 TiB] */
	uint32_t max_msg_bytes; /* [1 GiB] */
	uint64_t memlock_bytes; /* all regions of the device together, else ENOMEM [no limit] */
	bool is_infiniband; /* InfiniBand instead of Ethernet: reached by LID (index of the device
			       in the fabric + 1), or by GID index 0; no address */
	uint16_t pkeys[FABRIC_PKEYS]; /* the P_Key table, 0: empty [0xffff] */
	bool has_no_atomics;
	bool has_moderation; /* ibv_modify_cq */
	bool has_odp; /* on-demand paging, for everything on every transport */
};

/* One direction between two devices. Probabilities are per packet, in millionths; their sum is at
 * most 1,000,000. */
struct fabric_link {
	uint64_t latency_ns; /* one way, after the last bit has left the port */
	uint64_t jitter_ns; /* up to this much more, uniform, in order */
	uint64_t rate_bps; /* a bottleneck on the way; 0: none */
	uint32_t loss_ppm;
	uint32_t corrupt_ppm; /* arrives, fails its checksum, is dropped there */
	uint32_t duplicate_ppm;
	uint32_t reorder_ppm; /* arrives reorder_ns later than it should */
	uint64_t reorder_ns; /* [10 us] */
	bool is_black_hole;
	uint64_t largest_bytes; /* packets above it, headers included, are lost; 0: none are */
};

enum fabric_fate { FABRIC_DROP, FABRIC_CORRUPT, FABRIC_DUPLICATE, FABRIC_REORDER, FABRIC_FATES };

enum fabric_verb {
	FABRIC_OPEN_DEVICE,
	FABRIC_QUERY_DEVICE,
	FABRIC_QUERY_PORT,
	FABRIC_QUERY_GID,
	FABRIC_ALLOC_PD,
	FABRIC_REG_MR,
	FABRIC_DEREG_MR,
	FABRIC_CREATE_CHANNEL,
	FABRIC_CREATE_CQ,
	FABRIC_DESTROY_CQ,
	FABRIC_CREATE_SRQ,
	FABRIC_CREATE_QP,
	FABRIC_MODIFY_INIT,
	FABRIC_MODIFY_RTR,
	FABRIC_MODIFY_RTS,
	FABRIC_MODIFY_ERR,
	FABRIC_QUERY_QP,
	FABRIC_DESTROY_QP,
	FABRIC_CREATE_AH,
	FABRIC_POST_SEND,
	FABRIC_POST_RECV, /* of a shared queue, too */
	FABRIC_REQ_NOTIFY,
	FABRIC_POLL_CQ, /* of either kind; fails with -error */
	FABRIC_RDMA_CM, /* any call of librdmacm on an identifier that has the device */
	FABRIC_VERBS,
};

/* What a device may have wrong with it, of its own. */
enum fabric_defect {
	FABRIC_FORGETS_KEYS, /* refuses every remote access */
	FABRIC_SHORT_RECEIVES, /* takes every receive for one byte shorter than the message */
	FABRIC_FULL_QUEUES, /* its completion queues overrun at the next completion */
	FABRIC_ROCE_V1, /* all its GIDs say so; nothing is raised */
	FABRIC_DEFECTS,
};

/*
 * What a device does to payload that reaches it whole, behind the verbs' back: everybody is told
 * that all went well. One-sided operations count where their payload comes to: writes at the
 * responder, reads and atomics at the requester.
 */
enum fabric_lie_kind {
	FABRIC_LIE_NONE,
	FABRIC_LIE_CORRUPTS, /* changes its last byte; of atomics the most significant one */
	FABRIC_LIE_DROPS, /* takes it, and puts it nowhere; of a message nobody hears */
	FABRIC_LIE_REPEATS, /* a message comes twice; other payload comes again over the next that
			       has its place */
	FABRIC_LIE_SWAPS, /* a message comes behind the next one; other payload is put where the
			     next belongs, and that here */
};

/* Of payload of 8 bytes and more: others are not counted. RC; of UC and UD only FABRIC_LIE_CORRUPTS
 * (the rest a link does, too). */
struct fabric_lie {
	enum fabric_lie_kind kind;
	uint32_t skip; /* payloads that are left alone first */
	uint32_t every; /* then it is one in so many [1] */
	uint32_t count; /* how often */
};

/* What happens to the next calls of one verb. */
struct fabric_verb_fault {
	int error; /* positive errno it fails with; 0: it succeeds, late */
	uint64_t cost_ns; /* it takes this long; UINT64_MAX: until the fault is cleared (threaded
			     only) */
	uint32_t skip; /* calls that still go well before it begins */
	uint32_t count; /* calls it hits; 0: all from there on */
};

/* What the connection manager of a device does instead of what it should. */
enum fabric_cm_fate {
	FABRIC_CM_REJECTS, /* requests from others, for the reason `status` */
	FABRIC_CM_SILENT, /* answers no request */
	FABRIC_CM_LOSES_ANSWERS, /* to its own requests */
	FABRIC_CM_UNREACHABLE, /* its own requests end so, with `status` */
	FABRIC_CM_NO_ADDRESS, /* its own resolutions end in an error, with `status` */
	FABRIC_CM_NO_ROUTE, /* likewise, of routes */
	FABRIC_CM_NO_DEVICE, /* addresses are resolved, and no device is told */
	FABRIC_CM_OTHER_DEVICE, /* or the one at the other end */
};

struct fabric_cm_fault {
	enum fabric_cm_fate fate;
	int status; /* as an event has it: an errno is negative */
	uint32_t count; /* how often; 0: always */
};

/* Since the device was added. Bytes: Ethernet header to checksum, without preamble, frame checksum
 * and gap. */
struct fabric_counters {
	uint64_t tx_packets;
	uint64_t tx_bytes;
	uint64_t rx_packets; /* all that reached the port in good order */
	uint64_t rx_bytes;
	uint64_t rx_corrupt;
	uint64_t tx_lost; /* sent here, never arrived */
	uint64_t retransmits; /* request packets sent again */
	uint64_t timeouts; /* retransmission timers that ran out */
	uint64_t rnr_naks; /* sent */
	uint64_t sequence_naks; /* sent */
	uint64_t duplicates; /* requests received again */
	uint64_t silent_drops; /* packets for no queue pair, or one that does not take them */
	uint64_t pkey_violations; /* packets of another partition, dropped */
	uint64_t send_sges; /* entries of the lists of all that was posted */
	uint64_t recv_sges;
	uint64_t ways_by_lid; /* address vectors (RTR, address handles) without a GRH */
};

struct fabric *fabric_new(uint64_t seed);
/* No verbs object may be left; the pump must be stopped. Takes NULL. */
void fabric_free(struct fabric *fabric);

/* The fabric of this process from now on; NULL: none (the device list is empty). Borrowed. */
void fabric_use(struct fabric *fabric);
struct fabric *fabric_current(void);
void fabric_set_threaded(struct fabric *fabric, bool is_threaded);

/* The calling thread now sees the devices of `host` (and those without host) only; NULL: all.
 * Borrowed. */
void fabric_enter_host(const char *host);
const char *fabric_host(void);

void fabric_add_device(struct fabric *fabric, const struct fabric_device_config *config);
/*
 * Hot removal: DEVICE_FATAL is raised, then every call but poll (nothing comes any more) and the
 * freeing of lists fails with EIO, opening with ENODEV. As in the kernel, ibv_close_device then
 * ends all objects of the context.
 */
void fabric_remove_device(struct fabric *fabric, const char *name);
/* The same without any event. */
void fabric_lose_device(struct fabric *fabric, const char *name);
/* From now on no device can be listed: `error` (errno) says why; 0 ends that. */
void fabric_set_listing(struct fabric *fabric, int error);
/* Raises PORT_ERR or PORT_ACTIVE on a change. */
void fabric_set_port(struct fabric *fabric, const char *name, bool is_up);
/* Raises a port event of any port number, of a port that is not simulated, too: nothing else
 * changes. */
void fabric_raise_port(struct fabric *fabric, const char *name, enum ibv_event_type type,
		       int port_num);
/* Its shared receive queues fail (IBV_EVENT_SRQ_ERR): what comes finds no receive any more. */
void fabric_fail_srqs(struct fabric *fabric, const char *name);
void fabric_set_defect(struct fabric *fabric, const char *name, enum fabric_defect defect,
		       bool is_on);
/* Replaces an earlier one; NULL: it is honest again. */
void fabric_set_lie(struct fabric *fabric, const char *name, const struct fabric_lie *lie);
/* What it allows from now on, active and maximum; nothing tells of it, as on soft-RoCE. */
void fabric_set_mtu(struct fabric *fabric, const char *name, enum ibv_mtu mtu);
/* Takes effect at once, GID_CHANGE is raised. */
/* Of the port, as after a link that was trained anew; without an event. */
void fabric_set_rate(struct fabric *fabric, const char *name, uint64_t rate_bps);
void fabric_set_address(struct fabric *fabric, const char *name, const char *address);

/* NULL for `from` or `to` stands for every device there is and comes later. New links: 1 us, no
 * faults. */
void fabric_set_link(struct fabric *fabric, const char *from, const char *to,
		     const struct fabric_link *link);
/* Reads what set_link set. */
void fabric_link(struct fabric *fabric, const char *from, const char *to, struct fabric_link *ret);
/* Both directions between the two, all else unchanged. */
void fabric_set_black_hole(struct fabric *fabric, const char *a, const char *b, bool is_on);
/* The next `packets` from -> to get this fate, before any probability is asked. */
void fabric_next_packets(struct fabric *fabric, const char *from, const char *to,
			 enum fabric_fate fate, uint32_t packets);

/* Replaces an earlier fault of that verb on that device. NULL clears it. */
void fabric_set_verb(struct fabric *fabric, const char *device, enum fabric_verb verb,
		     const struct fabric_verb_fault *fault);
/*
 * How a slow verb passes time in stepped mode (a world sets it); without one the cost is only added
 * up (fabric_spent_ns). Called without the fabric's lock.
 */
void fabric_set_pass_time(struct fabric *fabric, void (*pass_time)(void *arg, uint64_t ns),
			  void *arg);
uint64_t fabric_spent_ns(struct fabric *fabric);

/* Replaces an earlier one of that device. NULL: well again. */
void fabric_set_cm(struct fabric *fabric, const char *device, const struct fabric_cm_fault *fault);
/* Of librdmacm as a whole: event channels cannot be had (errno; 0: they can), and listeners hold no
 * more requests than that (0: as many as they ask for). */
void fabric_set_cm_channel(struct fabric *fabric, int error, int backlog);
/* Contexts that librdmacm keeps of devices which are gone: a kernel would wait for them. */
unsigned fabric_stale_contexts(struct fabric *fabric);

/* Runs all events that are due. */
void fabric_run(struct fabric *fabric);
/*
 * Calls touched(arg, host) for each device on which since the last call something happened that a
 * program could notice: a completion, bytes in memory, a readable descriptor. host: the device's,
 * or NULL. True if there was one.
 */
bool fabric_touched(struct fabric *fabric, void (*touched)(void *arg, const char *host), void *arg);
bool fabric_is_touched(struct fabric *fabric);
/* When the earliest pending event is due; UINT64_MAX: nothing will happen by itself. */
uint64_t fabric_next_ns(struct fabric *fabric);
/* Of the fake clock, the only one read here; the same for all nodes whatever their offsets. */
uint64_t fabric_now_ns(void);

/* A thread that runs due events in real time. Threaded mode. */
void fabric_pump_start(struct fabric *fabric);
void fabric_pump_stop(struct fabric *fabric);

void fabric_counters(struct fabric *fabric, const char *name, struct fabric_counters *ret);
/* Live contexts, PDs, MRs, CQs, channels, QPs, AHs, and identifiers and channels of librdmacm. */
unsigned fabric_objects(struct fabric *fabric);
/* One line for each kind with live objects. */
void fabric_print_objects(struct fabric *fabric, FILE *to);
/* Events in the queue and high-water mark of their memory, for tests of growth. */
void fabric_memory(struct fabric *fabric, uint64_t *ret_pending, uint64_t *ret_allocated);
