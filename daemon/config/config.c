// SPDX-License-Identifier: MIT
#include "config/config.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/file.h"
#include "config/reader.h"
#include "util/json.h"
#include "util/memory.h"
#include "util/random.h"

static int compare_scenarios(const void *left, const void *right)
{
	const struct scenario *const *a = left;
	const struct scenario *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

static void hash_scenarios(struct config *config)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < config->scenario_count; i++) {
		_cleanup_json_ json_t *json = schema_write(scenario_fields, config->scenarios[i]);
		_cleanup_text_ struct text text = TEXT_INIT;

		json_write(json, &text);
		hash = prng_hash(text.data, hash);
	}
	snprintf(config->hash, sizeof(config->hash), "fnv:%016" PRIx64, hash);
}

struct config *config_load(const char *path, const char *host_name, struct problems *problems)
{
	struct config *config = memory_new(sizeof(*config));
	unsigned errors_before = problems->errors;
	struct reader reader;

	config->references = 1;
	if (!text_copy(config->path, sizeof(config->path), path)) {
		problems_add(problems, false, path, 0, 0,
			     "the path is longer than %zu bytes; use a shorter one",
			     sizeof(config->path) - 1);
		config_unref(config);
		return NULL;
	}
	reader_init(&reader, config, problems);
	reader_read(&reader);
	check_all(&reader, host_name);
	reader_done(&reader);
	if (problems->errors > errors_before) {
		config_unref(config);
		return NULL;
	}
	if (config->scenario_count > 1) {
		qsort(config->scenarios, config->scenario_count, sizeof(config->scenarios[0]),
		      compare_scenarios);
	}
	hash_scenarios(config);
	return config;
}

struct config *config_ref(struct config *config)
{
	assert(config->references > 0);
	config->references++;
	return config;
}

void config_unref(struct config *config)
{
	if (!config) {
		return;
	}
	assert(config->references > 0);
	if (--config->references > 0) {
		return;
	}
	for (size_t i = 0; i < config->scenario_count; i++) {
		free(config->scenarios[i]);
	}
	for (size_t i = 0; i < config->file_count; i++) {
		free(config->files[i]);
	}
	free(config->scenarios);
	free(config->files);
	free(config->peers);
	free(config);
}

const struct scenario *config_scenario(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->scenario_count; i++) {
		if (strcmp(config->scenarios[i]->name, name) == 0) {
			return config->scenarios[i];
		}
	}
	return NULL;
}

static void name_changed(struct text *out, bool *is_changed, const char *key)
{
	text_format(out, "%s%s", *is_changed ? ", " : "", key);
	*is_changed = true;
}

bool config_needs_restart(const struct config *old, const struct config *new, struct text *out)
{
	const struct daemon_settings *a = &old->daemon;
	const struct daemon_settings *b = &new->daemon;
	bool is_changed = false;

	if (strcmp(a->node_name, b->node_name) != 0) {
		name_changed(out, &is_changed, "node_name");
	}
	if (strcmp(a->listen_address, b->listen_address) != 0 || a->listen_port != b->listen_port) {
		name_changed(out, &is_changed, "listen");
	}
	if (strcmp(a->http_listen, b->http_listen) != 0) {
		name_changed(out, &is_changed, "http.listen");
	}
	if (strcmp(a->admin_socket, b->admin_socket) != 0) {
		name_changed(out, &is_changed, "admin_socket");
	}
	if (strcmp(a->key_file, b->key_file) != 0) {
		name_changed(out, &is_changed, "key_file");
	}
	if (strcmp(a->control_cpus, b->control_cpus) != 0) {
		name_changed(out, &is_changed, "control_cpus");
	}
	return is_changed;
}

void config_print_fields(struct text *out)
{
	schema_print_reference(file_fields, "Fields", out);
}
