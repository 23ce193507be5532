// SPDX-License-Identifier: MIT
#include "engine/stream_verify.h"

#include "engine/hotloop.h"

void stream_verify_look(struct stream *stream)
{
	for (size_t i = 0; i < stream->qp_count; i++) {
		stamp_look(stream->stamp, i, stream->qps[i].completed);
	}
}

/* Nothing else will be posted on it before the other end answers, or for some time. */
static bool is_idle(const struct stream *stream, size_t qp_index)
{
	const struct stream_qp *qp = &stream->qps[qp_index];

	return qp->posted == qp->completed || stream->flow->state == FLOW_CLOSING ||
	       !stamp_has_room(stream->stamp, qp_index, stream->post_list);
}

bool stream_verify_turn(struct stream *stream, uint64_t now_ticks)
{
	struct flow *flow = stream->flow;
	bool has_come = false;

	stream_verify_look(stream);
	if (!stamp_has_writes(stream->stamp)) {
		return false;
	}
	for (size_t i = 0; i < stream->qp_count && flow->state <= FLOW_CLOSING; i++) {
		if (stamp_turn(stream->stamp, i, is_idle(stream, i), now_ticks)) {
			has_come = true;
			hotloop_make_ready(stream, &stream->qps[i]);
		}
	}
	if (has_come) {
		flow->found_ticks = now_ticks;
	}
	if (stream->awaits_answers && flow->state <= FLOW_CLOSING &&
	    !stamp_is_waiting_any(stream->stamp)) {
		stream->awaits_answers = false;
		flow_drained(flow, now_ticks);
	}
	return has_come;
}
