// SPDX-License-Identifier: MIT
#include "model/workload.h"

const char *const qp_type_names[] = { "RC", "UC", "UD", "XRC", NULL };
const char *const qp_cm_names[] = { "exchange", "rdma_cm", NULL };
const char *const workload_pattern_names[] = { "pingpong", "stream", "request_response", "connect",
					       NULL };
const char *const workload_direction_names[] = { "forward", "reverse", "both", NULL };
const char *const load_model_names[] = { "closed", "open", NULL };
static const char *const arrival_names[] = { "constant", "poisson", NULL };
static const char *const on_full_names[] = { "delay", "drop", NULL };
const char *const memory_kind_names[] = { "host", "hugepage", "dmabuf", NULL };
const char *const verify_method_names[] = { "none", "sequence", "crc32c", NULL };

#define S_NS 1000000000ull
#define DEFAULT_DURATION_NS (10 * S_NS)
#define MIN_DURATION_NS 1000000u /* nothing can be told from less */
#define ITERATIONS_TIMEOUT_NS                                                                   \
	(600 * S_NS) /* how long they take is not known before: ten minutes, unless run.timeout \
			says else */

#define QP(member) .offset = offsetof(struct qp_settings, member)
#define LOAD(member) .offset = offsetof(struct load_settings, member)
#define WORKLOAD(member) .offset = offsetof(struct workload_settings, member)
#define RUN(member) .offset = offsetof(struct run_settings, member)
#define VERIFY(member) .offset = offsetof(struct verify_settings, member)
#define CPU(member) .offset = offsetof(struct cpu_settings, member)
#define MEMORY(member) .offset = offsetof(struct memory_settings, member)
#define SECTION(member) .offset = offsetof(struct workload, member)
#define LATER(name, instead)                                      \
	{                                                         \
		.key = name, .type = SCHEMA_LATER, .doc = instead \
	}
#define RANGE(low, high) .min = (low), .max = (high)

