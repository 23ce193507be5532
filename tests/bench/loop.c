// SPDX-License-Identifier: MIT
/*
 * The measuring worker of the product alone, on one device connected to itself: what its loop costs, without daemons, sessions and
 * scenarios around it. Made for the null device (nullverbs.h), where nothing but the loop takes time.
 *
 *   loop [-d DEVICE] [-g GID_INDEX] [-n ITERATIONS] [-l POST_LIST] [-Q SIGNAL_INTERVAL] [-q QUEUE_PAIRS] [-t OUTSTANDING] [-s SIZE] [-m]
 *
 * -m: 70/20/10 writes, reads and sends (null device only: nobody posts receives). Prints one line, and the latency samples taken.
 */
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/worker.h"
#include "util/clock.h"
#include "util/text.h"
#include "verbs/device.h"

#define WAIT_NS 300000000000ull

static void die(const struct error *err)
{
	fprintf(stderr, "loop: %s\n", err->text);
	exit(1);
}

static uint64_t number(const char *argument)
{
	char *end;
	uint64_t value = strtoull(argument, &end, 10);

	if (*end != '\0' || end == argument) {
		fprintf(stderr, "loop: \"%s\" is no number\n", argument);
		exit(2);
	}
	return value;
}

static void add_operation(struct workload_settings *workload, int kind, uint64_t weight,
			  uint64_t size_bytes)
{
	workload->ops[workload->op_count++] =
		(struct operation){ .kind = kind,
				    .weight = weight,
				    .size_count = 1,
				    .sizes = { { .size_bytes = size_bytes, .weight = 1 } } };
}

static void fill_assignment(struct assignment *assignment)
{
	*assignment = (struct assignment){
		.role = ROLE_INITIATOR,
		.initiator = { .node = "bench", .device = "null0", .port_num = 1 },
		.seed = 1,
		.workload = {
			.qp = { .num_qps = 1,
				.port_num = 1,
				.path_mtu = 4096,
				.traffic_class = 0,
				.hop_limit = 64,
				.local_ack_timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 6,
				.min_rnr_timer = 20,
				.max_rd_atomic = 16,
				.max_inline_data = 0,
				.max_send_wr = 128,
				.max_recv_wr = 512 },
			.cq = { .size = SCHEMA_AUTO },
			.workload = { .pattern = PATTERN_STREAM,
				      .load = { .outstanding = 128 },
				      .signal_interval = 100,
				      .post_list = 1 },
			.run = { .iterations = 1000000,
				 .interval_ns = 1000000000,
				 .stall_timeout_ns = 3000000000,
				 .timeout_ns = WAIT_NS },
			.cpu = { .affinity = SCHEMA_AUTO },
		},
	};
}

static void parse(int argc, char **argv, struct assignment *assignment)
{
	struct workload *workload = &assignment->workload;
	uint64_t size_bytes = 64;
	uint64_t outstanding = 128;
	bool is_mixed = false;
	int option;

	fill_assignment(assignment);
	while ((option = getopt(argc, argv, "d:g:n:l:Q:q:t:s:m")) != -1) {
		switch (option) {
		case 'd':
			text_copy(assignment->initiator.device,
				  sizeof(assignment->initiator.device), optarg);
			break;
		case 'g':
			assignment->initiator.gid_index = number(optarg);
			break;
		case 'n':
			workload->run.iterations = number(optarg);
			break;
		case 'l':
			workload->workload.post_list = number(optarg);
			break;
		case 'Q':
			workload->workload.signal_interval = number(optarg);
			break;
		case 'q':
			workload->qp.num_qps = number(optarg);
			break;
		case 't':
			outstanding = number(optarg);
			break;
		case 's':
			size_bytes = number(optarg);
			break;
		case 'm':
			is_mixed = true;
			break;
		default:
			exit(2);
		}
	}
	add_operation(&workload->workload, OPERATION_WRITE, is_mixed ? 70 : 1, size_bytes);
	if (is_mixed) {
		add_operation(&workload->workload, OPERATION_READ, 20, size_bytes);
		add_operation(&workload->workload, OPERATION_SEND, 10, size_bytes);
	}
	workload->qp.max_send_wr = outstanding;
	workload->workload.load.outstanding = outstanding * workload->qp.num_qps;
	assignment->responder = assignment->initiator;
}

/* Reads reports until the last one. */
static void wait_finished(struct mailbox *reports, struct worker *worker, struct totals *ret)
{
	struct pollfd wait = { .fd = reports->fd, .events = POLLIN };
	bool is_over = false;

	while (!is_over && poll(&wait, 1, WAIT_NS / 1000000) > 0) {
		struct message *message;

		while ((message = mailbox_get(reports))) {
			struct worker_report *report = (struct worker_report *)message;

			if (report->kind == WORKER_FINISHED) {
				*ret = report->totals;
				is_over = true;
			}
			worker_report_free(worker, report);
		}
	}
	if (!is_over) {
		fprintf(stderr, "loop: not finished in time\n");
		exit(1);
	}
}

static void print_totals(const struct totals *totals)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < totals->class_count; i++) {
		samples += totals->classes[i].latency.count;
	}
	if (error_is_set(&totals->failure.error)) {
		die(&totals->failure.error);
	}
	printf("operations %" PRIu64 " window_ns %" PRIu64 " ns_per_operation %.3f samples %" PRIu64
	       " polls %" PRIu64 " empty %" PRIu64 "\n",
	       totals->operations, totals->window_ns,
	       (double)totals->window_ns / (double)totals->operations, samples, totals->polls,
	       totals->empty_polls);
}

int main(int argc, char **argv)
{
	static struct assignment assignment;
	static struct endpoint_info self;
	struct steps steps = { 0 };
	struct error err = ERROR_INIT;
	struct device *device;
	struct resources *resources;
	struct traffic *traffic;
	struct worker *worker;
	struct mailbox reports;
	struct totals totals;

	parse(argc, argv, &assignment);
	clock_init();
	mailbox_init_fd(&reports);
	if (device_open(&device, assignment.initiator.device, &err) < 0 ||
	    resources_new(&resources, device, &assignment, &steps, &err) < 0) {
		die(&err);
	}
	resources_info(resources, &assignment, &self);
	if (resources_connect(resources, &assignment, &self, &steps, &err) < 0 ||
	    traffic_new(&traffic, resources, &assignment, &self, &err) < 0 ||
	    worker_new(&worker, "loop", -1, &reports, NULL, &err) < 0) {
		die(&err);
	}
	worker_start(worker, traffic);
	wait_finished(&reports, worker, &totals);
	print_totals(&totals);
	sample_totals_done(&totals);
	if (worker_free(worker, clock_mono_ns() + WAIT_NS) < 0) {
		return 1;
	}
	mailbox_done(&reports);
	traffic_free(traffic);
	resources_free(resources, NULL);
	device_close(device);
	return 0;
}
