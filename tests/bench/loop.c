// SPDX-License-Identifier: MIT
/*
 * The traffic of the product alone: what its loops cost and how fast they are, without daemons,
 * sessions and scenarios around them. On one device, connected to itself and with an initiator only
 * (made for the null device, nullverbs.h, where nothing but the loop takes time), or with -D
 * between two devices of this host, a worker for each end.
 *
 *   loop [-d DEVICE] [-D OTHER_DEVICE] [-g GID_INDEX] [-n ITERATIONS] [-o write|send|read|mix] [-P]
 * [-l POST_LIST]
 *        [-Q SIGNAL_INTERVAL] [-q QUEUE_PAIRS] [-t OUTSTANDING] [-s SIZE] [-m MTU] [-e] [-r RATE]
 *
 * -P: pingpong. -e: completion events, each signalled. -r: an open load of so many operations/s. -o
 * mix: 70/20/10 writes, reads and sends. Prints one line for the initiator.
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
#define PPM_P50 500000

struct end {
	struct assignment assignment;
	struct endpoint_info info;
	struct device *device;
	struct resources *resources;
	struct traffic *traffic;
	struct worker *worker;
	bool has_worker;
	bool is_over;
	struct totals totals;
};

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

static void add_operations(struct workload_settings *workload, const char *name,
			   uint64_t size_bytes)
{
	if (strcmp(name, "mix") == 0) {
		add_operation(workload, OPERATION_WRITE, 70, size_bytes);
		add_operation(workload, OPERATION_READ, 20, size_bytes);
		add_operation(workload, OPERATION_SEND, 10, size_bytes);
		return;
	}
	for (int kind = 0; kind < OPERATION_KINDS; kind++) {
		if (strcmp(name, operation_names[kind]) == 0) {
			add_operation(workload, kind, 1, size_bytes);
			return;
		}
	}
	fprintf(stderr, "loop: -o %s is none of write, send, read, mix\n", name);
	exit(2);
}

static void fill_defaults(struct assignment *assignment)
{
	struct workload *workload = &assignment->workload;

	*assignment = (struct assignment){
		.role = ROLE_INITIATOR,
		.initiator = { .node = "bench", .device = "null0", .port_num = 1 },
		.responder = { .node = "bench", .port_num = 1 },
		.seed = 1
	};
	schema_defaults(workload_section_fields, workload);
	workload->qp.num_qps = 1;
	workload->qp.path_mtu = 4096;
	workload->qp.max_rd_atomic = 16;
	workload->workload.pattern = PATTERN_STREAM;
	workload->workload.signal_interval = 100;
	workload->workload.post_list = 1;
	workload->run = (struct run_settings){ .iterations = 1000000,
					       .interval_ns = 1000000000,
					       .stall_timeout_ns = 3000000000,
					       .timeout_ns = WAIT_NS };
}

struct options {
	const char *operation;
	uint64_t size_bytes;
	uint64_t outstanding; /* of one queue pair */
};

static void set_option(int option, const char *argument, struct assignment *assignment,
		       struct options *options)
{
	struct workload *workload = &assignment->workload;

	switch (option) {
	case 'd':
		text_copy(assignment->initiator.device, LIMIT_NAME, argument);
		break;
	case 'D':
		text_copy(assignment->responder.device, LIMIT_NAME, argument);
		break;
	case 'g':
		assignment->initiator.gid_index = number(argument);
		assignment->responder.gid_index = assignment->initiator.gid_index;
		break;
	case 'n':
		workload->run.iterations = number(argument);
		break;
	case 'o':
		options->operation = argument;
		break;
	case 'P':
		workload->workload.pattern = PATTERN_PINGPONG;
		workload->workload.signal_interval = 1;
		options->outstanding = 1;
		break;
	case 'l':
		workload->workload.post_list = number(argument);
		break;
	case 'Q':
		workload->workload.signal_interval = number(argument);
		break;
	case 'q':
		workload->qp.num_qps = number(argument);
		break;
	case 't':
		options->outstanding = number(argument);
		break;
	case 's':
		options->size_bytes = number(argument);
		break;
	case 'm':
		workload->qp.path_mtu = number(argument);
		break;
	case 'e':
		workload->cq.mode = CQ_MODE_EVENT;
		workload->workload.signal_interval = 1;
		break;
	case 'r':
		workload->workload.load.model = LOAD_OPEN;
		workload->workload.load.ops_rate = number(argument);
		break;
	default:
		exit(2);
	}
}

/* False when there is one end only. */
static bool parse(int argc, char **argv, struct assignment *assignment)
{
	struct options options = { .operation = "write", .size_bytes = 64, .outstanding = 128 };
	struct workload *workload = &assignment->workload;
	bool is_pair;
	int option;

	fill_defaults(assignment);
	while ((option = getopt(argc, argv, "d:D:g:n:o:Pl:Q:q:t:s:m:er:")) != -1) {
		set_option(option, optarg, assignment, &options);
	}
	add_operations(&workload->workload, options.operation, options.size_bytes);
	workload->qp.max_send_wr = options.outstanding < 16 ? 16 : options.outstanding;
	workload->workload.load.outstanding = options.outstanding * workload->qp.num_qps;
	workload->workload.load.max_outstanding = workload->workload.load.outstanding;
	is_pair = assignment->responder.device[0] != '\0';
	if (!is_pair) {
		assignment->responder = assignment->initiator;
	}
	return is_pair;
}

