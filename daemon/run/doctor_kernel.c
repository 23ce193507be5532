// SPDX-License-Identifier: MIT
#include "run/doctor_kernel.h"

#include <string.h>

#include "util/memory.h"
#include "util/text.h"

#define ANOTHER_KERNEL                                                                       \
	"boot a kernel with RDMA (CONFIG_INFINIBAND): linux-image-amd64 instead of -cloud- " \
	"on Debian, with linux-modules-extra-$(uname -r) on Ubuntu, with kernel-modules-extra on RHEL"

/* Of whose network driver an RDMA driver is the second half. */
static const struct {
	const char *driver;
	const char *rdma_module;
	bool is_certain; /* every card of the driver has RDMA, switched on */
} halves[] = {
	{ "mlx5_core", "mlx5_ib", true }, { "mlx4_core", "mlx4_ib", true },
	{ "ice", "irdma", false },	  { "i40e", "irdma", false },
	{ "bnxt_en", "bnxt_re", false },  { "qede", "qedr", false },
	{ "cxgb4", "iw_cxgb4", false },	  { "hns3", "hns_roce_hw_v2", false },
	{ "be2net", "ocrdma", false },	  { "ionic", "ionic_rdma", false },
};

bool doctor_kernel_has_rdma(const struct doctor_facts *facts)
{
	return doctor_facts_has_core(facts) && doctor_facts_has_uverbs(facts);
}

void doctor_kernel_modules(const struct doctor_facts *facts, struct doctor_report *report)
{
	const char *missing = doctor_facts_has_core(facts)     ? "ib_uverbs is"
			      : doctor_facts_has_uverbs(facts) ? "ib_core is"
							       : "ib_core and ib_uverbs are";
	const char *release = facts->kernel[0] != '\0' ? facts->kernel : "of unknown release";
	enum modules_state worst = doctor_facts_has_core(facts) ? facts->ib_uverbs : facts->ib_core;
	struct doctor_line *line;

	if (facts->sysfs_error < 0) {
		doctor_line_not_seen(report, "kernel-modules", "kernel modules", "/sys/class",
				     facts->sysfs_error);
		return;
	}
	line = doctor_line_add(report, "kernel-modules",
			       doctor_kernel_has_rdma(facts) ? DOCTOR_OK : DOCTOR_BAD,
			       "kernel modules");
	doctor_line_source(line, "/sys/module, /lib/modules/%s", release);
	if (line->status == DOCTOR_OK) {
		doctor_line_finding(line, "ib_core (RDMA in the kernel) and ib_uverbs (the way of "
					  "programs to it) are there");
		return;
	}
	if (worst == MODULES_ABSENT) {
		doctor_line_finding(line,
				    "this kernel (%s) has no RDMA: %s neither loaded nor on disk",
				    release, missing);
		doctor_line_cure(line, ANOTHER_KERNEL);
		doctor_line_block(line, NULL, 0, "its kernel has no RDMA");
		return;
	}
	doctor_line_block(line, NULL, 0, "the kernel's RDMA modules are not loaded");
	if (worst == MODULES_AVAILABLE) {
		doctor_line_finding(line,
				    "%s not loaded: without %s programs cannot reach RDMA devices",
				    missing, doctor_facts_has_core(facts) ? "it" : "them");
		doctor_line_cure(line, "modprobe ib_uverbs; for each boot: echo ib_uverbs "
				       ">/etc/modules-load.d/rdma.conf");
		return;
	}
	doctor_line_finding(
		line,
		"%s not loaded (RDMA in the kernel, and the way of programs to it); whether "
		"kernel %s has them cannot be seen: /lib/modules/%s is not readable here",
		missing, release, release);
	doctor_line_cure(
		line,
		"on the host, as root: modprobe ib_uverbs. If there is no such module: " ANOTHER_KERNEL);
}

static const char *rdma_module_of(const char *driver, bool *ret_is_certain)
{
	for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
		if (strcmp(halves[i].driver, driver) == 0) {
			*ret_is_certain = halves[i].is_certain;
			return halves[i].rdma_module;
		}
	}
	return NULL;
}

/* The first adapter that may have RDMA and shows none. */
static const struct pcie_adapter *find_half(const struct doctor_facts *facts, const char **module)
{
	bool is_certain;

	for (size_t i = 0; i < facts->adapter_count; i++) {
		*module = rdma_module_of(facts->adapters[i].driver, &is_certain);
		if (*module && !facts->adapters[i].has_rdma) {
			return &facts->adapters[i];
		}
	}
	return NULL;
}

/* An interface that could carry soft-RoCE: it has an address. */
static const char *find_interface(const struct doctor_facts *facts)
{
	for (size_t i = 0; i < facts->address_count; i++) {
		if (strcmp(facts->addresses[i].netdev, "lo") != 0 &&
		    !netdev_is_link_local(facts->addresses[i].address)) {
			return facts->addresses[i].netdev;
		}
	}
	return "eth0";
}

