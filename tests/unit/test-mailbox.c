// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "util/mailbox.h"
#include "util/memory.h"

#define SENDERS 4
#define LETTERS 5000

struct letter {
	struct message message;
	unsigned sender;
	unsigned number;
};

static struct letter *letter_of(struct message *message)
{
	return list_entry(&message->link, struct letter, message.link);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	return poll(&poller, 1, timeout_ms) == 1;
}

static void count_wake(void *arg)
{
	(*(unsigned *)arg)++;
}

static void mail_comes_in_order_and_wakes_each_time(void **state)
{
	struct letter letters[3] = { { .number = 1 }, { .number = 2 }, { .number = 3 } };
	struct mailbox mailbox;
	unsigned wakes = 0;

	mailbox_init(&mailbox, count_wake, &wakes);
	assert_int_equal(mailbox.fd, -1);
	assert_null(mailbox_get(&mailbox));
	assert_false(mailbox_has_mail(&mailbox));
	for (unsigned i = 0; i < 3; i++) {
		mailbox_post(&mailbox, &letters[i].message);
		assert_true(mailbox_has_mail(&mailbox));
		assert_int_equal(wakes, i + 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_true(mailbox_has_mail(&mailbox));
		assert_int_equal(letter_of(mailbox_get(&mailbox))->number, i + 1);
	}
	assert_false(mailbox_has_mail(&mailbox));
	assert_null(mailbox_get(&mailbox));
	mailbox_done(&mailbox);
}

static void a_receiver_that_polls_needs_no_wake(void **state)
{
	struct letter letter = { .number = 1 };
	struct mailbox mailbox;

	mailbox_init(&mailbox, NULL, NULL);
	mailbox_post(&mailbox, &letter.message);
	assert_ptr_equal(mailbox_get(&mailbox), &letter.message);
	mailbox_done(&mailbox);
}

static void the_descriptor_is_readable_while_there_is_mail(void **state)
{
	struct letter letters[2] = { { .number = 1 }, { .number = 2 } };
	struct mailbox mailbox;

	assert_int_equal(mailbox_init_fd(&mailbox, NULL), 0);
	assert_true(fcntl(mailbox.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(mailbox.fd, F_GETFL) & O_NONBLOCK);
	assert_false(is_readable(mailbox.fd, 0));
	for (unsigned turn = 0; turn < 3; turn++) {
		mailbox_post(&mailbox, &letters[0].message);
		mailbox_post(&mailbox, &letters[1].message);
		assert_true(is_readable(mailbox.fd, 0));
		assert_non_null(mailbox_get(&mailbox));
		assert_true(is_readable(mailbox.fd, 0));
		assert_non_null(mailbox_get(&mailbox));
		assert_null(mailbox_get(&mailbox));
		assert_false(is_readable(mailbox.fd, 0));
	}
	mailbox_done(&mailbox);
	assert_int_equal(mailbox.fd, -1);
}

static void without_a_descriptor_it_is_an_error_that_names_the_limit_and_the_cure(void **state)
{
	struct rlimit old;
	struct rlimit none;
	struct mailbox mailbox;
	struct error err = ERROR_INIT;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(mailbox_init_fd(&mailbox, &err), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(mailbox.fd, -1);
	assert_int_equal(err.class, ERROR_RESOURCE);
	assert_non_null(strstr(err.text, "this process may have 0 open, raise that (LimitNOFILE="));
	mailbox_done(&mailbox);
}

static void mail_that_comes_while_the_receiver_empties_is_not_missed(void **state)
{
	struct letter letters[2] = { { .number = 1 }, { .number = 2 } };
	struct mailbox mailbox;

	assert_int_equal(mailbox_init_fd(&mailbox, NULL), 0);
	mailbox_post(&mailbox, &letters[0].message);
	assert_non_null(mailbox_get(&mailbox));
	/* the receiver has not yet seen the NULL that quiets the descriptor */
	mailbox_post(&mailbox, &letters[1].message);
	assert_true(is_readable(mailbox.fd, 0));
	assert_ptr_equal(mailbox_get(&mailbox), &letters[1].message);
	assert_null(mailbox_get(&mailbox));
	assert_false(is_readable(mailbox.fd, 0));
	mailbox_done(&mailbox);
}

struct sender {
	struct mailbox *mailbox;
	unsigned index;
};

static void *send_letters(void *arg)
{
	const struct sender *sender = arg;

	for (unsigned i = 0; i < LETTERS; i++) {
		struct letter *letter = memory_new(sizeof(*letter));

		letter->sender = sender->index;
		letter->number = i;
		mailbox_post(sender->mailbox, &letter->message);
	}
	return NULL;
}

static void many_senders_lose_nothing_and_keep_their_order(void **state)
{
	struct sender senders[SENDERS];
	pthread_t threads[SENDERS];
	unsigned next[SENDERS] = { 0 };
	struct mailbox mailbox;
	unsigned received = 0;

	assert_int_equal(mailbox_init_fd(&mailbox, NULL), 0);
	for (unsigned i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){ .mailbox = &mailbox, .index = i };
		pthread_create(&threads[i], NULL, send_letters, &senders[i]);
	}
	while (received < SENDERS * LETTERS) {
		struct message *message;

		/* a missed wake-up ends here after 10 s */
		assert_true(is_readable(mailbox.fd, 10000));
		while ((message = mailbox_get(&mailbox))) {
			struct letter *letter = letter_of(message);

			assert_int_equal(letter->number, next[letter->sender]);
			next[letter->sender]++;
			received++;
			free(letter);
		}
	}
	for (unsigned i = 0; i < SENDERS; i++) {
		pthread_join(threads[i], NULL);
	}
	assert_null(mailbox_get(&mailbox));
	assert_false(is_readable(mailbox.fd, 0));
	mailbox_done(&mailbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mail_comes_in_order_and_wakes_each_time),
		cmocka_unit_test(a_receiver_that_polls_needs_no_wake),
		cmocka_unit_test(the_descriptor_is_readable_while_there_is_mail),
		cmocka_unit_test(
			without_a_descriptor_it_is_an_error_that_names_the_limit_and_the_cure),
		cmocka_unit_test(mail_that_comes_while_the_receiver_empties_is_not_missed),
		cmocka_unit_test(many_senders_lose_nothing_and_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
