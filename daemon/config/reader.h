// SPDX-License-Identifier: MIT
#pragma once

/*
 * The main file and what it includes -> plain settings, and for each the node it was read from, so
 * that checks that look at several of them can name every place. Private to config/. One thread.
 */

#include "config/config.h"
#include "util/document.h"

#define READER_MAX_FILES 1024u

/* Where a thing was written; borrowed from the reader. */
struct origin {
	const struct document *document;
	const struct document_node *node;
	size_t index; /* in its file's list */
};

struct reader {
	struct problems *problems; /* borrowed */
	struct config *config; /* borrowed; filled */
	size_t document_count;
	struct document **documents; /* of the files that could be read; the first is the main file,
					NULL if it could not */
	const struct document_node *daemon; /* NULL when there is none */
	struct origin *scenarios; /* config->scenario_count */
	bool *is_sound; /* of each scenario: no error in what runs, so that combinations may be
			   looked at */
	struct origin *peers; /* config->peer_count */
};

/* Reads everything into an empty config (path set); errors are in the problems. Always reader_done.
 */
void reader_init(struct reader *reader, struct config *config, struct problems *problems);
void reader_read(struct reader *reader);
void reader_done(struct reader *reader);
