// SPDX-License-Identifier: MIT
#include "ctl/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/units.h"

#define HTTP_NOT_FOUND 404
#define CURE_STATUS "`systemctl status rdmatestd` tells how it is"

struct client {
	const char *socket_path;
	uint64_t timeout_ns;
	size_t limit_bytes; /* of an answer */
	uint64_t held_ns; /* the daemon was asked to answer so much later */
	int interrupt_fd;
	CURL *easy;
	CURLM *multi;
};

/* One request under way. */
struct transfer {
	struct client_reply *reply;
	size_t limit_bytes;
	bool is_too_long;
};

void client_reply_done(struct client_reply *reply)
{
	text_done(&reply->body);
	json_decref(take(reply->json));
}

int client_check_socket(const char *path, struct error *err)
{
	size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path);
	char quoted[TEXT_QUOTED_SIZE];

	if (path[0] == '\0' || strlen(path) >= room) {
		return error_set(err, -EINVAL, ERROR_INPUT,
				 "--socket \"%s\": a path of 1 to %zu bytes is expected",
				 text_quote(quoted, path), room - 1);
	}
	return 0;
}

struct client *client_new(const char *socket_path, uint64_t timeout_ns, struct error *err)
{
	struct client *client;

	if (client_check_socket(socket_path, err) < 0) {
		return NULL;
	}
	client = memory_new(sizeof(*client));
	client->socket_path = socket_path;
	client->timeout_ns = timeout_ns;
	client->interrupt_fd = -1;
	client->limit_bytes = CLIENT_MAX_ANSWER_BYTES;
	client->easy = curl_easy_init();
	client->multi = curl_multi_init();
	if (client->easy == NULL || client->multi == NULL) {
		error_set(err, -ENOMEM, ERROR_RESOURCE, "libcurl cannot be set up");
		client_free(client);
		return NULL;
	}
	return client;
}

void client_free(struct client *client)
{
	if (client == NULL) {
		return;
	}
	curl_easy_cleanup(client->easy);
	curl_multi_cleanup(client->multi);
	free(client);
}

void client_set_interrupt(struct client *client, int fd)
{
	client->interrupt_fd = fd;
}

void client_set_limit(struct client *client, size_t bytes)
{
	client->limit_bytes = bytes;
}

void client_set_held(struct client *client, uint64_t ns)
{
	client->held_ns = ns;
}

static uint64_t patience_ns(const struct client *client)
{
	return client->timeout_ns + client->held_ns;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *transfer = arg;

	if (size * count > transfer->limit_bytes - transfer->reply->body.length) {
		transfer->is_too_long = true;
		return 0;
	}
	text_add_bytes(&transfer->reply->body, bytes, size * count);
	return size * count;
}

static void prepare(struct client *client, const char *method, const char *url,
		    struct transfer *transfer)
{
	CURL *easy = client->easy;

	curl_easy_reset(easy);
	curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, client->socket_path);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "rdmatestctl/" RDMATESTD_VERSION);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(patience_ns(client) / 1000000));
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	if (strcmp(method, "POST") == 0) {
		curl_easy_setopt(easy, CURLOPT_POST, 1L);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
	}
}

/* Until the request is over; -EINTR when the interrupt came first. */
static int perform(struct client *client, CURLcode *ret_code)
{
	struct curl_waitfd interrupt = { .fd = client->interrupt_fd, .events = CURL_WAIT_POLLIN };
	int running = 1;
	CURLMsg *message;
	int left;

	while (curl_multi_perform(client->multi, &running) == CURLM_OK && running > 0) {
		unsigned count = client->interrupt_fd >= 0;

		interrupt.revents = 0;
		if (curl_multi_poll(client->multi, count > 0 ? &interrupt : NULL, count, 1000,
				    NULL) != CURLM_OK) {
			break;
		}
		if (interrupt.revents != 0) {
			return -EINTR;
		}
	}
	while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
		if (message->msg == CURLMSG_DONE) {
			*ret_code = message->data.result;
			return 0;
		}
	}
	*ret_code = CURLE_FAILED_INIT;
	return 0;
}

/* libcurl does not tell why a unix socket refused: asks it again. */
static int errno_of_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		return errno;
	}
	return 0;
}

static int refuse_connect(const struct client *client, struct error *err)
{
	const char *path = client->socket_path;
	int number = errno_of_connect(path);

	switch (number) {
	case ENOENT:
	case ENOTDIR:
		return error_set(err, -number, ERROR_RESOURCE,
				 "rdmatestd is not running: there is no %s; " CURE_STATUS
				 ", --socket=PATH names another socket",
				 path);
	case ECONNREFUSED:
		return error_set(err, -number, ERROR_RESOURCE,
				 "rdmatestd is not running: nobody listens at %s; " CURE_STATUS,
				 path);
	case EACCES:
	case EPERM:
		return error_set(
			err, -number, ERROR_RESOURCE,
			"no permission to use %s; become a member of group rdmatest-admin "
			"(usermod -aG rdmatest-admin USER, then log in again), or use sudo",
			path);
	default:
		return error_set(err, number != 0 ? -number : -EIO, ERROR_RESOURCE,
				 "no connection to rdmatestd at %s%s%s; " CURE_STATUS, path,
				 number != 0 ? ": " : "",
				 number != 0 ? strerrordesc_np(number) : "");
	}
}