static void say_no_device(const struct doctor_facts *facts, struct doctor_report *report)
{
	struct doctor_line *line = doctor_line_add(report, "devices", DOCTOR_BAD, "RDMA devices");
	const char *module = NULL;
	const struct pcie_adapter *half = find_half(facts, &module);

	doctor_line_source(line, "/sys/class/infiniband");
	doctor_line_block(line, NULL, 0, "it has no RDMA device");
	if (facts->netlink_error == 0 && facts->netlink.is_exclusive) {
		doctor_line_finding(
			line,
			"none in this network namespace (the kernel shows a device to one alone)");
		doctor_line_cure(
			line, "on the host, as root: rdma dev set DEVICE netns PID (a process of "
			      "this container), or: rdma system set netns shared");
		return;
	}
	if (half) {
		doctor_line_finding(
			line,
			"none; adapter %s (driver %s) may do RDMA, but module %s, the RDMA "
			"half of its driver, is not at work",
			half->address, half->driver, module);
		doctor_line_cure(
			line,
			"modprobe %s; if there is still no device (rdma link), this card has no "
			"RDMA or its firmware has it switched off: dmesg | grep %s",
			module, half->driver);
		return;
	}
	doctor_line_finding(line,
			    "none: the kernel knows no adapter (network card) that can do RDMA");
	doctor_line_cure(
		line,
		"put in an RDMA adapter (lspci -k tells which are there, and their drivers); to try RDMA without one (soft-RoCE, "
		"in software): modprobe rdma_rxe && rdma link add rxe0 type rxe netdev %s",
		find_interface(facts));
}

void doctor_kernel_devices(const struct doctor_facts *facts, struct doctor_report *report)
{
	_cleanup_text_ struct text names = TEXT_INIT;
	struct doctor_line *line;
	bool has_soft = false;

	if (facts->sysfs_error < 0) {
		doctor_line_not_seen(report, "devices", "RDMA devices", "/sys/class/infiniband",
				     facts->sysfs_error);
		return;
	}
	if (facts->device_count == 0) {
		say_no_device(facts, report);
		return;
	}
	for (size_t i = 0; i < facts->device_count; i++) {
		const struct doctor_device *device = &facts->devices[i];

		text_format(&names, "%s%s (%s)", i > 0 ? ", " : "", device->name,
			    device->sysfs.driver[0] != '\0' ? device->sysfs.driver
							    : "driver not seen");
		has_soft |= strcmp(device->sysfs.driver, "rdma_rxe") == 0;
	}
	line = doctor_line_add(report, "devices", DOCTOR_OK, "RDMA devices");
	doctor_line_source(line, "/sys/class/infiniband");
	doctor_line_finding(line, "%zu: %s%s", facts->device_count + facts->more_devices,
			    names.data,
			    has_soft ? "; rdma_rxe is RDMA in software, to try things out" : "");
	if (facts->more_devices > 0) {
		line->status = DOCTOR_NOT_SEEN;
		doctor_line_finding(line, "%zu, of which only the first %zu are looked at",
				    facts->device_count + facts->more_devices, facts->device_count);
	}
}

void doctor_kernel_adapters(const struct doctor_facts *facts, struct doctor_report *report)
{
	if (facts->device_count == 0) {
		return; /* said of the devices already */
	}
	for (size_t i = 0; i < facts->adapter_count; i++) {
		const struct pcie_adapter *adapter = &facts->adapters[i];
		bool is_certain = false;
		const char *module = rdma_module_of(adapter->driver, &is_certain);
		struct doctor_line *line;

		if (!module || !is_certain || adapter->has_rdma) {
			continue;
		}
		line = doctor_line_add(report, "adapter", DOCTOR_WARN, "adapter %s",
				       adapter->address);
		doctor_line_finding(
			line,
			"can do RDMA (driver %s), but no RDMA device is on it: module %s "
			"does not drive it",
			adapter->driver, module);
		doctor_line_cure(line, "modprobe %s; if that changes nothing: dmesg | grep %s",
				 module, adapter->driver);
		doctor_line_source(line, "/sys/bus/pci/devices/%s", adapter->address);
	}
}

void doctor_kernel_rdma_cm(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct device_node *node = &facts->rdma_cm;
	struct doctor_line *line;

	if (!doctor_kernel_has_rdma(facts)) {
		return; /* comes after that */
	}
	line = doctor_line_add(report, "rdma-cm", DOCTOR_WARN, "rdma_cm");
	doctor_line_source(line, "/dev/infiniband/rdma_cm");
	if (node->error == 0 && node->open_error == 0) {
		line->status = DOCTOR_OK;
		doctor_line_finding(line,
				    "/dev/infiniband/rdma_cm opens (scenarios with qp.cm: rdma_cm "
				    "connect by it)");
	} else if (node->error == 0) {
		doctor_line_finding(
			line,
			"/dev/infiniband/rdma_cm may not be opened (%s): scenarios with "
			"qp.cm: rdma_cm cannot run, all others can",
			strerrordesc_np(-node->open_error));
		doctor_line_cure(
			line, "DeviceAllow=/dev/infiniband/rdma_cm rw in the unit, the container's "
			      "device list, or chmod 0666 /dev/infiniband/rdma_cm");
	} else if (facts->rdma_ucm == MODULES_LOADED || facts->rdma_ucm == MODULES_BUILTIN) {
		doctor_line_finding(line, "/dev/infiniband/rdma_cm is not here: scenarios with "
					  "qp.cm: rdma_cm cannot run, all others can");
		doctor_line_cure(
			line, "give it to this container or unit (--device=, DeviceAllow=); on the "
			      "host: udevadm trigger --name-match=infiniband/rdma_cm");
	} else {
		doctor_line_finding(line, "module rdma_ucm is not loaded: scenarios with qp.cm: "
					  "rdma_cm cannot run, all others can");
		doctor_line_cure(line, "modprobe rdma_ucm");
	}
}
