// SPDX-License-Identifier: MIT
#include "run/link.h"

#include <stdlib.h>

#include "util/memory.h"

struct envelope {
	struct list link;
	json_t *message;
};

struct link_local {
	sd_event_source *source;
	link_deliver_fn deliver;
	void *arg;
	struct list queue;
	bool is_delivering;
	bool is_closed;
};

static void drop(struct link_local *link)
{
	struct envelope *envelope;

	list_each(envelope, &link->queue, link) {
		list_remove(&envelope->link);
		json_decref(envelope->message);
		free(envelope);
	}
	sd_event_source_disable_unref(link->source);
	free(link);
}

static int on_defer(sd_event_source *source, void *arg)
{
	struct link_local *link = arg;
	struct envelope *envelope = list_first(&link->queue, struct envelope, link);

	if (envelope == NULL) {
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
		return 0;
	}
	list_remove(&envelope->link);
	link->is_delivering = true;
	link->deliver(link->arg, json_string_value(json_object_get(envelope->message, "kind")),
		      envelope->message);
	link->is_delivering = false;
	json_decref(envelope->message);
	free(envelope);
	if (link->is_closed) {
		drop(link);
	} else if (list_is_empty(&link->queue)) {
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	}
	return 0;
}

struct link_local *link_local_new(sd_event *event, link_deliver_fn deliver, void *arg)
{
	struct link_local *link = memory_new(sizeof(*link));

	link->deliver = deliver;
	link->arg = arg;
	list_init(&link->queue);
	if (sd_event_add_defer(event, &link->source, on_defer, link) < 0) {
		abort(); /* out of memory only */
	}
	sd_event_source_set_enabled(link->source, SD_EVENT_OFF);
	return link;
}

void link_local_free(struct link_local *link)
{
	if (link == NULL) {
		return;
	}
	if (link->is_delivering) {
		link->is_closed = true;
		return;
	}
	drop(link);
}

void link_local_send(struct link_local *link, json_t *message)
{
	struct envelope *envelope = memory_new(sizeof(*envelope));

	envelope->message = message;
	list_append(&link->queue, &envelope->link);
	sd_event_source_set_enabled(link->source, SD_EVENT_ON);
}
