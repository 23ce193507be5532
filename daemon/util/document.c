// SPDX-License-Identifier: MIT
#include "util/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "util/document_node.h"
#include "util/document_source.h"
#include "util/memory.h"

/*
 * libyaml's tree loader follows aliases into cycles, keeps duplicate keys, knows no depth limit and
 * silently stops after the first document; hence its events, and our own tree. Its marks count from
 * 0, in characters.
 */
struct reader {
	yaml_parser_t parser;
	struct document_source source;
	struct problems *problems;
	unsigned nodes;
	size_t tab_line; /* complained about last, counted from 1 */
};

#define complain(reader, mark, ...)                                                               \
	problems_add((reader)->problems, false, (reader)->source.path, (unsigned)(mark).line + 1, \
		     (unsigned)(mark).column + 1, __VA_ARGS__)

/* What libyaml says is right, and tells nobody what to do. */
static const char *syntax_cure(const char *what, const char *context)
{
	static const struct {
		const char *what;
		const char *context; /* NULL: any */
		const char *cure;
	} cures[] = {
		{ "mapping values are not allowed", NULL,
		  "; put a value that has \": \" in it in quotes, or look for a wrong indentation" },
		{ "alphabetic or numeric character", "alias",
		  "; put a value that begins with * in quotes: \"*\"" },
		{ "alphabetic or numeric character", "anchor",
		  "; put a value that begins with & in quotes" },
		{ "cannot start any token", NULL,
		  "; put a value that begins with @, `, % or a tab in quotes" },
		{ "expected ',' or '}'", NULL,
		  "; close the { }, or put a value with \": \", \"{\" or \"}\" in it in quotes" },
		{ "expected ',' or ']'", NULL,
		  "; close the [ ], or put a value with \"[\" or \"]\" in it in quotes" },
		{ "could not find expected ':'", NULL,
		  "; a key is followed by a colon and a blank" },
		{ "expected '-' indicator", NULL,
		  "; the items of a list begin with \"- \" in one column" },
		{ "did not find expected key", NULL, "; the keys of a map begin in one column" },
	};

	for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++) {
		if (strstr(what, cures[i].what) &&
		    (!cures[i].context || (context && strstr(context, cures[i].context)))) {
			return cures[i].cure;
		}
	}
	return "";
}

static void complain_syntax(struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;
	yaml_mark_t mark = parser->problem_mark;
	const char *what = parser->problem ? parser->problem : "cannot be read";
	const char *cure = syntax_cure(what, parser->context);
	size_t offset;

	if (parser->error == YAML_READER_ERROR) {
		/* Its mark says nothing. */
		document_source_place(&reader->source, parser->problem_offset, &mark.line,
				      &mark.column);
		complain(reader, mark, "YAML: %s (0x%x)", what, (unsigned)parser->problem_value);
		return;
	}
	offset = document_source_offset(&reader->source, mark.line, mark.column);
	if ((offset < reader->source.count && reader->source.bytes[offset] == '\t') ||
	    strstr(what, "tab character")) {
		complain(reader, mark, "tab used for indentation; use spaces");
	} else if (parser->context && parser->context_mark.line != mark.line) {
		complain(reader, mark, "YAML: %s (%s that begins at line %u)%s", what,
			 parser->context, (unsigned)parser->context_mark.line + 1, cure);
	} else if (parser->context) {
		complain(reader, mark, "YAML: %s (%s)%s", what, parser->context, cure);
	} else {
		complain(reader, mark, "YAML: %s%s", what, cure);
	}
}

static bool next_event(struct reader *reader, yaml_event_t *ret)
{
	if (yaml_parser_parse(&reader->parser, ret)) {
		return true;
	}
	if (reader->parser.error == YAML_MEMORY_ERROR) {
		abort();
	}
	complain_syntax(reader);
	return false;
}

static void check_properties(struct reader *reader, yaml_mark_t mark, const yaml_char_t *anchor,
			     const yaml_char_t *tag)
{
	char quoted[TEXT_QUOTED_SIZE];

	if (anchor) {
		text_quote(quoted, (const char *)anchor);
		complain(reader, mark,
			 "anchor \"&%s\" is not supported; write the value where it is used",
			 quoted);
	}
	if (tag) {
		text_quote(quoted, (const char *)tag);
		complain(reader, mark, "tag \"%s\" is not supported; remove it", quoted);
	}
}

static struct document_node *read_scalar(struct reader *reader, const yaml_event_t *event)
{
	yaml_mark_t mark = event->start_mark;
	struct document_node *node = document_node_new(DOCUMENT_SCALAR, (unsigned)mark.line + 1,
						       (unsigned)mark.column + 1);

