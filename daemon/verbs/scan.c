// SPDX-License-Identifier: MIT
#include "verbs/scan.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "host/device_node.h"
#include "host/fact.h"
#include "host/sysfs.h"
#include "model/hang.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/random.h"
#include "util/text.h"
#include "verbs/call.h"
#include "verbs/device.h"
#include "verbs/device_list.h"
#include "verbs/port.h"

#define FRESH_EVERY_NS 60000000000ull
#define MAX_DEVICES 64

/* One device as it was when last opened. */
struct known_device {
	char name[LIMIT_NAME];
	char node[LIMIT_NAME]; /* its file below /dev/infiniband */
	bool is_adopted; /* another scan asked it just now: this one does not ask again */
	bool had_node; /* it was there once: nobody is about to make it */
	uint64_t signature; /* 0: cannot be compared */
	uint64_t asked_mono_ns;
	bool is_listed; /* in this scan */
	size_t port_count;
	struct port *ports; /* owned; of LIMIT_PORTS at most */
	struct error error; /* why it could not be asked, the last time; not set: it could */
	bool was_active[LIMIT_PORTS]; /* since it was listed; by port number, from 1 */
};

struct scan {
	const char *sys_root;
	size_t count;
	struct known_device devices[MAX_DEVICES]; /* in name order */
	size_t present_count;
	char present[MAX_DEVICES][LIMIT_NAME]; /* all that were listed */
	size_t left_count;
	char left[HANGS_MAX][LIMIT_NAME]; /* alone */
	_Atomic(const char *) asks_about;
	char cut_at[LIMIT_NAME]; /* "" for not cut; control thread only */
};

/* Stands in asks_about for the device at which a scan was cut. */
static const char cut[] = "";

struct scan *scan_new(const char *sys_root)
{
	struct scan *scan = memory_new(sizeof(*scan));

	scan->sys_root = sys_root;
	return scan;
}

void scan_free(struct scan *scan)
{
	if (!scan) {
		return;
	}
	for (size_t i = 0; i < scan->count; i++) {
		free(scan->devices[i].ports);
	}
	free(scan);
}

const char *scan_asks_about(const struct scan *scan)
{
	const char *name = atomic_load(&scan->asks_about);

	return name == cut ? scan->cut_at : name;
}

static int ask_device(struct scan *scan, struct known_device *known, struct error *err)
{
	struct device *device = NULL;
	int ret = device_open(&device, known->name, err);

	known->port_count = 0;
	if (ret < 0) {
		return ret;
	}
	for (uint64_t port_num = 1;
	     port_num <= device->attr.phys_port_cnt && port_num <= LIMIT_PORTS; port_num++) {
		known->ports =
			memory_resize(known->ports, known->port_count + 1, sizeof(*known->ports));
		if (port_ask(scan->sys_root, device, port_num, &known->ports[known->port_count],
			     err) == 0) {
			known->was_active[port_num - 1] |= known->ports[known->port_count].state ==
							   PORT_STATE_ACTIVE;
			known->port_count++;
		} else {
			ret = -EIO;
		}
	}
	device_close(device);
	return ret;
}

static bool is_left(const struct scan *scan, const char *name)
{
	for (size_t i = 0; i < scan->left_count; i++) {
		if (strcmp(scan->left[i], name) == 0) {
			return true;
		}
	}
	return false;
}

/* Whether this process may use the device shows in its node, of which sysfs knows nothing. */
static uint64_t add_node(uint64_t signature, const struct device_node *node)
{
	const uint64_t facts[] = { (uint64_t)node->mode, node->user_id,
				   node->group_id,	 node->major,
				   node->minor,		 (uint64_t)node->changed_real_ns };

	for (size_t i = 0; signature != 0 && i < sizeof(facts) / sizeof(facts[0]); i++) {
		signature = prng_hash("node", signature + facts[i]);
	}
	return signature;
}

/* libibverbs would wait 5 s for udev to make it. */
static int tell_missing_node(struct known_device *known, struct error *err)
{
	known->port_count = 0;
	return error_set_call(err, ENOENT, ERROR_RESOURCE, STAGE_RESOURCE, "open",
			      "RDMA device \"%s\": its node /dev/infiniband/%s was removed; "
			      "`udevadm trigger --subsystem-match=infiniband_verbs` makes it again",
			      known->name, known->node);
}

static void keep_first(struct error *err, const struct error *other)
{
	if (err && !error_is_set(err)) {
		*err = *other;
	}
}

