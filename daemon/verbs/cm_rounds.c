// SPDX-License-Identifier: MIT
#include "verbs/cm_rounds.h"

#include <errno.h>
#include <string.h>

#include "util/clock.h"
#include "verbs/call.h"
#include "verbs/cm_internal.h"

/* The phase that went on until now is over. */
static void next_phase(struct cm_connection *connection, int phase)
{
	uint64_t now_mono_ns = clock_mono_ns();

	/* Added: one that was tried again has some phases twice. */
	connection->phase_ns[connection->round_phase] += now_mono_ns - connection->round_mono_ns;
	connection->round_phase = phase;
	connection->round_mono_ns = now_mono_ns;
}

static void begin_round(struct cm_connection *connection)
{
	connection->begun_mono_ns = clock_mono_ns();
	connection->round_mono_ns = connection->begun_mono_ns;
	connection->round_phase = CONNECTION_CREATE_QP;
	connection->attempts = 0;
	memset(connection->phase_ns, 0, sizeof(connection->phase_ns));
	connection->cm->rounds.under_way++;
}

static void end_setup(struct cm_connection *connection, int next)
{
	next_phase(connection, next);
	connection->phase_ns[CONNECTION_SETUP] =
		connection->round_mono_ns - connection->begun_mono_ns;
}

/* The slot is free again. */
static void destroy(struct cm_connection *connection)
{
	cm_drop(connection, NULL);
	resources_drop_qp(connection->cm->resources, connection->index, NULL);
	cm_enter(connection, CM_NONE, 0);
	connection->cm->rounds.under_way--;
}

static void complete(struct cm_connection *connection)
{
	const struct cm_rounds *rounds = &connection->cm->rounds;

	connection->round_phase = CONNECTION_DESTROY;
	connection->round_mono_ns = clock_mono_ns();
	destroy(connection);
	next_phase(connection, CONNECTION_DESTROY);
	rounds->events->completed(rounds->arg, connection->phase_ns);
}

static void fail(struct cm_connection *connection)
{
	const struct cm_rounds *rounds = &connection->cm->rounds;

	rounds->events->failed(rounds->arg, connection->round_phase);
}

/* --- the initiator --- */

static int begin(struct cm_connection *connection, struct error *err)
{
	struct cm *cm = connection->cm;
	int ret;

	next_phase(connection, CONNECTION_CREATE_QP);
	ret = resources_make_qp(cm->resources, connection->index, NULL, err);
	if (ret == 0) {
		next_phase(connection, CONNECTION_RESOLVE_ADDR);
		cm->under_way++;
		ret = cm_active_begin(connection, err);
	}
	if (ret < 0) {
		fail(connection);
	}
	return ret;
}

/* As many as may be begun in one go: the rest in the next. */
static int begin_some(struct cm *cm, int *done, struct error *err)
{
	size_t begun = 0;
	int ret = 0;

	for (size_t i = 0;
	     ret == 0 && i < cm->count && cm->rounds.left > 0 && begun < CM_EVENTS_AT_ONCE; i++) {
		if (cm->connections[i].phase == CM_NONE) {
			begun++;
			(*done)++;
			cm->rounds.left -= cm->rounds.left != UINT64_MAX;
			begin_round(&cm->connections[i]);
			ret = begin(&cm->connections[i], err);
		}
	}
	return ret;
}

static int disconnect(struct cm_connection *connection, struct error *err)
{
	end_setup(connection, CONNECTION_DISCONNECT);
	cm_enter(connection, CM_DISCONNECT, CM_CONNECT_NS);
	(void)call_begin("rdma_disconnect");
	if (rdma_disconnect(connection->id) != 0) {
		return cm_error_call(connection->cm, errno, STAGE_CONNECT, "rdma_disconnect", err);
	}
	return 0;
}

static int advance(struct cm_connection *connection, const struct cm_news *news, struct error *err)
{
	static const struct {
		enum rdma_cm_event_type type;
		int next;
	} steps[] = {
		{ RDMA_CM_EVENT_ADDR_RESOLVED, CONNECTION_RESOLVE_ROUTE },
		{ RDMA_CM_EVENT_ROUTE_RESOLVED, CONNECTION_CONNECT },
		{ RDMA_CM_EVENT_CONNECT_RESPONSE, CONNECTION_ESTABLISHED },
	};
	int ret;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (news->type == steps[i].type) {
			next_phase(connection, steps[i].next);
		}
	}
	ret = cm_active_news(connection, news, NULL, err);
	if (ret == 0 && connection->phase == CM_ESTABLISHED) {
		ret = disconnect(connection, err);
	} else if (ret == 0 && connection->phase == CM_RETRY) {
		/* A number that the other end takes for a stale one is not used again. */
		resources_drop_qp(connection->cm->resources, connection->index, NULL);
		connection->cm->under_way--;
		connection->cm->rounds.retried++;
	}
	return ret;
}

static int take_active(struct cm_connection *connection, const struct cm_news *news,
		       struct error *err)
{
	int ret = 0;

