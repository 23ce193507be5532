// SPDX-License-Identifier: MIT
#include "http/response.h"

#include <stdint.h>
#include <stdio.h>

#include "util/memory.h"

/* Of a body that is made before it is sent, so that its length is known. */
#define AT_ONCE_BYTES (16u << 10)
#define AT_ONCE_NS 300000

static const struct {
	unsigned status;
	const char *title;
} titles[] = {
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 409, "Conflict" },
	{ 411, "Length Required" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 422, "Unprocessable Content" },
	{ 429, "Too Many Requests" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
};

void response_done(struct response *response)
{
	pieces_free(take(response->pieces));
	text_done(&response->body);
}

void response_json(struct response *response, unsigned status, json_t *value)
{
	response->status = status;
	response->content_type = "application/json";
	text_reset(&response->body);
	json_write(value, &response->body);
	text_add(&response->body, "\n");
	json_decref(value);
}

void response_text(struct response *response, unsigned status, const char *content_type,
		   const char *text)
{
	response->status = status;
	response->content_type = content_type;
	text_reset(&response->body);
	text_add(&response->body, text);
}

void response_pieces(struct response *response, unsigned status, const char *content_type,
		     struct pieces *pieces)
{
	response_text(response, status, content_type, "");
	pieces_free(response->pieces);
	response->pieces = pieces;
	pieces_fill(&response->pieces, &response->body, AT_ONCE_BYTES, AT_ONCE_NS);
}

void response_complete(struct response *response)
{
	while (response->pieces) {
		pieces_fill(&response->pieces, &response->body, SIZE_MAX, UINT32_MAX);
	}
}

__attribute__((format(printf, 6, 0))) static void
write_problem(struct response *response, unsigned status, const char *slug, json_t *errors,
	      json_t *warnings, const char *format, va_list arguments)
{
	_cleanup_text_ struct text detail = TEXT_INIT;
	const char *title = "Error";
	json_t *object = json_object();
	char type[96];

	text_format_list(&detail, format, arguments);
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		if (titles[i].status == status) {
			title = titles[i].title;
		}
	}
	snprintf(type, sizeof(type), "urn:rdmatestd:problem:%s", slug);
	json_set_string(object, "type", type);
	json_set_string(object, "title", title);
	json_set_u64(object, "status", status);
	json_set_string(object, "detail", detail.data);
	if (errors) {
		json_set_take(object, "errors", errors);
	}
	if (warnings) {
		json_set_take(object, "warnings", warnings);
	}
	response_json(response, status, object);
	response->content_type = "application/problem+json";
	response->must_close = status >= 400;
}

void response_problem(struct response *response, unsigned status, const char *slug, json_t *errors,
		      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_problem(response, status, slug, errors, NULL, format, arguments);
	va_end(arguments);
}

void response_problem_apart(struct response *response, unsigned status, const char *slug,
			    json_t *errors, json_t *warnings, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_problem(response, status, slug, errors, warnings, format, arguments);
	va_end(arguments);
}
