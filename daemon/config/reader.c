// SPDX-License-Identifier: MIT
#include "config/reader.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/file.h"
#include "config/place.h"
#include "util/memory.h"

#define QUOTED_SIZE 44

void reader_init(struct reader *reader, struct config *config, struct problems *problems)
{
	*reader = (struct reader){ .problems = problems, .config = config };
	schema_defaults(daemon_fields, &config->daemon);
}

void reader_done(struct reader *reader)
{
	for (size_t i = 0; i < reader->document_count; i++) {
		document_free(reader->documents[i]);
	}
	free(reader->documents);
	free(reader->scenarios);
	free(reader->is_sound);
	free(reader->peers);
}

static void complain(struct reader *reader, const struct document *document,
		     const struct document_node *node, const char *place, const char *sentence)
{
	problems_add(reader->problems, false, document->path, node->line, node->column, "%s: %s",
		     place, sentence);
}

/* Adds the path to config->files. False when that file, under whatever name, is there already or
 * there are too many. */
static bool add_file(struct reader *reader, const char *path)
{
	struct config *config = reader->config;
	_cleanup_free_ char *real = realpath(path, NULL);

	for (size_t i = 0; i < config->file_count; i++) {
		_cleanup_free_ char *other = realpath(config->files[i], NULL);

		if (strcmp(config->files[i], path) == 0 ||
		    (real && other && strcmp(real, other) == 0)) {
			return false;
		}
	}
	if (config->file_count == READER_MAX_FILES) {
		problems_add(reader->problems, false, path, 0, 0,
			     "is file %u of the configuration; at most %u are read",
			     READER_MAX_FILES + 1, READER_MAX_FILES);
		return false;
	}
	config->files =
		memory_resize(config->files, config->file_count + 1, sizeof(config->files[0]));
	config->files[config->file_count++] = memory_copy_string(path);
	return true;
}

/* Length of the directory part of the main file's path, slash included; 0 when it has none. */
static size_t directory_length(const struct config *config)
{
	const char *slash = strrchr(config->path, '/');

	return slash ? (size_t)(slash - config->path) + 1 : 0;
}

/* "scenarios.d/ring.yaml:3" */
static void write_source(const struct reader *reader, const struct document *document,
			 const struct document_node *node, char *source, size_t size)
{
	size_t length = directory_length(reader->config);
	const char *path = document->path;
	_cleanup_text_ struct text text = TEXT_INIT;

	if (length > 0 && strncmp(path, reader->config->path, length) == 0) {
		path += length;
	}
	text_format(&text, "%s:%u", path, node->line);
	text_copy(source, size, text.data);
}

/* Expectations know the path as their file was opened: the record has it as people write it, below
 * the main file. */
static void shorten_sources(const struct reader *reader, struct scenario *scenario)
{
	size_t length = directory_length(reader->config);

	for (size_t i = 0; i < scenario->expect.count; i++) {
		char *source = scenario->expect.items[i].source;

		if (length > 0 && strncmp(source, reader->config->path, length) == 0) {
			memmove(source, source + length, strlen(source + length) + 1);
		}
	}
}

/*
 * Whether the maps of a scenario with errors are sound by themselves, so that the combinations of
 * what they say may be judged although, say, its description is not.
 */
static bool is_core_sound(const struct document *document, const struct document_node *node)
{
	_cleanup_free_ struct scenario *scratch = memory_new(sizeof(*scratch));
	bool is_sound = true;

	for (const struct schema_field *field = scenario_fields; field->key && is_sound; field++) {
		const struct document_node *section = document_get(node, field->key);
		void *member = (char *)scratch + field->offset;
		struct problems problems;
		struct schema_context context = { .path = document->path, .problems = &problems };

		if (field->type != SCHEMA_MAP || (!section && !field->is_required)) {
			continue;
		}
		problems_init(&problems);
		is_sound = section &&
			   schema_parse(field->fields, section, "", member, NULL, &context);
		problems_done(&problems);
	}
	return is_sound;
}

