// SPDX-License-Identifier: MIT
#include "host/holders.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"

#define NODE_DIRECTORY "/dev/infiniband/"

void holders_program(const char *root, const char *process, char *ret, size_t size)
{
	fact_line(ret, size, "%s/proc/%s/comm", root, process);
}

static void add(struct holders *holders, const char *process, const char *program, const char *node)
{
	struct holder *holder;

	for (size_t i = holders->count; i-- > 0;) {
		holder = &holders->items[i];
		if (strcmp(holder->process, process) != 0) {
			break;
		}
		if (strcmp(holder->node, node) == 0) {
			return;
		}
	}
	if (holders->count == HOLDERS_MAX) {
		holders->is_cut = true;
		return;
	}
	holder = &holders->items[holders->count++];
	text_copy(holder->process, sizeof(holder->process), process);
	text_copy(holder->program, sizeof(holder->program), program);
	text_copy(holder->node, sizeof(holder->node), node);
}

static void look_into(struct holders *holders, const char *root, const char *process,
		      const char *program)
{
	_cleanup_fact_names_ struct fact_names files = { 0 };
	char path[PATH_MAX];
	char target[PATH_MAX];
	int error = fact_names(&files, "%s/proc/%s/fd", root, process);

	/* One that has ended meanwhile is no refusal. */
	holders->refused += error == -EACCES || error == -EPERM;
	for (size_t i = 0; i < files.count; i++) {
		snprintf(path, sizeof(path), "%.3000s/proc/%.16s/fd/%.64s", root, process,
			 files.names[i]);
		ssize_t length = readlink(path, target, sizeof(target) - 1);
		if (length <= 0) {
			continue;
		}
		target[length] = '\0';
		if (text_starts_with(target, NODE_DIRECTORY)) {
			add(holders, process, program, target + strlen(NODE_DIRECTORY));
		}
	}
}

int holders_read(const char *root, const char *self, const char *daemon, uint64_t deadline_mono_ns,
		 struct holders *ret)
{
	_cleanup_fact_names_ struct fact_names names = { 0 };
	int error = fact_names(&names, "%s/proc", root);

	if (error < 0) {
		return error;
	}
	*ret = (struct holders){ 0 };
	for (size_t i = 0; i < names.count; i++) {
		const char *process = names.names[i];
		char program[FACT_NAME];

		if (process[strspn(process, "0123456789")] != '\0' || strcmp(process, self) == 0) {
			continue;
		}
		if (clock_mono_ns() >= deadline_mono_ns) {
			ret->is_cut = true;
			break;
		}
		ret->processes++;
		holders_program(root, process, program, sizeof(program));
		if (ret->daemon[0] == '\0' && strcmp(program, daemon) == 0) {
			text_copy(ret->daemon, sizeof(ret->daemon), process);
		}
		look_into(ret, root, process, program);
	}
	ret->is_cut |= names.is_cut;
	return 0;
}
