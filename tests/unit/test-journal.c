// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/journal.h"
#include "util/memory.h"
#include "util/net.h"

static void an_entry_has_its_fields_one_a_line(void **state)
{
	_cleanup_text_ struct text entry = TEXT_INIT;

	journal_entry(4, "rdmatestd", "00112233445566778899aabbccddeeff",
		      "scenario \"a\": MESSAGE=2\\x0a", &entry);
	assert_string_equal(entry.data, "PRIORITY=4\nSYSLOG_IDENTIFIER=rdmatestd\n"
					"MESSAGE_ID=00112233445566778899aabbccddeeff\n"
					"MESSAGE=scenario \"a\": MESSAGE=2\\x0a\n");
}

static void a_datagram_reaches_who_listens_there_and_nobody_waits_for_who_does_not(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char directory[] = "/tmp/test-journal-XXXXXX";
	char got[16] = "";
	char large[4096] = "";
	int listener, r, sent;

	assert_non_null(mkdtemp(directory));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
	assert_int_equal(net_send_datagram(address.sun_path, "hello", 5), -ENOENT);
	listener = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(net_send_datagram(address.sun_path, "hello", 5), 0);
	assert_int_equal(recv(listener, got, sizeof(got), 0), 5);
	assert_memory_equal(got, "hello", 5);
	/* One that never reads. */
	for (sent = 0, r = 0; r == 0 && sent < 100000; sent++) {
		r = net_send_datagram(address.sun_path, large, sizeof(large));
	}
	assert_int_equal(r, -EAGAIN);
	close(listener);
	assert_int_equal(net_send_datagram(address.sun_path, "hello", 5), -ECONNREFUSED);
	unlink(address.sun_path);
	rmdir(directory);
	memset(large, 'x', 200);
	assert_int_equal(net_send_datagram(large, "hello", 5), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_has_its_fields_one_a_line),
		cmocka_unit_test(
			a_datagram_reaches_who_listens_there_and_nobody_waits_for_who_does_not),
	};

	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
