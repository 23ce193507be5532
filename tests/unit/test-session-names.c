// SPDX-License-Identifier: MIT
/* Sessions to names, with a name server that says what the test wants. */
#include "unit/control-harness.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const char *const *answer; /* of the name server: numeric, NULL at the end */

/* In one block, as freeaddrinfo expects it. */
static struct addrinfo *make_address(const char *numeric)
{
	struct addrinfo *info = memory_new(sizeof(*info) + sizeof(struct sockaddr_in));
	struct sockaddr_in *address = (struct sockaddr_in *)(info + 1);

	address->sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, numeric, &address->sin_addr), 1);
	info->ai_family = AF_INET;
	info->ai_addr = (struct sockaddr *)address;
	info->ai_addrlen = sizeof(*address);
	return info;
}

/* Instead of libc's, for names. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **ret)
{
	int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
		dlsym(RTLD_NEXT, "getaddrinfo");

	if (hints->ai_flags & AI_NUMERICHOST) {
		return real(host, service, hints, ret);
	}
	*ret = NULL;
	for (size_t i = 0; answer[i]; i++) {
		*ret = make_address(answer[i]);
		ret = &(*ret)->ai_next;
	}
	return answer[0] ? 0 : EAI_NONAME;
}

struct two {
	sd_event *event;
	struct member a;
	struct member b; /* listens at 127.0.0.1 */
	struct record record; /* of a's session */
};

static void two_init(struct two *two)
{
	memset(two, 0, sizeof(*two));
	assert_true(sd_event_new(&two->event) >= 0);
	member_init(&two->a, "node-a");
	member_init(&two->b, "node-b");
	member_listen(&two->b, two->event, 64);
}

static void two_connect(struct two *two, const char *const addresses[])
{
	answer = addresses;
	record_done(&two->record);
	two->record.session = session_connect(two->event, two->a.pool, "node-b.example",
					      two->b.port, &two->a.identity, &record_events,
					      &two->record);
}

static void two_done(struct two *two)
{
	record_done(&two->record);
	member_done(&two->a);
	member_done(&two->b);
	sd_event_unref(two->event);
}

static void the_next_address_is_tried_when_one_refuses(void **state)
{
	static const char *const addresses[] = { "127.0.0.2", "127.0.0.3", HOST, NULL };
	struct two two;

	two_init(&two);
	two_connect(&two, addresses);
	run_until(two.event, &two.record.opened, 1, 5000);
	assert_string_equal(session_peer_host(two.record.session), HOST);
	assert_int_equal(two.record.closed, 0);
	two_done(&two);
}

/* A listener whose queue is full: the kernel answers no further connection. */
static int deaf_listener(uint16_t port, int fillers[4])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, "127.0.0.2", &address.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 0), 0);
	for (int i = 0; i < 4; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		connect(fillers[i], (struct sockaddr *)&address, sizeof(address));
	}
	return fd;
}

static void the_next_address_is_tried_when_one_does_not_answer(void **state)
{
	static const char *const addresses[] = { "127.0.0.2", HOST, NULL };
	struct two two;
	int fillers[4];
	int deaf;

	two_init(&two);
	deaf = deaf_listener(two.b.port, fillers);
	two_connect(&two, addresses);
	/* in the 5 s that all addresses have together */
	run_until(two.event, &two.record.opened, 1, 20000);
	two_done(&two);
	close(deaf);
	for (int i = 0; i < 4; i++) {
		close(fillers[i]);
	}
}

static void when_none_answers_the_last_one_is_told(void **state)
{
	static const char *const addresses[] = { "127.0.0.2", "127.0.0.3", NULL };
	struct two two;

	two_init(&two);
	two_connect(&two, addresses);
	run_until(two.event, &two.record.closed, 1, 5000);
	assert_int_equal(two.record.opened, 0);
	assert_int_equal(two.record.why.class, ERROR_PEER);
	assert_string_equal(two.record.why.call, "connect");
	assert_int_equal(two.record.why.number, ECONNREFUSED);
	two_done(&two);
}

