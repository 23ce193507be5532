// SPDX-License-Identifier: MIT
#include "host/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/fact.h"

/* The kernel gives its first namespaces fixed numbers (include/linux/proc_ns.h). */
#define FIRST_USER_NAMESPACE "user:[4026531837]"
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static uint64_t number_of(const char *status, const char *key, int base, uint64_t otherwise)
{
	const char *at = fact_find(status, key);

	return at ? strtoull(at, NULL, base) : otherwise;
}

/* Unreadable: taken for the host's own. */
static bool is_other_namespace(const char *root, const char *kind, const char *first)
{
	char link[64];

	return fact_link(link, sizeof(link), "%s/proc/self/ns/%s", root, kind) == 0 &&
	       strcmp(link, first) != 0;
}

bool sandbox_is_in_user_namespace(const char *root)
{
	return is_other_namespace(root, "user", FIRST_USER_NAMESPACE);
}

static void find_container(const char *root, char *ret, size_t size)
{
	static const struct {
		const char *file;
		const char *maker;
	} marks[] = { { ".dockerenv", "docker" }, { "run/.containerenv", "podman" } };

	if (fact_line(ret, size, "%s/run/systemd/container", root) == 0 && ret[0] != '\0') {
		return;
	}
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (fact_exists("%s/%s", root, marks[i].file) == 0) {
			text_copy(ret, size, marks[i].maker);
			return;
		}
	}
	ret[0] = '\0';
}

/*
 * The last mount on /dev counts. Lines of mountinfo: id parent major:minor root MOUNTPOINT
 * options..
 * - TYPE source options.
 */
static bool is_dev_private(const char *root)
{
	_cleanup_text_ struct text text = TEXT_INIT;
	bool is_private = false;

	if (fact_text(&text, "%s/proc/self/mountinfo", root) < 0) {
		return false;
	}
	for (const char *line = text.data; *line != '\0';) {
		size_t length = strcspn(line, "\n");
		const char *point = memmem(line, length, " /dev ", 6);
		const char *kind = memmem(line, length, " - ", 3);

		if (point && kind && point < kind) {
			is_private = !text_starts_with(kind + 3, "devtmpfs ");
		}
		line += length + (line[length] == '\n');
	}
	return is_private;
}

int sandbox_read(const char *root, struct sandbox *ret)
{
	_cleanup_text_ struct text status = TEXT_INIT;
	int error = fact_text(&status, "%s/proc/self/status", root);
	const char *user;

	if (error < 0) {
		return error;
	}
	*ret = (struct sandbox){ .user_id = UINT32_MAX };
	/* real, effective, saved, file system */
	user = fact_find(status.data, "Uid:");
	if (user) {
		char *end;

		(void)strtoul(user, &end, 10);
		ret->user_id = (uint32_t)strtoul(end, NULL, 10);
	}
	ret->capabilities = number_of(status.data, "CapEff:", 16, 0);
	ret->seccomp = (int)number_of(status.data, "Seccomp:", 10, UINT64_MAX);
	ret->is_in_user_namespace = sandbox_is_in_user_namespace(root);
	ret->is_in_pid_namespace = is_other_namespace(root, "pid", FIRST_PID_NAMESPACE);
	ret->is_dev_private = is_dev_private(root);
	find_container(root, ret->container, sizeof(ret->container));
	return 0;
}

int sandbox_has_capability(const char *root, const char *process, unsigned capability, bool *ret)
{
	_cleanup_text_ struct text status = TEXT_INIT;
	int error = fact_text(&status, "%s/proc/%s/status", root, process);
	const char *at = error == 0 ? fact_find(status.data, "CapEff:") : NULL;

	if (!at) {
		return error < 0 ? error : -EINVAL;
	}
	*ret = strtoull(at, NULL, 16) >> capability & 1;
	return 0;
}
