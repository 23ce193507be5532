// SPDX-License-Identifier: MIT
#pragma once

/*
 * What the kernel tells of network interfaces at once, by rtnetlink: an MTU that changed, a link
 * that came or went. RoCE ports follow their interface, and their devices do not tell of its MTU.
 * Control thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

struct link_news;

struct link_news_options {
	sd_event *event;
	/* Whether anybody cares for the interface of that name. */
	bool (*is_ours)(void *arg, const char *netdev);
	/* Something of such an interface changed; once for all that came together, at most every
	 * LINK_NEWS_PAUSE_NS. */
	void (*changed)(void *arg);
	void *arg;
};

#define LINK_NEWS_PAUSE_NS 100000000ull

/* -errno: the kernel does not tell (no netlink in this sandbox); whoever asks now and then sees it
 * as well, later. */
int link_news_new(struct link_news **ret, const struct link_news_options *options);
/* Takes NULL. */
void link_news_free(struct link_news *news);

/* Inside, and for tests: whether one of the messages of a datagram is about an interface that
 * is_ours. Bytes that are no messages are nothing. */
bool link_news_read(const void *bytes, size_t size, bool (*is_ours)(void *arg, const char *netdev),
		    void *arg);