const struct schema_field qp_fields[] = {
	{ .key = "qp_type",
	  .type = SCHEMA_ENUM,
	  QP(qp_type),
	  .names = qp_type_names,
	  .fallback = "RC",
	  .doc = "Transport of the queue pairs (ibv_qp_type). This version measures RC; UC with what takes a receive there (and writes in a "
		 "ping-pong); UD with sends of one packet. UC and UD send nothing again: what the other end received decides." },
	{ .key = "cm",
	  .type = SCHEMA_ENUM,
	  QP(cm),
	  .names = qp_cm_names,
	  .fallback = "exchange",
	  .doc = "How queue pairs are connected; exchange: addresses over the control channel, then ibv_modify_qp; rdma_cm (RC, UD; RoCE): by the "
		 "connection manager, each phase timed; who connects must show a token that travelled over the control channel." },
	{ .key = "device",
	  .type = SCHEMA_STRING,
	  QP(device),
	  .size = LIMIT_NAME,
	  .doc = "Only endpoints on a device of this name; empty: any." },
	{ .key = "port_num",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  QP(port_num),
	  RANGE(1, 255),
	  .fallback = "auto",
	  .doc = "Only endpoints on this port of a device; auto: any." },
	{ .key = "num_qps",
	  .type = SCHEMA_INTEGER,
	  QP(num_qps),
	  RANGE(1, LIMIT_QPS),
	  .fallback = "1",
	  .doc = "Queue pairs between the two endpoints." },
	{ .key = "path_mtu",
	  .json_key = "path_mtu_bytes",
	  .type = SCHEMA_SIZE,
	  .has_auto = true,
	  QP(path_mtu),
	  RANGE(256, 4096),
	  .fallback = "auto",
	  .doc = "Path MTU: 256B, 512B, 1KiB, 2KiB or 4KiB; auto: the smaller active_mtu of both ports." },
	{ .key = "gid_index",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  QP(gid_index),
	  RANGE(0, 255),
	  .fallback = "auto",
	  .doc = "Source GID (sgid_index) on both ends; auto: RoCE v2 and an address that the other end can reach." },
	{ .key = "traffic_class",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  QP(traffic_class),
	  RANGE(0, 255),
	  .fallback = "auto",
	  .doc = "GRH traffic class (DSCP << 2 on RoCE v2); auto: unset, the port's default class (0), with a warning." },
	{ .key = "flow_label",
	  .type = SCHEMA_HEX,
	  QP(flow_label),
	  RANGE(0, 0xfffff),
	  .fallback = "0",
	  .doc = "GRH flow label; on RoCE v2 many devices derive the UDP source port from it (ECMP)." },
	{ .key = "hop_limit",
	  .type = SCHEMA_INTEGER,
	  QP(hop_limit),
	  RANGE(0, 255),
	  .fallback = "64",
	  .doc = "GRH hop limit (IP TTL on RoCE v2)." },
	{ .key = "service_level",
	  .type = SCHEMA_INTEGER,
	  QP(service_level),
	  RANGE(0, 15),
	  .fallback = "0",
	  .doc = "Service level (sl)." },
	{ .key = "pkey",
	  .type = SCHEMA_HEX,
	  .has_auto = true,
	  QP(pkey),
	  RANGE(1, 0xffff),
	  .fallback = "auto",
	  .doc = "Partition, by its P_Key (0x8001, or 0x1): each end takes its port's membership of it, full before "
		 "limited; auto: qp.pkey_index says it." },
	{ .key = "pkey_index",
	  .type = SCHEMA_INTEGER,
	  QP(pkey_index),
	  RANGE(0, 65535),
	  .fallback = "0",
	  .doc = "Index into the port's P_Key table, on both ends." },
	{ .key = "local_ack_timeout",
	  .type = SCHEMA_INTEGER,
	  QP(local_ack_timeout),
	  RANGE(0, 31),
	  .fallback = "14",
	  .doc = "Time without acknowledgement before a retry: 4.096 us * 2^n, 14 = 67 ms; 0 = never." },
	{ .key = "retry_cnt",
	  .type = SCHEMA_INTEGER,
	  QP(retry_cnt),
	  RANGE(0, 7),
	  .fallback = "7",
	  .doc = "Retries without acknowledgement before IBV_WC_RETRY_EXC_ERR." },
	{ .key = "rnr_retry",
	  .type = SCHEMA_INTEGER,
	  QP(rnr_retry),
	  RANGE(0, 7),
	  .fallback = "6",
	  .doc = "Retries after receiver-not-ready; 7 = without end." },
	{ .key = "min_rnr_timer",
	  .type = SCHEMA_INTEGER,
	  QP(min_rnr_timer),
	  RANGE(0, 31),
	  .fallback = "20",
	  .doc = "Code of the wait that a receiver-not-ready asks for: 12 = 0.64 ms, 20 = 10 ms, 0 = 655 ms." },
	{ .key = "max_rd_atomic",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  QP(max_rd_atomic),
	  RANGE(0, 255),
	  .fallback = "auto",
	  .doc = "Outstanding RDMA reads and atomics of a queue pair; auto: what initiator and responder both can." },
	{ .key = "max_inline_data",
	  .json_key = "max_inline_data_bytes",
	  .type = SCHEMA_SIZE,
	  .has_auto = true,
	  QP(max_inline_data),
	  RANGE(0, 4096),
	  .fallback = "auto",
	  .doc = "Bytes that a work request can carry itself; auto: 220 or the largest inlined size, if the device can." },
	{ .key = "max_send_wr",
	  .type = SCHEMA_INTEGER,
	  QP(max_send_wr),
	  RANGE(1, LIMIT_SEND_WR),
	  .fallback = "128",
	  .doc = "Send queue depth of a queue pair." },
	{ .key = "max_recv_wr",
	  .type = SCHEMA_INTEGER,
	  QP(max_recv_wr),
	  RANGE(1, LIMIT_SEND_WR),
	  .fallback = "512",
	  .doc = "Receive queue depth of a queue pair, or of the shared one (srq)." },
	{ .key = "max_send_sge",
	  .type = SCHEMA_INTEGER,
	  QP(max_send_sge),
	  RANGE(1, LIMIT_SGE),
	  .fallback = "1",
	  .doc = "Scatter/gather entries of each send work request, which cut its buffer in so many pieces; atomics have one." },
	{ .key = "max_recv_sge",
	  .type = SCHEMA_INTEGER,
	  QP(max_recv_sge),
	  RANGE(1, LIMIT_SGE),
	  .fallback = "1",
	  .doc = "Scatter/gather entries of each receive, likewise." },
	{ .key = "srq",
	  .type = SCHEMA_BOOL,
	  QP(srq),
	  .fallback = "false",
	  .doc = "All queue pairs of an end take their receives from one shared receive queue of max_recv_wr "
		 "(ibv_create_srq), instead of one each. RC, UD." },
	{ .key = "qkey",
	  .type = SCHEMA_HEX,
	  QP(qkey),
	  RANGE(0, 0x7fffffff),
	  .fallback = "0x11111111",
	  .doc = "Q_Key of UD queue pairs, the same on both ends; above 0x7fffffff are those of the system." },
	LATER("max_dest_rd_atomic", "use max_rd_atomic, which both ends get"),
	{ 0 },
};

