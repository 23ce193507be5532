// SPDX-License-Identifier: MIT
#include "host/rdma_netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_MS 1000
#define DATAGRAM_BYTES 65536
#define MAX_DATAGRAMS 4096 /* of one answer */
/* Kinds of queue pairs that each port has for management (ib_qp_type). */
#define QP_TYPE_SMI 0
#define QP_TYPE_GSI 1
/* States with another end (ib_qp_state): ready to receive, ready to send, send queue drained. */
#define QP_STATE_RTR 2
#define QP_STATE_SQD 4

/* Attributes of one level, by type; NULL where there is none. */
struct attributes {
	const struct nlattr *by_type[RDMA_NLDEV_ATTR_MAX];
};

typedef void (*attribute_fn)(void *arg, unsigned type, const struct nlattr *attribute);

static void each_attribute(const void *bytes, size_t length, attribute_fn add, void *arg)
{
	const char *at = bytes;

	while (length >= NLA_HDRLEN) {
		const struct nlattr *attribute = (const void *)at;
		size_t step = NLA_ALIGN(attribute->nla_len);

		if (attribute->nla_len < NLA_HDRLEN || attribute->nla_len > length) {
			return;
		}
		add(arg, attribute->nla_type & NLA_TYPE_MASK, attribute);
		if (step >= length) {
			return;
		}
		at += step;
		length -= step;
	}
}

static const void *payload_of(const struct nlattr *attribute)
{
	return (const char *)attribute + NLA_HDRLEN;
}

static size_t payload_bytes(const struct nlattr *attribute)
{
	return attribute->nla_len - NLA_HDRLEN;
}

static void note(void *arg, unsigned type, const struct nlattr *attribute)
{
	struct attributes *attributes = arg;

	if (type < RDMA_NLDEV_ATTR_MAX) {
		attributes->by_type[type] = attribute;
	}
}

static struct attributes attributes_in(const struct nlattr *nest)
{
	struct attributes attributes = { 0 };

	each_attribute(payload_of(nest), payload_bytes(nest), note, &attributes);
	return attributes;
}

/* Integers of any width; false when it is not there. */
static bool read_number(const struct attributes *attributes, unsigned type, uint64_t *ret)
{
	const struct nlattr *attribute = attributes->by_type[type];
	size_t size = attribute ? payload_bytes(attribute) : 0;

	if (size == 0 || size > sizeof(*ret)) {
		return false;
	}
	*ret = 0;
	memcpy(ret, payload_of(attribute), size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	*ret >>= 8 * (sizeof(*ret) - size);
#endif
	return true;
}

/* The kernel's strings end with a NUL; nobody has to. */
static bool read_string(const struct attributes *attributes, unsigned type, char *ret, size_t size)
{
	const struct nlattr *attribute = attributes->by_type[type];
	size_t length;

	if (!attribute) {
		return false;
	}
	length = strnlen(payload_of(attribute), payload_bytes(attribute));
	if (length >= size) {
		return false;
	}
	memcpy(ret, payload_of(attribute), length);
	ret[length] = '\0';
	return length > 0;
}

static struct rdma_netlink_device *find_device(struct rdma_netlink *netlink,
					       const struct attributes *attributes)
{
	struct rdma_netlink_device *device;
	char name[FACT_NAME];
	uint64_t index;

	if (!read_number(attributes, RDMA_NLDEV_ATTR_DEV_INDEX, &index) ||
	    !read_string(attributes, RDMA_NLDEV_ATTR_DEV_NAME, name, sizeof(name))) {
		return NULL;
	}
	for (size_t i = 0; i < netlink->device_count; i++) {
		if (netlink->devices[i].index == index) {
			return &netlink->devices[i];
		}
	}
	if (netlink->device_count == RDMA_NETLINK_DEVICES) {
		netlink->is_cut = true;
		return NULL;
	}
	device = &netlink->devices[netlink->device_count++];
	*device = (struct rdma_netlink_device){ .index = (uint32_t)index, .qp_count = UINT64_MAX };
	memcpy(device->name, name, sizeof(name));
	return device;
}

static void add_summary_entry(void *arg, unsigned type, const struct nlattr *attribute)
{
	struct attributes entry = attributes_in(attribute);
	struct rdma_netlink_device *device = arg;
	char name[FACT_NAME];
	uint64_t count;

	if (type == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY &&
	    read_string(&entry, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name, sizeof(name)) &&
	    strcmp(name, "qp") == 0 &&
	    read_number(&entry, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, &count)) {
		device->qp_count = count;
	}
}

struct qp_list {
	struct rdma_netlink *netlink;
	const char *device;
};

static struct rdma_netlink_user *find_user(struct rdma_netlink *netlink, const char *device,
					   uint32_t process, const char *part)
{
	struct rdma_netlink_user *user;

	for (size_t i = 0; i < netlink->user_count; i++) {
		user = &netlink->users[i];
		if (user->process == process && strcmp(user->device, device) == 0 &&
		    strcmp(user->part, part) == 0) {
			return user;
		}
	}
	if (netlink->user_count == RDMA_NETLINK_USERS) {
		netlink->is_cut = true;
		return NULL;
	}
	user = &netlink->users[netlink->user_count++];
	*user = (struct rdma_netlink_user){ .process = process };
	text_copy(user->device, sizeof(user->device), device);
	text_copy(user->part, sizeof(user->part), part);
	return user;
}

static void add_qp(void *arg, unsigned type, const struct nlattr *attribute)
{
	struct attributes qp = attributes_in(attribute);
	struct qp_list *list = arg;
	struct rdma_netlink_user *user;
	uint64_t process = 0;
	uint64_t kind = UINT64_MAX;
	uint64_t state = 0;
	char part[FACT_NAME] = "";

	if (type != RDMA_NLDEV_ATTR_RES_QP_ENTRY) {
		return;
	}
	(void)read_number(&qp, RDMA_NLDEV_ATTR_RES_TYPE, &kind);
	if (kind == QP_TYPE_SMI || kind == QP_TYPE_GSI) {
		return;
	}
	if (!read_number(&qp, RDMA_NLDEV_ATTR_RES_PID, &process)) {
		(void)read_string(&qp, RDMA_NLDEV_ATTR_RES_KERN_NAME, part, sizeof(part));
	}
	user = find_user(list->netlink, list->device, (uint32_t)process, part);
	if (user) {
		user->qp_count++;
		(void)read_number(&qp, RDMA_NLDEV_ATTR_RES_STATE, &state);
		user->connected_count += state >= QP_STATE_RTR && state <= QP_STATE_SQD;
	}
}

static void add_message(struct rdma_netlink *netlink, const struct nlmsghdr *header)
{
	struct attributes attributes = { 0 };
	struct rdma_netlink_device *device;
	const struct nlattr *nest;
	uint64_t mode;

	if (RDMA_NL_GET_CLIENT(header->nlmsg_type) != RDMA_NL_NLDEV) {
		return;
	}
	each_attribute((const char *)header + NLMSG_HDRLEN, header->nlmsg_len - NLMSG_HDRLEN, note,
		       &attributes);
	if (read_number(&attributes, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, &mode)) {
		netlink->is_exclusive = mode == 0;
	}
	device = find_device(netlink, &attributes);
	nest = attributes.by_type[RDMA_NLDEV_ATTR_RES_SUMMARY];
	if (device && nest) {
		each_attribute(payload_of(nest), payload_bytes(nest), add_summary_entry, device);
	}
	nest = attributes.by_type[RDMA_NLDEV_ATTR_RES_QP];
	if (device && nest) {
		struct qp_list list = { netlink, device->name };

		each_attribute(payload_of(nest), payload_bytes(nest), add_qp, &list);
	}
}

int rdma_netlink_add(struct rdma_netlink *netlink, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length >= NLMSG_HDRLEN) {
		const struct nlmsghdr *header = (const void *)at;
		size_t step = NLMSG_ALIGN(header->nlmsg_len);
		int error = 0;

		if (header->nlmsg_len < NLMSG_HDRLEN || header->nlmsg_len > length) {
			return -EBADMSG;
		}
		if (header->nlmsg_type == NLMSG_ERROR || header->nlmsg_type == NLMSG_DONE) {
			/* Both begin with an int: 0 or -errno. */
			if (header->nlmsg_len >= NLMSG_HDRLEN + sizeof(error)) {
				memcpy(&error, at + NLMSG_HDRLEN, sizeof(error));
			}
			return error < 0 ? error : RDMA_NETLINK_DONE;
		}
		add_message(netlink, header);
		if (step >= length) {
			break;
		}
		at += step;
		length -= step;
	}
	return RDMA_NETLINK_MORE;
}

