// SPDX-License-Identifier: MIT
#include "config/check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/check_scenario.h"
#include "config/check_self.h"
#include "config/place.h"
#include "util/cpu_list.h"
#include "util/memory.h"
#include "util/net.h"

#define CONTROL_PORT 18620
#define HTTP_PORT 9879
#define NAME_RULE "1 to 63 of a-z 0-9 . _ - beginning with a letter or digit"

static const char *main_path(const struct reader *reader)
{
	return reader->config->path;
}

/* Where a key of `daemon` stands, or `daemon` itself, or the file. */
static struct place daemon_place(const struct reader *reader, const char *dotted)
{
	return reader->daemon ? place_find(reader->daemon, dotted) : (struct place){ 0 };
}

static void check_node_name(struct reader *reader, const char *host_name)
{
	struct daemon_settings *daemon = &reader->config->daemon;
	struct place place = daemon_place(reader, "node_name");
	char lower[256];
	char quoted[80];

	if (daemon->node_name[0] && !text_is_name(daemon->node_name)) {
		text_escape(quoted, sizeof(quoted), daemon->node_name);
		problems_add(reader->problems, false, main_path(reader), place.line, place.column,
			     "daemon.node_name: \"%s\" is not a name: " NAME_RULE, quoted);
		return;
	}
	if (daemon->node_name[0] || place.is_written) {
		return;
	}
	text_copy(lower, sizeof(lower), host_name);
	for (char *c = lower; *c; c++) {
		*c = (char)tolower((unsigned char)*c);
	}
	if (text_is_name(lower)) {
		text_copy(daemon->node_name, sizeof(daemon->node_name), lower);
		return;
	}
	text_escape(quoted, sizeof(quoted), host_name);
	problems_add(reader->problems, false, main_path(reader), place.line, place.column,
		     "daemon.node_name: the host name \"%s\" is not a name (" NAME_RULE
		     "); set daemon.node_name",
		     quoted);
}

static void check_absolute(struct reader *reader, const char *key, const char *path)
{
	struct place place = daemon_place(reader, key);
	char quoted[80];

	if (path[0] && path[0] != '/') {
		text_escape(quoted, sizeof(quoted), path);
		problems_add(
			reader->problems, false, main_path(reader), place.line, place.column,
			"daemon.%s: \"%s\" is a relative path; write it from the root, beginning with \"/\"",
			key, quoted);
	}
}

static void check_listeners(struct reader *reader)
{
	const struct daemon_settings *daemon = &reader->config->daemon;
	struct place place = daemon_place(reader, "listen.address");
	struct error err = ERROR_INIT;
	char host[256];
	char quoted[80];
	uint16_t port;

	if (daemon->listen_address[0] && !net_is_numeric(daemon->listen_address)) {
		text_escape(quoted, sizeof(quoted), daemon->listen_address);
		problems_add(
			reader->problems, false, main_path(reader), place.line, place.column,
			"daemon.listen.address: \"%s\" is not a numeric address; write one of this host's, \"::\" for all "
			"of both families or \"0.0.0.0\" for IPv4 alone",
			quoted);
	}
	place = daemon_place(reader, "http.listen");
	if (daemon->http_listen[0] &&
	    net_split(daemon->http_listen, HTTP_PORT, host, &port, &err) < 0) {
		problems_add(reader->problems, false, main_path(reader), place.line, place.column,
			     "daemon.http.listen: %s", err.text);
	} else if (daemon->http_listen[0] && !net_is_numeric(host)) {
		text_escape(quoted, sizeof(quoted), daemon->http_listen);
		problems_add(
			reader->problems, false, main_path(reader), place.line, place.column,
			"daemon.http.listen: \"%s\" is not numeric; write an address of this host and a port, such as "
			"\"127.0.0.1:%d\" or \"[::]:%d\"",
			quoted, HTTP_PORT, HTTP_PORT);
	}
}

static void check_devices(struct reader *reader)
{
	const struct daemon_settings *daemon = &reader->config->daemon;

	for (size_t i = 1; i < daemon->device_count; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct device_settings *a = &daemon->devices[k];
			const struct device_settings *b = &daemon->devices[i];
			char dotted[32];
			struct place first;
			struct place second;

			if (b->name[0] == '\0' || strcmp(a->name, b->name) != 0 ||
			    a->port_num != b->port_num) {
				continue;
			}
			snprintf(dotted, sizeof(dotted), "devices[%zu]", k);
			first = daemon_place(reader, dotted);
			snprintf(dotted, sizeof(dotted), "devices[%zu]", i);
			second = daemon_place(reader, dotted);
			problems_add(
				reader->problems, false, main_path(reader), second.line,
				second.column,
				"daemon.%s: port %llu of \"%s\" is listed already at %u:%u; remove one",
				dotted, (unsigned long long)b->port_num, b->name, first.line,
				first.column);
			break;
		}
	}
}

/* Whether this host has them is known when the daemon starts there. */
static void check_control_cpus(struct reader *reader)
{
	const char *list = reader->config->daemon.control_cpus;
	_cleanup_free_ int *cpus = memory_new_array(CPU_LIST_MAX, sizeof(*cpus));
	struct place place = daemon_place(reader, "control_cpus");
	struct error err = ERROR_INIT;

	if (place.is_written && cpu_list_read(list, cpus, &err) < 0) {
		problems_add(reader->problems, false, main_path(reader), place.line, place.column,
			     "daemon.control_cpus: %s", err.text);
	}
}