	check_properties(reader, mark, event->data.scalar.anchor, event->data.scalar.tag);
	node->is_reported = event->data.scalar.tag;
	if (memchr(event->data.scalar.value, '\0', event->data.scalar.length)) {
		complain(reader, mark, "NUL byte in a quoted string; remove the \"\\0\"");
		node->is_reported = true;
	}
	node->scalar = memory_copy_string((const char *)event->data.scalar.value);
	node->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	node->has_value = node->is_quoted || event->data.scalar.length > 0;
	return node;
}

static struct document_node *read_alias(struct reader *reader, const yaml_event_t *event)
{
	yaml_mark_t mark = event->start_mark;
	struct document_node *node = document_node_new(DOCUMENT_SCALAR, (unsigned)mark.line + 1,
						       (unsigned)mark.column + 1);
	char quoted[TEXT_QUOTED_SIZE];

	text_quote(quoted, (const char *)event->data.alias.anchor);
	complain(reader, mark, "alias \"*%s\" is not supported; write the value itself", quoted);
	node->scalar = memory_copy_string("");
	node->is_reported = true;
	return node;
}

static bool read_node(struct reader *reader, yaml_event_t *event, unsigned depth,
		      struct document_node **ret);

/* A key that cannot stand is complained about once and left out with its value. */
static bool is_usable_key(struct reader *reader, const struct document_node *key)
{
	yaml_mark_t mark = { .line = key->line - 1, .column = key->column - 1 };

	if (key->is_reported) {
		return false;
	}
	if (key->kind != DOCUMENT_SCALAR) {
		complain(reader, mark, "a key is a plain word, not a %s",
			 key->kind == DOCUMENT_MAP ? "map" : "list");
		return false;
	}
	if (key->scalar[0] == '\0') {
		complain(reader, mark, "a key is missing before the \":\"");
		return false;
	}
	if (strcmp(key->scalar, "<<") == 0 && !key->is_quoted) {
		complain(reader, mark, "merge key \"<<\" is not supported; write the keys out");
		return false;
	}
	return true;
}

/* Takes the event. Items of a list, or keys and values in turn, up to the end event. */
static bool read_collection(struct reader *reader, const yaml_event_t *start, unsigned depth,
			    struct document_node **ret_node)
{
	bool is_map = start->type == YAML_MAPPING_START_EVENT;
	yaml_mark_t mark = start->start_mark;
	_cleanup_(document_node_free_pointer) struct document_node *node =
		document_node_new(is_map ? DOCUMENT_MAP : DOCUMENT_LIST, (unsigned)mark.line + 1,
				  (unsigned)mark.column + 1);

	node->has_value = true;
	for (;;) {
		_cleanup_(document_node_free_pointer) struct document_node *key = NULL;
		_cleanup_(document_node_free_pointer) struct document_node *value = NULL;
		yaml_event_t event;

		if (!next_event(reader, &event)) {
			return false;
		}
		if (event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			break;
		}
		if (is_map) {
			if (!read_node(reader, &event, depth + 1, &key) ||
			    !next_event(reader, &event)) {
				return false;
			}
		}
		if (!read_node(reader, &event, depth + 1, &value)) {
			return false;
		}
		if (!is_map) {
			document_node_add(node, NULL, take(value));
		} else if (is_usable_key(reader, key)) {
			document_node_add(node, take(key), take(value));
		}
	}
	*ret_node = take(node);
	return true;
}

/* Sorted, because a map may hold 10,000 keys. */
static void check_duplicates(struct reader *reader, const struct document_node *map)
{
	_cleanup_free_ struct document_node **sorted =
		memory_new_array(map->count, sizeof(*sorted));
	const struct document_node *first = NULL;

	for (size_t i = 0; i < map->count; i++) {
		sorted[i] = map->keys[i];
	}
	document_node_sort(sorted, map->count);
	for (size_t i = 0; i < map->count; i++) {
		char quoted[TEXT_QUOTED_SIZE];

		if (!first || strcmp(first->scalar, sorted[i]->scalar) != 0) {
			first = sorted[i];
			continue;
		}
		text_quote(quoted, sorted[i]->scalar);
		problems_add(reader->problems, false, reader->source.path, sorted[i]->line,
			     sorted[i]->column, "duplicate key \"%s\" (first at line %u)", quoted,
			     first->line);
		sorted[i]->is_reported = true;
	}
}

/* Takes the event. False when the file cannot be read on (said in the problems). */
static bool read_node(struct reader *reader, yaml_event_t *event, unsigned depth,
		      struct document_node **ret)
{
	yaml_mark_t mark = event->start_mark;
	bool is_fine = true;

