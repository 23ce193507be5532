// SPDX-License-Identifier: MIT
#include "verbs/notify.h"

#include <errno.h>
#include <fcntl.h>

#include "verbs/call.h"

int notify_open(struct ibv_comp_channel **ret, const struct device *device, struct steps *steps,
		struct error *err)
{
	uint64_t started_mono_ns = call_begin("ibv_create_comp_channel");
	struct ibv_comp_channel *channel = ibv_create_comp_channel(device->context);
	int flags;

	if (!channel) {
		return error_set_call(err, errno ? errno : ENOMEM, ERROR_RESOURCE, STAGE_RESOURCE,
				      "ibv_create_comp_channel",
				      "%s gives no completion channel (cq.mode: event)",
				      device->name);
	}
	flags = fcntl(channel->fd, F_GETFL);
	if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		int ret_call = error_set_call(
			err, errno, ERROR_RESOURCE, STAGE_RESOURCE, "fcntl",
			"the completion channel of %s cannot be made non-blocking", device->name);

		(void)ibv_destroy_comp_channel(channel);
		return ret_call;
	}
	call_end(steps, "create_comp_channel", started_mono_ns, 0);
	*ret = channel;
	return 0;
}

void notify_close(struct ibv_comp_channel *channel, struct steps *steps)
{
	uint64_t started_mono_ns;

	if (!channel) {
		return;
	}
	started_mono_ns = call_begin("ibv_destroy_comp_channel");
	(void)ibv_destroy_comp_channel(channel);
	call_end(steps, "destroy_comp_channel", started_mono_ns, 0);
}

void notify_take(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	void *arg;

	while (ibv_get_cq_event(channel, &cq, &arg) == 0) {
		ibv_ack_cq_events(cq, 1);
	}
}

int notify_arm(struct ibv_cq *cq, bool is_solicited_only)
{
	return ibv_req_notify_cq(cq, is_solicited_only);
}
