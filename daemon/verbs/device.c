// SPDX-License-Identifier: MIT
#include "verbs/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/memory.h"
#include "util/text.h"
#include "verbs/call.h"
#include "verbs/device_list.h"

#define NODE_DIRECTORY "/dev/infiniband/"

static int absent(const char *name, struct ibv_device *const *list, int count, struct error *err)
{
	_cleanup_text_ struct text names = TEXT_INIT;
	int ret;

	for (int i = 0; i < count; i++) {
		text_format(&names, "%s%s", i > 0 ? ", " : "", ibv_get_device_name(list[i]));
	}
	ret = error_set(
		err, -ENODEV, ERROR_DEVICE,
		"RDMA device \"%s\" is not on this host (it has: %s); see `rdma link`, the driver's module and the cable",
		name, count > 0 ? names.data : "none");
	if (err && !err->call[0]) {
		err->stage = STAGE_DISCOVER;
		text_copy(err->call, sizeof(err->call), "device");
	}
	return ret;
}

/*
 * 0, or what opening the device's node says. A missing node is not refused here: right after a
 * module was loaded udev still has to make it, and libibverbs waits for that.
 */
static int try_node(const char *name, struct ibv_device *ib, struct error *err)
{
	char path[sizeof(NODE_DIRECTORY) + IBV_SYSFS_NAME_MAX];
	int error;

	snprintf(path, sizeof(path), NODE_DIRECTORY "%s", ib->dev_name);
	(void)call_begin("open");
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 || errno == ENOENT || errno == ENOTDIR) {
		return 0;
	}
	error = errno;
	if (error == EACCES || error == EPERM) {
		return error_set_call(
			err, error, ERROR_RESOURCE, STAGE_RESOURCE, "open",
			"RDMA device \"%s\": its node %s is refused; allow it (group and mode of the node, DeviceAllow= of "
			"the unit, the container's device list)",
			name, path);
	}
	return error_set_call(err, error, ERROR_RESOURCE, STAGE_RESOURCE, "open",
			      "RDMA device \"%s\": its node %s cannot be opened", name, path);
}

static int open_listed(struct device *device, struct ibv_device *ib, struct error *err)
{
	struct ibv_device_attr_ex extended = { 0 };
	int ret = try_node(device->name, ib, err);

	if (ret < 0) {
		return ret;
	}
	(void)call_begin("ibv_open_device");
	device->context = ibv_open_device(ib);
	if (!device->context) {
		ret = errno ? errno : EIO;
		return error_set_call(err, ret, ret == EMFILE ? ERROR_RESOURCE : ERROR_DEVICE,
				      STAGE_RESOURCE, "ibv_open_device",
				      "RDMA device \"%s\" cannot be opened", device->name);
	}
	ret = fcntl(device->context->async_fd, F_GETFL);
	if (ret < 0 || fcntl(device->context->async_fd, F_SETFL, ret | O_NONBLOCK) < 0) {
		return error_set_call(
			err, errno, ERROR_DEVICE, STAGE_RESOURCE, "fcntl",
			"RDMA device \"%s\": its event descriptor cannot be made non-blocking",
			device->name);
	}
	(void)call_begin("ibv_query_device");
	ret = ibv_query_device(device->context, &device->attr);
	if (ret != 0) {
		return error_set_call(err, ret, ERROR_DEVICE, STAGE_RESOURCE, "ibv_query_device",
				      "RDMA device \"%s\" does not tell its limits", device->name);
	}
	(void)call_begin("ibv_query_device_ex");
	if (ibv_query_device_ex(device->context, NULL, &extended) == 0) {
		device->odp = extended.odp_caps;
	}
	return 0;
}

int device_open(struct device **ret_device, const char *name, struct error *err)
{
	struct ibv_device **list;
	struct ibv_device *found = NULL;
	struct device *device;
	int count = 0;
	int ret;

	ret = device_list_get(&list, &count, err);
	if (ret < 0) {
		return ret;
	}
	for (int i = 0; i < count && !found; i++) {
		found = strcmp(ibv_get_device_name(list[i]), name) == 0 ? list[i] : NULL;
	}
	device = memory_new(sizeof(*device));
	text_copy(device->name, sizeof(device->name), name);
	ret = found ? open_listed(device, found, err) : absent(name, list, count, err);
	/* An open context keeps its device: the list may go. */
	ibv_free_device_list(list);
	if (ret < 0) {
		device_close(device);
		return ret;
	}
	*ret_device = device;
	return 0;
}