	if (depth > DOCUMENT_MAX_DEPTH || reader->nodes >= DOCUMENT_MAX_NODES) {
		if (depth > DOCUMENT_MAX_DEPTH) {
			complain(reader, mark, "nested deeper than %u levels", DOCUMENT_MAX_DEPTH);
		} else {
			complain(reader, mark, "more than %u keys and values; split the file",
				 DOCUMENT_MAX_NODES);
		}
		yaml_event_delete(event);
		return false;
	}
	reader->nodes++;
	if (mark.line + 1 != reader->tab_line &&
	    document_source_is_tab_indented(&reader->source, mark.line, mark.column)) {
		reader->tab_line = mark.line + 1;
		complain(reader, mark, "tab used for indentation; use spaces");
	}
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		*ret = read_scalar(reader, event);
		break;
	case YAML_ALIAS_EVENT:
		*ret = read_alias(reader, event);
		break;
	case YAML_SEQUENCE_START_EVENT:
		check_properties(reader, mark, event->data.sequence_start.anchor,
				 event->data.sequence_start.tag);
		is_fine = read_collection(reader, event, depth, ret);
		break;
	case YAML_MAPPING_START_EVENT:
		check_properties(reader, mark, event->data.mapping_start.anchor,
				 event->data.mapping_start.tag);
		is_fine = read_collection(reader, event, depth, ret);
		if (is_fine) {
			check_duplicates(reader, *ret);
		}
		break;
	default:
		is_fine = false; /* libyaml's grammar does not send others here */
		break;
	}
	yaml_event_delete(event);
	return is_fine;
}

/* Up to the end of the stream; what comes before or between does not matter here. */
static bool read_stream(struct reader *reader, struct document_node **root)
{
	for (;;) {
		yaml_event_t event;
		yaml_event_type_t type;

		if (!next_event(reader, &event)) {
			return false;
		}
		type = event.type;
		if (type == YAML_DOCUMENT_START_EVENT && *root) {
			complain(reader, event.start_mark,
				 "second YAML document (\"---\"); write one document per file");
			yaml_event_delete(&event);
			return false;
		}
		yaml_event_delete(&event);
		if (type == YAML_STREAM_END_EVENT) {
			return true;
		}
		if (type == YAML_DOCUMENT_START_EVENT &&
		    (!next_event(reader, &event) || !read_node(reader, &event, 1, root))) {
			return false;
		}
	}
}

static struct document_node *read_root(struct reader *reader)
{
	_cleanup_(document_node_free_pointer) struct document_node *root = NULL;

	if (!read_stream(reader, &root)) {
		return NULL;
	}
	if (!root || (root->kind == DOCUMENT_SCALAR && !root->has_value && !root->is_reported)) {
		return document_node_new(DOCUMENT_MAP, 1, 1);
	}
	if (root->kind != DOCUMENT_MAP) {
		problems_add(reader->problems, false, reader->source.path, root->line, root->column,
			     "a configuration is a map of keys and values, not a %s",
			     root->kind == DOCUMENT_LIST ? "list" : "single value");
		return NULL;
	}
	return take(root);
}

struct document *document_read(const char *path, const char *bytes, size_t count,
			       struct problems *problems)
{
	struct reader reader = { .problems = problems };
	struct document_node *root = NULL;
	struct document *document;

	if (count > DOCUMENT_MAX_BYTES) {
		problems_add(problems, false, path, 0, 0, "larger than %u bytes; split the file",
			     DOCUMENT_MAX_BYTES);
		return NULL;
	}
	document_source_init(&reader.source, path, bytes, count);
	if (document_source_check(&reader.source, problems)) {
		if (!yaml_parser_initialize(&reader.parser)) {
			abort(); /* only memory can be missing */
		}
		yaml_parser_set_input_string(&reader.parser, (const unsigned char *)bytes, count);
		root = read_root(&reader);
		yaml_parser_delete(&reader.parser);
	}
	document_source_done(&reader.source);
	if (!root) {
		return NULL;
	}
	document = memory_new(sizeof(*document));
	document->path = memory_copy_string(path);
	document->root = root;
	return document;
}

struct document *document_read_file(const char *path, struct problems *problems)
{
	_cleanup_free_ char *bytes = memory_new(DOCUMENT_MAX_BYTES + 1);
	ssize_t count = document_source_read(path, bytes, DOCUMENT_MAX_BYTES + 1);

	if (count == -ENOTSUP) {
		problems_add(problems, false, path, 0, 0, "is not a regular file");
		return NULL;
	}
	if (count < 0) {
		problems_add(problems, false, path, 0, 0, "cannot be read: %s",
			     strerrordesc_np((int)-count));
		return NULL;
	}
	return document_read(path, bytes, (size_t)count, problems);
}

void document_free(struct document *document)
{
	if (!document) {
		return;
	}
	document_node_free(document->root);
	free(document->path);
	free(document);
}

const struct document_node *document_get(const struct document_node *map, const char *key)
{
	if (map->kind != DOCUMENT_MAP) {
		return NULL;
	}
	for (size_t i = 0; i < map->count; i++) {
		if (strcmp(map->keys[i]->scalar, key) == 0) {
			return map->values[i];
		}
	}
	return NULL;
}
