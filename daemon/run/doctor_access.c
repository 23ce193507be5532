// SPDX-License-Identifier: MIT
#include "run/doctor_access.h"

#include <errno.h>
#include <string.h>

#include "util/units.h"

#define GIVE_NODE                                                                                    \
	"in a systemd unit PrivateDevices=no and DeviceAllow=char-infiniband_verbs rw, with docker " \
	"--device=/dev/infiniband/%s, in Kubernetes an RDMA device plugin"
#define FEW_QPS_LEFT 10 /* in percent */

/* Did not tell even what sysfs has, or stopped half way. */
static bool say_silent(const struct doctor_device *device, struct doctor_report *report)
{
	struct doctor_line *line;

	if (device->answer == DOCTOR_ANSWER_ALL) {
		return false;
	}
	line = doctor_line_add(report, "device-answer", DOCTOR_BAD, "%s", device->name);
	doctor_line_finding(line, "%s: %s",
			    device->is_late ? "does not answer, it hangs in its driver"
					    : "what asked it ended without an answer",
			    device->answer == DOCTOR_ANSWER_NONE
				    ? "its files in /sys cannot be read"
				    : "it cannot be opened");
	doctor_line_cure(
		line,
		"dmesg | tail -50 shows what its driver (%s) says; stop what uses it, load the driver "
		"anew, or boot again",
		device->sysfs.driver[0] != '\0' ? device->sysfs.driver : "not seen");
	doctor_line_source(line, "%s",
			   device->answer == DOCTOR_ANSWER_NONE ? "/sys/class/infiniband"
								: "ibv_open_device");
	doctor_line_block(line, device->name, 0, "%s does not answer", device->name);
	return true;
}

static void say_missing_node(const struct doctor_facts *facts, const struct doctor_device *device,
			     struct doctor_line *line)
{
	const char *node = device->sysfs.node;

	if (node[0] == '\0') {
		doctor_line_finding(
			line, "programs cannot reach it: the kernel has no ib_uverbs node for it");
		doctor_line_cure(line, "modprobe ib_uverbs");
		doctor_line_block(line, device->name, 0, "%s has no device node", device->name);
		return;
	}
	doctor_line_finding(
		line, "/dev/infiniband/%s, the file through which programs reach it, is not %s",
		node,
		facts->sandbox.is_dev_private ? "in the /dev of this container or unit" : "here");
	if (facts->sandbox.is_dev_private) {
		doctor_line_cure(line, "give it: " GIVE_NODE, node);
	} else {
		doctor_line_cure(
			line,
			"on the host: udevadm trigger --subsystem-match=infiniband_verbs; in a container or "
			"sandbox: " GIVE_NODE,
			node);
	}
	doctor_line_block(line, device->name, 0, "/dev/infiniband/%s of %s is not here", node,
			  device->name);
}

static void say_refused(const struct doctor_facts *facts, const struct doctor_device *device,
			struct doctor_line *line)
{
	const struct device_node *node = &device->verbs.node;
	const char *name = device->sysfs.node;

	if (node->open_error == -EPERM ||
	    (node->open_error == -EACCES && device_node_is_open_to_all(node))) {
		doctor_line_finding(
			line,
			"/dev/infiniband/%s is refused though its mode (%04o) allows it: the device list "
			"of this unit or container lacks it",
			name, (unsigned)node->mode & 07777);
		doctor_line_cure(line, "give it: " GIVE_NODE, name);
	} else if (node->open_error == -EACCES) {
		doctor_line_finding(
			line,
			"this user (%u) may not open /dev/infiniband/%s: mode %04o, of user %u and group %u",
			facts->sandbox.user_id, name, (unsigned)node->mode & 07777, node->user_id,
			node->group_id);
		doctor_line_cure(
			line,
			"until the next boot: chmod 0666 /dev/infiniband/%s; for good, a line in "
			"/etc/udev/rules.d/90-rdma.rules: SUBSYSTEM==\"infiniband_verbs\", MODE=\"0666\"",
			name);
	} else {
		doctor_line_finding(line, "/dev/infiniband/%s cannot be opened: %s", name,
				    strerrordesc_np(-node->open_error));
		doctor_line_cure(line, "dmesg | grep -i -e infiniband -e %s",
				 device->sysfs.driver[0] != '\0' ? device->sysfs.driver : "rdma");
	}
	doctor_line_block(line, device->name, 0, "%s may not be opened", device->name);
}

/* A node with the numbers of another device: left over, or made by hand. */
static bool is_stale(const struct doctor_device *device)
{
	const struct infiniband_device *sysfs = &device->sysfs;
	const struct device_node *node = &device->verbs.node;

	return sysfs->node_major != 0 && node->major != 0 &&
	       (sysfs->node_major != node->major || sysfs->node_minor != node->minor);
}

static void say_open(const struct doctor_facts *facts, const struct doctor_device *device,
		     struct doctor_line *line)
{
	const struct device_node *node = &device->verbs.node;

