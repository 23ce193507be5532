// SPDX-License-Identifier: MIT
/*
 * Build tool: prints http/asset's table with the files named. usage: embed FILE...; an asset is
 * named by its file, without folders.
 */

#include <stdio.h>
#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int print_bytes(const char *path, unsigned number)
{
	FILE *file = fopen(path, "rbe");
	int column = 0;
	int c;

	if (!file) {
		perror(path);
		return -1;
	}
	printf("static const char bytes_%u[] = {\n", number);
	while ((c = getc(file)) != EOF) {
		printf("'\\%03o',%s", (unsigned)c, ++column % 16 ? "" : "\n");
	}
	printf("'\\0' };\n");
	return fclose(file);
}

int main(int argc, char **argv)
{
	printf("// SPDX-License-Identifier: MIT\n/* Made by api/page/embed.c. */\n#include \"http/asset.h\"\n\n");
	for (int i = 1; i < argc; i++) {
		if (print_bytes(argv[i], (unsigned)i) != 0) {
			return 1;
		}
	}
	printf("\nconst struct asset asset_table[] = {\n");
	for (int i = 1; i < argc; i++) {
		printf("\t{ \"%s\", bytes_%d, sizeof(bytes_%d) - 1 },\n", base_name(argv[i]), i, i);
	}
	printf("\t{ 0 },\n};\n");
	return 0;
}