	if (connection->phase != CM_DISCONNECT) {
		ret = advance(connection, news, err);
	} else if (news->type == RDMA_CM_EVENT_DISCONNECTED && news->status == 0) {
		next_phase(connection, CONNECTION_DESTROY);
		complete(connection);
	} else if (news->type == RDMA_CM_EVENT_DISCONNECTED) {
		ret = cm_error_late(connection, err); /* nobody answered */
	}
	if (ret < 0) {
		fail(connection);
	}
	return ret;
}

/* --- the responder --- */

int cm_rounds_accepting(struct cm_connection *connection, struct error *err)
{
	struct cm *cm = connection->cm;
	int ret;

	cm->rounds.events->arrived(cm->rounds.arg);
	begin_round(connection);
	ret = resources_make_qp(cm->resources, connection->index, NULL, err);
	next_phase(connection, CONNECTION_ACCEPT);
	return ret;
}

void cm_rounds_accepted(struct cm_connection *connection)
{
	next_phase(connection, CONNECTION_ESTABLISHED);
}

/* The initiator knows more of a connection that came to nothing, and tells. */
static void give_up(struct cm_connection *connection)
{
	connection->cm->under_way -= connection->phase == CM_ESTABLISH;
	fail(connection);
	destroy(connection);
}

static int take_passive(struct cm_connection *connection, const struct cm_news *news,
			struct error *err)
{
	bool is_closed = news->type == RDMA_CM_EVENT_DISCONNECTED;

	if (news->type == RDMA_CM_EVENT_ESTABLISHED) {
		if (connection->phase != CM_ESTABLISHED) {
			end_setup(connection, CONNECTION_DESTROY);
		}
		return cm_passive_news(connection, news, NULL, err);
	}
	if (is_closed && connection->phase == CM_ESTABLISH) {
		/* Its confirmation was lost, or overtaken: only who has sent one parts. */
		end_setup(connection, CONNECTION_DESTROY);
		cm_settle(connection);
	}
	if (is_closed) {
		(void)call_begin("rdma_disconnect");
		(void)rdma_disconnect(connection->id);
		complete(connection);
	} else {
		give_up(connection);
	}
	return 0;
}

/* --- both --- */

static int handle(struct cm *cm, const struct cm_news *news, struct error *err)
{
	struct cm_connection *connection = news->id->context;
	int ret;

	if (cm_take_common(cm, news, NULL, &ret, err)) {
		return ret;
	}
	if (!connection || connection->phase == CM_NONE) {
		return 0;
	}
	return cm->is_initiator ? take_active(connection, news, err)
				: take_passive(connection, news, err);
}

static int expire(struct cm_connection *connection, struct error *err)
{
	if (!connection->cm->is_initiator) {
		give_up(connection);
		return 0;
	}
	if (connection->phase == CM_RETRY) {
		return begin(connection, err);
	}
	fail(connection);
	return cm_error_late(connection, err);
}

static int look_at_deadlines(struct cm *cm, struct error *err)
{
	uint64_t now_mono_ns = clock_mono_ns();
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < cm->count; i++) {
		if (cm->connections[i].deadline_mono_ns <= now_mono_ns) {
			ret = expire(&cm->connections[i], err);
		}
	}
	return ret;
}

void cm_rounds_open(struct cm *cm, const struct cm_rounds_events *events, void *arg, uint64_t count)
{
	cm->rounds.events = events;
	cm->rounds.arg = arg;
	cm->rounds.left = count > 0 ? count : UINT64_MAX;
}

void cm_rounds_close(struct cm *cm)
{
	cm->rounds.left = 0;
}

int cm_rounds_step(struct cm *cm, struct error *err)
{
	struct cm_news news;
	int taken = 0;
	int ret = 0;

	while (ret == 0 && taken < CM_EVENTS_AT_ONCE) {
		ret = cm_take_news(cm, &news, err);
		if (ret == CM_DONE) {
			taken++;
			ret = handle(cm, &news, err);
		}
	}
	/* What has come, and waits to be read, is not late. */
	if (ret == CM_WAITS) {
		ret = look_at_deadlines(cm, err);
	}
	if (ret == 0 && cm->is_initiator) {
		ret = begin_some(cm, &taken, err);
	}
	call_end(NULL, NULL, 0, 0);
	return ret < 0 ? ret : taken;
}

size_t cm_rounds_under_way(const struct cm *cm)
{
	return cm->rounds.under_way;
}

uint64_t cm_rounds_retried(const struct cm *cm)
{
	return cm->rounds.retried;
}

uint64_t cm_rounds_refused(const struct cm *cm)
{
	return cm->rejected;
}

int cm_rounds_oldest(const struct cm *cm, uint64_t *ret_since_mono_ns)
{
	int phase = -1;

	for (size_t i = 0; i < cm->count; i++) {
		const struct cm_connection *connection = &cm->connections[i];

		if (connection->phase != CM_NONE &&
		    (phase < 0 || connection->round_mono_ns < *ret_since_mono_ns)) {
			phase = connection->round_phase;
			*ret_since_mono_ns = connection->round_mono_ns;
		}
	}
	return phase;
}

void cm_rounds_abandon(struct cm *cm)
{
	for (size_t i = 0; i < cm->count; i++) {
		if (cm->connections[i].phase != CM_NONE) {
			fail(&cm->connections[i]);
		}
	}
}
