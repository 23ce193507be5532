// SPDX-License-Identifier: MIT
#pragma once

/*
 * What every kind of traffic shares: the state it is in, its window of measurement, its classes and
 * their histograms, its first failure. A pattern (stream, pingpong, responder) fills in the
 * operations. Inside of engine/traffic.h; worker thread only, but for prepare and release.
 *
 * Time: all moments are ticks (util/clock.h). A pattern reads the clock when something completed
 * and calls flow_tick when window.next_ticks was reached; nothing else in it depends on time.
 */

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/window.h"
#include "model/assignment.h"
#include "model/sample.h"
#include "verbs/resources.h"

/* A burst ends after so many rounds, polls in a row that found nothing (one with cq.mode: event),
 * or ticks: then the mailbox is looked at. */
#define FLOW_BURST_ROUNDS 64
#define FLOW_BURST_EMPTY 64
#define FLOW_BURST_NS 500000ull
#define FLOW_LINGER_NS 50000000ull
/* direction: both: the responder posts when the first message of the initiator came, and after this
 * long without one. */
#define FLOW_AWAIT_NS 1000000000ull

/* Work request identities beside those of prepared requests, which are small: what is in bits 0..31
 * is a queue pair's index. */
#define FLOW_WR_TAIL (1ull << 63) /* the last request of a queue pair, signalled out of turn */
#define FLOW_WR_FLUSH (1ull << 62) /* posted in ERR: all before it has been flushed */
#define FLOW_WR_MARK (1ull << 60) /* beside the workload: of verified writes */
#define FLOW_WR_RECEIVE                                                          \
	(1ull << 61) /* added to the wr_id of a receive when its failure is told \
		      */

enum flow_state {
	FLOW_RUNNING, /* posts, or answers */
	FLOW_CLOSING, /* posts nothing new, waits for what is outstanding */
	FLOW_FLUSHING, /* queue pairs are in ERR, waits for what they return */
	FLOW_OVER,
};

struct flow;

struct flow_pattern {
	const char *name;
	bool may_linger; /* when it is stopped: flow_stop */
	bool is_connecting; /* it has connections, and no operations */
	/* Setup thread. 0, or -errno with err. release takes what a failed prepare left, too. */
	int (*prepare)(struct flow *flow, struct error *err);
	void (*release)(struct flow *flow);
	/* Nothing is outstanding. Before the first burst, and again after a warm-up that was
	 * drained. iterations: 0 = without end. */
	void (*begin)(struct flow *flow, uint64_t iterations);
	/* Posts and polls for a while; true when something completed. */
	bool (*burst)(struct flow *flow);
	/* The window opened (iterations are counted from here) or closed: remembers its positions.
	 */
	void (*mark_open)(struct flow *flow);
	void (*mark_close)(struct flow *flow);
	/* No new posts from here on; flow_drained is called (also from inside) once nothing is
	 * outstanding. */
	void (*close)(struct flow *flow, uint64_t now_ticks);
	/* Completed since the traffic began. */
	void (*counts)(const struct flow *flow, struct window_counts *ret);
	/* Is something outstanding, and what: a clause for a person. */
	bool (*is_waiting)(const struct flow *flow);
	void (*describe)(const struct flow *flow, char *text, size_t size_bytes);
	/* Kind of operation behind a completion's wr_id, -1 when not known; and its queue pair's
	 * index. */
	int (*operation)(const struct flow *flow, uint64_t wr_id, size_t *ret_qp);
	/* Fills size_bytes and completed_bytes of a request that failed, as far as they are known.
	 * NULL: never. */
	void (*explain)(const struct flow *flow, uint64_t wr_id, struct failure *failure);
	/* A good receive that was found when the queue pairs were in ERR already. NULL: it is only
	 * counted. */
	void (*take_late)(struct flow *flow, const struct ibv_wc *wc);
	/* What became of payload that was verified. NULL, or false: none was. */
	bool (*verification)(const struct flow *flow, struct verification *ret);
	/* Fills posted, completed and bytes of each class in the window. NULL: has no classes. */
	void (*class_totals)(const struct flow *flow, struct class_totals *classes);
	/* What to sleep on, whatever cq.mode says. NULL: the channel of completions, if there is
	 * one. */
	int (*sleep_fd)(const struct flow *flow);
	/* What it has instead of classes; the caller takes it. NULL: none. */
	struct connections *(*connections)(struct flow *flow);
};

struct flow {
	const struct flow_pattern *pattern;
	bool (*burst)(struct flow *flow); /* of the pattern, or a variant chosen by prepare */
	void *own; /* the pattern's */
	struct resources *resources; /* borrowed */
	const struct assignment *assignment; /* borrowed */
	const struct endpoint_info *remote; /* owned copy */