static void a_name_whose_address_changes_is_found_with_the_next_attempt(void **state)
{
	static const char *const before[] = { "127.0.0.2", NULL };
	static const char *const after[] = { HOST, NULL };
	static const char *const none[] = { NULL };
	struct two two;

	two_init(&two);
	two_connect(&two, none);
	run_until(two.event, &two.record.closed, 1, 5000);
	assert_non_null(strstr(two.record.why.text, "has no address"));
	two_connect(&two, before);
	run_until(two.event, &two.record.closed, 1, 5000);
	two_connect(&two, after);
	run_until(two.event, &two.record.opened, 1, 5000);
	two_done(&two);
}

static void without_descriptors_the_look_up_says_so(void **state)
{
	static const char *const addresses[] = { HOST, NULL };
	struct rlimit tight;
	struct rlimit old;
	struct two two;
	int highest;

	two_init(&two);
	highest = fcntl(0, F_DUPFD_CLOEXEC, 0);
	assert_true(highest >= 0);
	close(highest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = (struct rlimit){ .rlim_cur = (rlim_t)highest, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	two_connect(&two, addresses);
	assert_int_equal(two.record.closed, 0); /* never from inside the call */
	run_until(two.event, &two.record.closed, 1, 5000);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(two.record.why.class, ERROR_RESOURCE);
	assert_int_equal(two.record.why.number, EMFILE);
	assert_non_null(strstr(two.record.why.text, "cannot be looked up"));
	/* and with them it goes on */
	two_connect(&two, addresses);
	run_until(two.event, &two.record.opened, 1, 5000);
	two_done(&two);
}

static unsigned open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(directory)) {
		count++;
	}
	closedir(directory);
	return count;
}

/* One attempt, and what became of it; then it is let go in the way of that round. */
static void attempt(struct two *two, const char *const addresses[], unsigned round)
{
	unsigned accepted = two->b.accepted;

	two->a.identity.key = round % 5 == 1 ? other_key : fleet_key;
	two->a.identity.protocol = round % 5 == 2 ? 7 : SESSION_PROTOCOL;
	two_connect(two, addresses);
	while (two->record.opened + two->record.closed == 0) {
		assert_true(sd_event_run(two->event, 10000) >= 0);
	}
	if (two->record.closed == 0 && round % 5 == 3) {
		session_close(two->record.session, "enough");
		run_until(two->event, &two->record.closed, 1, 5000);
	}
	record_done(&two->record);
	for (unsigned i = accepted; i < two->b.accepted; i++) {
		run_until(two->event, &two->b.records[i].closed, 1, 5000);
	}
}

static void sessions_that_end_in_any_way_leave_no_descriptor(void **state)
{
	static const char *const here[] = { HOST, NULL };
	static const char *const nowhere[] = { "127.0.0.2", "127.0.0.3", NULL };
	struct session_listener_status status;
	unsigned before = 0;
	struct two two;

	two_init(&two);
	for (unsigned round = 0; round < 30; round++) {
		attempt(&two, round % 5 == 4 ? nowhere : here, round);
		do {
			run_for(two.event, 20);
			session_listener_status(two.b.listener, &status);
		} while (status.pending + status.open > 0);
		if (round == 4) {
			before = open_descriptors(); /* the loop has what it keeps */
		}
	}
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(status.refused[SESSION_REFUSED_KEY], 6);
	assert_int_equal(status.refused[SESSION_REFUSED_VERSION], 6);
	assert_int_equal(status.accepted, 12);
	two_done(&two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_address_is_tried_when_one_refuses),
		cmocka_unit_test(the_next_address_is_tried_when_one_does_not_answer),
		cmocka_unit_test(when_none_answers_the_last_one_is_told),
		cmocka_unit_test(a_name_whose_address_changes_is_found_with_the_next_attempt),
		cmocka_unit_test(without_descriptors_the_look_up_says_so),
		cmocka_unit_test(sessions_that_end_in_any_way_leave_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
