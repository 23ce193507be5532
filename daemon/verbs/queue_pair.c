// SPDX-License-Identifier: MIT
#include "verbs/queue_pair.h"

#include <errno.h>

#include "verbs/call.h"

static struct ibv_qp *try_create(struct ibv_pd *pd, const struct queue_pair_wish *wish,
				 uint64_t inline_bytes, struct ibv_qp_init_attr *init)
{
	*init = (struct ibv_qp_init_attr){
		.send_cq = wish->send_cq,
		.recv_cq = wish->recv_cq,
		.srq = wish->srq,
		.qp_type = wish->type,
		.cap = {
			.max_send_wr = (uint32_t)wish->max_send_wr,
			/* Some providers refuse a receive queue of none. */
			.max_recv_wr = wish->max_recv_wr ? (uint32_t)wish->max_recv_wr : 1,
			.max_send_sge = (uint32_t)wish->max_send_sge,
			.max_recv_sge = (uint32_t)wish->max_recv_sge,
			.max_inline_data = (uint32_t)inline_bytes,
		},
	};
	(void)call_begin("ibv_create_qp");
	return ibv_create_qp(pd, init);
}

/* Whether the device would give one with that much less. */
static bool is_cured_by(struct ibv_pd *pd, const struct queue_pair_wish *less)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp = try_create(pd, less, less->max_inline_bytes, &init);

	if (qp) {
		(void)call_begin("ibv_destroy_qp");
		(void)ibv_destroy_qp(qp);
	}
	return qp != NULL;
}

static int above_limit(int error, const char *field, uint64_t asked, const struct device *device,
		       const char *cure, struct error *err)
{
	return error_set_call(err, error, ERROR_INPUT, STAGE_RESOURCE, "limit",
			      "%s %llu is above what %s gives; %s (ibv_create_qp)", field,
			      (unsigned long long)asked, device->name, cure);
}

static int used_up(int error, const struct device *device, struct error *err)
{
	return error_set_call(
		err, error, ERROR_RESOURCE, STAGE_RESOURCE, "ibv_create_qp",
		"%s gives no more queue pairs (its max_qp is %d, and other programs use it too); lower qp.num_qps",
		device->name, device->attr.max_qp);
}

static int refused(int error, const struct device *device, struct ibv_pd *pd,
		   const struct queue_pair_wish *wish, struct error *err)
{
	struct queue_pair_wish less = *wish;

	if (error == ENOMEM) {
		return used_up(error, device, err);
	}
	less.max_inline_bytes = 0;
	if (wish->min_inline_bytes > 0 && is_cured_by(pd, &less)) {
		return above_limit(error, "qp.max_inline_data", wish->min_inline_bytes, device,
				   "lower it, or the size of operations with inline: true", err);
	}
	less = *wish;
	less.type = IBV_QPT_RC;
	less.max_inline_bytes = wish->min_inline_bytes;
	if (wish->type != IBV_QPT_RC && is_cured_by(pd, &less)) {
		return error_set_call(err, EOPNOTSUPP, ERROR_DEVICE, STAGE_RESOURCE,
				      "ibv_create_qp",
				      "%s has no %s queue pairs; use qp.qp_type: RC", device->name,
				      wish->type == IBV_QPT_UC ? "UC" : "UD");
	}
	less = *wish;
	less.max_send_wr = 1;
	less.max_inline_bytes = wish->min_inline_bytes;
	if (wish->max_send_wr > 1 && is_cured_by(pd, &less)) {
		return above_limit(error, "qp.max_send_wr", wish->max_send_wr, device,
				   "lower it, or qp.max_inline_data", err);
	}
	less = *wish;
	less.max_recv_wr = 1;
	less.max_inline_bytes = wish->min_inline_bytes;
	if (wish->max_recv_wr > 1 && is_cured_by(pd, &less)) {
		return above_limit(error, "qp.max_recv_wr", wish->max_recv_wr, device, "lower it",
				   err);
	}
	less = *wish;
	less.max_send_sge = less.max_recv_sge = 1;
	less.max_inline_bytes = wish->min_inline_bytes;
	if (wish->max_send_sge + wish->max_recv_sge > 2 && is_cured_by(pd, &less)) {
		return wish->max_send_sge > 1
			       ? above_limit(error, "qp.max_send_sge", wish->max_send_sge, device,
					     "lower it, or qp.max_send_wr", err)
			       : above_limit(error, "qp.max_recv_sge", wish->max_recv_sge, device,
					     "lower it, or qp.max_recv_wr", err);
	}
	return used_up(error, device, err);
}

int queue_pair_create(struct ibv_qp **ret, const struct device *device, struct ibv_pd *pd,
		      struct queue_pair_wish *wish, struct error *err)
{
	static const uint64_t steps_bytes[] = { UINT64_MAX, 128, 64, 32, 0 };
	int error = ENOMEM;

	for (size_t i = 0; i < sizeof(steps_bytes) / sizeof(steps_bytes[0]); i++) {
		struct ibv_qp_init_attr init;
		uint64_t inline_bytes = i == 0 ? wish->max_inline_bytes : steps_bytes[i];

		if (i > 0 && (inline_bytes >= wish->max_inline_bytes ||
			      inline_bytes < wish->min_inline_bytes)) {
			continue;
		}
		*ret = try_create(pd, wish, inline_bytes, &init);
		if (*ret) {
			/*
			 * Some give more than was asked for: using that would change what `auto`
			 * inlines.
			 */
			wish->max_inline_bytes = init.cap.max_inline_data < inline_bytes
							 ? init.cap.max_inline_data
							 : inline_bytes;
			return 0;
		}
		error = errno ? errno : ENOMEM;
	}
	return refused(error, device, pd, wish, err);
}