static const struct schema_field load_fields[] = {
	{ .key = "model",
	  .type = SCHEMA_ENUM,
	  LOAD(model),
	  .names = load_model_names,
	  .fallback = "closed",
	  .doc = "closed: the next operation is posted when one is complete; open: each at its own time, at a rate." },
	{ .key = "outstanding",
	  .type = SCHEMA_INTEGER,
	  LOAD(outstanding),
	  RANGE(1, (uint64_t)LIMIT_SEND_WR *LIMIT_QPS),
	  .fallback = "1",
	  .doc = "Closed loads: operations in flight over all queue pairs." },
	{ .key = "ops_rate",
	  .type = SCHEMA_OPS_RATE,
	  .is_optional = true,
	  LOAD(ops_rate),
	  RANGE(1, 100000000),
	  .doc = "Open loads: operations a second over all queue pairs." },
	{ .key = "rate",
	  .json_key = "rate_bps",
	  .type = SCHEMA_RATE,
	  .is_optional = true,
	  LOAD(rate_bps),
	  RANGE(1, 100000000000000ull),
	  .doc = "Open loads, instead of ops_rate: payload over all queue pairs." },
	{ .key = "arrival",
	  .type = SCHEMA_ENUM,
	  LOAD(arrival),
	  .names = arrival_names,
	  .fallback = "constant",
	  .doc = "Open loads: gaps between operations; constant, or poisson: independent of each other, as of many users." },
	{ .key = "max_outstanding",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  LOAD(max_outstanding),
	  RANGE(1, (uint64_t)LIMIT_SEND_WR *LIMIT_QPS),
	  .fallback = "auto",
	  .doc = "Open loads: operations in flight at most; auto: what the queues of each queue pair hold." },
	{ .key = "on_full",
	  .type = SCHEMA_ENUM,
	  LOAD(on_full),
	  .names = on_full_names,
	  .fallback = "delay",
	  .doc = "Open loads, with max_outstanding in flight: delay the operation (it is late, its latency counts from its own time), or drop it." },
	{ 0 },
};

static const struct schema_field verify_fields[] = {
	{ .key = "method",
	  .type = SCHEMA_ENUM,
	  VERIFY(method),
	  .names = verify_method_names,
	  .fallback = "none",
	  .doc = "none; sequence: payload is counted through from its number, and each byte compared; crc32c: random payload and its checksum. Both number "
		 "what is sent, so that loss, repetition and disorder are counted, too." },
	{ .key = "sample",
	  .type = SCHEMA_INTEGER,
	  VERIFY(sample),
	  RANGE(1, 1000000),
	  .fallback = "1",
	  .doc = "Every n-th payload of a queue pair is compared whole, of the others the head; 1: all. Atomics: always all." },
	{ 0 },
};

