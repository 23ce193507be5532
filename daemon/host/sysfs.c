// SPDX-License-Identifier: MIT
#include "host/sysfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cpu_list.h"
#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"
#include "util/thread.h"

#define MAX_PORTS 16 /* looked at for the signature */
/* Tables have up to 1024 entries, filled from below: so many empty ones in a row are taken for the
 * end. */
#define MAX_EMPTY_GIDS 16
#define BPS_PER_GBPS 1000000000.0
#define BPS_PER_MBPS 1000000u
#define UUID_LENGTH 36

/* The first line of a small file, without its newline. False if it cannot be read. */
static bool read_line(char *ret, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool read_line(char *ret, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	ssize_t count;

	ret[0] = '\0';
	va_start(arguments, format);
	int length = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(path)) {
		return false;
	}
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		return false;
	}
	do {
		count = read(fd, ret, size - 1);
	} while (count < 0 && errno == EINTR);
	if (count < 0) {
		return false;
	}
	ret[count] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

/* Names from verbs and configuration become part of a path: one component, no way out of it. */
static bool is_component(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && !strchr(name, '/');
}

static bool device_path(const char *root, const char *device, char *ret, size_t size)
{
	struct stat status;
	int length;

	if (!is_component(device)) {
		return false;
	}
	length = snprintf(ret, size, "%s/sys/class/infiniband/%s", root, device);
	return length > 0 && (size_t)length < size && stat(ret, &status) == 0;
}

/* "100 Gb/sec (4X EDR)" */
static uint64_t parse_rate_bps(const char *text)
{
	char *end;
	double gbps = strtod(text, &end);

	if (end == text || !(gbps > 0 && gbps <= 1e6) || !text_starts_with(end, " Gb/sec")) {
		return 0;
	}
	return (uint64_t)(gbps * BPS_PER_GBPS + 0.5);
}

/* A count of Mb/s; -1 and 4294967295 stand for unknown. */
static uint64_t parse_speed_bps(const char *text)
{
	char *end;
	long long mbps = strtoll(text, &end, 10);

	if (end == text || *end != '\0' || mbps <= 0 || mbps >= UINT32_MAX) {
		return 0;
	}
	return (uint64_t)mbps * BPS_PER_MBPS;
}

static void find_netdev(const char *path, uint64_t port_num, struct sysfs_port *ret)
{
	/*
	 * Of all GIDs of a port the first names its own network device; others may be of VLANs on
	 * it.
	 */
	if (read_line(ret->netdev, sizeof(ret->netdev), "%s/ports/%llu/gid_attrs/ndevs/0", path,
		      (unsigned long long)port_num)) {
		return;
	}
	read_line(ret->netdev, sizeof(ret->netdev), "%s/parent", path);
}

static void find_driver(const char *path, struct sysfs_port *ret)
{
	char link[PATH_MAX];
	char target[PATH_MAX];
	char parent[64];

	snprintf(link, sizeof(link), "%.4000s/device/driver", path);
	ssize_t length = readlink(link, target, sizeof(target) - 1);
	if (length > 0) {
		target[length] = '\0';
		const char *slash = strrchr(target, '/');
		text_copy(ret->driver, sizeof(ret->driver), slash ? slash + 1 : target);
	} else if (read_line(parent, sizeof(parent), "%s/parent", path)) {
		/* A device without a bus below it; this file is soft-RoCE's own. */
		text_copy(ret->driver, sizeof(ret->driver), "rdma_rxe");
	}
}

bool sysfs_port(const char *root, const char *device, uint64_t port_num, struct sysfs_port *ret)
{
	char path[PATH_MAX];
	char text[64];

	*ret = (struct sysfs_port){ 0 };
	if (!device_path(root, device, path, sizeof(path))) {
		return false;
	}
	find_netdev(path, port_num, ret);
	find_driver(path, ret);
	if (is_component(ret->netdev) &&
	    read_line(text, sizeof(text), "%s/sys/class/net/%s/speed", root, ret->netdev)) {
		ret->link_rate_bps = parse_speed_bps(text);
	}
	if (ret->link_rate_bps == 0 && read_line(text, sizeof(text), "%s/ports/%llu/rate", path,
						 (unsigned long long)port_num)) {
		ret->link_rate_bps = parse_rate_bps(text);
	}
	return true;
}

int sysfs_numa_node(const char *root, const char *device)
{
	char path[PATH_MAX];
	char text[32];
	char *end;

	if (!device_path(root, device, path, sizeof(path)) ||
	    !read_line(text, sizeof(text), "%s/device/numa_node", path)) {
		return -1;
	}
	long node = strtol(text, &end, 10);
	return end == text || *end != '\0' || node < 0 || node > INT_MAX ? -1 : (int)node;
}

static void count_one(void *arg, unsigned number)
{
	unsigned *count = arg;

	(*count)++;
}

unsigned sysfs_node_count(const char *root)
{
	char list[1024];
	unsigned count = 0;

	if (read_line(list, sizeof(list), "%s/sys/devices/system/node/online", root)) {
		cpu_list_each(list, count_one, &count);
	}
	return count;
}

struct cpu_choice {
	const int *usable;
	unsigned usable_count;
	int *cpus;
	unsigned max;
	unsigned count;
};

