// SPDX-License-Identifier: MIT
#include "http/page_pieces.h"

#include <stdlib.h>

#include "http/page.h"
#include "util/memory.h"

#define RUNS 20

enum stage {
	GATHER_STATUS,
	GATHER_SCENARIOS,
	GATHER_LAST,
	GATHER_RUNS,
	GATHER_PEERS,
	GATHER_PORTS,
	WRITE_PAGE,
};

struct page_pieces {
	struct pieces pieces;
	const struct view *view;
	const struct metrics *metrics;
	struct page page;
	enum stage stage;
	size_t index; /* of the next record of the stage */
	size_t run_count;
	struct run *runs[RUNS];
	const char *at; /* in the page's frame */
};

static json_t *give_run(struct page_pieces *all, size_t index)
{
	return index < all->run_count ? run_write_summary(all->runs[index]) : NULL;
}

/* Takes the record; false: there is none, the stage is over. */
static bool add(struct page_pieces *all, json_t *record,
		void (*page_add)(struct page *page, json_t *record))
{
	if (!record) {
		return false;
	}
	page_add(&all->page, record);
	return true;
}

/* One record. False: the stage is over. */
static bool gather(struct page_pieces *all)
{
	const struct view *view = all->view;
	size_t index = all->index++;

	switch (all->stage) {
	case GATHER_SCENARIOS:
		return add(all, view->scenario(view->arg, index), page_add_scenario);
	case GATHER_LAST:
		return add(all, metrics_last_at(all->metrics, index), page_add_last);
	case GATHER_RUNS:
		return add(all, give_run(all, index), page_add_run);
	case GATHER_PEERS:
		return add(all, view->peer(view->arg, index), page_add_peer);
	case GATHER_PORTS:
		return add(all, view->device(view->arg, index), page_add_port);
	case GATHER_STATUS:
	case WRITE_PAGE:
		break;
	}
	return false;
}

static bool next_of_page(struct pieces *pieces, struct text *out)
{
	struct page_pieces *all = (struct page_pieces *)pieces;
	struct view_query query = { .verdict = VERDICT_NONE, .limit = RUNS };
	bool is_more;

	if (all->stage == WRITE_PAGE) {
		all->at = page_write_part(&all->page, all->at, out);
		return all->at != NULL;
	}
	if (all->stage == GATHER_STATUS) {
		all->page.status = all->view->status(all->view->arg);
		all->view->runs(all->view->arg, &query, all->runs, &all->run_count, &is_more);
	}
	if (!gather(all)) {
		all->stage++;
		all->index = 0;
	}
	return true;
}

static void free_page(struct pieces *pieces)
{
	struct page_pieces *all = (struct page_pieces *)pieces;

	for (size_t i = 0; i < all->run_count; i++) {
		run_free(all->runs[i]);
	}
	page_done(&all->page);
	free(all);
}

struct pieces *page_pieces_new(const struct view *view, const struct metrics *metrics)
{
	struct page_pieces *all = memory_new(sizeof(*all));

	all->pieces = (struct pieces){ .next = next_of_page, .free = free_page };
	all->view = view;
	all->metrics = metrics;
	return &all->pieces;
}
