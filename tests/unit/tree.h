// SPDX-License-Identifier: MIT
#pragma once

/*
 * A directory with files that a test makes as it needs them: what the product takes for the root of
 * /sys and /proc.
 */

#include <assert.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree {
	char root[64];
};

static inline void tree_init(struct tree *tree)
{
	snprintf(tree->root, sizeof(tree->root), "/tmp/test-tree-XXXXXX");
	if (!mkdtemp(tree->root)) {
		abort();
	}
}

static inline void tree_directories(const char *path)
{
	char part[512];

	snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(part, 0755);
		*slash = '/';
	}
}

/* path from "/sys/..."; directories are made as needed. */
static inline void tree_write(const struct tree *tree, const char *path, const char *content)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", tree->root, path);
	tree_directories(whole);
	file = fopen(whole, "we");
	if (!file || fputs(content, file) < 0 || fclose(file) != 0) {
		abort();
	}
}

/* The same at once, for who reads it meanwhile. */
static inline void tree_replace(const struct tree *tree, const char *path, const char *content)
{
	char before[256];
	char after[512];

	snprintf(before, sizeof(before), "%s.new", path);
	tree_write(tree, before, content);
	snprintf(before, sizeof(before), "%s%s.new", tree->root, path);
	snprintf(after, sizeof(after), "%s%s", tree->root, path);
	if (rename(before, after) != 0) {
		abort();
	}
}

static inline void tree_link(const struct tree *tree, const char *path, const char *target)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", tree->root, path);
	tree_directories(whole);
	if (symlink(target, whole) != 0) {
		abort();
	}
}

static inline int tree_remove_entry(const char *path, const struct stat *status, int kind,
				    struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	return remove(path);
}

/* Also of a file. */
static inline void tree_remove(const struct tree *tree, const char *path)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", tree->root, path);
	nftw(whole, tree_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void tree_move(const struct tree *tree, const char *from, const char *to)
{
	char whole_from[512];
	char whole_to[512];

	snprintf(whole_from, sizeof(whole_from), "%s%s", tree->root, from);
	snprintf(whole_to, sizeof(whole_to), "%s%s", tree->root, to);
	if (rename(whole_from, whole_to) != 0) {
		abort();
	}
}

static inline void tree_done(struct tree *tree)
{
	tree_remove(tree, "");
}

/* Of cmocka: a tree is the state of each test. */
static inline int tree_set_up(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (!tree) {
		abort();
	}
	tree_init(tree);
	*state = tree;
	return 0;
}

static inline int tree_tear_down(void **state)
{
	tree_done(*state);
	free(*state);
	return 0;
}

/* A port as a RoCE card shows it; port_num 1. */
static inline void tree_add_roce(const struct tree *tree, const char *device, const char *netdev,
				 const char *gid)
{
	char path[256];
	char text[256];

#define TREE_FILE(format, content)                                                        \
	do {                                                                              \
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/" format, device); \
		snprintf(text, sizeof(text), "%s\n", content);                            \
		tree_write(tree, path, text);                                             \
	} while (0)
	TREE_FILE("fw_ver", "1.0.0");
	TREE_FILE("node_guid", "0200:0000:fe00:0000");
	TREE_FILE("ports/1/state", "4: ACTIVE");
	TREE_FILE("ports/1/lid", "0x0");
	TREE_FILE("ports/1/rate", "100 Gb/sec (4X EDR)");
	TREE_FILE("ports/1/link_layer", "Ethernet");
	TREE_FILE("ports/1/gids/0", gid);
	TREE_FILE("ports/1/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
	TREE_FILE("ports/1/gid_attrs/types/0", "RoCE v2");
	TREE_FILE("ports/1/gid_attrs/ndevs/0", netdev);
#undef TREE_FILE
	snprintf(path, sizeof(path), "/sys/class/net/%s/mtu", netdev);
	tree_write(tree, path, "1500\n");
	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", netdev);
	tree_write(tree, path, "100000\n");
}
