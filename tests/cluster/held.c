// SPDX-License-Identifier: MIT

/*
 * A daemon that is told to end while a call to a driver hangs with one of its jobs: it says so and
 * leaves, without touching what the hanging thread still uses. Its process ends there, so the test
 * gives it one of its own.
 */

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/cluster.h"
#include "parts.h"
#include "util/text.h"

#define SECOND_NS 1000000000ull
#define DIRECTORY "directory: "
/* What a sanitizer ends with is another one. */
#define UNEXPECTED 42

static const char scenarios[] =
	"scenarios:\n"
	"  - name: long\n"
	"    workload: { pattern: pingpong, ops: [{ op: write, size: 8B }] }\n"
	"    run: { warmup: 0s, duration: 20s }\n";

/* Where the daemon's files are, for who clears them away. */
static void tell_directory(struct cluster *cluster)
{
	char path[256];

	text_copy(path, sizeof(path), daemon_parts(cluster_daemon(cluster, 0))->config->path);
	*strrchr(path, '/') = '\0';
	fprintf(stderr, DIRECTORY "%s\n", path);
}

static void end_with_a_hanging_job(void)
{
	struct cluster *cluster = cluster_new(11, 2, scenarios);
	struct fabric *fabric = world_fabric(cluster_world(cluster));
	struct fabric_verb_fault hangs = { .cost_ns = 3600 * SECOND_NS };
	struct fabric_link link = { .latency_ns = 500000 };
	char id[32];

	fabric_set_link(fabric, NULL, NULL, &link);
	cluster_start_all(cluster);
	tell_directory(cluster);
	text_copy(id, sizeof(id), cluster_run(cluster, 0, "long"));
	cluster_wait_phase(cluster, 0, id, "measuring");
	fabric_set_verb(fabric, cluster_device(cluster, 1), FABRIC_DESTROY_QP, &hangs);
	cluster_stop(cluster, 1);
	world_run(cluster_world(cluster), 12 * SECOND_NS);
	world_enter(cluster_node(cluster, 1));
	daemon_free(cluster_daemon(cluster, 1));
	_exit(UNEXPECTED);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void)status;
	(void)kind;
	(void)at;
	return remove(path);
}

static void clear_away(const char *said)
{
	const char *at = strstr(said, DIRECTORY);
	char path[256];

	assert_non_null(at);
	at += strlen(DIRECTORY);
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\n"), at);
	assert_true(text_starts_with(path, "/tmp/rdmatestd-cluster-"));
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void assert_said(const char *said, const char *words)
{
	if (!strstr(said, words)) {
		fail_msg("\"%s\" is not in:\n%s", words, said);
	}
}

static void a_daemon_with_a_hanging_job_says_so_and_leaves_it_behind(void **state)
{
	char said[16384];
	size_t length = 0;
	int pipes[2];
	int status;
	pid_t child;
	ssize_t count;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(pipes[0]);
		dup2(pipes[1], STDERR_FILENO);
		end_with_a_hanging_job();
	}
	close(pipes[1]);
	while (length < sizeof(said) - 1 &&
	       (count = read(pipes[0], said + length, sizeof(said) - 1 - length)) > 0) {
		length += (size_t)count;
	}
	said[length] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	clear_away(said);
	assert_said(said, "not everything ended within 10 s: a job that is not released; "
			  "ibv_destroy_qp of RDMA device \"fake1\" has not returned for ");
	assert_said(said, "; leaving it behind");
	assert_null(strstr(said, "Sanitizer"));
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_daemon_with_a_hanging_job_says_so_and_leaves_it_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