static int refuse(const struct client *client, CURLcode code, const struct transfer *transfer,
		  struct error *err)
{
	char timeout[UNITS_SIZE];

	if (transfer->is_too_long) {
		return error_set(err, -EMSGSIZE, ERROR_PEER,
				 "the answer at %s is longer than %zu MiB: is this the socket of "
				 "rdmatestd?",
				 client->socket_path, client->limit_bytes >> 20);
	}
	switch (code) {
	case CURLE_COULDNT_CONNECT:
		return refuse_connect(client, err);
	case CURLE_OPERATION_TIMEDOUT:
		return error_set(err, -ETIMEDOUT, ERROR_PEER,
				 "rdmatestd did not answer at %s within %s; " CURE_STATUS
				 ", --timeout=DURATION waits longer",
				 client->socket_path,
				 units_format_duration(patience_ns(client), timeout));
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_PARTIAL_FILE:
		return error_set(err, -ECONNRESET, ERROR_PEER,
				 "rdmatestd went away before it had answered; " CURE_STATUS);
	default:
		return error_set(err, -EIO, ERROR_PEER, "no answer from rdmatestd at %s: %s",
				 client->socket_path, curl_easy_strerror(code));
	}
}

int client_request(struct client *client, const char *method, const char *path,
		   struct client_reply *ret_reply, struct error *err)
{
	struct transfer transfer = { .reply = ret_reply, .limit_bytes = client->limit_bytes };
	_cleanup_text_ struct text url = TEXT_INIT;
	CURLcode code = CURLE_OK;
	int ret;

	text_format(&url, "http://localhost%s", path);
	prepare(client, method, url.data, &transfer);
	curl_multi_add_handle(client->multi, client->easy);
	ret = perform(client, &code);
	curl_multi_remove_handle(client->multi, client->easy);
	if (ret < 0) {
		return error_set(err, ret, ERROR_INPUT, "interrupted");
	}
	if (code != CURLE_OK) {
		return refuse(client, code, &transfer, err);
	}
	curl_easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &ret_reply->status);
	if (ret_reply->body.length > 0) {
		ret_reply->json = json_read(ret_reply->body.data, ret_reply->body.length, NULL);
	}
	return 0;
}

static int refuse_answer(const struct client_reply *reply, const struct field_wanted *missing,
			 struct error *err)
{
	if (reply->json == NULL) {
		return error_set(err, -EREMOTEIO, ERROR_PEER,
				 "the answer (HTTP status %ld) is not what rdmatestd %s says: is "
				 "this its socket?",
				 reply->status, RDMATESTD_VERSION);
	}
	return error_set(err, -EREMOTEIO, ERROR_PEER,
			 "the answer (HTTP status %ld) lacks \"%s\" (%s), so it is not what "
			 "rdmatestd %s says: is this its socket, and is it of this version?",
			 reply->status, missing->place, field_kind_name(missing->kind),
			 RDMATESTD_VERSION);
}

int client_reply_check(const struct client_reply *reply, const struct field_wanted *wanted,
		       struct error *err)
{
	const char *title = json_string_value(json_object_get(reply->json, "title"));
	const char *detail = json_string_value(json_object_get(reply->json, "detail"));
	const struct field_wanted *missing;

	if (reply->json == NULL) {
		return refuse_answer(reply, NULL, err);
	}
	if (reply->status < 300) {
		missing = field_missing(reply->json, wanted);
		return missing != NULL ? refuse_answer(reply, missing, err) : 0;
	}
	if (detail != NULL) {
		return error_set(err, -EREMOTEIO, ERROR_PEER, "%s", detail);
	}
	return error_set(err, -EREMOTEIO, ERROR_PEER, "rdmatestd refuses (HTTP status %ld)%s%s",
			 reply->status, title ? ": " : "", title ? title : "");
}

int client_reply_check_run(const struct client_reply *reply, const char *id,
			   const struct field_wanted *wanted, struct error *err)
{
	char quoted[TEXT_QUOTED_SIZE];

	if (reply->status == HTTP_NOT_FOUND) {
		return error_set(err, -ENOENT, ERROR_INPUT,
				 "there is no run \"%s\", or several begin so; rdmatestctl results "
				 "lists those that the daemon keeps",
				 text_quote(quoted, id));
	}
	return client_reply_check(reply, wanted, err);
}

int client_get(struct client *client, const char *path, const struct field_wanted *wanted,
	       struct client_reply *ret_reply, struct error *err)
{
	int ret = client_request(client, "GET", path, ret_reply, err);

	return ret < 0 ? ret : client_reply_check(ret_reply, wanted, err);
}

void client_add_escaped(struct text *path, const char *string)
{
	for (; *string != '\0'; string++) {
		unsigned char byte = (unsigned char)*string;
		bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
				(byte >= '0' && byte <= '9') ||
				(byte != '\0' && strchr("-._~", byte) != NULL);

		if (is_plain) {
			text_add_bytes(path, string, 1);
		} else {
			text_format(path, "%%%02X", byte);
		}
	}
}
