// SPDX-License-Identifier: MIT
#include "engine/link_news.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/memory.h"

/* Of one turn of the loop: a host whose interfaces change all the time has others to serve. */
#define DATAGRAMS_MAX 16
#define DATAGRAM_BYTES 32768

struct link_news {
	struct link_news_options options;
	int fd;
	sd_event_source *source;
	sd_event_source *timer; /* armed while there is something to tell */
	uint64_t told_mono_ns;
	_Alignas(struct nlmsghdr) char buffer[DATAGRAM_BYTES];
};

/* The name in a message about an interface; NULL: it has none that ends. */
static const char *name_of(const struct nlmsghdr *header)
{
	size_t fixed = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct ifinfomsg)));
	const char *at = (const char *)header + fixed;
	size_t left;

	if (header->nlmsg_len < fixed) {
		return NULL;
	}
	left = header->nlmsg_len - fixed;
	while (left >= sizeof(struct rtattr)) {
		const struct rtattr *attribute = (const void *)at;
		size_t length = attribute->rta_len;
		size_t step = RTA_ALIGN(length);

		if (length < sizeof(*attribute) || length > left) {
			return NULL;
		}
		if (attribute->rta_type == IFLA_IFNAME) {
			const char *name = at + RTA_LENGTH(0);

			return memchr(name, '\0', length - RTA_LENGTH(0)) ? name : NULL;
		}
		if (step >= left) {
			return NULL;
		}
		at += step;
		left -= step;
	}
	return NULL;
}

bool link_news_read(const void *bytes, size_t size, bool (*is_ours)(void *arg, const char *netdev),
		    void *arg)
{
	const char *at = bytes;

	while (size >= sizeof(struct nlmsghdr)) {
		const struct nlmsghdr *header = (const void *)at;
		size_t step = NLMSG_ALIGN(header->nlmsg_len);
		bool is_link = header->nlmsg_type == RTM_NEWLINK ||
			       header->nlmsg_type == RTM_DELLINK;
		const char *name;

		if (header->nlmsg_len < sizeof(*header) || header->nlmsg_len > size) {
			return false;
		}
		name = is_link ? name_of(header) : NULL;
		if (name && is_ours(arg, name)) {
			return true;
		}
		if (step >= size) {
			return false;
		}
		at += step;
		size -= step;
	}
	return false;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct link_news *news = arg;

	news->told_mono_ns = clock_mono_ns();
	news->options.changed(news->options.arg);
	return 0;
}

static void arm(struct link_news *news)
{
	uint64_t at_ns = clock_mono_ns();
	int is_armed = 0;

	if (news->told_mono_ns > 0 && at_ns < news->told_mono_ns + LINK_NEWS_PAUSE_NS) {
		at_ns = news->told_mono_ns + LINK_NEWS_PAUSE_NS;
	}
	sd_event_source_get_enabled(news->timer, &is_armed);
	if (is_armed == SD_EVENT_OFF) {
		sd_event_source_set_time(news->timer, at_ns / 1000);
		sd_event_source_set_enabled(news->timer, SD_EVENT_ONESHOT);
	}
}

static int on_readable(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct link_news *news = arg;
	bool has_news = false;

	for (int i = 0; i < DATAGRAMS_MAX; i++) {
		ssize_t size = recv(fd, news->buffer, sizeof(news->buffer), MSG_DONTWAIT);

		if (size >= 0) {
			has_news = has_news ||
				   link_news_read(news->buffer, (size_t)size, news->options.is_ours,
						  news->options.arg);
		} else if (errno == ENOBUFS) {
			has_news = true; /* some did not fit: whose they were is not known */
		} else if (errno != EINTR) {
			break;
		}
	}
	if (has_news) {
		arm(news);
	}
	return 0;
}

static int subscribe(struct link_news *news)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };

	news->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (news->fd < 0 || bind(news->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		return -errno;
	}
	return 0;
}

int link_news_new(struct link_news **ret_news, const struct link_news_options *options)
{
	struct link_news *news = memory_new(sizeof(*news));
	int ret;

	news->options = *options;
	news->fd = -1;
	ret = subscribe(news);
	if (ret >= 0) {
		ret = sd_event_add_io(options->event, &news->source, news->fd, EPOLLIN, on_readable,
				      news);
	}
	if (ret >= 0) {
		ret = sd_event_add_time(options->event, &news->timer, CLOCK_MONOTONIC, 0, 1000,
					on_timer, news);
	}
	if (ret < 0) {
		link_news_free(news);
		return ret;
	}
	sd_event_source_set_enabled(news->timer, SD_EVENT_OFF);
	*ret_news = news;
	return 0;
}

void link_news_free(struct link_news *news)
{
	if (news == NULL) {
		return;
	}
	sd_event_source_disable_unref(news->source);
	sd_event_source_disable_unref(news->timer);
	if (news->fd >= 0) {
		close(news->fd);
	}
	free(news);
}
