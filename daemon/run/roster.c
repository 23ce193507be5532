// SPDX-License-Identifier: MIT
#include "run/roster.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/text.h"

/* What a plan_node borrows. */
struct entry {
	char name[LIMIT_NAME];
	struct labels labels;
	struct port *ports;
	struct error unreachable;
	char problem[LIMIT_TEXT];
};

struct roster {
	struct peers *peers;
	size_t wanted; /* names to look for */
	size_t next; /* of them */
	size_t count; /* found */
	char (*names)[LIMIT_NAME];
	struct entry *entries;
	struct plan_node *nodes;
};

bool roster_awaits_peers(const struct peers *peers, const struct scenario_peers *selected)
{
	for (size_t i = 0; i < peers_count(peers); i++) {
		struct peer_status status;
		const struct peer_settings *peer;

		peers_status(peers, i, &status);
		peer = status.settings;
		if (!status.is_met &&
		    (labels_selector_matches(&selected->from, peer->name, &peer->labels) ||
		     labels_selector_matches(&selected->to, peer->name, &peer->labels))) {
			return true;
		}
	}
	return false;
}

static void copy_ports(struct entry *entry, struct plan_node *node,
		       const struct inventory *inventory)
{
	if (inventory == NULL) {
		return;
	}
	node->is_known = true;
	text_copy(entry->problem, sizeof(entry->problem), inventory->problem);
	node->problem = entry->problem;
	node->problem_errno = inventory->problem_errno;
	node->port_count = inventory->port_count;
	entry->ports = memory_new_array(inventory->port_count + 1, sizeof(*entry->ports));
	memcpy(entry->ports, inventory->ports, inventory->port_count * sizeof(*entry->ports));
	node->ports = entry->ports;
}

static size_t add(struct roster *roster, const char *name, const struct labels *labels,
		  const struct inventory *inventory)
{
	struct entry *entry = &roster->entries[roster->count];
	struct plan_node *node = &roster->nodes[roster->count];

	text_copy(entry->name, sizeof(entry->name), name);
	entry->labels = *labels;
	*node = (struct plan_node){ .name = entry->name, .labels = &entry->labels };
	copy_ports(entry, node, inventory);
	roster->count++;
	return 1 + node->port_count;
}

static size_t add_peer(struct roster *roster, const char *name)
{
	struct peer_status status;
	bool is_up;
	size_t done;

	if (peers_find(roster->peers, name, &status) < 0) {
		return 1;
	}
	is_up = status.state == PEER_UP;
	done = add(roster, name, &status.settings->labels, is_up ? status.inventory : NULL);
	if (!is_up) {
		peers_hurry(roster->peers, name);
		roster->entries[roster->count - 1].unreachable = status.last_error;
		roster->nodes[roster->count - 1].unreachable =
			&roster->entries[roster->count - 1].unreachable;
	}
	return done;
}

bool roster_gather(struct roster *roster)
{
	size_t done = 0;

	while (roster->next < roster->wanted && done < ROSTER_PIECE) {
		done += add_peer(roster, roster->names[roster->next++]);
	}
	return roster->next < roster->wanted;
}

struct roster *roster_new(const char *node_name, const struct labels *labels,
			  const struct inventory *inventory, struct peers *peers)
{
	struct roster *roster = memory_new(sizeof(*roster));

	roster->peers = peers;
	roster->wanted = peers_count(peers);
	roster->names = memory_new_array(roster->wanted + 1, sizeof(*roster->names));
	roster->entries = memory_new_array(roster->wanted + 1, sizeof(*roster->entries));
	roster->nodes = memory_new_array(roster->wanted + 1, sizeof(*roster->nodes));
	for (size_t i = 0; i < roster->wanted; i++) {
		struct peer_status status;

		peers_status(peers, i, &status);
		text_copy(roster->names[i], sizeof(roster->names[i]), status.settings->name);
	}
	add(roster, node_name, labels, inventory);
	return roster;
}

void roster_free(struct roster *roster)
{
	if (roster == NULL) {
		return;
	}
	for (size_t i = 0; i < roster->count; i++) {
		free(roster->entries[i].ports);
	}
	free(roster->names);
	free(roster->entries);
	free(roster->nodes);
	free(roster);
}

size_t roster_count(const struct roster *roster)
{
	return roster->count;
}

const struct plan_node *roster_nodes(const struct roster *roster)
{
	return roster->nodes;
}