static void check_daemon(struct reader *reader, const char *host_name)
{
	const struct daemon_settings *daemon = &reader->config->daemon;

	check_node_name(reader, host_name);
	check_absolute(reader, "admin_socket", daemon->admin_socket);
	check_absolute(reader, "key_file", daemon->key_file);
	check_listeners(reader);
	check_devices(reader);
	check_control_cpus(reader);
	if (reader->config->peer_count > 0 && daemon->key_file[0] == '\0' &&
	    !daemon_place(reader, "key_file").is_written) {
		struct place place = daemon_place(reader, "");

		problems_add(
			reader->problems, true, main_path(reader), place.line, place.column,
			"daemon.key_file: not set: no peer can be reached; write the path of the key that all nodes share");
	}
}

/* Each interface has such an address of its own: without one a connection cannot begin. */
static bool lacks_interface(const char *host)
{
	uint8_t bytes[16];

	return !strchr(host, '%') && net_address_bytes(host, bytes) && bytes[0] == 0xfe &&
	       (bytes[1] & 0xc0) == 0x80;
}

/* "host:port" with the port always there, lower case, so that equal addresses compare equal. */
static bool canonical_address(struct reader *reader, size_t index, char *ret, size_t size)
{
	const struct origin *origin = &reader->peers[index];
	const char *address = reader->config->peers[index].address;
	struct place place = place_find(origin->node, "address");
	struct error err = ERROR_INIT;
	char host[256];
	uint16_t port;

	if (address[0] == '\0') {
		return false; /* the schema has said so */
	}
	if (net_split(address, CONTROL_PORT, host, &port, &err) < 0) {
		problems_add(reader->problems, false, origin->document->path, place.line,
			     place.column, "peers[%zu].address: %s", origin->index, err.text);
		return false;
	}
	if (lacks_interface(host)) {
		problems_add(
			reader->problems, false, origin->document->path, place.line, place.column,
			"peers[%zu].address: \"%s\" is link-local and names no interface; write the one "
			"of this host that leads there behind it, such as \"[%s%%eth0]:%u\"",
			origin->index, host, host, port);
		return false;
	}
	snprintf(ret, size, "%s %u", host, port);
	for (char *c = ret; *c; c++) {
		*c = (char)tolower((unsigned char)*c);
	}
	return true;
}

/* What must not be there twice, in the order of its second appearance. */
struct unique {
	char value[280];
	const struct origin *origin;
	size_t turn;
};

static int compare_unique(const void *left, const void *right)
{
	const struct unique *a = left;
	const struct unique *b = right;
	int order = strcmp(a->value, b->value);

	return order ? order : (a->turn < b->turn ? -1 : a->turn > b->turn);
}

static void complain_taken(struct reader *reader, const char *list, const char *key,
			   const struct unique *item, const struct unique *first)
{
	struct place place = place_find(item->origin->node, key);
	struct place other = place_find(first->origin->node, key);
	bool is_same_file = item->origin->document == first->origin->document;
	char shown[300];

	text_escape(shown, sizeof(shown), document_get(item->origin->node, key)->scalar);
	problems_add(reader->problems, false, item->origin->document->path, place.line,
		     place.column, "%s[%zu].%s: \"%s\" is taken at %s%s%u:%u; each needs its own",
		     list, item->origin->index, key, shown,
		     is_same_file ? "" : first->origin->document->path, is_same_file ? "" : ":",
		     other.line, other.column);
}

static void check_unique(struct reader *reader, struct unique *items, size_t count,
			 const char *list, const char *key)
{
	const struct unique *first = NULL;

	qsort(items, count, sizeof(items[0]), compare_unique);
	for (size_t i = 0; i < count; i++) {
		if (!first || strcmp(first->value, items[i].value) != 0) {
			first = &items[i];
			continue;
		}
		complain_taken(reader, list, key, &items[i], first);
	}
}

static void check_peers(struct reader *reader)
{
	size_t count = reader->config->peer_count;
	_cleanup_free_ struct unique *items = memory_new_array(count + 1, sizeof(*items));
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (reader->config->peers[i].name[0]) {
			text_copy(items[used].value, sizeof(items[used].value),
				  reader->config->peers[i].name);
			items[used].origin = &reader->peers[i];
			items[used].turn = used;
			used++;
		}
	}
	check_unique(reader, items, used, "peers", "name");
	used = 0;
	for (size_t i = 0; i < count; i++) {
		if (canonical_address(reader, i, items[used].value, sizeof(items[used].value))) {
			items[used].origin = &reader->peers[i];
			items[used].turn = used;
			used++;
		}
	}
	check_unique(reader, items, used, "peers", "address");
}

static void check_scenario_names(struct reader *reader)
{
	size_t count = reader->config->scenario_count;
	_cleanup_free_ struct unique *items = memory_new_array(count + 1, sizeof(*items));
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (reader->config->scenarios[i]->name[0]) {
			text_copy(items[used].value, sizeof(items[used].value),
				  reader->config->scenarios[i]->name);
			items[used].origin = &reader->scenarios[i];
			items[used].turn = used;
			used++;
		}
	}
	check_unique(reader, items, used, "scenarios", "name");
}

void check_all(struct reader *reader, const char *host_name)
{
	struct config *config = reader->config;

	check_daemon(reader, host_name);
	check_peers(reader);
	check_self(reader);
	check_scenario_names(reader);
	check_scenario_all(reader);
	if (config->peer_count == 0 && config->scenario_count > 0) {
		problems_add(reader->problems, true, config->path, 0, 0,
			     "peers: none are listed; a scenario needs a second node to run with");
	}
}
