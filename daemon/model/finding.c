// SPDX-License-Identifier: MIT
#include "model/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"

const char *const confidence_names[] = { "possible", "likely", "certain", NULL };

/* The names in lower case with dashes: the preprocessor cannot do that (the unit test compares). */
#define SLUG_PEER_DAEMON_LOST "peer-daemon-lost"
#define SLUG_PEER_UNREACHABLE "peer-unreachable"
#define SLUG_PEER_KEY_REFUSED "peer-key-refused"
#define SLUG_PEER_PROTOCOL "peer-protocol"
#define SLUG_PEER_REFUSED "peer-refused"
#define SLUG_DEVICE_ABSENT "device-absent"
#define SLUG_PATH_LOST "path-lost"
#define SLUG_STALLED "stalled"
#define SLUG_RECEIVER_NOT_READY "receiver-not-ready"
#define SLUG_LIMIT_EXCEEDED "limit-exceeded"
#define SLUG_REMOTE_ACCESS "remote-access"
#define SLUG_PATH_UNRESOLVED "path-unresolved"
#define SLUG_EXPECTATION_MISSED "expectation-missed"
#define SLUG_TOO_FEW_SAMPLES "too-few-samples"
#define SLUG_HOST_STARVED "host-starved"
#define SLUG_RUN_ABORTED "run-aborted"
#define SLUG_COMPLETION_ERROR "completion-error"
#define SLUG_RESOURCE_SHORT "resource-short"
#define SLUG_NOTHING_MEASURED "nothing-measured"
#define SLUG_UNSUPPORTED "unsupported"
#define SLUG_TESTER_FAULT "tester-fault"
#define SLUG_DEADLINE_PASSED "deadline-passed"
#define SLUG_INPUT_REFUSED "input-refused"
#define SLUG_SETUP_FAILED "setup-failed"
#define SLUG_RUN_CUT_SHORT "run-cut-short"
#define SLUG_ASSIGNMENT_REFUSED "assignment-refused"
#define SLUG_PEER_ANSWER_WRONG "peer-answer-wrong"
#define SLUG_RETRANSMISSIONS "retransmissions"
#define SLUG_ICRC_ERRORS "icrc-errors"
#define SLUG_LINK_ERRORS "link-errors"
#define SLUG_PORT_SHARED "port-shared"
#define SLUG_PORT_DOWN "port-down"
#define SLUG_ADDRESS_LOST "address-lost"
#define SLUG_MTU_SHRUNK "mtu-shrunk"
#define SLUG_NO_PERMISSION "no-permission"
#define SLUG_MESSAGES_LOST "messages-lost"
#define SLUG_SIZE_THRESHOLD "size-threshold"
#define SLUG_LINK_SLOWER "link-slower"
#define SLUG_PORT_IN_USE "port-in-use"
#define SLUG_DUTY_CYCLE "duty-cycle"
#define SLUG_PAYLOAD_WRONG "payload-wrong"
#define SLUG_PAYLOAD_DISORDER "payload-disorder"
#define SLUG_LOCAL_PROTECTION "local-protection"
#define SLUG_PARTITION_ABSENT "partition-absent"
#define SLUG_DEVICE_SICK "device-sick"
#define SLUG_PCIE_NARROW "pcie-narrow"
#define SLUG_CONNECTION_REJECTED "connection-rejected"
#define SLUG_CONNECTION_UNANSWERED "connection-unanswered"

static const struct finding_info infos[FINDING_COUNT] = {
#define FINDING(number, name, title, explanation, cure) \
	[FINDING_##name] = { number, SLUG_##name, title, explanation, cure },
#include "model/findings.def"
#undef FINDING
};

const struct finding_info *finding_info(enum finding_code code)
{
	return (unsigned)code < FINDING_COUNT ? &infos[code] : NULL;
}

void finding_add(struct findings *findings, enum finding_code code, enum confidence confidence,
		 const char *evidence, const char *format, ...)
{
	size_t at;
	va_list arguments;

	for (at = 0; at < findings->count; at++) {
		if (findings->items[at].code == code) {
			return;
		}
	}
	/* The most confident first; equal ones in the order in which they came. */
	for (at = 0; at < findings->count && findings->items[at].confidence >= confidence; at++) {
	}
	if (at == LIMIT_FINDINGS) {
		return;
	}
	if (findings->count < LIMIT_FINDINGS) {
		findings->count++;
	}
	memmove(&findings->items[at + 1], &findings->items[at],
		(findings->count - 1 - at) * sizeof(findings->items[0]));

	struct finding *finding = &findings->items[at];
	char sentence[LIMIT_TEXT * 2];

	finding->code = code;
	finding->confidence = confidence;
	text_copy(finding->evidence, sizeof(finding->evidence), evidence ? evidence : "");
	finding->against[0] = '\0';
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	text_copy(finding->text, sizeof(finding->text), sentence);
}

void finding_doubt(struct findings *findings, enum finding_code code, const char *format, ...)
{
	char sentence[LIMIT_TEXT];
	char whole[2 * LIMIT_TEXT + 8];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	for (size_t i = 0; i < findings->count; i++) {
		struct finding *finding = &findings->items[i];

		if (finding->code == code) {
			snprintf(whole, sizeof(whole), "%s%s%s", finding->against,
				 finding->against[0] ? "; " : "", sentence);
			text_copy(finding->against, sizeof(finding->against), whole);
			return;
		}
	}
}

bool finding_has(const struct findings *findings, enum finding_code code,
		 enum confidence confidence)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (findings->items[i].code == code &&
		    findings->items[i].confidence >= confidence) {
			return true;
		}
	}
	return false;
}

json_t *finding_write(const struct findings *findings)
{
	json_t *array = json_array();

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = &findings->items[i];
		const struct finding_info *info = finding_info(finding->code);
		json_t *object = json_object();
		char code[16];

		snprintf(code, sizeof(code), "RDT-%04u", info->number);
		json_set_string(object, "code", code);
		json_set_string(object, "name", info->slug);
		json_set_string(object, "title", info->title);
		json_set_string(object, "confidence", confidence_names[finding->confidence]);
		json_set_string(object, "text", finding->text);
		json_set_string(object, "evidence",
				finding->evidence[0] ? finding->evidence : NULL);
		json_set_string(object, "against", finding->against[0] ? finding->against : NULL);
		json_set_string(object, "explanation", info->explanation);
		json_set_string(object, "cure", info->cure);
		json_array_append_new(array, object);
	}
	return array;
}