const struct schema_field workload_fields[] = {
	{ .key = "pattern",
	  .type = SCHEMA_ENUM,
	  .is_required = true,
	  .example = "pattern: pingpong",
	  WORKLOAD(pattern),
	  .names = workload_pattern_names,
	  .doc = "pingpong: one operation at a time, answered by the same, latency is half of the round trip; stream: as many as load.outstanding; request_response: one at a time, answered by ops[].response, latency is the round trip; connect: qp.num_qps connections at a time are set up and taken down, again and again, latency is that of the set-up." },
	{ .key = "direction",
	  .type = SCHEMA_ENUM,
	  WORKLOAD(direction),
	  .names = workload_direction_names,
	  .fallback = "forward",
	  .doc = "Who requests; forward: peers.from; reverse: peers.to, in a run that peers.from begins all the same; both: a stream each way at the same time." },
	{ .key = "ops",
	  .type = SCHEMA_LIST,
	  WORKLOAD(ops),
	  .fields = operation_fields,
	  .item_size = sizeof(struct operation),
	  .count_offset = offsetof(struct workload_settings, op_count),
	  .max_items = LIMIT_OPS,
	  .doc = "Operations and their shares; required, but of pattern connect, which has none." },
	{ .key = "load",
	  .type = SCHEMA_MAP,
	  WORKLOAD(load),
	  .fields = load_fields,
	  .doc = "How much is in flight." },
	{ .key = "signal_interval",
	  .type = SCHEMA_INTEGER,
	  WORKLOAD(signal_interval),
	  RANGE(1, LIMIT_SEND_WR),
	  .fallback = "1",
	  .doc = "Every n-th work request of a queue pair is signalled (perftest: cq_mod)." },
	{ .key = "post_list",
	  .type = SCHEMA_INTEGER,
	  WORKLOAD(post_list),
	  RANGE(1, LIMIT_SEND_WR),
	  .fallback = "1",
	  .doc = "Work requests per ibv_post_send." },
	{ .key = "recv_post_list",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  WORKLOAD(recv_post_list),
	  RANGE(1, LIMIT_SEND_WR),
	  .fallback = "auto",
	  .doc = "Receives per ibv_post_recv, once so many were used; auto: 16, a quarter of qp.max_recv_wr at most." },
	{ .key = "seed",
	  .type = SCHEMA_INTEGER,
	  WORKLOAD(seed),
	  RANGE(0, INT64_MAX),
	  .fallback = "0",
	  .doc = "Of the order of operations; 0: from the run's id. The result names the one used." },
	{ .key = "verify",
	  .type = SCHEMA_MAP,
	  WORKLOAD(verify),
	  .fields = verify_fields,
	  .doc = "Streams, one way: whether what arrives is compared with what was sent." },
	LATER("response_timeout", "use run.stall_timeout"),
	{ 0 },
};

const struct schema_field run_fields[] = {
	{ .key = "warmup",
	  .json_key = "warmup_ns",
	  .type = SCHEMA_DURATION,
	  RUN(warmup_ns),
	  RANGE(0, 3600 * S_NS),
	  .fallback = "1s",
	  .doc = "Traffic before the measured window." },
	{ .key = "duration",
	  .json_key = "duration_ns",
	  .type = SCHEMA_DURATION,
	  .is_optional = true,
	  RUN(duration_ns),
	  RANGE(MIN_DURATION_NS, LIMIT_RUN_DURATION_NS),
	  .doc = "The measured window; 10s when neither it nor iterations is given." },
	{ .key = "iterations",
	  .type = SCHEMA_INTEGER,
	  .is_optional = true,
	  RUN(iterations),
	  RANGE(1, 1000000000000ull),
	  .doc = "Instead of duration: operations after the warm-up, over all queue pairs." },
	{ .key = "interval",
	  .json_key = "interval_ns",
	  .type = SCHEMA_DURATION,
	  RUN(interval_ns),
	  RANGE(10000000, 3600 * S_NS),
	  .fallback = "1s",
	  .doc = "Length of one entry of the time series." },
	{ .key = "stall_timeout",
	  .json_key = "stall_timeout_ns",
	  .type = SCHEMA_DURATION,
	  RUN(stall_timeout_ns),
	  RANGE(10000000, 3600 * S_NS),
	  .fallback = "3s",
	  .doc = "No completion for so long while work is outstanding ends the traffic as stalled." },
	{ .key = "timeout",
	  .json_key = "timeout_ns",
	  .type = SCHEMA_DURATION,
	  .has_auto = true,
	  RUN(timeout_ns),
	  RANGE(S_NS, 2 * LIMIT_RUN_DURATION_NS),
	  .fallback = "auto",
	  .doc = "Of the traffic, from its start; auto: twice warm-up and duration, and 30 s; with iterations, warm-up and 10 min." },
	LATER("bytes", "use duration or iterations"),
	{ .key = "repeat",
	  .type = SCHEMA_INTEGER,
	  RUN(repeat),
	  RANGE(1, LIMIT_REPEATED),
	  .fallback = "1",
	  .doc = "Times that each pair is measured, one after the other, each with new queue pairs; the result has mean and confidence interval." },
	LATER("steady_state", "use a longer warmup"),
	LATER("on_error", "leave it out: the first error ends a measurement"),
	LATER("report_every", "use schedule.every"),
	LATER("abort_on_fail", "leave it out: a measurement is judged at its end"),
	{ 0 },
};

