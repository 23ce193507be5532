// SPDX-License-Identifier: MIT
#include "run/inquiry.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

struct inquiry {
	struct list link; /* in agent->inquiries */
	struct agent_way *way;
	struct assignment assignment;
	struct occupancy_look *look; /* NULL once it is over */
	inquiry_done_fn done;
	void *arg;
};

static void on_looked(void *arg, const struct port_use *use)
{
	struct inquiry *inquiry = arg;

	inquiry->look = NULL;
	inquiry->done(inquiry->arg, inquiry, use);
}

struct inquiry *inquiry_new(struct agent_way *way, const struct assignment *assignment,
			    inquiry_done_fn done, void *arg)
{
	const struct endpoint *local = assignment_local(assignment);
	struct inquiry *inquiry = memory_new(sizeof(*inquiry));

	inquiry->way = way;
	inquiry->assignment = *assignment;
	inquiry->done = done;
	inquiry->arg = arg;
	list_append(&way->agent->inquiries, &inquiry->link);
	inquiry->look = occupancy_look(way->agent->occupancy, local->device, local->port_num,
				       on_looked, inquiry);
	return inquiry;
}

void inquiry_free(struct inquiry *inquiry)
{
	if (inquiry == NULL) {
		return;
	}
	if (inquiry->look != NULL) {
		occupancy_cancel(inquiry->look);
	}
	list_remove(&inquiry->link);
	free(inquiry);
}

void inquiry_drop(struct agent_way *way)
{
	struct inquiry *inquiry;

	list_each(inquiry, &way->agent->inquiries, link) {
		if (inquiry->way == way) {
			inquiry_free(inquiry);
		}
	}
}

struct inquiry *inquiry_find(struct agent_way *way, const char *run_id, uint64_t pair, int role)
{
	struct inquiry *inquiry;

	list_each(inquiry, &way->agent->inquiries, link) {
		if (inquiry->way == way && inquiry->assignment.pair == pair &&
		    inquiry->assignment.role == role &&
		    strcmp(inquiry->assignment.run_id, run_id) == 0) {
			return inquiry;
		}
	}
	return NULL;
}

size_t inquiry_count(const struct agent *agent)
{
	struct inquiry *inquiry;
	size_t count = 0;

	list_each(inquiry, &((struct agent *)agent)->inquiries, link) {
		count++;
	}
	return count;
}

struct agent_way *inquiry_way(const struct inquiry *inquiry)
{
	return inquiry->way;
}

const struct assignment *inquiry_assignment(const struct inquiry *inquiry)
{
	return &inquiry->assignment;
}
