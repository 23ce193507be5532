// SPDX-License-Identifier: MIT
/*
 * Runs a target over files: each input once, in the order of names. The regression test of every
 * corpus, and how a finding is looked at without libFuzzer. usage: replay-NAME FILE|FOLDER..
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "util/memory.h"
#include "util/text.h"

/* libFuzzer makes none larger. */
#define INPUT_MAX_BYTES (1u << 20)
#define GOOD "good-"

static char now_running[4096]; /* path, for the handler */

static void on_abort(int number)
{
	static const char line[] = "\nreplay: the input was ";
	ssize_t ignored = write(STDERR_FILENO, line, sizeof(line) - 1);

	ignored = write(STDERR_FILENO, now_running, strlen(now_running));
	ignored = write(STDERR_FILENO, "\n", 1);
	(void)ignored;
	(void)number;
}

static bool is_good(const char *path)
{
	const char *slash = strrchr(path, '/');

	return text_starts_with(slash ? slash + 1 : path, GOOD);
}

static bool run_file(const char *path)
{
	FILE *file = fopen(path, "re");
	_cleanup_free_ uint8_t *input = memory_new(INPUT_MAX_BYTES + 1);
	uint8_t *exact;
	size_t count;

	if (!file) {
		fprintf(stderr, "replay: %s: %m\n", path);
		return false;
	}
	count = fread(input, 1, INPUT_MAX_BYTES + 1, file);
	fclose(file);
	if (count > INPUT_MAX_BYTES) {
		fprintf(stderr, "replay: %s: larger than %u bytes\n", path, INPUT_MAX_BYTES);
		return false;
	}
	/* Of its very size, as libFuzzer gives it. */
	exact = memory_new(count);
	memcpy(exact, input, count);
	text_copy(now_running, sizeof(now_running), path);
	fuzz_forget();
	LLVMFuzzerTestOneInput(exact, count);
	free(exact);
	if (is_good(path) && !fuzz_is_accepted()) {
		fprintf(stderr,
			"replay: %s: is not taken as good any more; write it as it must be now\n",
			path);
		return false;
	}
	return true;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* How many inputs ran; -1: one could not be read. */
static int run_path(const char *path)
{
	struct dirent **entries = NULL;
	struct stat status;
	int total = 0;
	int count;

	if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
		return run_file(path) ? 1 : -1;
	}
	count = scandir(path, &entries, is_visible, alphasort);
	if (count < 0) {
		fprintf(stderr, "replay: %s: %m\n", path);
		return -1;
	}
	for (int i = 0; i < count; i++) {
		_cleanup_text_ struct text below = TEXT_INIT;
		int ran;

		text_format(&below, "%s/%s", path, entries[i]->d_name);
		ran = total < 0 ? -1 : run_path(below.data);
		total = ran < 0 ? -1 : total + ran;
		free(entries[i]);
	}
	free(entries);
	return total;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_abort, .sa_flags = (int)SA_RESETHAND };

	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE|FOLDER..\n", argv[0]);
		return 2;
	}
	sigaction(SIGABRT, &action, NULL);
	for (int i = 1; i < argc; i++) {
		int ran = run_path(argv[i]);

		if (ran <= 0) {
			fprintf(stderr, "replay: %s: nothing ran\n", argv[i]);
			return 1;
		}
		printf("%s: %d inputs\n", argv[i], ran);
	}
	return 0;
}
