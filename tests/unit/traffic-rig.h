// SPDX-License-Identifier: MIT
#pragma once

/*
 * Both ends of one job's traffic on the fake NIC under virtual time, without daemons: devices
 * "left" (initiator) and "right". A test changes rig->assignment before rig_open. Initiator is end
 * 0, responder end 1.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assignments.h"
#include "engine/traffic.h"
#include "fake/fabric.h"
#include "fake/fake-clock.h"
#include "util/clock.h"
#include "util/units.h"
#include "verbs/device.h"

#define RIG_START_NS 1000000000ull
#define RIG_STEPS_MOST 4000000

struct rig {
	struct fabric *fabric;
	struct assignment *assignment; /* of the initiator; the responder's is a copy */
	struct assignment *other;
	struct device *devices[2];
	struct resources *resources[2];
	struct endpoint_info *infos[2];
	struct traffic *traffic[2];
	bool is_over[2];
	bool has_started[2];
	bool has_totals[2];
	bool has_ended[2]; /* direction: both: its own stream is over */
	struct totals totals[2];
	uint64_t progress_count;
	struct progress progress; /* the initiator's last one */
};

static inline void rig_set_op(struct rig *rig, size_t index, int kind, uint64_t weight,
			      uint64_t size_bytes)
{
	struct workload_settings *workload = &rig->assignment->workload.workload;

	workload->ops[index] = (struct operation){
		.kind = kind,
		.weight = weight,
		.size_count = 1,
		.sizes = { { .size_bytes = size_bytes, .weight = 1 } },
	};
	if (workload->op_count <= index) {
		workload->op_count = index + 1;
	}
}

/* One operation of one size; everything else as assignments_new has it. */
static inline void rig_init(struct rig *rig, int pattern, int kind, uint64_t size_bytes)
{
	struct fabric_device_config left = { .name = "left", .address = "10.0.0.1" };
	struct fabric_device_config right = { .name = "right", .address = "10.0.0.2" };

	*rig = (struct rig){ 0 };
	fake_clock_start(RIG_START_NS);
	rig->fabric = fabric_new(1);
	fabric_use(rig->fabric);
	fabric_add_device(rig->fabric, &left);
	fabric_add_device(rig->fabric, &right);
	rig->assignment = assignments_new(ROLE_INITIATOR, pattern, kind, size_bytes);
	if (pattern == PATTERN_STREAM) {
		rig->assignment->workload.workload.load.outstanding = 64;
		rig->assignment->workload.qp.max_recv_wr = 64;
	}
}

static inline void rig_need(int ret, const struct error *err)
{
	if (ret < 0) {
		print_error("%s\n", err->text);
	}
	assert_int_equal(ret, 0);
}

/* Everything up to connected queue pairs. */
static inline void rig_connect(struct rig *rig)
{
	const char *const names[2] = { "left", "right" };
	struct steps steps = { 0 };
	struct error err = ERROR_INIT;

	rig->other = malloc(sizeof(*rig->other));
	memcpy(rig->other, rig->assignment, sizeof(*rig->other));
	rig->other->role = ROLE_RESPONDER;
	for (int i = 0; i < 2; i++) {
		const struct assignment *assignment = i == 0 ? rig->assignment : rig->other;

		rig->infos[i] = calloc(1, sizeof(*rig->infos[i]));
		rig_need(device_open(&rig->devices[i], names[i], &err), &err);
		rig_need(resources_new(&rig->resources[i], rig->devices[i], assignment, &steps,
				       &err),
			 &err);
		resources_info(rig->resources[i], assignment, rig->infos[i]);
	}
	for (int i = 0; i < 2; i++) {
		rig_need(resources_connect(rig->resources[i], i == 0 ? rig->assignment : rig->other,
					   rig->infos[!i], &steps, &err),
			 &err);
	}
}

static inline int rig_try_traffic(struct rig *rig, int end, struct error *err)
{
	return traffic_new(&rig->traffic[end], rig->resources[end],
			   end == 0 ? rig->assignment : rig->other, rig->infos[!end], err);
}

static inline void rig_open(struct rig *rig)
{
	struct error err = ERROR_INIT;

	rig_connect(rig);
	for (int i = 0; i < 2; i++) {
		rig_need(rig_try_traffic(rig, i, &err), &err);
	}
}

static inline void rig_start(struct rig *rig, int end)
{
	if (!traffic_is_passive(rig->traffic[end])) {
		traffic_start(rig->traffic[end]);
		rig->has_started[end] = true;
	}
}

static inline bool rig_is_running(const struct rig *rig, int end)
{
	return rig->has_started[end] && !rig->is_over[end];
}

/* Steps both ends; when neither finds anything, time goes on to the next event. False when none is
 * left. */
static inline bool rig_step(struct rig *rig)
{
	uint64_t next_ns;
	bool has_found = false;

	/* Who only looks at memory polls nothing. */
	fabric_run(rig->fabric);
	for (int i = 0; i < 2; i++) {
		struct progress progress;
		bool found = false;

		if (rig_is_running(rig, i)) {
			rig->is_over[i] = !traffic_step(rig->traffic[i], &found);
			if (traffic_progress(rig->traffic[i], &progress)) {
				rig->has_ended[i] |= progress.phase == PHASE_DRAINING;
				rig->progress_count += i == 0;
				rig->progress = i == 0 ? progress : rig->progress;
			}
			has_found |= found || rig->is_over[i];
		}
	}
	if (has_found) {
		return true;
	}
	next_ns = fabric_next_ns(rig->fabric);
	for (int i = 0; i < 2; i++) {
		if (rig_is_running(rig, i)) {
			uint64_t own_ns = traffic_next_mono_ns(rig->traffic[i]);

			next_ns = own_ns < next_ns ? own_ns : next_ns;
		}
	}
	if (next_ns == UINT64_MAX) {
		return false;
	}
	if (next_ns > fake_clock_now_ns()) {
		fake_clock_set(next_ns);
	}
	return true;
}