static void read_scenario(struct reader *reader, const struct document *document,
			  const struct document_node *node, size_t index)
{
	struct schema_context context = { .path = document->path, .problems = reader->problems };
	struct config *config = reader->config;
	size_t count = config->scenario_count;
	struct scenario *scenario = memory_new(sizeof(*scenario));
	char place[64];

	snprintf(place, sizeof(place), "scenarios[%zu]", index);
	config->scenarios =
		memory_resize(config->scenarios, count + 1, sizeof(config->scenarios[0]));
	reader->scenarios =
		memory_resize(reader->scenarios, count + 1, sizeof(reader->scenarios[0]));
	reader->is_sound = memory_resize(reader->is_sound, count + 1, sizeof(reader->is_sound[0]));
	config->scenarios[count] = scenario;
	reader->scenarios[count] =
		(struct origin){ .document = document, .node = node, .index = index };
	reader->is_sound[count] =
		schema_parse(scenario_fields, node, place, scenario, scenario_fields, &context) ||
		is_core_sound(document, node);
	write_source(reader, document, node, scenario->source, sizeof(scenario->source));
	shorten_sources(reader, scenario);
	config->scenario_count++;
}

static void read_peer(struct reader *reader, const struct document *document,
		      const struct document_node *node, size_t index)
{
	struct schema_context context = { .path = document->path, .problems = reader->problems };
	struct config *config = reader->config;
	size_t count = config->peer_count;
	char place[64];

	snprintf(place, sizeof(place), "peers[%zu]", index);
	config->peers = memory_resize(config->peers, count + 1, sizeof(config->peers[0]));
	reader->peers = memory_resize(reader->peers, count + 1, sizeof(reader->peers[0]));
	memset(&config->peers[count], 0, sizeof(config->peers[count]));
	reader->peers[count] =
		(struct origin){ .document = document, .node = node, .index = index };
	schema_parse(peer_fields, node, place, &config->peers[count], peer_fields, &context);
	config->peer_count++;
}

typedef void (*read_item_fn)(struct reader *reader, const struct document *document,
			     const struct document_node *node, size_t index);

/* A list of maps; *count is how many there are over all files, at most `max`. */
static void read_list(struct reader *reader, const struct document *document,
		      const struct document_node *list, const char *key, read_item_fn read_item,
		      const size_t *count, size_t max)
{
	char place[64];
	char sentence[128];

	if (!list) {
		return;
	}
	if (list->kind != DOCUMENT_LIST) {
		complain(
			reader, document, list, key,
			list->kind == DOCUMENT_MAP
				? "is a map; it must be a list: begin each item with \"- \""
			: list->has_value
				? "is a single value; it must be a list of maps, each beginning with \"- \""
				: "has no value; remove the key, or list items below it");
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct document_node *item = list->values[i];

		snprintf(place, sizeof(place), "%s[%zu]", key, i);
		if (*count == max) {
			snprintf(sentence, sizeof(sentence),
				 "is beyond the %zu that this daemon takes; remove some", max);
			complain(reader, document, item, place, sentence);
			return;
		}
		if (item->kind == DOCUMENT_MAP) {
			read_item(reader, document, item, i);
		} else if (!item->is_reported) {
			complain(reader, document, item, place,
				 "must be a map of `key: value` lines");
		}
	}
}

static void read_daemon(struct reader *reader, const struct document *document,
			const struct document_node *node)
{
	struct schema_context context = { .path = document->path, .problems = reader->problems };

	if (!node) {
		return;
	}
	if (node->kind != DOCUMENT_MAP) {
		complain(reader, document, node, "daemon",
			 node->has_value
				 ? "must be a map of `key: value` lines"
				 : "has no value; remove the key, or write settings below it");
		return;
	}
	reader->daemon = node;
	schema_parse(daemon_fields, node, "daemon", &reader->config->daemon, daemon_fields,
		     &context);
}

static void refuse_in_included(struct reader *reader, const struct document *document,
			       const char *key, const struct document_node *section)
{
	struct place place = place_key(document->root, key);

	if (section) {
		problems_add(
			reader->problems, false, document->path, place.line, place.column,
			"%s: belongs in the main file %s; included files hold peers and scenarios",
			key, reader->config->path);
	}
}

/* Reads one file that was added to config->files. Its include list, or NULL. */
static const struct document_node *read_file(struct reader *reader, const char *path, bool is_main)
{
	struct document *document = document_read_file(path, reader->problems);
	struct schema_context context = { .path = path, .problems = reader->problems };
	struct config *config = reader->config;
	struct file_sections sections = { 0 };

	reader->documents = memory_resize(reader->documents, reader->document_count + 1,
					  sizeof(reader->documents[0]));
	reader->documents[reader->document_count++] = document;
	if (!document) {
		return NULL;
	}
	schema_parse(file_fields, document->root, "", &sections, file_fields, &context);
	if (is_main) {
		read_daemon(reader, document, sections.daemon);
	} else {
		refuse_in_included(reader, document, "daemon", sections.daemon);
		refuse_in_included(reader, document, "include", sections.include);
	}
	read_list(reader, document, sections.peers, "peers", read_peer, &config->peer_count,
		  LIMIT_PEERS);
	read_list(reader, document, sections.scenarios, "scenarios", read_scenario,
		  &config->scenario_count, LIMIT_SCENARIOS);
	return sections.include;
}

