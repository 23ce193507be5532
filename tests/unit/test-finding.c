// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "model/finding.h"
#include "model/message_id.h"
#include "util/text.h"

static const struct {
	unsigned number;
	const char *name;
} rows[] = {
#define FINDING(number, name, title, explanation, cure) { number, #name },
#include "model/findings.def"
#undef FINDING
};

static void the_slug_is_the_name_in_lower_case_with_dashes(void **state)
{
	assert_int_equal(sizeof(rows) / sizeof(rows[0]), FINDING_COUNT);
	for (unsigned i = 0; i < FINDING_COUNT; i++) {
		const struct finding_info *info = finding_info(i);
		char expected[64] = "";

		for (size_t j = 0; rows[i].name[j]; j++) {
			expected[j] = rows[i].name[j] == '_'
					      ? '-'
					      : (char)tolower((unsigned char)rows[i].name[j]);
		}
		assert_string_equal(info->slug, expected);
	}
	assert_null(finding_info(FINDING_COUNT));
	assert_null(finding_info((enum finding_code) - 1));
}

static void codes_are_unique_ascending_and_all_have_words(void **state)
{
	unsigned last = 0;

	for (unsigned i = 0; i < FINDING_COUNT; i++) {
		const struct finding_info *info = finding_info(i);

		assert_int_equal(info->number, rows[i].number);
		assert_true(info->number > last);
		last = info->number;
		assert_true(strlen(info->title) > 8);
		assert_true(strlen(info->explanation) > 20);
		assert_true(strlen(info->cure) > 5);
		assert_int_equal(info->explanation[strlen(info->explanation) - 1], '.');
	}
}

/* People's filters have them: a change here is a change of what was promised. */
static void a_message_id_is_for_ever(void **state)
{
	char id[MESSAGE_ID_SIZE];

	assert_int_equal(snprintf(id, sizeof(id), MESSAGE_ID_FORMAT, 115u), MESSAGE_ID_SIZE - 1);
	assert_string_equal(id, "9d3fb1c86ae24f7b85c02e94d7a10115");
}

static void the_most_confident_stands_first_and_a_code_is_there_once(void **state)
{
	struct findings findings = { 0 };

	finding_add(&findings, FINDING_STALLED, CONFIDENCE_POSSIBLE, NULL, "one %d", 1);
	finding_add(&findings, FINDING_PATH_LOST, CONFIDENCE_CERTAIN, "seen", "two");
	finding_add(&findings, FINDING_HOST_STARVED, CONFIDENCE_LIKELY, NULL, "three");
	finding_add(&findings, FINDING_PEER_REFUSED, CONFIDENCE_CERTAIN, NULL, "four");
	finding_add(&findings, FINDING_PATH_LOST, CONFIDENCE_CERTAIN, "again", "again");
	assert_int_equal(findings.count, 4);
	assert_string_equal(findings.items[0].text, "two");
	assert_string_equal(findings.items[0].evidence, "seen");
	assert_string_equal(findings.items[1].text, "four");
	assert_string_equal(findings.items[2].text, "three");
	assert_string_equal(findings.items[3].text, "one 1");
	assert_string_equal(findings.items[3].evidence, "");
}

static void a_full_list_drops_the_least_confident(void **state)
{
	struct findings findings = { 0 };

	for (unsigned i = 0; i < LIMIT_FINDINGS; i++) {
		finding_add(&findings, i, i == 3 ? CONFIDENCE_POSSIBLE : CONFIDENCE_LIKELY, NULL,
			    "%u", i);
	}
	assert_int_equal(findings.count, LIMIT_FINDINGS);
	finding_add(&findings, LIMIT_FINDINGS, CONFIDENCE_CERTAIN, NULL, "certain");
	assert_int_equal(findings.count, LIMIT_FINDINGS);
	assert_string_equal(findings.items[0].text, "certain");
	for (unsigned i = 0; i < LIMIT_FINDINGS; i++) {
		assert_true(findings.items[i].confidence != CONFIDENCE_POSSIBLE);
	}
	finding_add(&findings, LIMIT_FINDINGS + 1, CONFIDENCE_POSSIBLE, NULL, "too late");
	assert_string_not_equal(findings.items[LIMIT_FINDINGS - 1].text, "too late");
}

static void a_long_sentence_is_cut_whole(void **state)
{
	struct findings findings = { 0 };
	char huge[3000];

	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	finding_add(&findings, FINDING_STALLED, CONFIDENCE_CERTAIN, huge, "%s", huge);
	assert_int_equal(strlen(findings.items[0].text), LIMIT_TEXT - 1);
	assert_int_equal(strlen(findings.items[0].evidence), LIMIT_TEXT - 1);
}

static void what_speaks_against_a_finding_is_kept_apart(void **state)
{
	struct findings findings = { 0 };
	char huge[3000];
	json_t *json;

	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	finding_add(&findings, FINDING_PATH_LOST, CONFIDENCE_LIKELY, "seen", "lost");
	finding_doubt(&findings, FINDING_PATH_LOST, "first %d", 1);
	finding_doubt(&findings, FINDING_PATH_LOST, "second");
	finding_doubt(&findings, FINDING_STALLED, "of none that is there");
	assert_int_equal(findings.count, 1);
	assert_string_equal(findings.items[0].evidence, "seen");
	assert_string_equal(findings.items[0].against, "first 1; second");
	json = finding_write(&findings);
	assert_string_equal(json_string_value(json_object_get(json_array_get(json, 0), "against")),
			    "first 1; second");
	json_decref(json);
	finding_doubt(&findings, FINDING_PATH_LOST, "%s", huge);
	assert_int_equal(strlen(findings.items[0].against), LIMIT_TEXT - 1);
}

static void findings_are_written_with_code_words_and_cure(void **state)
{
	struct findings findings = { 0 };
	json_t *json, *first;

	finding_add(&findings, FINDING_PATH_LOST, CONFIDENCE_LIKELY, NULL, "lost");
	json = finding_write(&findings);
	first = json_array_get(json, 0);
	assert_string_equal(json_string_value(json_object_get(first, "code")), "RDT-0107");
	assert_string_equal(json_string_value(json_object_get(first, "name")), "path-lost");
	assert_string_equal(json_string_value(json_object_get(first, "confidence")), "likely");
	assert_string_equal(json_string_value(json_object_get(first, "text")), "lost");
	assert_true(json_is_null(json_object_get(first, "evidence")));
	assert_true(json_is_null(json_object_get(first, "against")));
	assert_true(json_is_string(json_object_get(first, "cure")));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_slug_is_the_name_in_lower_case_with_dashes),
		cmocka_unit_test(codes_are_unique_ascending_and_all_have_words),
		cmocka_unit_test(a_message_id_is_for_ever),
		cmocka_unit_test(the_most_confident_stands_first_and_a_code_is_there_once),
		cmocka_unit_test(a_full_list_drops_the_least_confident),
		cmocka_unit_test(a_long_sentence_is_cut_whole),
		cmocka_unit_test(what_speaks_against_a_finding_is_kept_apart),
		cmocka_unit_test(findings_are_written_with_code_words_and_cure),
	};

	return cmocka_run_group_tests_name("finding", tests, NULL, NULL);
}