/* Both are told to stop once both are done, as the coordinator does. */
static inline void rig_stop_both(struct rig *rig)
{
	unsigned steps = 0;

	traffic_stop(rig->traffic[0]);
	traffic_stop(rig->traffic[1]);
	while ((!rig->is_over[0] || !rig->is_over[1]) && rig_step(rig)) {
		assert_true(++steps < RIG_STEPS_MOST);
	}
}

/* Until the initiator is over; then what still flies arrives, and the responder is stopped. */
static inline void rig_finish(struct rig *rig)
{
	unsigned steps = 0;

	while (!rig->is_over[0] && !(rig->has_ended[0] && rig->has_ended[1]) && rig_step(rig)) {
		assert_true(++steps < RIG_STEPS_MOST);
	}
	if (!rig->is_over[0] && rig->has_ended[0] && rig->has_ended[1]) {
		rig_stop_both(rig);
	}
	assert_true(rig->is_over[0]);
	while (rig_is_running(rig, 1) &&
	       fabric_next_ns(rig->fabric) <= fake_clock_now_ns() + 1000000) {
		assert_true(rig_step(rig));
		assert_true(++steps < RIG_STEPS_MOST);
	}
	if (rig_is_running(rig, 1)) {
		traffic_stop(rig->traffic[1]);
		while (!rig->is_over[1] && rig_step(rig)) {
			assert_true(++steps < RIG_STEPS_MOST);
		}
		assert_true(rig->is_over[1]);
	}
	for (int i = 0; i < 2; i++) {
		if (rig->has_started[i]) {
			traffic_totals(rig->traffic[i], &rig->totals[i]);
			rig->has_totals[i] = true;
		}
	}
}

static inline void rig_run(struct rig *rig)
{
	rig_start(rig, 1);
	rig_start(rig, 0);
	rig_finish(rig);
}

/* Frees all and proves that nothing is left. */
static inline void rig_done(struct rig *rig)
{
	for (int i = 0; i < 2; i++) {
		if (rig->has_totals[i]) {
			sample_totals_done(&rig->totals[i]);
		}
		traffic_free(rig->traffic[i]);
		resources_free(rig->resources[i], NULL);
		device_close(rig->devices[i]);
		free(rig->infos[i]);
	}
	assert_int_equal(fabric_objects(rig->fabric), 0);
	fabric_use(NULL);
	fabric_free(rig->fabric);
	free(rig->assignment);
	free(rig->other);
	fake_clock_stop();
}

/* The slowest operations are those that made the maxima, once each, inside of the window. */
static inline void rig_check_slowest(const struct totals *totals)
{
	const struct slowest *slowest = &totals->slowest;
	uint64_t latencies = 0;
	uint64_t max_ns = 0;

	for (size_t i = 0; i < totals->class_count; i++) {
		const struct histogram *latency = &totals->classes[i].latency;

		latencies += latency->count;
		max_ns = latency->max_ns > max_ns ? latency->max_ns : max_ns;
	}
	assert_true(slowest->count <= latencies && slowest->count <= SLOWEST_MAX);
	if (max_ns > 0) {
		assert_int_equal(slowest->items[0].latency_ns, max_ns);
	}
	for (size_t i = 0; i < slowest->count; i++) {
		const struct slow_operation *item = &slowest->items[i];
		const struct histogram *latency = &totals->classes[item->class_index].latency;

		assert_true(item->class_index < totals->class_count);
		assert_in_range(item->latency_ns, latency->min_ns, latency->max_ns);
		assert_true(item->end_ns <= totals->window_ns && item->qp_num > 0);
		assert_true(i == 0 || item->latency_ns <= slowest->items[i - 1].latency_ns);
	}
}

/* What must hold of every end's totals. */
static inline void rig_check_sums(const struct totals *totals)
{
	uint64_t operations = 0;
	uint64_t bytes = 0;
	uint64_t interval_operations = 0;
	uint64_t interval_bytes = 0;
	uint64_t last_end_ns = 0;

	for (size_t i = 0; i < totals->class_count; i++) {
		operations += totals->classes[i].completed;
		bytes += totals->classes[i].bytes;
		/* Each latency is of an operation that was counted. */
		assert_true(totals->classes[i].latency.count <= totals->classes[i].completed);
	}
	for (size_t i = 0; i < totals->interval_count; i++) {
		const struct sample *sample = &totals->intervals[i];

		assert_int_equal(sample->start_ns, last_end_ns);
		assert_true(sample->end_ns >= sample->start_ns);
		assert_true(sample->latency_p50_ns <= sample->latency_p99_ns);
		assert_true(sample->latency_p99_ns <= sample->latency_max_ns);
		last_end_ns = sample->end_ns;
		interval_operations += sample->operations;
		interval_bytes += sample->bytes;
	}
	if (totals->class_count > 0) {
		assert_int_equal(totals->operations, operations);
		assert_int_equal(totals->bytes, bytes);
	}
	rig_check_slowest(totals);
	assert_int_equal(totals->operations, interval_operations);
	assert_int_equal(totals->bytes, interval_bytes);
	if (totals->interval_count > 0) {
		assert_int_equal(last_end_ns, totals->window_ns);
	}
}
