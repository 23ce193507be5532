// SPDX-License-Identifier: MIT
#include "control/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/limits.h"
#include "util/memory.h"

static const struct tls_key key_a = { .bytes = { 1, 2, 3 }, .count = 32 };
static const struct tls_key key_b = { .bytes = { 1, 2, 4 }, .count = 32 };

struct pair {
	struct tls *client;
	struct tls *server;
};

static void pair_of_sockets(int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
			 0);
}

static void pair_init(struct pair *pair, const struct tls_key *client, const struct tls_key *server)
{
	struct error err = ERROR_INIT;
	int fds[2];

	pair_of_sockets(fds);
	assert_int_equal(tls_new(&pair->client, fds[0], false, client, &err), 0);
	assert_int_equal(tls_new(&pair->server, fds[1], true, server, &err), 0);
}

static void pair_done(struct pair *pair)
{
	tls_free(pair->client);
	tls_free(pair->server);
}

/* Both results, when neither waits any more. */
static void shake(struct pair *pair, int *ret_client, int *ret_server, struct error *client_err,
		  struct error *server_err)
{
	int client = -EAGAIN;
	int server = -EAGAIN;

	for (int i = 0; i < 20 && (client == -EAGAIN || server == -EAGAIN); i++) {
		if (client == -EAGAIN) {
			client = tls_handshake(pair->client, client_err);
		}
		if (server == -EAGAIN) {
			server = tls_handshake(pair->server, server_err);
		}
	}
	*ret_client = client;
	*ret_server = server;
}

static void connected(struct pair *pair)
{
	struct error err = ERROR_INIT;
	int client;
	int server;

	pair_init(pair, &key_a, &key_a);
	shake(pair, &client, &server, &err, &err);
	assert_int_equal(client, 0);
	assert_int_equal(server, 0);
}

static void the_same_key_connects_and_carries_bytes_both_ways(void **state)
{
	struct error err = ERROR_INIT;
	struct pair pair;
	char bytes[32];

	connected(&pair);
	assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), -EAGAIN);
	assert_int_equal(tls_write(pair.client, "hello", 5, &err), 5);
	assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), 5);
	assert_memory_equal(bytes, "hello", 5);
	assert_int_equal(tls_write(pair.server, "you", 3, &err), 3);
	assert_int_equal(tls_read(pair.client, bytes, sizeof(bytes), &err), 3);
	assert_memory_equal(bytes, "you", 3);
	assert_true(tls_received_bytes(pair.server) > 5);
	assert_false(error_is_set(&err));
	pair_done(&pair);
}

static void another_key_is_told_to_both_sides(void **state)
{
	static const struct tls_key shorter = { .bytes = { 1, 2, 3 }, .count = 16 };
	const struct tls_key *const others[] = { &key_b, &shorter };

	for (size_t i = 0; i < 2; i++) {
		struct error client_err = ERROR_INIT;
		struct error server_err = ERROR_INIT;
		struct pair pair;
		int client;
		int server;

		pair_init(&pair, &key_a, others[i]);
		shake(&pair, &client, &server, &client_err, &server_err);
		assert_int_equal(client, -EKEYREJECTED);
		assert_int_equal(server, -EKEYREJECTED);
		assert_int_equal(client_err.class, ERROR_PEER);
		assert_non_null(strstr(client_err.text, "key_file"));
		assert_non_null(strstr(server_err.text, "key_file"));
		pair_done(&pair);
	}
}

/* What either side makes of bytes that are no TLS; then of the end of the stream, if it still
 * waits. */
static int garbage(bool is_server, const void *bytes, size_t count, struct error *err)
{
	struct tls *tls;
	int fds[2];
	int ret;

	pair_of_sockets(fds);
	assert_int_equal(tls_new(&tls, fds[1], is_server, &key_a, err), 0);
	assert_true(write(fds[0], bytes, count) >= 0);
	ret = tls_handshake(tls, err);
	if (ret == -EAGAIN) {
		close(fds[0]);
		fds[0] = -1;
	}
	/* GnuTLS may say "again" after each record, though more is there. */
	for (int i = 0; i < 40 && ret == -EAGAIN; i++) {
		ret = tls_handshake(tls, err);
	}
	tls_free(tls);
	memory_close_fd(&fds[0]);
	return ret;
}

