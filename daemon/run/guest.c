// SPDX-License-Identifier: MIT
#include "run/guest.h"

#include <stdlib.h>
#include <string.h>

#include "util/list.h"
#include "util/log.h"
#include "util/memory.h"
#include "util/text.h"

struct guests {
	struct agent *agent;
	guest_labels_fn labels;
	void *arg;
	struct list list;
	size_t count;
};

struct guest {
	struct list link;
	struct guests *guests;
	struct session *session;
	struct agent_way *way;
};

static void answer(void *arg, json_t *message)
{
	struct guest *guest = arg;

	session_send(guest->session, message);
}

static void on_message(void *arg, struct session *session, const char *kind, const json_t *message)
{
	struct guest *guest = arg;
	json_t *reply;

	if (agent_handle(guest->way, kind, message)) {
		return;
	}
	reply = json_object();
	json_set_string(reply, "kind", "unsupported");
	json_set_string(reply, "unsupported", kind);
	session_send(session, reply);
}

static void on_closed(void *arg, struct session *session, const struct error *why)
{
	struct guest *guest = arg;

	if (error_is_set(why)) {
		log_info("a coordinator's session ended: %s", why->text);
	}
	agent_way_free(guest->way);
	list_remove(&guest->link);
	guest->guests->count--;
	free(guest);
}

/* Opened before it was accepted; what the coordinator has is its own matter. */
static void on_other(void *arg, struct session *session)
{
}

static const struct session_events guest_events = {
	.opened = on_other,
	.inventory = on_other,
	.message = on_message,
	.closed = on_closed,
};

struct guests *guest_new(struct agent *agent, guest_labels_fn labels, void *arg)
{
	struct guests *guests = memory_new(sizeof(*guests));

	guests->agent = agent;
	guests->labels = labels;
	guests->arg = arg;
	list_init(&guests->list);
	return guests;
}

void guest_accept(void *arg, struct session *session)
{
	struct guests *guests = arg;
	struct guest *guest = memory_new(sizeof(*guest));
	const char *name = session_peer_name(session);

	guest->guests = guests;
	guest->session = session;
	guest->way = agent_way_new(guests->agent, name, guests->labels(guests->arg, name), answer,
				   guest);
	list_append(&guests->list, &guest->link);
	guests->count++;
	session_set_events(session, &guest_events, guest);
}

size_t guest_count(const struct guests *guests)
{
	return guests->count;
}

void guest_configure(struct guests *guests)
{
	struct guest *guest;

	list_each(guest, &guests->list, link) {
		agent_way_set_labels(guest->way, guests->labels(guests->arg,
								session_peer_name(guest->session)));
	}
}

void guest_send_inventory(struct guests *guests)
{
	struct guest *guest;

	list_each(guest, &guests->list, link) {
		session_send_inventory(guest->session);
	}
}

void guest_close(struct guests *guests, const char *reason)
{
	struct guest *guest;

	list_each(guest, &guests->list, link) {
		session_close(guest->session, reason);
	}
}

void guest_free(struct guests *guests)
{
	free(guests);
}
