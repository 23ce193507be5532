// SPDX-License-Identifier: MIT
#include "peer_log.h"

#include <stdlib.h>
#include <string.h>

#include "util/json.h"
#include "util/log.h"
#include "util/memory.h"

struct peer_log {
	json_t *told; /* name -> why, as last logged */
};

struct peer_log *peer_log_new(void)
{
	struct peer_log *log = memory_new(sizeof(*log));

	log->told = json_object();
	return log;
}

void peer_log_free(struct peer_log *log)
{
	if (log != NULL) {
		json_decref(log->told);
		free(log);
	}
}

void peer_log_tell(struct peer_log *log, const char *name, const char *why)
{
	const char *told = json_string_value(json_object_get(log->told, name));

	if (told != NULL && strcmp(told, why) == 0) {
		return;
	}
	json_set_string(log->told, name, why);
	if (why[0] == '\0') {
		log_info("peer \"%s\" is up", name);
	} else {
		log_warning("peer \"%s\" is down: %s", name, why);
	}
}

void peer_log_configure(struct peer_log *log, const struct peers *peers)
{
	struct peer_status status;
	const char *name;
	json_t *why;
	void *next;

	json_object_foreach_safe(log->told, next, name, why) {
		if (peers_find(peers, name, &status) < 0) {
			json_object_del(log->told, name);
		}
	}
}