	enum flow_state state;
	bool has_begun; /* first burst was made */
	bool is_restarting; /* closing, to begin again with the window open */
	bool is_answering; /* a responder: the window opens with the first arrival */
	bool is_mutual; /* the other end posts a stream, too */
	bool awaits_first; /* mutual: posts nothing before the first arrival */
	bool has_ended; /* mutual: its own stream is over, and it answers until it is told to stop
			 */
	bool has_slept; /* since the last look */
	bool is_lingering; /* told to stop: takes what may still be on its way, until stop_ticks */
	unsigned burst_empty; /* polls in vain after which a burst ends */
	int end; /* enum sample_end */

	size_t class_count;
	struct operation_class classes[LIMIT_CLASSES];
	struct window window;

	uint64_t found_ticks; /* when something completed last */
	uint64_t seen_ticks; /* when the loop looked last, as far as it knows without asking a clock
			      */
	uint64_t longest_gap_ticks; /* between two such moments */
	uint64_t burst_ticks; /* FLOW_BURST_NS */
	uint64_t stall_ticks;
	uint64_t deadline_ticks;
	uint64_t flush_ticks; /* when flushing is given up */
	uint64_t stop_ticks; /* of who lingers */
	uint64_t await_ticks; /* when the first arrival is not waited for any more */
	uint64_t first_post_ticks;
	uint64_t pace_ticks; /* when a pattern has something to post by itself; CLOCK_NEVER: it
				waits for completions */

	uint64_t polls;
	uint64_t empty_polls;
	uint64_t errors;
	uint64_t receives;
	size_t flush_marks; /* queue pairs whose end of the send queue has not been seen */
	uint8_t *flush_state; /* by queue pair */
	struct failure failure;
};

/* Fills everything but own, and calls prepare. */
int flow_init(struct flow *flow, const struct flow_pattern *pattern, struct resources *resources,
	      const struct assignment *assignment, const struct endpoint_info *remote,
	      struct error *err);
void flow_done(struct flow *flow);

void flow_start(struct flow *flow);
/* False once it is over. */
bool flow_step(struct flow *flow, bool *ret_found);
uint64_t flow_next_ticks(const struct flow *flow);
/*
 * After a step that found nothing: with cq.mode: event the descriptor that can be read once there
 * is something, to sleep on until then; else -1.
 */
int flow_sleep_fd(struct flow *flow);

/* window.next_ticks was reached: opens, cuts or closes the window. May change the state. */
void flow_tick(struct flow *flow, uint64_t now_ticks);
/* What time alone ends, cuts and opens, and stalls: the loop found nothing of its own. */
void flow_look(struct flow *flow);
/* All wanted iterations are done at now_ticks, the moment the last one completed. */
void flow_finish(struct flow *flow, uint64_t now_ticks);
/* As flow_finish, but the flow goes on closing until flow_drained. */
void flow_settle(struct flow *flow, uint64_t now_ticks);
/* After close: nothing is outstanding any more. */
void flow_drained(struct flow *flow, uint64_t now_ticks);
/* A responder met its first arrival: its window opens; one that posts, too, begins. */
void flow_arrived(struct flow *flow);

/* Ends it with the queue pairs in ERR, and waits for what they return; the window closes if it is
 * open. */
void flow_end(struct flow *flow, int end, uint64_t now_ticks);
/*
 * As it is told by somebody else. Who answers on a transport without acknowledgements goes on
 * receiving for FLOW_LINGER_NS: the other end counted what it sent as done when it had left.
 */
void flow_stop(struct flow *flow);

/* Where a datagram goes (UD; else nothing): every work request of a queue pair needs it, whatever
 * becomes of it, for drivers look there. */
void flow_address(const struct flow *flow, size_t qp_index, struct ibv_send_wr *wr);
/* What a signalled request of that kind has beside its own flags. */
unsigned flow_signal_flags(const struct flow *flow, int kind);
/* Lets the list of a request, which has place for qp.max_send_sge entries, say that many bytes at
 * addr of this end's buffer. */
void flow_pieces(const struct flow *flow, int kind, uint64_t addr, uint64_t length_bytes,
		 struct ibv_send_wr *wr);
/* Fills in a work request of one class on one queue pair, the place-th of those prepared, and its
 * list (flow_pieces): all but its wr_id, link and signalling. */
void flow_request(const struct flow *flow, size_t qp_index, size_t class_index, uint64_t place,
		  struct ibv_send_wr *wr, struct ibv_sge *sges);