void device_close(struct device *device)
{
	if (!device) {
		return;
	}
	if (device->context) {
		uint64_t started_mono_ns = call_begin("ibv_close_device");

		/* On a device that is gone this fails, and there is nothing else to do with it. */
		(void)ibv_close_device(device->context);
		call_end(NULL, NULL, started_mono_ns, 0);
	}
	free(device);
}

/* What each event is to us; those that are not here concern no job. */
static const struct {
	enum ibv_event_type type;
	enum device_event kind;
	enum port_event_kind event;
} known_events[] = {
	{ IBV_EVENT_DEVICE_FATAL, DEVICE_EVENT_FATAL, PORT_EVENT_DEVICE_FATAL },
	{ IBV_EVENT_PORT_ACTIVE, DEVICE_EVENT_PORT, PORT_EVENT_PORT_ACTIVE },
	{ IBV_EVENT_PORT_ERR, DEVICE_EVENT_PORT, PORT_EVENT_PORT_ERR },
	{ IBV_EVENT_LID_CHANGE, DEVICE_EVENT_PORT, PORT_EVENT_LID_CHANGE },
	{ IBV_EVENT_PKEY_CHANGE, DEVICE_EVENT_PORT, PORT_EVENT_PKEY_CHANGE },
	{ IBV_EVENT_GID_CHANGE, DEVICE_EVENT_PORT, PORT_EVENT_GID_CHANGE },
	{ IBV_EVENT_CLIENT_REREGISTER, DEVICE_EVENT_PORT, PORT_EVENT_CLIENT_REREGISTER },
	{ IBV_EVENT_SM_CHANGE, DEVICE_EVENT_PORT, PORT_EVENT_SM_CHANGE },
	{ IBV_EVENT_QP_FATAL, DEVICE_EVENT_QP, PORT_EVENT_QP_FATAL },
	{ IBV_EVENT_QP_REQ_ERR, DEVICE_EVENT_QP, PORT_EVENT_QP_REQ_ERR },
	{ IBV_EVENT_QP_ACCESS_ERR, DEVICE_EVENT_QP, PORT_EVENT_QP_ACCESS_ERR },
	{ IBV_EVENT_CQ_ERR, DEVICE_EVENT_CQ, PORT_EVENT_CQ_ERR },
	{ IBV_EVENT_SRQ_ERR, DEVICE_EVENT_SRQ, PORT_EVENT_SRQ_ERR },
};

/* `element` of an event is a union: of a port, a queue pair or a queue. */
static enum device_event classify(const struct ibv_async_event *event, struct device_notice *ret)
{
	for (size_t i = 0; i < sizeof(known_events) / sizeof(known_events[0]); i++) {
		if (known_events[i].type != event->event_type) {
			continue;
		}
		ret->event = known_events[i].event;
		switch (known_events[i].kind) {
		case DEVICE_EVENT_PORT:
			ret->port_num = (uint64_t)event->element.port_num;
			break;
		case DEVICE_EVENT_QP:
			ret->element = event->element.qp;
			break;
		case DEVICE_EVENT_CQ:
			ret->element = event->element.cq;
			break;
		case DEVICE_EVENT_SRQ:
			ret->element = event->element.srq;
			break;
		default:
			break;
		}
		return known_events[i].kind;
	}
	return DEVICE_EVENT_OTHER;
}

enum device_event device_next_event(struct device *device, struct device_notice *ret)
{
	struct ibv_async_event event;
	enum device_event kind;

	*ret = (struct device_notice){ .event = PORT_EVENT_KINDS, .name = "" };
	if (ibv_get_async_event(device->context, &event) != 0) {
		return DEVICE_EVENT_NONE;
	}
	kind = classify(&event, ret);
	ret->name = ibv_event_type_str(event.event_type);
	ibv_ack_async_event(&event);
	return kind;
}

int device_is_listed(const char *name)
{
	struct ibv_device **list;
	bool is_listed = false;
	int count = 0;
	int ret = device_list_get(&list, &count, NULL);

	if (ret < 0) {
		return ret == -ENODEV ? 0 : ret;
	}
	for (int i = 0; i < count && !is_listed; i++) {
		is_listed = strcmp(ibv_get_device_name(list[i]), name) == 0;
	}
	ibv_free_device_list(list);
	return is_listed;
}