static void garbage_ends_a_handshake_with_a_reason(void **state)
{
	static const char http[] = "GET / HTTP/1.1\r\nHost: node\r\n\r\n";
	static const char cut[] = "\x16\x03\x01\x01";
	static const char record[] = "\x16\x03\x01\xff\xff";

	for (int is_server = 0; is_server < 2; is_server++) {
		struct error err = ERROR_INIT;

		assert_int_equal(garbage(is_server, http, sizeof(http) - 1, &err), -EPROTO);
		assert_int_equal(err.class, ERROR_PEER);
		assert_non_null(strstr(err.text, "is it rdmatestd?"));
		err = ERROR_INIT;
		assert_int_equal(garbage(is_server, cut, sizeof(cut) - 1, &err), -ECONNRESET);
		err = ERROR_INIT;
		assert_int_equal(garbage(is_server, record, sizeof(record) - 1, &err), -EPROTO);
		err = ERROR_INIT;
		assert_int_equal(garbage(is_server, "", 0, &err), -ECONNRESET);
	}
}

static void a_flood_before_the_key_was_shown_is_cut_at_4_kib(void **state)
{
	/* One handshake message of 64 KiB in records of 1 KiB: correct TLS so far, and too much of
	 * it. */
	char flood[20 * 1029] = { 0 };
	struct error err = ERROR_INIT;

	for (size_t i = 0; i < 20; i++) {
		memcpy(flood + i * 1029, "\x16\x03\x01\x04\x00", 5);
	}
	memcpy(flood + 5, "\x01\x00\xff\xf0", 4);
	assert_int_equal(garbage(true, flood, sizeof(flood), &err), -EMSGSIZE);
	assert_non_null(strstr(err.text, "4096 bytes"));
}

/* Each piece costs a wake-up; an honest handshake has a handful. */
static void a_handshake_in_too_many_pieces_is_refused(void **state)
{
	static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
	struct error err = ERROR_INIT;
	unsigned pieces = 0;
	struct tls *tls;
	int ret = -EAGAIN;
	int fds[2];

	pair_of_sockets(fds);
	assert_int_equal(tls_new(&tls, fds[1], true, &key_a, &err), 0);
	for (; pieces < 400 && ret == -EAGAIN; pieces++) {
		assert_int_equal(
			write(fds[0], pieces < sizeof(hello) - 1 ? hello + pieces : "x", 1), 1);
		ret = tls_handshake(tls, &err);
	}
	assert_int_equal(ret, -EMSGSIZE);
	assert_in_range(pieces, 20, 100);
	assert_non_null(strstr(err.text, "pieces"));
	assert_non_null(strstr(err.text, "is it rdmatestd?"));
	tls_free(tls);
	close(fds[0]);
}

/* A client that keeps the profile and then sends what no rdmatestd does. */
struct other_client {
	gnutls_psk_client_credentials_t credentials;
	gnutls_session_t session;
	struct tls *server;
	int fds[2];
};

static void other_client_init(struct other_client *client)
{
	const gnutls_datum_t key = { (unsigned char *)key_a.bytes, (unsigned)key_a.count };
	struct error err = ERROR_INIT;
	int ret = GNUTLS_E_AGAIN;
	int server = -EAGAIN;

	pair_of_sockets(client->fds);
	assert_int_equal(tls_new(&client->server, client->fds[1], true, &key_a, &err), 0);
	gnutls_init(&client->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
	gnutls_priority_set_direct(client->session,
				   "NORMAL:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+ECDHE-PSK:-GROUP-ALL:"
				   "+GROUP-X25519",
				   NULL);
	gnutls_psk_allocate_client_credentials(&client->credentials);
	gnutls_psk_set_client_credentials(client->credentials, "rdmatestd-fleet", &key,
					  GNUTLS_PSK_KEY_RAW);
	gnutls_credentials_set(client->session, GNUTLS_CRD_PSK, client->credentials);
	gnutls_transport_set_int(client->session, client->fds[0]);
	for (int i = 0; i < 20 && (ret != 0 || server != 0); i++) {
		ret = gnutls_handshake(client->session);
		server = server ? tls_handshake(client->server, &err) : 0;
	}
	assert_int_equal(ret, 0);
	assert_int_equal(server, 0);
}

static void other_client_done(struct other_client *client)
{
	gnutls_deinit(client->session);
	gnutls_psk_free_client_credentials(client->credentials);
	close(client->fds[0]);
	tls_free(client->server);
}

/* As long as one sends them faster than they are read, a read would not end. */
static void warnings_do_not_keep_a_read_busy(void **state)
{
	struct other_client client;
	struct error err = ERROR_INIT;
	char bytes[16];

	other_client_init(&client);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(gnutls_alert_send(client.session, GNUTLS_AL_WARNING,
						   GNUTLS_A_USER_CANCELED),
				 0);
	}
	assert_int_equal(gnutls_record_send(client.session, "x", 1), 1);
	assert_int_equal(tls_read(client.server, bytes, sizeof(bytes), &err), -EPROTO);
	assert_int_equal(err.class, ERROR_PEER);
	other_client_done(&client);
}

