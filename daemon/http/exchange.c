// SPDX-License-Identifier: MIT
#include "http/exchange.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "util/memory.h"

/* What bodies that are made while they are sent may take of a turn of the loop, all together. */
#define TURN_NS 300000u
#define TARGET_BYTES_MAX (24u << 10) /* more than a request can have */
#define BLOCK_BYTES (16u << 10)

static enum request_origin origin_of(struct MHD_Connection *connection, bool is_admin)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *address = info ? info->client_addr : NULL;
	const struct in6_addr *v6;
	bool is_local = false;

	if (is_admin) {
		return REQUEST_ADMIN;
	}
	if (!address) {
		return REQUEST_REMOTE;
	}
	switch (address->sa_family) {
	case AF_INET:
		is_local = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 ==
			   127;
		break;
	case AF_INET6:
		v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
		is_local = IN6_IS_ADDR_LOOPBACK(v6) ||
			   (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
		break;
	case AF_UNIX:
		is_local = true;
		break;
	default:
		break;
	}
	return is_local ? REQUEST_LOCAL : REQUEST_REMOTE;
}

struct exchange *exchange_new(struct MHD_Connection *connection, struct client *client,
			      bool is_admin, const char *target)
{
	struct exchange *exchange = memory_new(sizeof(*exchange));

	exchange->client = client;
	exchange->connection = connection;
	exchange->target_end = target + strlen(target);
	exchange->request.origin = origin_of(connection, is_admin);
	exchange->target_problem =
		request_read_target(&exchange->request, target, &exchange->target_status);
	return exchange;
}

void exchange_free(struct exchange *exchange)
{
	response_done(&exchange->response);
	free(exchange);
}

static enum MHD_Result add_header(void *arg, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	request_add_header(arg, name, value);
	return MHD_YES;
}

/*
 * libmicrohttpd hands over a target as a string, and in the same buffer, behind the blank that
 * ended it, the version: if that is further away, the string ended at a NUL of the client.
 */
static bool has_nul(const struct exchange *exchange, const char *version)
{
	uintptr_t end = (uintptr_t)exchange->target_end;
	uintptr_t next = (uintptr_t)version;

	return next > end + 1 && next - end <= TARGET_BYTES_MAX;
}

bool exchange_check_head(struct exchange *exchange, const char *method, const char *version)
{
	struct request *request = &exchange->request;

	/* A method that does not fit is none of ours. */
	if (!text_copy(request->method, sizeof(request->method), method)) {
		text_copy(request->method, sizeof(request->method), "-");
	}
	request->is_http_1_0 = strcmp(version, "HTTP/1.0") == 0;
	MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, add_header, request);
	if (!exchange->target_problem && has_nul(exchange, version)) {
		exchange->target_problem = "the target has a NUL in it";
		exchange->target_status = 400;
	}
	if (exchange->target_problem) {
		response_problem(&exchange->response, exchange->target_status, "target", NULL, "%s",
				 exchange->target_problem);
		return false;
	}
	return request_check_headers(request, &exchange->response);
}

static void add(struct MHD_Response *answer, const char *name, const char *value)
{
	if (value && value[0]) {
		MHD_add_response_header(answer, name, value);
	}
}

/* A body that is made while it is sent. */
struct body {
	struct text text;
	size_t sent_bytes; /* of the text */
	struct pieces *pieces; /* NULL: the text is the end */
	unsigned *streams;
};

static ssize_t read_body(void *arg, uint64_t position, char *buffer, size_t size)
{
	struct body *body = arg;
	size_t count;

	if (body->sent_bytes == body->text.length && body->pieces) {
		text_reset(&body->text);
		body->sent_bytes = 0;
		/* All who are served in one turn share its time. */
		pieces_fill(&body->pieces, &body->text, size, TURN_NS / *body->streams);
	}
	count = body->text.length - body->sent_bytes;
	if (count == 0) {
		return body->pieces ? 0 : MHD_CONTENT_READER_END_OF_STREAM;
	}
	count = count < size ? count : size;
	memcpy(buffer, body->text.data + body->sent_bytes, count);
	body->sent_bytes += count;
	return (ssize_t)count;
}

static void free_body(void *arg)
{
	struct body *body = arg;

	(*body->streams)--;
	pieces_free(body->pieces);
	text_done(&body->text);
	free(body);
}

/* NULL: no memory. */
static struct MHD_Response *make_answer(struct response *response, unsigned *streams)
{
	struct MHD_Response *answer;
	struct body *body;

	if (!response->pieces) {
		answer = MHD_create_response_from_buffer(response->body.length, response->body.data,
							 MHD_RESPMEM_MUST_FREE);
		if (answer) {
			response->body = TEXT_INIT; /* the buffer goes over to the answer */
		}
		return answer;
	}
	body = memory_new(sizeof(*body));
	*body = (struct body){ .text = response->body,
			       .pieces = take(response->pieces),
			       .streams = streams };
	response->body = TEXT_INIT;
	(*streams)++;
	answer = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_body, body,
						   free_body);
	if (!answer) {
		free_body(body);
	}
	return answer;
}

enum MHD_Result exchange_send(struct exchange *exchange, unsigned *streams)
{
	static const char policy[] =
		"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
		"frame-ancestors 'none'";
	struct response *response = &exchange->response;
	bool is_in_pieces = response->pieces != NULL;
	struct MHD_Response *answer = make_answer(response, streams);
	enum MHD_Result result;
	char number[16];

	if (!answer) {
		return MHD_NO;
	}
	if (is_in_pieces && strcmp(exchange->request.method, "HEAD") == 0) {
		/* libmicrohttpd 0.9.75 ends the body that a HEAD has not: "0", a chunk. */
		MHD_set_response_options(answer, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
	}
	add(answer, MHD_HTTP_HEADER_CONTENT_TYPE, response->content_type);
	add(answer, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	add(answer, "X-Content-Type-Options", "nosniff");
	add(answer, "Content-Security-Policy", policy);
	add(answer, "Referrer-Policy", "no-referrer");
	add(answer, MHD_HTTP_HEADER_LOCATION, response->location);
	add(answer, MHD_HTTP_HEADER_ALLOW, response->allow);
	if (response->retry_after_s > 0) {
		snprintf(number, sizeof(number), "%u", response->retry_after_s);
		add(answer, MHD_HTTP_HEADER_RETRY_AFTER, number);
	}
	if (response->must_close) {
		add(answer, MHD_HTTP_HEADER_CONNECTION, "close");
	}
	exchange->state = EXCHANGE_SENDING;
	result = MHD_queue_response(exchange->connection, response->status, answer);
	MHD_destroy_response(answer);
	return result;
}