static void add_cpu(void *arg, unsigned number)
{
	struct cpu_choice *choice = arg;

	for (unsigned i = 0; i < choice->usable_count; i++) {
		if (choice->usable[i] == (int)number) {
			if (choice->count < choice->max) {
				choice->cpus[choice->count] = (int)number;
			}
			choice->count++;
			return;
		}
	}
}

/* Those of a list that this process may use. */
static unsigned usable_of(const char *list, int *cpus, unsigned max)
{
	_cleanup_free_ int *usable = memory_new_array(CPU_LIST_MAX, sizeof(*usable));
	unsigned usable_count = thread_cpus(usable, CPU_LIST_MAX);
	struct cpu_choice choice = {
		.usable = usable,
		.usable_count = usable_count < CPU_LIST_MAX ? usable_count : CPU_LIST_MAX,
		.cpus = cpus,
		.max = max,
	};

	cpu_list_each(list, add_cpu, &choice);
	return choice.count;
}

unsigned sysfs_node_cpus(const char *root, int node, int *cpus, unsigned max)
{
	char list[4096];

	if (node < 0 || !read_line(list, sizeof(list), "%s/sys/devices/system/node/node%d/cpulist",
				   root, node)) {
		return 0;
	}
	return usable_of(list, cpus, max);
}

unsigned sysfs_isolated_cpus(const char *root, int *cpus, unsigned max)
{
	char list[4096];

	return read_line(list, sizeof(list), "%s/sys/devices/system/cpu/isolated", root)
		       ? usable_of(list, cpus, max)
		       : 0;
}

void sysfs_boot_id(const char *root, char *ret)
{
	char text[64];

	ret[0] = '\0';
	if (read_line(text, sizeof(text), "%s/proc/sys/kernel/random/boot_id", root) &&
	    strlen(text) == UUID_LENGTH) {
		memcpy(ret, text, UUID_LENGTH + 1);
	}
}

/* A file that is not there counts as an empty one. */
static uint64_t hash_file(uint64_t hash, const char *path, const char *name)
{
	char text[128];

	read_line(text, sizeof(text), "%s/%s", path, name);
	return prng_hash(text, hash);
}

static uint64_t hash_netdev(uint64_t hash, const char *root, const char *netdev)
{
	static const char *const files[] = { "mtu", "operstate", "speed", "address", "ifindex" };
	char path[PATH_MAX];

	if (!is_component(netdev)) {
		return hash;
	}
	snprintf(path, sizeof(path), "%.2000s/sys/class/net/%.64s", root, netdev);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		hash = hash_file(hash, path, files[i]);
	}
	return hash;
}

static bool is_empty_gid(const char *gid)
{
	return gid[strspn(gid, "0:")] == '\0';
}

static uint64_t hash_gids(uint64_t hash, const char *port_path)
{
	char gid[64];
	char name[64];

	for (unsigned i = 0, empty = 0; empty < MAX_EMPTY_GIDS; i++) {
		if (!read_line(gid, sizeof(gid), "%s/gids/%u", port_path, i)) {
			break;
		}
		if (is_empty_gid(gid)) {
			empty++;
			continue;
		}
		empty = 0;
		hash = prng_hash(gid, hash + i);
		snprintf(name, sizeof(name), "gid_attrs/types/%u", i);
		hash = hash_file(hash, port_path, name);
		snprintf(name, sizeof(name), "gid_attrs/ndevs/%u", i);
		hash = hash_file(hash, port_path, name);
	}
	return hash;
}

uint64_t sysfs_signature(const char *root, const char *device)
{
	static const char *const device_files[] = { "fw_ver", "node_guid", "parent" };
	static const char *const port_files[] = { "state", "lid", "rate", "link_layer", "pkeys/0" };
	char path[PATH_MAX];
	char port_path[PATH_MAX];
	struct stat status;

	if (!device_path(root, device, path, sizeof(path)) || stat(path, &status) < 0) {
		return 0;
	}
	/* A device that went and came back has another inode. */
	uint64_t hash = prng_hash(device, (uint64_t)status.st_ino);
	for (size_t i = 0; i < sizeof(device_files) / sizeof(device_files[0]); i++) {
		hash = hash_file(hash, path, device_files[i]);
	}
	for (unsigned port_num = 1; port_num <= MAX_PORTS; port_num++) {
		struct sysfs_port port = { 0 };

		snprintf(port_path, sizeof(port_path), "%.2000s/ports/%u", path, port_num);
		if (stat(port_path, &status) < 0) {
			break;
		}
		for (size_t i = 0; i < sizeof(port_files) / sizeof(port_files[0]); i++) {
			hash = hash_file(hash, port_path, port_files[i]);
		}
		find_netdev(path, port_num, &port);
		hash = hash_netdev(hash_gids(hash, port_path), root, port.netdev);
	}
	return hash ? hash : 1;
}

uint64_t sysfs_identity(const char *root, const char *device)
{
	char path[PATH_MAX];
	struct stat status;

	return device_path(root, device, path, sizeof(path)) && stat(path, &status) == 0
		       ? (uint64_t)status.st_ino
		       : 0;
}

uint64_t sysfs_vlan(const char *netdev)
{
	struct vlan_ioctl_args args = { .cmd = GET_VLAN_VID_CMD };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || !is_component(netdev) ||
	    !text_copy(args.device1, sizeof(args.device1), netdev)) {
		return 0;
	}
	return ioctl(fd, SIOCGIFVLAN, &args) == 0 && args.u.VID > 0 ? (uint64_t)args.u.VID : 0;
}