const struct schema_field cpu_fields[] = {
	{ .key = "affinity",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  CPU(affinity),
	  RANGE(0, 4095),
	  .fallback = "auto",
	  .doc = "CPU of the measuring thread on both ends; auto: any of the device's NUMA node that is not isolated." },
	LATER("threads", "leave it out: one thread measures"),
	{ 0 },
};

const struct schema_field memory_fields[] = {
	{ .key = "kind",
	  .type = SCHEMA_ENUM,
	  MEMORY(kind),
	  .names = memory_kind_names,
	  .fallback = "host",
	  .doc = "Where the buffers are; hugepage: in huge pages of both hosts (vm.nr_hugepages)." },
	{ .key = "hugepage_size",
	  .json_key = "hugepage_bytes",
	  .type = SCHEMA_SIZE,
	  MEMORY(hugepage_bytes),
	  RANGE(64 << 10, 16ull << 30),
	  .fallback = "2MiB",
	  .doc = "With kind: hugepage, the size of a page, such as 2MiB or 1GiB: one of /sys/kernel/mm/hugepages." },
	{ .key = "numa",
	  .json_key = "numa_node",
	  .type = SCHEMA_INTEGER,
	  .has_auto = true,
	  MEMORY(numa_node),
	  RANGE(0, 1023),
	  .fallback = "auto",
	  .doc = "NUMA node of the buffers on both ends; auto: that of the CPU which registers them." },
	{ .key = "relaxed_ordering",
	  .type = SCHEMA_BOOL,
	  MEMORY(relaxed_ordering),
	  .fallback = "false",
	  .doc = "The device may place data in any order (IBV_ACCESS_RELAXED_ORDERING); one that cannot ignores it." },
	{ .key = "odp",
	  .type = SCHEMA_BOOL,
	  MEMORY(odp),
	  .fallback = "false",
	  .doc = "On-demand paging (IBV_ACCESS_ON_DEMAND): the buffers are not pinned; refused by a device without it." },
	{ .key = "buffers",
	  .type = SCHEMA_INTEGER,
	  MEMORY(buffers),
	  RANGE(1, LIMIT_RING_WRS),
	  .fallback = "1",
	  .doc = "Of streams: buffers that a queue pair has in each direction, each of the largest size, and takes in "
		 "turn; 1: always the same one, which the cache holds if it can." },
	{ 0 },
};

const struct schema_field workload_section_fields[] = {
	{ .key = "qp",
	  .type = SCHEMA_MAP,
	  SECTION(qp),
	  .fields = qp_fields,
	  .doc = "Queue pairs and their path." },
	{ .key = "cq",
	  .type = SCHEMA_MAP,
	  SECTION(cq),
	  .fields = cq_fields,
	  .doc = "The completion queue." },
	{ .key = "workload",
	  .type = SCHEMA_MAP,
	  .is_required = true,
	  .example = "workload: { pattern: pingpong, ops: [{ op: write, size: 64B }] }",
	  SECTION(workload),
	  .fields = workload_fields,
	  .doc = "What is done." },
	{ .key = "run",
	  .type = SCHEMA_MAP,
	  SECTION(run),
	  .fields = run_fields,
	  .doc = "How long it runs." },
	{ .key = "cpu",
	  .type = SCHEMA_MAP,
	  SECTION(cpu),
	  .fields = cpu_fields,
	  .doc = "Where the tester runs." },
	{ .key = "memory",
	  .type = SCHEMA_MAP,
	  SECTION(memory),
	  .fields = memory_fields,
	  .doc = "The buffers." },
	{ 0 },
};

