// SPDX-License-Identifier: MIT
#include "config/check_self.h"

#include <string.h>

#include "config/place.h"
#include "util/net.h"

#define CONTROL_PORT 18620

static void complain(struct reader *reader, size_t index, const char *key, const char *text)
{
	const struct origin *origin = &reader->peers[index];
	struct place place = place_find(origin->node, "labels");

	problems_add(reader->problems, false, origin->document->path, place.line, place.column,
		     "peers[%zu].labels: %s: %s", origin->index, key, text);
}

static void adopt_labels(struct reader *reader, size_t index)
{
	const struct labels *theirs = &reader->config->peers[index].labels;
	struct labels *ours = &reader->config->daemon.labels;

	for (size_t i = 0; i < theirs->count; i++) {
		const struct label *label = &theirs->items[i];
		const char *value = labels_get(ours, label->key);

		if (value && strcmp(value, label->value) != 0) {
			complain(reader, index, label->key,
				 "this is the entry of this node, and daemon.labels gives another "
				 "value; write the label once");
		} else if (!value && ours->count == LIMIT_LABELS) {
			complain(
				reader, index, label->key,
				"this is the entry of this node, which has as many labels as there "
				"may be, daemon.labels and these together; remove some");
		} else if (!value) {
			ours->items[ours->count++] = *label;
		}
	}
}

/* "host2" and "host2.example.net": one of them is the other up to a dot. */
static bool is_same_host(const char *a, const char *b)
{
	size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);

	return strncmp(a, b, length) == 0 && (a[length] == '.' || b[length] == '.');
}

static void warn_of_likeness(struct reader *reader)
{
	const struct config *config = reader->config;
	const char *own = config->daemon.node_name;

	for (size_t i = 0; i < config->peer_count; i++) {
		const struct origin *origin = &reader->peers[i];
		struct place place = place_find(origin->node, "name");

		if (config->peers[i].name[0] && is_same_host(config->peers[i].name, own)) {
			problems_add(
				reader->problems, true, origin->document->path, place.line,
				place.column,
				"peers[%zu].name: \"%s\" looks like this node, whose name is \"%s\": "
				"as it is, both count; if they are one, set daemon.node_name to \"%s\"",
				origin->index, config->peers[i].name, own, config->peers[i].name);
		}
	}
}

/* The address that this node listens on, in the list of its peers under another name. */
static void warn_of_own_address(struct reader *reader)
{
	const struct config *config = reader->config;
	const struct daemon_settings *daemon = &config->daemon;

	for (size_t i = 0; daemon->listen_address[0] && i < config->peer_count; i++) {
		const struct origin *origin = &reader->peers[i];
		struct place place = place_find(origin->node, "address");
		char host[256];
		uint16_t port;

		if (net_split(config->peers[i].address, CONTROL_PORT, host, &port, NULL) < 0 ||
		    strcmp(host, daemon->listen_address) != 0 || port != daemon->listen_port) {
			continue;
		}
		problems_add(
			reader->problems, true, origin->document->path, place.line, place.column,
			"peers[%zu].address: \"%s\" is where this node listens, whose name is "
			"\"%s\", not \"%s\": as it is, it would connect to itself; if they are one, "
			"set daemon.node_name to \"%s\"",
			origin->index, config->peers[i].address, daemon->node_name,
			config->peers[i].name, config->peers[i].name);
	}
}

void check_self(struct reader *reader)
{
	const struct config *config = reader->config;
	const char *own = config->daemon.node_name;
	bool is_listed = false;

	for (size_t i = 0; own[0] && i < config->peer_count; i++) {
		if (strcmp(config->peers[i].name, own) == 0) {
			is_listed = true;
			adopt_labels(reader, i);
		}
	}
	if (own[0] && !is_listed) {
		warn_of_likeness(reader);
		warn_of_own_address(reader);
	}
}
