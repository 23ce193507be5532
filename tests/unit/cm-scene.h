// SPDX-License-Identifier: MIT
#pragma once

/*
 * Two ends (unit/ends.h) whose queue pairs connection managers connect, in turn, under virtual
 * time: what tests of verbs/cm begin with.
 */

#include "unit/ends.h"

#include <errno.h>

#include "model/reject.h"
#include "verbs/cm.h"

struct scene {
	struct fixture *fixture;
	struct cm *left;
	struct cm *right;
	int left_progress;
	int right_progress;
	struct error left_err;
	struct error right_err;
};

#define SCENE_STEP_NS 50000
#define SCENE_PATIENCE_NS (25 * ENDS_SECOND)

static inline void scene_prepare(struct scene *scene, struct fixture *fixture, uint64_t num_qps)
{
	*scene = (struct scene){ .fixture = fixture };
	fixture->left.assignment->workload.qp.num_qps = num_qps;
	fixture->right.assignment->workload.qp.num_qps = num_qps;
	fixture->left.assignment->workload.qp.cm = QP_CM_RDMA_CM;
	fixture->right.assignment->workload.qp.cm = QP_CM_RDMA_CM;
	assert_int_equal(ends_make(fixture, &fixture->left), 0);
	assert_int_equal(ends_make(fixture, &fixture->right), 0);
	assert_int_equal(cm_new(&scene->right, fixture->right.resources, fixture->right.assignment,
				&fixture->right.steps, &scene->right_err),
			 0);
	assert_int_equal(cm_new(&scene->left, fixture->left.resources, fixture->left.assignment,
				&fixture->left.steps, &scene->left_err),
			 0);
	cm_info(scene->left, &fixture->left.info);
	cm_info(scene->right, &fixture->right.info);
	assert_int_equal(fixture->left.info.cm_port, 0);
	assert_int_not_equal(fixture->right.info.cm_port, 0);
}

static inline void scene_begin(struct scene *scene)
{
	struct fixture *fixture = scene->fixture;

	scene->left_progress = cm_connect(scene->left, &fixture->right.info, &fixture->left.steps,
					  &scene->left_err);
	scene->right_progress = cm_connect(scene->right, &fixture->left.info, &fixture->right.steps,
					   &scene->right_err);
}

/* One turn of both loops. */
static inline void scene_turn(struct scene *scene)
{
	struct fixture *fixture = scene->fixture;

	fake_clock_advance(SCENE_STEP_NS);
	if (scene->left_progress == CM_WAITS) {
		scene->left_progress =
			cm_go_on(scene->left, &fixture->left.steps, &scene->left_err);
	}
	if (scene->right_progress == CM_WAITS) {
		scene->right_progress =
			cm_go_on(scene->right, &fixture->right.steps, &scene->right_err);
	}
}

/* Until the initiator is done, well or not, and the responder if it can be. */
static inline void scene_run(struct scene *scene)
{
	uint64_t end_ns = fake_clock_now_ns() + SCENE_PATIENCE_NS;

	while (scene->left_progress == CM_WAITS ||
	       (scene->left_progress == CM_DONE && scene->right_progress == CM_WAITS)) {
		assert_true(fake_clock_now_ns() < end_ns);
		scene_turn(scene);
	}
}

static inline void scene_connect(struct scene *scene, struct fixture *fixture, uint64_t num_qps)
{
	scene_prepare(scene, fixture, num_qps);
	scene_begin(scene);
	scene_run(scene);
}

static inline void scene_done(struct scene *scene)
{
	cm_free(scene->left, &scene->fixture->left.steps);
	cm_free(scene->right, &scene->fixture->right.steps);
	/* The ends tell each other. */
	fake_clock_advance(ENDS_SECOND);
	fabric_run(scene->fixture->fabric);
}

static inline void scene_expect_connected(const struct scene *scene)
{
	if (scene->left_progress != CM_DONE || scene->right_progress != CM_DONE) {
		fail_msg("left %d: %s; right %d: %s", scene->left_progress, scene->left_err.text,
			 scene->right_progress, scene->right_err.text);
	}
}

static inline void scene_expect_write(struct fixture *fixture, size_t index)
{
	struct end *left = &fixture->left;
	struct end *right = &fixture->right;
	uint64_t at = index * left->resources->layout.stride_bytes;
	struct ibv_sge sge = { .addr = left->info.buffer_address + at,
			       .length = 4096,
			       .lkey = left->resources->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr.wr.rdma.rkey = (uint32_t)right->info.rkey;
	wr.wr.rdma.remote_addr =
		right->info.buffer_address + at + right->resources->layout.half_bytes;
	assert_int_equal(ibv_post_send(left->resources->qps[index], &wr, &bad), 0);
	fake_clock_advance(ENDS_MS);
	assert_int_equal(ibv_poll_cq(left->resources->send_cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static inline void scene_be_datagrams(struct fixture *fixture)
{
	struct assignment *const assignments[] = { fixture->left.assignment,
						   fixture->right.assignment };

	for (size_t i = 0; i < 2; i++) {
		struct workload *workload = &assignments[i]->workload;

		workload->qp.qp_type = QP_TYPE_UD;
		workload->workload.ops[0].kind = OPERATION_SEND;
		workload->workload.ops[0].sizes[0].size_bytes = 512;
	}
}

static inline void scene_expect_rejected(const struct scene *scene, int reason,
					 enum error_class class, const char *words)
{
	const struct error *err = &scene->left_err;

	assert_true(scene->left_progress < 0);
	assert_int_equal(err->kind, ERROR_KIND_CM_REJECT);
	assert_int_equal(err->number, reason);
	assert_int_equal(err->class, class);
	assert_int_equal(err->stage, STAGE_CONNECT);
	assert_string_equal(err->call, "rdma_connect");
	ends_assert_says(err, words);
}
