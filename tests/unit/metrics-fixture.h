// SPDX-License-Identifier: MIT
#pragma once

/* Metrics of a node "n1", runs to observe, and what is told of them: for test-metrics.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/asset.h"
#include "http/exposition.h"
#include "http/metrics.h"
#include "http/metrics_store.h"
#include "util/clock.h"
#include "util/memory.h"

#define LINE(...) "\nrdmatestd_" __VA_ARGS__ "\n"

struct fixture {
	struct metrics *metrics;
	struct metrics_gauges gauges;
	struct text out;
	struct config config;
};

static int set_up(void **state)
{
	struct fixture *fixture = memory_new(sizeof(*fixture));

	fixture->metrics = metrics_new("n1");
	fixture->gauges.version = "1.2.3";
	text_copy(fixture->config.daemon.node_name, LIMIT_NAME, "n1");
	*state = fixture;
	return 0;
}

static void clear_config(struct config *config)
{
	for (size_t i = 0; i < config->scenario_count; i++) {
		free(config->scenarios[i]);
	}
	free(config->scenarios);
	free(config->peers);
	config->scenarios = NULL;
	config->peers = NULL;
	config->scenario_count = 0;
	config->peer_count = 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	metrics_free(fixture->metrics);
	text_done(&fixture->out);
	clear_config(&fixture->config);
	free(fixture);
	return 0;
}

static void add_scenario(struct fixture *fixture, const char *name)
{
	struct config *config = &fixture->config;
	struct scenario *scenario = memory_new(sizeof(*scenario));

	text_copy(scenario->name, sizeof(scenario->name), name);
	config->scenarios = memory_resize(config->scenarios, config->scenario_count + 1,
					  sizeof(config->scenarios[0]));
	config->scenarios[config->scenario_count++] = scenario;
}

static void add_peer(struct fixture *fixture, const char *name)
{
	struct config *config = &fixture->config;

	config->peers =
		memory_resize(config->peers, config->peer_count + 1, sizeof(config->peers[0]));
	memset(&config->peers[config->peer_count], 0, sizeof(config->peers[0]));
	text_copy(config->peers[config->peer_count++].name, LIMIT_NAME, name);
}

static const char *scrape(struct fixture *fixture)
{
	text_reset(&fixture->out);
	text_add(&fixture->out, "\n");
	metrics_write(fixture->metrics, &fixture->gauges, &fixture->out);
	return fixture->out.data;
}

static void assert_line(struct fixture *fixture, const char *line)
{
	if (!strstr(fixture->out.data, line)) {
		fail_msg("%s is not in:%s", line, fixture->out.data);
	}
}

static struct run *new_run(const char *scenario_name, int verdict)
{
	struct scenario *scenario = memory_new(sizeof(*scenario));
	struct run *run;

	text_copy(scenario->name, sizeof(scenario->name), scenario_name);
	run = run_new(scenario);
	free(scenario);
	run->state = RUN_DONE;
	run->verdict = verdict;
	run->ended_real_ns = 1700000000250000000;
	return run;
}

static struct measurement *add_measurement(struct run *run, const char *initiator,
					   const char *responder, int verdict)
{
	struct measurement *measurement = run_add_measurement(run);

	text_copy(measurement->initiator.endpoint.node, LIMIT_NAME, initiator);
	text_copy(measurement->responder.endpoint.node, LIMIT_NAME, responder);
	measurement->verdict = verdict;
	return measurement;
}

/* `count` operations of `size` bytes in one second, each of `latency_ns`. */
static void add_class(struct measurement *measurement, int kind, uint64_t size, uint64_t count,
		      uint64_t latency_ns)
{
	struct totals *totals = &measurement->initiator.totals;
	struct class_totals *class;

	measurement->initiator.has_totals = true;
	totals->window_ns = 1000000000;
	totals->classes =
		memory_resize(totals->classes, totals->class_count + 1, sizeof(totals->classes[0]));
	class = &totals->classes[totals->class_count++];
	memset(class, 0, sizeof(*class));
	class->class.kind = kind;
	class->class.size_bytes = size;
	class->completed = count;
	class->bytes = size * count;
	histogram_reset(&class->latency);
	for (uint64_t i = 0; i < count; i++) {
		histogram_add(&class->latency, latency_ns);
	}
}