static int receive(int fd, struct rdma_netlink *netlink)
{
	_cleanup_free_ char *buf = memory_new(DATAGRAM_BYTES);

	for (unsigned i = 0; i < MAX_DATAGRAMS; i++) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		int ret = poll(&wait, 1, ANSWER_MS);
		ssize_t count;

		if (ret <= 0) {
			return ret == 0 ? -ETIMEDOUT : -errno;
		}
		count = recv(fd, buf, DATAGRAM_BYTES, 0);
		if (count < 0) {
			return -errno;
		}
		ret = rdma_netlink_add(netlink, buf, (size_t)count);
		if (ret != RDMA_NETLINK_MORE) {
			return ret;
		}
	}
	return -EMSGSIZE;
}

/* device: NULL for a question about all. */
static int ask(int fd, unsigned command, unsigned flags, const struct rdma_netlink_device *device,
	       struct rdma_netlink *netlink)
{
	struct {
		struct nlmsghdr header;
		struct nlattr attribute;
		uint32_t index;
	} question = {
		.header = { .nlmsg_len = NLMSG_HDRLEN,
			    .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command),
			    .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags) },
		.attribute = { .nla_len = NLA_HDRLEN + sizeof(uint32_t),
			       .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX },
	};

	if (device) {
		question.index = device->index;
		question.header.nlmsg_len = sizeof(question);
	}
	if (send(fd, &question, question.header.nlmsg_len, 0) < 0) {
		return -errno;
	}
	return receive(fd, netlink);
}

int rdma_netlink_ask(struct rdma_netlink *ret)
{
	int error;

	memset(ret, 0, sizeof(*ret));
	_cleanup_close_ int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_RDMA);
	if (fd < 0) {
		return -errno;
	}
	/* Kernels before 5.1 do not know the question. */
	(void)ask(fd, RDMA_NLDEV_CMD_SYS_GET, NLM_F_ACK, NULL, ret);
	error = ask(fd, RDMA_NLDEV_CMD_RES_GET, NLM_F_DUMP, NULL, ret);
	for (size_t i = 0; error == 0 && i < ret->device_count; i++) {
		error = ask(fd, RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, &ret->devices[i], ret);
	}
	return error;
}