/* False: the scan was cut meanwhile, and only this device is still its own. */
static bool refresh(struct scan *scan, struct known_device *known, bool is_fresh, struct error *err)
{
	uint64_t now_mono_ns = clock_mono_ns();
	struct device_node node;
	uint64_t signature;
	int ret;

	if (is_left(scan, known->name) || known->is_adopted) {
		known->is_adopted = false;
		keep_first(err, &known->error);
		return true;
	}
	device_node_look(scan->sys_root, known->node, &node);
	signature = add_node(sysfs_signature(scan->sys_root, known->name), &node);
	if (!is_fresh && signature != 0 && signature == known->signature &&
	    now_mono_ns - known->asked_mono_ns < FRESH_EVERY_NS) {
		return true;
	}
	atomic_store(&scan->asks_about, known->name);
	known->error = ERROR_INIT;
	ret = known->had_node && node.error == -ENOENT ? tell_missing_node(known, &known->error)
						       : ask_device(scan, known, &known->error);
	keep_first(err, &known->error);
	/* One that failed is asked again next time. */
	known->signature = ret == 0 ? signature : 0;
	known->had_node |= node.error == 0;
	known->asked_mono_ns = now_mono_ns;
	return atomic_exchange(&scan->asks_about, NULL) != cut;
}

static int compare_devices(const void *a, const void *b)
{
	return strcmp(((const struct known_device *)a)->name,
		      ((const struct known_device *)b)->name);
}

static bool is_selected(const struct daemon_settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->device_count; i++) {
		if (strcmp(settings->devices[i].name, name) == 0) {
			return true;
		}
	}
	return settings->device_count == 0;
}

static struct known_device *find_known(struct scan *scan, const char *name)
{
	for (size_t i = 0; i < scan->count; i++) {
		if (strcmp(scan->devices[i].name, name) == 0) {
			return &scan->devices[i];
		}
	}
	return NULL;
}

/* libibverbs leaves out what has no node, and says nothing. */
static void tell_unlisted(const struct scan *scan, const struct daemon_settings *settings,
			  struct error *err)
{
	_cleanup_fact_names_ struct fact_names names = { 0 };

	if (fact_names(&names, "%s/sys/class/infiniband", scan->sys_root) < 0) {
		return;
	}
	for (size_t i = 0; i < names.count; i++) {
		if (is_selected(settings, names.names[i]) &&
		    !scan_is_present(scan, names.names[i])) {
			error_set_call(
				err, ENODEV, ERROR_RESOURCE, STAGE_DISCOVER, "ibv_get_device_list",
				"RDMA device \"%s\" is in the kernel, but programs do not see it: "
				"its node below /dev/infiniband is missing, or libibverbs has no "
				"driver for it; rdmatestd --doctor tells more",
				names.names[i]);
		}
	}
}

/* Knows those that are there and selected, forgets the others. */
static int list_devices(struct scan *scan, const struct daemon_settings *settings,
			struct error *err)
{
	struct ibv_device **list;
	size_t kept = 0;
	int count = 0;
	int ret = device_list_get(&list, &count, err);

	if (ret < 0) {
		return ret;
	}
	for (size_t i = 0; i < scan->count; i++) {
		scan->devices[i].is_listed = false;
	}
	scan->present_count = 0;
	for (int i = 0; i < count; i++) {
		const char *name = ibv_get_device_name(list[i]);
		struct known_device *known = find_known(scan, name);

		if (scan->present_count < MAX_DEVICES) {
			text_copy(scan->present[scan->present_count++], LIMIT_NAME, name);
		}

		if (!is_selected(settings, name)) {
			continue;
		}
		if (!known && scan->count < MAX_DEVICES) {
			known = &scan->devices[scan->count++];
			*known = (struct known_device){ 0 };
			text_copy(known->name, sizeof(known->name), name);
		}
		if (known) {
			text_copy(known->node, sizeof(known->node), list[i]->dev_name);
			known->is_listed = true;
		}
	}
	ibv_free_device_list(list);
	for (size_t i = 0; i < scan->count; i++) {
		if (scan->devices[i].is_listed) {
			scan->devices[kept++] = scan->devices[i];
		} else {
			free(scan->devices[i].ports);
		}
	}
	scan->count = kept;
	qsort(scan->devices, scan->count, sizeof(scan->devices[0]), compare_devices);
	tell_unlisted(scan, settings, err);
	return 0;
}

bool scan_is_present(const struct scan *scan, const char *name)
{
	for (size_t i = 0; i < scan->present_count; i++) {
		if (strcmp(scan->present[i], name) == 0) {
			return true;
		}
	}
	return false;
}

/*
 * Every port that is active, or was: one that goes down is to be told, and not to change the rails
 * of the others, which are counted in this order.
 */
static void tell_all(const struct scan *scan, struct inventory *ret)
{
	for (size_t i = 0; i < scan->count; i++) {
		for (size_t j = 0; j < scan->devices[i].port_count; j++) {
			const struct port *port = &scan->devices[i].ports[j];

			if (scan->devices[i].was_active[port->port_num - 1] &&
			    ret->port_count < LIMIT_PORTS) {
				ret->ports[ret->port_count] = *port;
				ret->ports[ret->port_count].rail = ret->port_count;
				ret->port_count++;
			}
		}
	}
}

