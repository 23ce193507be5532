// SPDX-License-Identifier: MIT
#include "judge/diagnose_peer.h"

#include <errno.h>
#include <string.h>

/*
 * By the call that sessions and jobs name, and where one call stands for several things, by its
 * errno; the first that fits. The text of the failure, behind the sentence, has the address.
 */
static const struct {
	const char *call;
	int number; /* errno; 0: any */
	enum finding_code code;
	enum confidence confidence;
	const char *sentence;
} rules[] = {
	{ "session", ECANCELED, FINDING_RUN_ABORTED, CONFIDENCE_CERTAIN,
	  "is no peer of this node any more" },
	{ "session", ESTALE, FINDING_HOST_STARVED, CONFIDENCE_CERTAIN,
	  "gave this node up, which did not answer" },
	{ "session", 0, FINDING_PEER_DAEMON_LOST, CONFIDENCE_CERTAIN, "went away during the run" },
	{ "connect", ESTALE, FINDING_HOST_STARVED, CONFIDENCE_CERTAIN,
	  "was not reached by this node, which stood still" },
	{ "connect", 0, FINDING_PEER_UNREACHABLE, CONFIDENCE_CERTAIN, "cannot be reached" },
	{ "tls", EKEYREJECTED, FINDING_PEER_KEY_REFUSED, CONFIDENCE_CERTAIN,
	  "does not hold the same fleet key" },
	{ "tls", EPROTO, FINDING_PEER_UNREACHABLE, CONFIDENCE_LIKELY,
	  "is not what answers at its address" },
	{ "tls", EMSGSIZE, FINDING_PEER_UNREACHABLE, CONFIDENCE_LIKELY,
	  "is not what answers at its address" },
	{ "tls", ETIMEDOUT, FINDING_PEER_UNREACHABLE, CONFIDENCE_LIKELY,
	  "was silent before it was known" },
	{ "tls", ECONNRESET, FINDING_PEER_UNREACHABLE, CONFIDENCE_LIKELY,
	  "broke off before it was known" },
	{ "tls", 0, FINDING_PEER_KEY_REFUSED, CONFIDENCE_LIKELY,
	  "does not hold the same fleet key" },
	{ "hello", EPROTONOSUPPORT, FINDING_PEER_PROTOCOL, CONFIDENCE_CERTAIN,
	  "speaks another version of the control protocol" },
	{ "hello", ECONNREFUSED, FINDING_PEER_PROTOCOL, CONFIDENCE_LIKELY,
	  "found the hello of this one invalid" },
	{ "hello", ETIMEDOUT, FINDING_PEER_UNREACHABLE, CONFIDENCE_LIKELY, "sent no hello" },
	{ "hello", ECONNRESET, FINDING_PEER_UNREACHABLE, CONFIDENCE_LIKELY,
	  "broke off before its hello" },
	{ "hello", 0, FINDING_PEER_PROTOCOL, CONFIDENCE_LIKELY, "sent an invalid hello" },
	{ "permit", 0, FINDING_PEER_REFUSED, CONFIDENCE_CERTAIN, "does not permit this run" },
	{ "busy", 0, FINDING_PEER_REFUSED, CONFIDENCE_CERTAIN, "is busy with other runs" },
	{ "in_use", 0, FINDING_PORT_IN_USE, CONFIDENCE_CERTAIN,
	  "let nothing begin on a port that others use" },
	{ "duty_cycle", 0, FINDING_DUTY_CYCLE, CONFIDENCE_CERTAIN,
	  "had no room left in the hour for scheduled disruptive runs" },
	{ "assignment", 0, FINDING_ASSIGNMENT_REFUSED, CONFIDENCE_CERTAIN,
	  "did not accept the assignment that it was sent" },
	{ "message", 0, FINDING_PEER_ANSWER_WRONG, CONFIDENCE_CERTAIN,
	  "answered what was not asked for" },
	{ "", 0, FINDING_PEER_ANSWER_WRONG, CONFIDENCE_LIKELY, "did not play its part" },
};

/* A refusal keeps the class of its reason: a limit, say. */
static bool is_about_peer(const struct failure *failure)
{
	static const char *const refusals[] = { "permit", "busy", "assignment" };

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		if (strcmp(failure->error.call, refusals[i]) == 0) {
			return true;
		}
	}
	return failure->error.class == ERROR_PEER;
}

bool diagnose_peer(const struct failure *failure, const char *node, const char *evidence,
		   struct findings *findings)
{
	const struct error *error = &failure->error;
	int number = error->kind == ERROR_KIND_ERRNO ? error->number : 0;

	if (!is_about_peer(failure)) {
		return false;
	}
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		bool is_last = rules[i].call[0] == '\0';

		if (is_last || (strcmp(rules[i].call, error->call) == 0 &&
				(rules[i].number == 0 || rules[i].number == number))) {
			finding_add(findings, rules[i].code, rules[i].confidence, evidence,
				    "the daemon on %s %s: %s", node, rules[i].sentence,
				    error->text);
			return true;
		}
	}
	return false;
}
