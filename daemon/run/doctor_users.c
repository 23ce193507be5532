// SPDX-License-Identifier: MIT
#include "run/doctor_users.h"

#include <errno.h>
#include <string.h>

#include "util/memory.h"
#include "util/text.h"

#define SHOWN 4 /* users that are named */
#define SERVICE "rdmatestd"

/* Whose queue pairs lie still: IP over InfiniBand has one on each port. */
static bool is_quiet_part(const char *part)
{
	return strcmp(part, "ib_ipoib") == 0 || strcmp(part, "ib_core") == 0 ||
	       strcmp(part, "ib_mad") == 0;
}

static bool is_other(const struct doctor_facts *facts, size_t index)
{
	const struct rdma_netlink_user *user = &facts->netlink.users[index];

	return user->process == 0 ? !is_quiet_part(user->part)
				  : strcmp(facts->user_programs[index], SERVICE) != 0;
}

static void add_user(struct text *text, const struct doctor_facts *facts, size_t index)
{
	const struct rdma_netlink_user *user = &facts->netlink.users[index];
	const char *program = user->process == 0 ? user->part : facts->user_programs[index];

	text_format(text, "%s%s", text->length > 0 ? ", " : "",
		    program[0] != '\0' ? program : "a program");
	if (user->process != 0) {
		text_format(text, " (process %u)", user->process);
	} else {
		text_add(text, " of the kernel");
	}
	text_format(text, ": %llu on %s", (unsigned long long)user->qp_count, user->device);
}

static void say_queue_pairs(const struct doctor_facts *facts, struct doctor_line *line)
{
	_cleanup_text_ struct text others = TEXT_INIT;
	size_t count = 0;

	for (size_t i = 0; i < facts->netlink.user_count; i++) {
		if (is_other(facts, i) && count++ < SHOWN) {
			add_user(&others, facts, i);
		}
	}
	doctor_line_source(line, "netlink RDMA_NLDEV_CMD_RES_QP_GET, as rdma resource show qp");
	if (count == 0) {
		doctor_line_finding(line,
				    "no other program has queue pairs (connections) on them%s",
				    facts->sandbox.is_in_pid_namespace
					    ? ", as far as this container sees"
					    : "");
		return;
	}
	line->status = DOCTOR_WARN;
	doctor_line_finding(
		line,
		"have queue pairs (connections) on these devices: %s%s; they and tests disturb each other",
		others.data, count > SHOWN || facts->netlink.is_cut ? ", and others" : "");
	doctor_line_cure(
		line,
		"rdma resource show qp lists all; end what is left over, or test when they are idle");
}

/* Where the kernel does not tell: who holds nodes open. */
static void say_holders(const struct doctor_facts *facts, struct doctor_line *line)
{
	_cleanup_text_ struct text others = TEXT_INIT;
	size_t count = 0;

	doctor_line_source(line, "/proc/*/fd");
	for (size_t i = 0; i < facts->holders.count; i++) {
		const struct holder *holder = &facts->holders.items[i];

		if (strcmp(holder->program, SERVICE) != 0 && count++ < SHOWN) {
			text_format(&others, "%s%s (process %s) %s", count > 1 ? ", " : "",
				    holder->program, holder->process, holder->node);
		}
	}
	if (count > 0) {
		line->status = DOCTOR_WARN;
		doctor_line_finding(
			line, "have device nodes open: %s%s; they and tests may disturb each other",
			others.data, count > SHOWN || facts->holders.is_cut ? ", and others" : "");
		doctor_line_cure(line, "end what is left over, or test when they are idle");
		return;
	}
	line->status = DOCTOR_NOT_SEEN;
	doctor_line_finding(line, "the kernel does not tell who has queue pairs (%s)%s",
			    strerrordesc_np(-facts->netlink_error),
			    facts->holders.refused > 0
				    ? ", and this user may not see what files others have open"
				    : "; no process seen here has a device node open");
	doctor_line_cure(line, facts->netlink_error == -EAFNOSUPPORT
				       ? "RestrictAddressFamilies= of the unit: add AF_NETLINK"
				       : "run rdmatestd --doctor as root, on the host");
}

void doctor_users_check(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_line *line;

	if (facts->device_count == 0) {
		return;
	}
	line = doctor_line_add(report, "device-users", DOCTOR_OK, "other users");
	if (facts->netlink_error == 0) {
		say_queue_pairs(facts, line);
	} else {
		say_holders(facts, line);
	}
}
