// SPDX-License-Identifier: MIT
/*
 * Walks a folder of configurations. usage: walk good|bad FOLDER
 *
 * good: every FOLDER/<name>.yaml loads without an error. bad: every one is refused with exactly the
 * errors that its leading comments foretell, each "# expect: " and the line as printed, without the
 * file's own path ("12:9: error: ..."); an error in another file has that file's path below the
 * folder before it.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "util/memory.h"

#define EXPECT "# expect: "

static char *read_line(FILE *file)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t length = getline(&line, &size, file);

	if (length < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* "@FOLDER@" stands for the folder. */
static void add_expanded(const char *folder, const char *line, struct text *out)
{
	const char *mark = strstr(line, "@FOLDER@");

	if (mark) {
		text_add_bytes(out, line, (size_t)(mark - line));
		text_add(out, folder);
		line = mark + strlen("@FOLDER@");
	}
	text_format(out, "%s\n", line);
}

/* The lines that the file foretells, as they would be printed. */
static unsigned expected_lines(const char *folder, const char *path, struct text *out)
{
	FILE *file = fopen(path, "re");
	unsigned count = 0;
	char *line;

	for (line = file ? read_line(file) : NULL; line; line = read_line(file)) {
		const char *rest = line + strlen(EXPECT);
		bool is_expectation = text_starts_with(line, EXPECT);

		if (is_expectation && rest[strspn(rest, "0123456789")] == ':') {
			text_format(out, "%s:", path);
			add_expanded(folder, rest, out);
		} else if (is_expectation && text_starts_with(rest, "error: ")) {
			text_format(out, "%s: %s\n", path, rest);
		} else if (is_expectation) {
			text_format(out, "%s/", folder);
			add_expanded(folder, rest, out);
		}
		free(line);
		if (!is_expectation) {
			break;
		}
		count++;
	}
	if (file) {
		fclose(file);
	}
	return count;
}

/* The lines of `printed` that are errors, and not warnings. */
static void errors_alone(const struct text *printed, struct text *out)
{
	for (const char *line = printed->data; line && *line;) {
		size_t length = strcspn(line, "\n");
		const char *warning = strstr(line, ": warning: ");

		if (!warning || warning > line + length) {
			text_add_bytes(out, line, length);
			text_add(out, "\n");
		}
		line += length + (line[length] == '\n');
	}
}

static bool check_file(bool is_bad, const char *folder, const char *path)
{
	_cleanup_text_ struct text expected = TEXT_INIT;
	_cleanup_text_ struct text printed = TEXT_INIT;
	_cleanup_text_ struct text errors = TEXT_INIT;
	unsigned count = is_bad ? expected_lines(folder, path, &expected) : 0;
	struct problems problems;
	struct config *config;
	bool is_fine;

	problems_init(&problems);
	config = config_load(path, "node1", &problems);
	problems_print(&problems, 50, &printed);
	errors_alone(&printed, &errors);
	is_fine = is_bad ? !config && count > 0 && problems.errors == count &&
				   strcmp(errors.data, expected.data) == 0
			 : config && problems.errors == 0;
	if (!is_fine) {
		printf("not ok: %s\n--- expected %u error(s):\n%s--- printed:\n%s", path, count,
		       expected.data ? expected.data : "",
		       printed.data ? printed.data : "(nothing)\n");
	}
	config_unref(config);
	problems_done(&problems);
	return is_fine;
}

static int is_yaml(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && strcmp(entry->d_name + length - 5, ".yaml") == 0;
}

int main(int argc, char **argv)
{
	struct dirent **entries = NULL;
	unsigned failed = 0;
	int count;

	if (argc != 3 || (strcmp(argv[1], "good") != 0 && strcmp(argv[1], "bad") != 0)) {
		fprintf(stderr, "usage: %s good|bad FOLDER\n", argv[0]);
		return 2;
	}
	count = scandir(argv[2], &entries, is_yaml, alphasort);
	for (int i = 0; i < count; i++) {
		_cleanup_text_ struct text path = TEXT_INIT;

		text_format(&path, "%s/%s", argv[2], entries[i]->d_name);
		failed += !check_file(strcmp(argv[1], "bad") == 0, argv[2], path.data);
		free(entries[i]);
	}
	free(entries);
	printf("%d configurations, %u not as expected\n", count, failed);
	return count < 1 || failed > 0;
}
