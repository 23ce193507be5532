// SPDX-License-Identifier: MIT
#include "control/session_internal.h"
#include "util/clock.h"

/*
 * What its messages may cost us. Taking a frame apart and acting on it happens on the loop thread
 * and cannot be cut short (up to 14 ms, of totals 44 ms: api/control-protocol.md), so it is paid
 * for afterwards, by not listening: a session gets a tenth of the thread, those that came to us a
 * quarter together. Not for longer than DEAF_MOST_NS at a time: where all is slow (an emulated or
 * overcommitted machine takes 300 ms for what takes 3 ms elsewhere) the debt of four honest
 * messages would outlast the deadlines of those that wait for the answers.
 */
#define SHARE 10
#define SHARE_OF_ALL 4
#define BURST_NS (50 * 1000000ull * SHARE) /* 50 ms of work, in the time that pays for it */
#define BURST_OF_ALL_NS (250 * 1000000ull * SHARE_OF_ALL)
/* Above what the most expensive message costs on a machine that is not slow, ten times 44 ms. */
#define DEAF_MOST_NS SESSION_SECOND_NS
/* The more of them, the longer each may have to wait for its turn: four times 14 ms. */
#define DEAF_PER_SESSION_NS (56 * 1000000ull)

static uint64_t most_of_all_ns(const struct session_listener *listener)
{
	return DEAF_MOST_NS + session_listener_open(listener) * DEAF_PER_SESSION_NS;
}

void session_budget_charge(struct session *session, uint64_t spent_ns)
{
	uint64_t now_mono_ns = clock_mono_ns();
	struct bucket *of_all = session->listener ? session_listener_budget(session->listener)
						  : NULL;
	uint64_t ready_mono_ns;

	bucket_charge(&session->budget, spent_ns * SHARE, now_mono_ns);
	bucket_forgive(&session->budget, BURST_NS + DEAF_MOST_NS, now_mono_ns);
	ready_mono_ns = bucket_ready_mono_ns(&session->budget, BURST_NS);
	if (of_all) {
		uint64_t all_ready_mono_ns;

		bucket_charge(of_all, spent_ns * SHARE_OF_ALL, now_mono_ns);
		bucket_forgive(of_all, BURST_OF_ALL_NS + most_of_all_ns(session->listener),
			       now_mono_ns);
		all_ready_mono_ns = bucket_ready_mono_ns(of_all, BURST_OF_ALL_NS);
		if (all_ready_mono_ns > ready_mono_ns) {
			ready_mono_ns = all_ready_mono_ns;
		}
	}
	session->deaf_until_mono_ns = ready_mono_ns > now_mono_ns ? ready_mono_ns : 0;
}

bool session_budget_is_spent(const struct session *session)
{
	return session->deaf_until_mono_ns > 0 && clock_mono_ns() < session->deaf_until_mono_ns;
}
