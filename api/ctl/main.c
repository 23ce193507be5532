// SPDX-License-Identifier: MIT

/* rdmatestctl: the command line of rdmatestd. */

#include <curl/curl.h>
#include <stdio.h>

#include "ctl/command.h"

int main(int argc, char **argv)
{
	int status;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		fputs("rdmatestctl: libcurl cannot be set up\n", stderr);
		return COMMAND_ERROR;
	}
	status = command_main(argc - (argc > 0), (const char *const *)argv + (argc > 0));
	curl_global_cleanup();
	return status;
}
