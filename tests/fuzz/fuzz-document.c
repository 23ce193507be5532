// SPDX-License-Identifier: MIT
/*
 * Configuration files, read as `rdmatestd --check` reads them: util/document, util/schema, config/
 * and what the nouns add. The input is files (fuzz/files.h).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "fuzz/files.h"
#include "fuzz/fuzz.h"
#include "util/memory.h"
#include "util/text.h"

#define PROBLEM_LINES 50

static void refuse(void *arg, const char *field, const char *other, const char *sentence)
{
	assert(!"what was accepted is refused when it comes back");
}

/* What a file says survives the way that other daemons would get it by. */
static void check_scenario(const struct config *config, const struct scenario *scenario)
{
	_cleanup_json_ json_t *json = schema_write(scenario_fields, scenario);
	_cleanup_free_ struct scenario *back = memory_new(sizeof(*back));
	struct error err = ERROR_INIT;
	json_t *again;

	assert(schema_read(scenario_fields, json, back, &err) == 0);
	again = schema_write(scenario_fields, back);
	fuzz_expect_same(json, again);
	json_decref(again);
	assert(scenario_check(back, refuse, NULL) == 0);
	assert(config_scenario(config, scenario->name) == scenario);
	assert(strlen(scenario->source) > 0);
}

static void check_problems(struct problems *problems)
{
	_cleanup_text_ struct text printed = TEXT_INIT;
	size_t lines = 0;

	text_add(&printed, "");
	problems_print(problems, PROBLEM_LINES, &printed);
	fuzz_expect_readable(printed.data, true);
	for (const char *c = printed.data; *c; c++) {
		lines += *c == '\n';
	}
	assert(lines <= PROBLEM_LINES + 1);
	assert((lines > 0) == (problems->errors + problems->warnings > 0));
}

/* Taken up in place of itself nothing needs a restart; in place of nothing all does that is set. */
static void check_reload(struct config *config)
{
	_cleanup_text_ struct text changed = TEXT_INIT;
	_cleanup_free_ struct config *nothing = memory_new(sizeof(*nothing));
	struct config *same = config_ref(config);

	assert(!config_needs_restart(config, same, &changed) && changed.length == 0);
	assert(config_needs_restart(nothing, same, &changed) && strstr(changed.data, "node_name"));
	assert(!config_scenario(config, "No such name"));
	config_unref(same);
}

/* From memory of just this size, so that a step beyond its end is found; a file is read into more.
 */
static void read_alone(const uint8_t *data, size_t size)
{
	struct problems problems;
	struct document *document;

	problems_init(&problems);
	document = document_read("alone.yaml", (const char *)data, size, &problems);
	assert(document || problems.errors > 0);
	document_free(document);
	problems_done(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct problems problems;
	struct config *config;

	read_alone(data, size);
	files_set(data, size);
	problems_init(&problems);
	config = config_load(FILES_MAIN, "fuzz", &problems);
	files_done();
	assert((config == NULL) == (problems.errors > 0));
	check_problems(&problems);
	for (size_t i = 0; config && i < config->scenario_count; i++) {
		check_scenario(config, config->scenarios[i]);
	}
	if (config) {
		fuzz_accept();
		check_reload(config);
	}
	config_unref(config);
	problems_done(&problems);
	return 0;
}
