// SPDX-License-Identifier: MIT
#include "peer_log.h"

#include <errno.h>

#include "unit/log-capture.h"

/* The table of peers as far as the log asks it. */
static const char *only_peer;

int peers_find(const struct peers *peers, const char *name, struct peer_status *ret)
{
	return strcmp(name, only_peer) == 0 ? 0 : -ENOENT;
}

static void a_peer_is_told_when_it_comes_goes_or_is_away_for_another_reason(void **state)
{
	struct peer_log *log = peer_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	peer_log_tell(log, "node2", "refused");
	peer_log_tell(log, "node2", "refused");
	peer_log_tell(log, "node2", "no route");
	peer_log_tell(log, "node2", "");
	peer_log_tell(log, "node2", "");
	assert_int_equal(log_capture_end(&capture), 3);
	assert_string_equal(capture.lines, "warning: peer \"node2\" is down: refused\n"
					   "warning: peer \"node2\" is down: no route\n"
					   "info: peer \"node2\" is up\n");
	peer_log_free(log);
}

static void who_is_no_peer_any_more_is_forgotten(void **state)
{
	struct peer_log *log = peer_log_new();
	struct log_capture capture;

	log_capture_begin(&capture);
	peer_log_tell(log, "node2", "refused");
	peer_log_tell(log, "node3", "refused");
	only_peer = "node3";
	peer_log_configure(log, NULL);
	/* It comes back with a later reload: that is news. */
	peer_log_tell(log, "node2", "refused");
	peer_log_tell(log, "node3", "refused");
	assert_int_equal(log_capture_end(&capture), 3);
	peer_log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_is_told_when_it_comes_goes_or_is_away_for_another_reason),
		cmocka_unit_test(who_is_no_peer_any_more_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