	line->status = DOCTOR_OK;
	doctor_line_finding(line, "/dev/infiniband/%s, through which programs reach it, opens",
			    device->sysfs.node);
	if (facts->sandbox_error < 0 || facts->sandbox.user_id != 0 ||
	    device_node_is_open_to_all(node)) {
		return;
	}
	line->status = DOCTOR_WARN;
	doctor_line_finding(
		line,
		"/dev/infiniband/%s opens for root; for other users, such as the service's, its mode "
		"%04o (user %u, group %u) decides",
		device->sysfs.node, (unsigned)node->mode & 07777, node->user_id, node->group_id);
	if (node->group_id != 0 && (node->mode & 0060) == 0060) {
		doctor_line_cure(line,
				 "SupplementaryGroups=%u in the unit (systemctl edit rdmatestd)",
				 node->group_id);
	} else {
		doctor_line_cure(
			line,
			"chmod 0666 /dev/infiniband/%s; for good, a line in /etc/udev/rules.d/90-rdma.rules: "
			"SUBSYSTEM==\"infiniband_verbs\", MODE=\"0666\"",
			device->sysfs.node);
	}
}

void doctor_access_node(const struct doctor_facts *facts, const struct doctor_device *device,
			struct doctor_report *report)
{
	struct doctor_line *line;

	if (device->answer == DOCTOR_ANSWER_NONE) {
		say_silent(device, report);
		return;
	}
	if (device->answer == DOCTOR_ANSWER_SYSFS) {
		return; /* said of the library */
	}
	line = doctor_line_add(report, "device-node", DOCTOR_BAD, "%s", device->name);
	doctor_line_source(line, "/dev/infiniband/%s",
			   device->sysfs.node[0] != '\0' ? device->sysfs.node : "*");
	if (device->verbs.node.error < 0) {
		say_missing_node(facts, device, line);
	} else if (is_stale(device)) {
		doctor_line_finding(
			line, "/dev/infiniband/%s leads to device %u:%u, not to this one (%u:%u)",
			device->sysfs.node, device->verbs.node.major, device->verbs.node.minor,
			device->sysfs.node_major, device->sysfs.node_minor);
		doctor_line_cure(
			line, "make it anew: udevadm trigger --subsystem-match=infiniband_verbs; "
			      "start the container again");
		doctor_line_block(line, device->name, 0, "the node of %s is of another device",
				  device->name);
	} else if (device->verbs.node.open_error < 0) {
		say_refused(facts, device, line);
	} else {
		say_open(facts, device, line);
	}
}

static const struct rdma_netlink_device *find_counts(const struct doctor_facts *facts,
						     const char *name)
{
	for (size_t i = 0; facts->netlink_error == 0 && i < facts->netlink.device_count; i++) {
		const struct rdma_netlink_device *counts = &facts->netlink.devices[i];

		if (strcmp(counts->name, name) == 0 && counts->qp_count != UINT64_MAX) {
			return counts;
		}
	}
	return NULL;
}

static void say_answers(const struct doctor_facts *facts, const struct doctor_device *device,
			struct doctor_line *line)
{
	const struct rdma_netlink_device *counts = find_counts(facts, device->name);
	uint64_t max = device->verbs.max_qp;
	uint64_t used = counts ? counts->qp_count : 0;
	char used_text[UNITS_SIZE];
	char max_text[UNITS_SIZE];

	line->status = DOCTOR_OK;
	units_format_count(used, used_text);
	units_format_count(max, max_text);
	if (!counts) {
		doctor_line_finding(
			line,
			"answers; has %s queue pairs (connections), how many are in use was "
			"not seen",
			max_text);
		return;
	}
	doctor_line_finding(line, "answers; %s of its %s queue pairs (connections) %s in use",
			    used_text, max_text, used == 1 ? "is" : "are");
	if (max > 0 && used > max - max / 100 * FEW_QPS_LEFT) {
		line->status = DOCTOR_WARN;
		doctor_line_cure(line,
				 "rdma resource show qp link %s tells whose they are; end what is "
				 "left over",
				 device->name);
	}
}

void doctor_access_library(const struct doctor_facts *facts, const struct doctor_device *device,
			   struct doctor_report *report)
{
	const struct doctor_verbs *verbs = &device->verbs;
	struct doctor_line *line;

	if (device->answer == DOCTOR_ANSWER_SYSFS) {
		say_silent(device, report);
		return;
	}
	if (device->answer != DOCTOR_ANSWER_ALL || !verbs->was_asked) {
		return;
	}
	line = doctor_line_add(report, "device-library", DOCTOR_BAD, "%s", device->name);
	doctor_line_source(line, "ibv_open_device, ibv_query_device");
	if (verbs->error == -ENODEV) {
		doctor_line_finding(
			line,
			"the RDMA library of programs (libibverbs) does not know it: it has no part for "
			"driver %s, or not for ABI version %lld%s%s",
			device->sysfs.driver[0] != '\0' ? device->sysfs.driver : "(not seen)",
			(long long)device->sysfs.abi_version,
			verbs->said[0] != '\0' ? "; it says: " : "", verbs->said);
		doctor_line_cure(
			line,
			"install its drivers, as new as the kernel's: apt install ibverbs-providers "
			"(Debian, Ubuntu), dnf install libibverbs rdma-core (RHEL)");
		doctor_line_block(line, device->name, 0, "libibverbs does not know %s",
				  device->name);
	} else if (verbs->error < 0) {
		doctor_line_finding(line, "cannot be opened: %s", verbs->text);
		doctor_line_cure(line, "dmesg | grep -i -e infiniband -e %s",
				 device->sysfs.driver[0] != '\0' ? device->sysfs.driver : "rdma");
		doctor_line_block(line, device->name, 0, "%s cannot be opened", device->name);
	} else {
		say_answers(facts, device, line);
	}
}
