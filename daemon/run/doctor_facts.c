// SPDX-License-Identifier: MIT
#include "run/doctor_facts.h"

#include <string.h>

const struct netdev *doctor_facts_netdev(const struct doctor_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->netdev_count; i++) {
		if (strcmp(facts->netdevs[i].name, name) == 0 && facts->netdevs[i].is_there) {
			return &facts->netdevs[i];
		}
	}
	return NULL;
}

static bool is_there(enum modules_state state)
{
	return state == MODULES_LOADED || state == MODULES_BUILTIN;
}

bool doctor_facts_has_core(const struct doctor_facts *facts)
{
	return is_there(facts->ib_core);
}

bool doctor_facts_has_uverbs(const struct doctor_facts *facts)
{
	return is_there(facts->ib_uverbs);
}