static void a_peer_that_changes_its_keys_is_understood(void **state)
{
	struct other_client client;
	struct error err = ERROR_INIT;
	ssize_t got = -EAGAIN;
	char bytes[16];

	other_client_init(&client);
	assert_int_equal(gnutls_session_key_update(client.session, 0), 0);
	assert_int_equal(gnutls_record_send(client.session, "x", 1), 1);
	/* after such a record GnuTLS says "again"; the descriptor tells of what is behind it */
	for (int i = 0; i < 4 && got == -EAGAIN; i++) {
		got = tls_read(client.server, bytes, sizeof(bytes), &err);
	}
	assert_int_equal(got, 1);
	other_client_done(&client);
}

static void records_that_gnutls_holds_are_read_without_the_descriptor(void **state)
{
	static char big[16384];
	char bytes[4096];
	struct error err = ERROR_INIT;
	struct pair pair;

	connected(&pair);
	memset(big, 'x', sizeof(big));
	assert_int_equal(tls_write(pair.client, big, sizeof(big), &err), sizeof(big));
	for (int i = 0; i < 4; i++) {
		assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), 4096);
	}
	assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), -EAGAIN);
	pair_done(&pair);
}

static void a_write_that_would_block_goes_on_with_the_same_bytes(void **state)
{
	static uint8_t out[1 << 20];
	static uint8_t in[1 << 20];
	struct error err = ERROR_INIT;
	struct pair pair;
	size_t sent = 0;
	size_t got = 0;
	unsigned blocked = 0;

	connected(&pair);
	for (size_t i = 0; i < sizeof(out); i++) {
		out[i] = (uint8_t)(i * 31 >> 3);
	}
	while (got < sizeof(in)) {
		ssize_t n = sent < sizeof(out)
				    ? tls_write(pair.client, out + sent, sizeof(out) - sent, &err)
				    : -EAGAIN;

		if (n > 0) {
			sent += (size_t)n;
			continue;
		}
		assert_int_equal(n, -EAGAIN);
		blocked++;
		n = tls_read(pair.server, in + got, sizeof(in) - got, &err);
		assert_true(n > 0);
		got += (size_t)n;
	}
	assert_true(blocked > 1);
	assert_memory_equal(in, out, sizeof(in));
	pair_done(&pair);
}

static void a_goodbye_is_an_end_and_its_lack_an_error(void **state)
{
	struct error err = ERROR_INIT;
	struct pair pair;
	char bytes[16];

	connected(&pair);
	assert_int_equal(tls_write(pair.client, "last", 4, &err), 4);
	tls_bye(pair.client);
	assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), 4);
	assert_int_equal(tls_pending_bytes(pair.server), 1); /* nothing else tells of the end */
	assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), 0);
	assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), 0);
	pair_done(&pair);

	connected(&pair);
	assert_int_equal(tls_write(pair.client, "last", 4, &err), 4);
	tls_free(pair.client);
	pair.client = NULL;
	assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), 4);
	assert_int_equal(tls_pending_bytes(pair.server), 1);
	assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), -ECONNRESET);
	assert_int_equal(err.class, ERROR_PEER);
	assert_non_null(strstr(err.text, "goodbye"));
	pair_done(&pair);
}

static void writing_to_a_peer_that_is_gone_raises_no_signal(void **state)
{
	struct error err = ERROR_INIT;
	struct pair pair;
	ssize_t ret = 0;

	connected(&pair);
	tls_free(pair.client);
	pair.client = NULL;
	for (int i = 0; i < 3 && ret >= 0; i++) {
		ret = tls_write(pair.server, "x", 1, &err);
	}
	assert_int_equal(ret, -ECONNRESET);
	pair_done(&pair);
}

static void a_damaged_record_ends_the_stream(void **state)
{
	struct error err = ERROR_INIT;
	struct pair pair;
	char bytes[64];

	connected(&pair);
	assert_int_equal(write(tls_fd(pair.client), "\x17\x03\x03\x00\x11zzzzzzzzzzzzzzzzz", 22),
			 22);
	assert_int_equal(tls_read(pair.server, bytes, sizeof(bytes), &err), -EPROTO);
	assert_int_equal(err.class, ERROR_PEER);
	pair_done(&pair);
}

