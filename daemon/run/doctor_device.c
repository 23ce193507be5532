// SPDX-License-Identifier: MIT
#include "run/doctor_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/doctor_child.h"
#include "util/memory.h"
#include "util/text.h"
#include "verbs/device.h"
#include "verbs/port.h"

/* What a child tells, in two parts. */
struct told {
	struct infiniband_device sysfs;
	struct doctor_verbs verbs;
};
_Static_assert(sizeof(struct told) ==
		       sizeof(struct infiniband_device) + sizeof(struct doctor_verbs),
	       "the parts stand one behind the other");

struct task {
	const char *root;
	const char *name;
	bool may_ask_library;
	struct told told;
};

/* The library writes its warnings (an unknown ABI, a missing provider) on stderr. */
static int divert_stderr(void)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC);

	if (fd >= 0 && dup2(fd, STDERR_FILENO) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void read_diverted(int fd, char *ret, size_t size)
{
	ssize_t count = pread(fd, ret, size - 1, 0);

	ret[count > 0 ? count : 0] = '\0';
	for (char *at = ret; *at != '\0'; at++) {
		*at = *at == '\n' ? ' ' : *at;
	}
	while (ret[0] != '\0' && ret[strlen(ret) - 1] == ' ') {
		ret[strlen(ret) - 1] = '\0';
	}
}

static void ask_ports(struct task *task, struct device *device, struct error *err)
{
	const struct infiniband_device *sysfs = &task->told.sysfs;
	struct doctor_verbs *verbs = &task->told.verbs;
	_cleanup_free_ struct port *port = memory_new(sizeof(*port));

	for (size_t i = 0; i < sysfs->port_count && i < INFINIBAND_PORTS; i++) {
		int error = port_ask(task->root, device, sysfs->ports[i].port_num, port, err);

		if (error < 0) {
			verbs->error = error;
			return;
		}
		verbs->active_mtu_bytes[i] = port->active_mtu_bytes;
		verbs->max_mtu_bytes[i] = port->max_mtu_bytes;
		verbs->max_qp = port->limits.max_qp;
	}
}

static void ask_library(struct task *task)
{
	struct doctor_verbs *verbs = &task->told.verbs;
	struct error err = ERROR_INIT;
	struct device *device = NULL;
	_cleanup_close_ int old = dup(STDERR_FILENO);
	_cleanup_close_ int fd = divert_stderr();

	verbs->was_asked = true;
	verbs->error = device_open(&device, task->name, &err);
	if (verbs->error == 0) {
		ask_ports(task, device, &err);
		device_close(device);
	}
	if (fd >= 0) {
		(void)dup2(old, STDERR_FILENO);
		read_diverted(fd, verbs->said, sizeof(verbs->said));
	}
	text_copy(verbs->text, sizeof(verbs->text), err.text);
}

static void run(void *arg, int fd)
{
	struct task *task = arg;
	struct told *told = &task->told;
	const char *node = told->sysfs.node;

	if (infiniband_device(task->root, task->name, &told->sysfs) < 0) {
		return;
	}
	doctor_child_tell(fd, &told->sysfs, sizeof(told->sysfs));
	device_node_look(task->root, node, &told->verbs.node);
	if (told->verbs.node.error == 0) {
		device_node_try(task->root, node, &told->verbs.node);
		if (told->verbs.node.open_error == 0 && task->may_ask_library) {
			ask_library(task);
		}
	}
	doctor_child_tell(fd, &told->verbs, sizeof(told->verbs));
}

static void take_answer(struct doctor_device *device, const struct doctor_child *child,
			const struct told *told)
{
	device->is_late = child->is_late;
	device->answer = child->got_bytes == sizeof(*told)	   ? DOCTOR_ANSWER_ALL
			 : child->got_bytes >= sizeof(told->sysfs) ? DOCTOR_ANSWER_SYSFS
								   : DOCTOR_ANSWER_NONE;
	if (device->answer >= DOCTOR_ANSWER_SYSFS) {
		device->sysfs = told->sysfs;
	}
	if (device->answer == DOCTOR_ANSWER_ALL) {
		device->verbs = told->verbs;
	}
}

void doctor_device_ask(const char *root, struct doctor_device *devices, size_t count,
		       bool may_ask_library)
{
	_cleanup_free_ struct doctor_child *children =
		memory_new_array(count + 1, sizeof(*children));
	_cleanup_free_ struct told *answers = memory_new_array(count + 1, sizeof(*answers));
	_cleanup_free_ struct task *tasks = memory_new_array(count + 1, sizeof(*tasks));

	for (size_t i = 0; i < count; i++) {
		tasks[i] = (struct task){ .root = root,
					  .name = devices[i].name,
					  .may_ask_library = may_ask_library };
		children[i] = (struct doctor_child){ .run = run,
						     .arg = &tasks[i],
						     .answer = &answers[i],
						     .answer_bytes = sizeof(answers[i]) };
	}
	doctor_child_run(children, count, DOCTOR_PATIENCE_NS, DOCTOR_LIMIT_NS);
	for (size_t i = 0; i < count; i++) {
		take_answer(&devices[i], &children[i], &answers[i]);
	}
}