static void prepare(struct end *end)
{
	struct steps steps = { 0 };
	struct error err = ERROR_INIT;

	if (device_open(&end->device, assignment_local(&end->assignment)->device, &err) < 0 ||
	    resources_new(&end->resources, end->device, &end->assignment, &steps, &err) < 0) {
		die(&err);
	}
	resources_info(end->resources, &end->assignment, &end->info);
}

static void connect_to(struct end *end, const struct end *other, struct mailbox *reports)
{
	struct steps steps = { 0 };
	struct error err = ERROR_INIT;

	if (resources_connect(end->resources, &end->assignment, &other->info, &steps, &err) < 0 ||
	    traffic_new(&end->traffic, end->resources, &end->assignment, &other->info, &err) < 0) {
		die(&err);
	}
	end->has_worker = !traffic_is_passive(end->traffic);
	end->is_over = !end->has_worker;
	if (end->has_worker &&
	    worker_new(&end->worker, "loop", NULL, traffic_may_sleep(end->traffic), reports, end,
		       &err) < 0) {
		die(&err);
	}
}

/* Reads reports until the end's last one. */
static void wait_finished(struct mailbox *reports, const struct end *end)
{
	struct pollfd wait = { .fd = reports->fd, .events = POLLIN };

	while (!end->is_over && poll(&wait, 1, WAIT_NS / 1000000) > 0) {
		struct message *message;

		while ((message = mailbox_get(reports))) {
			struct worker_report *report = (struct worker_report *)message;
			struct end *owner = report->owner;

			if (report->kind == WORKER_FINISHED) {
				owner->totals = report->totals;
				owner->is_over = true;
			}
			worker_report_free(owner->worker, report);
		}
	}
	if (!end->is_over) {
		fprintf(stderr, "loop: not finished in time\n");
		exit(1);
	}
}

static void print_totals(const struct totals *totals)
{
	struct histogram all;

	histogram_reset(&all);
	for (size_t i = 0; i < totals->class_count; i++) {
		histogram_merge(&all, &totals->classes[i].latency);
	}
	if (error_is_set(&totals->failure.error)) {
		die(&totals->failure.error);
	}
	printf("operations %" PRIu64 " window_ns %" PRIu64
	       " ns_per_operation %.3f MiB_per_s %.2f p50_ns %" PRIu64 " p99_ns %" PRIu64
	       " max_ns %" PRIu64 " samples %" PRIu64 " polls %" PRIu64 " empty %" PRIu64
	       " cpu_ns_per_operation %.0f\n",
	       totals->operations, totals->window_ns,
	       (double)totals->window_ns / (double)totals->operations,
	       (double)totals->bytes * 1e9 / (double)totals->window_ns / 1048576,
	       histogram_percentile_ns(&all, PPM_P50), histogram_percentile_ns(&all, 990000),
	       all.max_ns, all.count, totals->polls, totals->empty_polls,
	       (double)totals->worker_cpu_ns / (double)totals->operations);
}

static void end_done(struct end *end)
{
	if (end->has_worker) {
		sample_totals_done(&end->totals);
		if (worker_free(end->worker, clock_mono_ns() + WAIT_NS) < 0) {
			exit(1);
		}
	}
	traffic_free(end->traffic);
	resources_free(end->resources, NULL);
	device_close(end->device);
}

int main(int argc, char **argv)
{
	static struct end ends[2]; /* initiator, responder */
	struct mailbox reports;
	int count;

	count = parse(argc, argv, &ends[0].assignment) ? 2 : 1;
	ends[1].assignment = ends[0].assignment;
	ends[1].assignment.role = ROLE_RESPONDER;
	clock_init();
	if (mailbox_init_fd(&reports, NULL) < 0) {
		perror("eventfd");
		return EXIT_FAILURE;
	}
	for (int i = 0; i < count; i++) {
		prepare(&ends[i]);
	}
	for (int i = 0; i < count; i++) {
		connect_to(&ends[i], &ends[count - 1 - i], &reports);
	}
	for (int i = count - 1; i >= 0; i--) {
		if (ends[i].has_worker) {
			worker_start(ends[i].worker, ends[i].traffic);
		}
	}
	wait_finished(&reports, &ends[0]);
	if (count == 2 && ends[1].has_worker) {
		worker_stop(ends[1].worker);
		wait_finished(&reports, &ends[1]);
	}
	print_totals(&ends[0].totals);
	for (int i = 0; i < count; i++) {
		end_done(&ends[i]);
	}
	mailbox_done(&reports);
	return 0;
}
