// SPDX-License-Identifier: MIT
#include "http/lists.h"

#include <stdlib.h>

#include "util/memory.h"

/* --- of the view --- */

static json_t *give_device(void *arg, size_t index)
{
	const struct view *view = arg;

	return view->device(view->arg, index);
}

struct pieces *lists_devices(const struct view *view)
{
	return pieces_list_new(NULL, "ports", give_device, (void *)view, NULL);
}

static json_t *give_scenario(void *arg, size_t index)
{
	const struct view *view = arg;

	return view->scenario(view->arg, index);
}

struct pieces *lists_scenarios(const struct view *view)
{
	return pieces_list_new(NULL, "scenarios", give_scenario, (void *)view, NULL);
}

/* --- peers, a port a piece: a peer may have 32, with 64 GIDs each --- */

struct peer_pieces {
	struct pieces pieces;
	const struct view *view;
	size_t peer;
	size_t port;
	bool is_begun;
	bool is_inside; /* of the ports of a peer */
};

/* Up to its first port. False: there is no such peer. */
static bool write_peer(struct peer_pieces *peers, struct text *out)
{
	_cleanup_json_ json_t *peer = peers->view->peer(peers->view->arg, peers->peer);

	if (!peer) {
		return false;
	}
	text_add(out, peers->peer ? "," : "");
	json_write(peer, out);
	peers->is_inside = json_is_array(json_object_get(peer, "ports"));
	peers->port = 0;
	if (peers->is_inside) {
		out->length -= sizeof("]}") - 1;
		out->data[out->length] = '\0';
	} else {
		peers->peer++;
	}
	return true;
}

static void write_port(struct peer_pieces *peers, struct text *out)
{
	_cleanup_json_ json_t *port =
		peers->view->peer_port(peers->view->arg, peers->peer, peers->port);

	if (port) {
		text_add(out, peers->port++ ? "," : "");
		json_write(port, out);
	} else {
		text_add(out, "]}");
		peers->is_inside = false;
		peers->peer++;
	}
}

static bool next_of_peers(struct pieces *pieces, struct text *out)
{
	struct peer_pieces *peers = (struct peer_pieces *)pieces;

	if (!peers->is_begun) {
		text_add(out, "{\"peers\":[");
		peers->is_begun = true;
	}
	if (peers->is_inside) {
		write_port(peers, out);
	} else if (!write_peer(peers, out)) {
		text_add(out, "]}\n");
		return false;
	}
	return true;
}

static void free_peers(struct pieces *pieces)
{
	free(pieces);
}

struct pieces *lists_peers(const struct view *view)
{
	struct peer_pieces *peers = memory_new(sizeof(*peers));

	peers->pieces = (struct pieces){ .next = next_of_peers, .free = free_peers };
	peers->view = view;
	return &peers->pieces;
}

/* --- runs --- */

struct run_list {
	size_t count;
	struct run **runs;
};

static json_t *give_summary(void *arg, size_t index)
{
	const struct run_list *list = arg;

	return index < list->count ? run_write_summary(list->runs[index]) : NULL;
}

static void free_run_list(void *arg)
{
	struct run_list *list = arg;

	for (size_t i = 0; i < list->count; i++) {
		run_free(list->runs[i]);
	}
	free(list->runs);
	free(list);
}

struct pieces *lists_runs(struct run *const *runs, size_t count, const char *next)
{
	struct run_list *list = memory_new(sizeof(*list));
	json_t *head = json_object();

	list->count = count;
	list->runs = memory_new_array(count + 1, sizeof(*list->runs));
	for (size_t i = 0; i < count; i++) {
		list->runs[i] = runs[i];
	}
	json_set_string(head, "next", next);
	return pieces_list_new(head, "runs", give_summary, list, free_run_list);
}

struct record {
	struct pieces pieces;
	struct run_pieces *run;
};

static bool next_of_record(struct pieces *pieces, struct text *out)
{
	bool is_more = run_pieces_next(((struct record *)pieces)->run, out);

	text_add(out, is_more ? "" : "\n");
	return is_more;
}

static void free_record(struct pieces *pieces)
{
	run_pieces_free(((struct record *)pieces)->run);
	free(pieces);
}

struct pieces *lists_run(struct run *run, unsigned with)
{
	struct record *record = memory_new(sizeof(*record));

	record->pieces = (struct pieces){ .next = next_of_record, .free = free_record };
	record->run = run_pieces_new(run, with);
	run_free(run); /* the pieces have their own */
	return &record->pieces;
}
