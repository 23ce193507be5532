// SPDX-License-Identifier: MIT
#pragma once

/*
 * An answer before it is sent. Plain data with one owner; errors are problem+json (RFC 9457).
 */

#include <stdbool.h>

#include "http/pieces.h"
#include "util/json.h"
#include "util/text.h"

struct response {
	unsigned status;
	const char *content_type; /* static */
	struct text body; /* the beginning, where there are pieces */
	struct pieces *pieces; /* what comes behind; NULL: nothing */
	char location[128]; /* empty: none */
	char allow[48]; /* empty: none */
	unsigned retry_after_s; /* 0: none */
	bool must_close; /* the connection, after this answer */
};

void response_done(struct response *response);
/* Takes the value. */
void response_json(struct response *response, unsigned status, json_t *value);
void response_text(struct response *response, unsigned status, const char *content_type,
		   const char *text);
/* Takes the pieces. What is soon made, as most answers are, goes into the body at once. */
void response_pieces(struct response *response, unsigned status, const char *content_type,
		     struct pieces *pieces);
/* Makes the rest of the body now, however long it takes: for tests. */
void response_complete(struct response *response);
/*
 * type is "urn:rdmatestd:problem:" and slug; detail says what is wrong and what to do. errors
 * (taken, may be NULL): an array of strings. Answers of 400 and above close the connection.
 */
void response_problem(struct response *response, unsigned status, const char *slug, json_t *errors,
		      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same with what does not stand in the way beside the errors: warnings, taken. */
void response_problem_apart(struct response *response, unsigned status, const char *slug,
			    json_t *errors, json_t *warnings, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