/* What a queue pair may have in flight at most, by all that limits it. */
static uint64_t most_each(const struct workload *workload)
{
	const struct qp_settings *qp = &workload->qp;
	uint64_t each = qp->max_send_wr;

	each = each < LIMIT_RING_WRS / qp->num_qps ? each : LIMIT_RING_WRS / qp->num_qps;
	if (workload_takes_receives(workload)) {
		uint64_t receives = qp->max_recv_wr / (qp->srq ? qp->num_qps : 1);

		each = receives < each ? receives : each;
	}
	return each > 0 ? each : 1;
}

bool workload_is_verified(const struct workload *workload)
{
	return workload->workload.verify.method != VERIFY_NONE;
}

bool workload_takes_receives(const struct workload *workload)
{
	return operation_any(workload->workload.ops, workload->workload.op_count,
			     OPERATION_TAKES_RECEIVE |
				     (workload_is_verified(workload) ? OPERATION_PLACES : 0));
}

bool workload_is_connecting(const struct workload *workload)
{
	return workload->workload.pattern == PATTERN_CONNECT;
}

bool workload_is_answered(const struct workload *workload)
{
	return workload->workload.pattern == PATTERN_PINGPONG ||
	       workload->workload.pattern == PATTERN_REQUEST_RESPONSE;
}

bool workload_is_seen_by_receive(const struct workload *workload, uint64_t size_bytes,
				 uint64_t response_bytes)
{
	uint64_t larger_bytes = size_bytes > response_bytes ? size_bytes : response_bytes;

	return workload_is_answered(workload) && larger_bytes > workload->qp.path_mtu;
}

bool workload_has_writes_with_immediate(const struct workload *workload)
{
	const struct workload_settings *settings = &workload->workload;

	for (size_t i = 0; i < settings->op_count && i < LIMIT_OPS; i++) {
		const struct operation *op = &settings->ops[i];

		if (op->kind == OPERATION_WRITE &&
		    workload_is_seen_by_receive(workload, operation_largest_bytes(op, 1), 0)) {
			return true;
		}
	}
	return false;
}

bool workload_is_lossy(const struct workload *workload)
{
	return workload->qp.qp_type == QP_TYPE_UC || workload->qp.qp_type == QP_TYPE_UD;
}

void workload_complete(struct workload *workload)
{
	struct load_settings *load = &workload->workload.load;

	if (workload->run.duration_ns == 0 && workload->run.iterations == 0) {
		workload->run.duration_ns = DEFAULT_DURATION_NS;
	}
	if (workload_is_connecting(workload) && load->outstanding == 1) {
		load->outstanding = workload->qp.num_qps;
	}
	if (load->model == LOAD_OPEN && load->max_outstanding == SCHEMA_AUTO) {
		load->max_outstanding = most_each(workload) * workload->qp.num_qps;
	}
	/* Who wrote another one than the default is told by workload_check. */
	if (load->model == LOAD_OPEN && workload->workload.pattern == PATTERN_STREAM &&
	    load->outstanding == 1) {
		load->outstanding = load->max_outstanding;
	}
}

uint64_t workload_expected_ns(const struct workload *workload)
{
	uint64_t expected_ns;

	if (workload->run.iterations ||
	    __builtin_add_overflow(workload->run.warmup_ns, workload->run.duration_ns,
				   &expected_ns)) {
		return UINT64_MAX;
	}
	return expected_ns;
}

uint64_t workload_timeout_ns(const struct workload *workload)
{
	uint64_t expected_ns = workload_expected_ns(workload);

	if (workload->run.timeout_ns != SCHEMA_AUTO) {
		return workload->run.timeout_ns;
	}
	if (workload->run.iterations) {
		return workload->run.warmup_ns + ITERATIONS_TIMEOUT_NS;
	}
	if (expected_ns > LIMIT_RUN_DURATION_NS) {
		return LIMIT_RUN_DURATION_NS;
	}
	return 2 * expected_ns + 30 * S_NS;
}
