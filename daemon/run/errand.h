// SPDX-License-Identifier: MIT
#pragma once

/*
 * One job of the agent, from PREPARE to `released`, and the way that its answers go. Part of
 * run/agent, used by nobody else. Loop thread.
 */

#include "run/agent.h"
#include "util/list.h"

enum errand_state {
	ERRAND_PREPARING,
	ERRAND_PREPARED,
	ERRAND_CONNECTING,
	ERRAND_CONNECTED,
	ERRAND_RUNNING,
	ERRAND_FINISHED,
	ERRAND_RELEASING
};

struct agent {
	sd_event *event;
	struct engine *engine;
	struct occupancy *occupancy; /* may be NULL */
	const char *node_name;
	struct limit_settings limits;
	struct ledger *ledger; /* of disruptive traffic, by port; owned */
	struct ledger *peer_ledger; /* of all traffic, by who asked for it; owned */
	struct list errands;
	struct list inquiries; /* of run/inquiry */
	struct list ways;
	size_t errand_count;
	bool is_stopping;
};

struct agent_way {
	struct list link;
	struct agent *agent;
	char coordinator[LIMIT_NAME];
	bool has_labels;
	struct labels labels;
	agent_answer_fn answer;
	void *arg;
};

struct errand {
	struct list link; /* in agent->errands, until it is released */
	struct agent *agent;
	struct agent_way *way; /* NULL once it broke */
	struct job *job;
	struct assignment assignment;
	enum errand_state state;
	sd_event_source *deadline;
	uint64_t whole_deadline_mono_ns;
	uint64_t start_mono_ns;
	bool is_booked; /* its traffic is in the ledger */
	bool wants_released; /* the coordinator waits for `released` */
	bool has_failed; /* and said so: that was the last word but `released` */
	struct port_use_note use; /* of its port by others */
};

/* Permitted already: it prepares at once. use: of its port by others; NULL where nobody had to
 * look. Frees itself when all is released. */
void errand_new(struct agent_way *way, const struct assignment *assignment,
		const struct port_use *use);
/* Each in its order; out of it the job has failed, and says so. */
void errand_connect(struct errand *errand, const json_t *message);
void errand_start(struct errand *errand);
void errand_stop(struct errand *errand);
/* wants_released: the answer `released` is awaited. */
void errand_release(struct errand *errand, bool wants_released);

/* An answer about a job, without what its kind adds. New reference. */
json_t *errand_answer(const char *kind, const struct assignment *assignment);
/* A `failed`; device: where the failure names none. New reference. */
json_t *errand_answer_failed(const struct assignment *assignment, const char *node,
			     const struct failure *failure, const struct steps *steps);