/* --- key files --- */

static char path[64];

static void key_file(const char *text, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

#define HEX32 "00112233445566778899aAbBcCdDeEfF"

static void a_key_of_hexadecimal_digits_is_read(void **state)
{
	struct error err = ERROR_INIT;
	struct tls_key key = { 0 };

	key_file(HEX32 "\n", 0640);
	assert_int_equal(tls_key_read(path, &key, &err), 0);
	assert_int_equal(key.count, 16);
	assert_memory_equal(key.bytes,
			    "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16);
	key_file(HEX32 HEX32 HEX32 HEX32, 0400); /* the longest, without a line end */
	assert_int_equal(tls_key_read(path, &key, &err), 0);
	assert_int_equal(key.count, 64);
}

static void a_bad_key_file_says_what_is_wrong_and_never_quotes_the_key(void **state)
{
	static const struct {
		const char *text;
		const char *reason;
	} bad[] = {
		{ "", "is empty" },
		{ "\n", "is empty" },
		{ "deadbeefdeadbeef\n", "too short" },
		{ HEX32 "0\n", "odd number" },
		{ HEX32 "zz\n", "something else" },
		{ HEX32 "\r\n", "something else" },
		{ HEX32 "\n\n", "something else" },
		{ HEX32 "\n" HEX32 "\n", "something else" },
		{ HEX32 HEX32 HEX32 HEX32 "00\n", "too long" },
		{ HEX32 HEX32 HEX32 HEX32 "00", "too long" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct error err = ERROR_INIT;
		struct tls_key key = { .count = 99 };

		key_file(bad[i].text, 0600);
		assert_int_equal(tls_key_read(path, &key, &err), -EINVAL);
		assert_int_equal(err.class, ERROR_INPUT);
		assert_non_null(strstr(err.text, bad[i].reason));
		assert_non_null(strstr(err.text, path));
		assert_non_null(strstr(err.text, "/dev/urandom"));
		assert_null(strstr(err.text, "2233"));
		assert_null(strstr(err.text, "beef"));
		assert_int_equal(key.count, 99);
	}
}

static void a_key_file_that_others_can_read_is_refused(void **state)
{
	struct error err = ERROR_INIT;
	struct tls_key key;

	key_file(HEX32 "\n", 0644);
	assert_int_equal(tls_key_read(path, &key, &err), -EPERM);
	assert_non_null(strstr(err.text, "0644"));
	assert_non_null(strstr(err.text, "chmod o="));
}

static void what_is_no_file_is_no_key(void **state)
{
	struct error err = ERROR_INIT;
	struct tls_key key;

	unlink(path);
	assert_int_equal(tls_key_read(path, &key, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	err = ERROR_INIT;
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(tls_key_read(path, &key, &err), -EINVAL);
	assert_non_null(strstr(err.text, "regular"));
	unlink(path);
	err = ERROR_INIT;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(tls_key_read(path, &key, &err), -EINVAL);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_key_connects_and_carries_bytes_both_ways),
		cmocka_unit_test(another_key_is_told_to_both_sides),
		cmocka_unit_test(garbage_ends_a_handshake_with_a_reason),
		cmocka_unit_test(a_flood_before_the_key_was_shown_is_cut_at_4_kib),
		cmocka_unit_test(a_handshake_in_too_many_pieces_is_refused),
		cmocka_unit_test(warnings_do_not_keep_a_read_busy),
		cmocka_unit_test(a_peer_that_changes_its_keys_is_understood),
		cmocka_unit_test(records_that_gnutls_holds_are_read_without_the_descriptor),
		cmocka_unit_test(a_write_that_would_block_goes_on_with_the_same_bytes),
		cmocka_unit_test(a_goodbye_is_an_end_and_its_lack_an_error),
		cmocka_unit_test(writing_to_a_peer_that_is_gone_raises_no_signal),
		cmocka_unit_test(a_damaged_record_ends_the_stream),
		cmocka_unit_test(a_key_of_hexadecimal_digits_is_read),
		cmocka_unit_test(a_bad_key_file_says_what_is_wrong_and_never_quotes_the_key),
		cmocka_unit_test(a_key_file_that_others_can_read_is_refused),
		cmocka_unit_test(what_is_no_file_is_no_key),
	};
	int failed;

	snprintf(path, sizeof(path), "test-tls.%d.key", (int)getpid());
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
