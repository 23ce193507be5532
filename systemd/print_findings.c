// SPDX-License-Identifier: MIT

/*
 * What is said of each finding, for who reads it elsewhere: print-findings catalog, the journal's
 * catalog (journalctl -x); print-findings page, a page of documentation (Markdown). Runs where the
 * program is built.
 */

#include <stdio.h>
#include <string.h>

#include "model/message_id.h"

struct info {
	unsigned number;
	const char *name; /* PEER_DAEMON_LOST */
	const char *title;
	const char *explanation;
	const char *cure;
};

static const struct info infos[] = {
#define FINDING(number, name, title, explanation, cure) { number, #name, title, explanation, cure },
#include "model/findings.def"
#undef FINDING
};
#define INFOS (sizeof(infos) / sizeof(infos[0]))

static void print_slug(const char *name)
{
	for (; *name; name++) {
		putchar(*name == '_' ? '-' : *name + ('a' - 'A') * (*name >= 'A' && *name <= 'Z'));
	}
}

/* The subject is one line; an empty line separates it from the text. */
static void print_catalog(void)
{
	printf("# SPDX-License-Identifier: MIT\n");
	for (const struct info *info = infos; info < infos + INFOS; info++) {
		printf("\n-- " MESSAGE_ID_FORMAT "\nSubject: RDT-%04u ", info->number,
		       info->number);
		print_slug(info->name);
		printf(": %s\nDefined-By: rdmatestd\n"
		       "Documentation: man:rdmatestctl(1)\n\n"
		       "%s\n\nWhat to do: %s\n\n"
		       "`rdmatestctl explain RDT-%04u` says the same; the line above names the run and what was seen.\n",
		       info->title, info->explanation, info->cure, info->number);
	}
}

static void print_page(void)
{
	printf("# Findings\n\n"
	       "What rdmatestd says of a measurement that did not go as it should. A code is stable and never used for something else;\n"
	       "the journal has the explanation too (`journalctl -x`), and filters by it: `journalctl MESSAGE_ID=`.\n");
	for (const struct info *info = infos; info < infos + INFOS; info++) {
		printf("\n## RDT-%04u ", info->number);
		print_slug(info->name);
		printf(": %s\n\n%s\n\n**What to do.** %s\n\n`MESSAGE_ID=" MESSAGE_ID_FORMAT "`\n",
		       info->title, info->explanation, info->cure, info->number);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "catalog") == 0) {
		print_catalog();
	} else if (argc == 2 && strcmp(argv[1], "page") == 0) {
		print_page();
	} else {
		fprintf(stderr, "usage: print-findings catalog|page\n");
		return 2;
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