static void tell_configured(struct scan *scan, const struct daemon_settings *settings,
			    struct inventory *ret)
{
	for (size_t i = 0; i < settings->device_count; i++) {
		const struct device_settings *wish = &settings->devices[i];
		const struct known_device *known = find_known(scan, wish->name);

		for (size_t j = 0; known && j < known->port_count; j++) {
			if (known->ports[j].port_num == wish->port_num &&
			    ret->port_count < LIMIT_PORTS) {
				struct port *port = &ret->ports[ret->port_count++];

				*port = known->ports[j];
				port->rail = wish->rail == SCHEMA_AUTO ? i : wish->rail;
				port->configured_gid_index = wish->gid_index;
			}
		}
	}
}

/* The first that is asked for and not there: it may have another name by now (udev, rdma dev set).
 */
static void note_absent(const struct scan *scan, const struct daemon_settings *settings,
			struct inventory *ret)
{
	const char *absent = NULL;

	for (size_t i = 0; i < settings->device_count && !absent; i++) {
		absent = scan_is_present(scan, settings->devices[i].name)
				 ? NULL
				 : settings->devices[i].name;
	}
	ret->problem[0] = '\0';
	if (!absent) {
		return;
	}
	_cleanup_text_ struct text names = TEXT_INIT;
	for (size_t i = 0; i < scan->present_count && names.length < 200; i++) {
		text_format(&names, "%s%s", i ? ", " : "", scan->present[i]);
	}
	snprintf(
		ret->problem, sizeof(ret->problem),
		"daemon.devices names \"%s\", which is not there (there is: %s); it may have another "
		"name now (`rdma link`)",
		absent, names.length ? names.data : "no RDMA device");
}

void scan_leave(struct scan *scan, char (*names)[LIMIT_NAME], size_t count)
{
	scan->left_count = count < HANGS_MAX ? count : HANGS_MAX;
	for (size_t i = 0; i < scan->left_count; i++) {
		text_copy(scan->left[i], LIMIT_NAME, names[i]);
	}
}

void scan_remember(struct scan *scan, const char *name, const struct inventory *inventory)
{
	struct known_device *known;

	if (find_known(scan, name) || scan->count == MAX_DEVICES) {
		return;
	}
	known = &scan->devices[scan->count++];
	*known = (struct known_device){ 0 };
	text_copy(known->name, sizeof(known->name), name);
	for (size_t i = 0; i < inventory->port_count; i++) {
		if (strcmp(inventory->ports[i].device, name) != 0) {
			continue;
		}
		known->ports =
			memory_resize(known->ports, known->port_count + 1, sizeof(*known->ports));
		known->ports[known->port_count] = inventory->ports[i];
		known->ports[known->port_count++].configured_gid_index = SCHEMA_AUTO;
		if (inventory->ports[i].port_num >= 1 &&
		    inventory->ports[i].port_num <= LIMIT_PORTS) {
			known->was_active[inventory->ports[i].port_num - 1] = true;
		}
	}
}

static void copy_known(struct scan *scan, const struct known_device *theirs, bool is_adopted)
{
	struct known_device *ours = find_known(scan, theirs->name);
	struct port *ports;

	if (!ours && scan->count == MAX_DEVICES) {
		return;
	}
	ours = ours ? ours : &scan->devices[scan->count++];
	ports = memory_new_array(theirs->port_count + 1, sizeof(*ports));
	if (theirs->port_count > 0) {
		memcpy(ports, theirs->ports, theirs->port_count * sizeof(*ports));
	}
	free(ours->ports);
	*ours = *theirs;
	ours->ports = ports;
	ours->is_adopted = is_adopted;
}

bool scan_cut(struct scan *scan, struct scan *next)
{
	const char *name = atomic_load(&scan->asks_about);

	if (!name || name == cut) {
		return false;
	}
	text_copy(scan->cut_at, sizeof(scan->cut_at), name);
	/* From here on its thread touches the entry of this device alone. */
	if (!atomic_compare_exchange_strong(&scan->asks_about, &name, cut)) {
		scan->cut_at[0] = '\0';
		return false;
	}
	for (size_t i = 0; i < scan->count; i++) {
		if (strcmp(scan->devices[i].name, scan->cut_at) != 0) {
			copy_known(next, &scan->devices[i], false);
		}
	}
	return true;
}

void scan_adopt(struct scan *scan, const struct scan *from, const char *name)
{
	for (size_t i = 0; i < from->count; i++) {
		if (strcmp(from->devices[i].name, name) == 0) {
			copy_known(scan, &from->devices[i], true);
		}
	}
}

int scan_run(struct scan *scan, const struct daemon_settings *settings, bool is_fresh,
	     struct inventory *ret, struct error *err)
{
	int error = list_devices(scan, settings, err);

	if (error < 0) {
		return error;
	}
	for (size_t i = 0; i < scan->count; i++) {
		if (!refresh(scan, &scan->devices[i], is_fresh, err)) {
			return 0;
		}
	}
	ret->port_count = 0;
	if (settings->device_count == 0) {
		tell_all(scan, ret);
	} else {
		tell_configured(scan, settings, ret);
	}
	note_absent(scan, settings, ret);
	return 0;
}