static bool is_glob(const char *pattern)
{
	return strpbrk(pattern, "*?[") != NULL;
}

static bool has_wild_folder(const char *pattern)
{
	const char *slash = strrchr(pattern, '/');
	size_t wild = strcspn(pattern, "*?[");

	return slash != NULL && wild < (size_t)(slash - pattern);
}

/* The path or pattern below the main file's directory, whose own name is taken literally. */
static void join(const struct reader *reader, const char *item, bool is_pattern, struct text *out)
{
	size_t length = directory_length(reader->config);

	if (item[0] == '/') {
		length = 0;
	}
	for (size_t i = 0; i < length; i++) {
		char c = reader->config->path[i];

		if (is_pattern && strchr("*?[\\", c)) {
			text_add(out, "\\");
		}
		text_add_bytes(out, &c, 1);
	}
	text_add(out, item);
}

/* A folder that is not there matches nothing; one that may not be read is an error. */
static int glob_failed(const char *path, int number)
{
	return number != ENOENT && number != ENOTDIR;
}

static void include_glob(struct reader *reader, const struct document_node *item, const char *place)
{
	const struct document *document = reader->documents[0];
	_cleanup_text_ struct text pattern = TEXT_INIT;
	char quoted[QUOTED_SIZE];
	glob_t found = { 0 };
	int result;

	join(reader, item->scalar, true, &pattern);
	text_escape(quoted, sizeof(quoted), item->scalar);
	result = glob(pattern.data, 0, glob_failed, &found);
	if (result == GLOB_NOMATCH) {
		problems_add(reader->problems, true, document->path, item->line, item->column,
			     "%s: \"%s\" matches no file", place, quoted);
	} else if (result != 0) {
		problems_add(
			reader->problems, false, document->path, item->line, item->column,
			"%s: \"%s\": cannot be searched; look at the permissions of its folders",
			place, quoted);
	}
	for (size_t i = 0; result == 0 && i < found.gl_pathc; i++) {
		if (add_file(reader, found.gl_pathv[i])) {
			read_file(reader, found.gl_pathv[i], false);
		}
	}
	globfree(&found);
}

static void include_item(struct reader *reader, const struct document_node *item, const char *place)
{
	const struct document *document = reader->documents[0];
	_cleanup_text_ struct text path = TEXT_INIT;
	_cleanup_free_ char *real = NULL;
	char quoted[QUOTED_SIZE];

	if (item->is_reported) {
		return;
	}
	if (item->kind != DOCUMENT_SCALAR || item->scalar[0] == '\0') {
		complain(reader, document, item, place,
			 "must be the path of a file or a glob such as scenarios.d/*.yaml");
		return;
	}
	if (has_wild_folder(item->scalar)) {
		complain(
			reader, document, item, place,
			"has a wildcard in a folder, which could walk the whole file system; only the last part of the path may have one, as in scenarios.d/*.yaml");
		return;
	}
	if (is_glob(item->scalar)) {
		include_glob(reader, item, place);
		return;
	}
	join(reader, item->scalar, false, &path);
	real = realpath(path.data, NULL);
	if (!real) {
		text_escape(quoted, sizeof(quoted), item->scalar);
		problems_add(reader->problems, false, document->path, item->line, item->column,
			     "%s: \"%s\": %m (looked for %s)", place, quoted, path.data);
	} else if (add_file(reader, path.data)) {
		read_file(reader, path.data, false);
	}
}

void reader_read(struct reader *reader)
{
	const struct document_node *include = NULL;
	char place[64];

	if (add_file(reader, reader->config->path)) {
		include = read_file(reader, reader->config->path, true);
	}
	if (!include) {
		return;
	}
	if (include->kind != DOCUMENT_LIST) {
		complain(reader, reader->documents[0], include, "include",
			 "must be a list: [scenarios.d/*.yaml], or items that begin with \"- \"");
		return;
	}
	for (size_t i = 0; i < include->count; i++) {
		snprintf(place, sizeof(place), "include[%zu]", i);
		include_item(reader, include->values[i], place);
	}
}
