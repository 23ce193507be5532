// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "unit/tree.h"
#include "util/memory.h"
#include "util/text.h"

struct fixture {
	struct tree tree;
	struct problems problems;
	struct text printed;
	struct config *config;
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_new(sizeof(*fixture));

	tree_init(&fixture->tree);
	problems_init(&fixture->problems);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	config_unref(fixture->config);
	problems_done(&fixture->problems);
	text_done(&fixture->printed);
	tree_done(&fixture->tree);
	free(fixture);
	return 0;
}

static void load(struct fixture *fixture, const char *content)
{
	char path[PATH_MAX];

	tree_write(&fixture->tree, "/main.yaml", content);
	snprintf(path, sizeof(path), "%s/main.yaml", fixture->tree.root);
	fixture->config = config_load(path, "host1", &fixture->problems);
	problems_print(&fixture->problems, 50, &fixture->printed);
	text_add(&fixture->printed, "");
}

static void the_own_entry_among_the_peers_gives_this_node_its_labels(void **state)
{
	struct fixture *fixture = *state;

	load(fixture,
	     "version: 1\n"
	     "daemon:\n"
	     "  node_name: node1\n"
	     "  key_file: /etc/rdmatestd/fleet.key\n"
	     "  labels: { rack: r1 }\n"
	     "peers:\n"
	     "  - { name: node1, address: 192.0.2.1, labels: { role: storage, rack: r1 } }\n"
	     "  - { name: node2, address: 192.0.2.2, labels: { role: storage } }\n"
	     "scenarios:\n"
	     "  - name: s\n"
	     "    peers: { from: role=storage, to: role=storage }\n"
	     "    qp: { traffic_class: 0 }\n"
	     "    workload: { pattern: pingpong, ops: [{ op: send, size: 8B }] }\n"
	     "    run: { duration: 1s }\n");
	assert_non_null(fixture->config);
	assert_int_equal(fixture->problems.warnings, 0);
	assert_string_equal(labels_get(&fixture->config->daemon.labels, "role"), "storage");
	assert_int_equal(fixture->config->daemon.labels.count, 2);
}

static void a_peer_that_looks_like_this_node_is_warned_of(void **state)
{
	struct fixture *fixture = *state;

	load(fixture,
	     "version: 1\n"
	     "daemon: { node_name: node2.example.net, key_file: /etc/rdmatestd/fleet.key }\n"
	     "peers:\n"
	     "  - { name: node2, address: 192.0.2.2 }\n"
	     "  - { name: node20, address: 192.0.2.20 }\n");
	assert_non_null(fixture->config);
	assert_non_null(strstr(fixture->printed.data,
			       "4:13: warning: peers[0].name: \"node2\" looks like this node"));
	assert_int_equal(fixture->problems.warnings, 1);
}

static void a_peer_with_the_address_of_this_node_is_warned_of(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "version: 1\n"
		      "daemon: { node_name: host9, key_file: /k, listen: { address: 192.0.2.2 } }\n"
		      "peers:\n"
		      "  - { name: host1, address: 192.0.2.1 }\n"
		      "  - { name: host2, address: \"192.0.2.2:18620\" }\n"
		      "  - { name: host3, address: \"192.0.2.2:18621\" }\n");
	assert_non_null(fixture->config);
	assert_non_null(strstr(fixture->printed.data,
			       "warning: peers[1].address: \"192.0.2.2:18620\" is where this node "
			       "listens, whose name is \"host9\", not \"host2\""));
	assert_non_null(strstr(fixture->printed.data,
			       "if they are one, set daemon.node_name to \"host2\""));
	assert_int_equal(fixture->problems.warnings, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_own_entry_among_the_peers_gives_this_node_its_labels, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_peer_with_the_address_of_this_node_is_warned_of,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_peer_that_looks_like_this_node_is_warned_of,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
