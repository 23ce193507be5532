// SPDX-License-Identifier: MIT
/* The part of fabric.h that is about links: what each ordered pair of devices does to packets. */
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"

#define LINK_DEFAULT ((struct fabric_link){ .latency_ns = 1000, .reorder_ns = 10000 })
#define LINK_PPM 1000000

/* What set_link was told, in order: later rules win, also for devices that come later. */
struct link_rule {
	char from[IBV_SYSFS_NAME_MAX]; /* empty: any */
	char to[IBV_SYSFS_NAME_MAX];
	struct fabric_link config;
};

static bool rule_fits(const struct link_rule *rule, const struct fabric_device *from,
		      const struct fabric_device *to)
{
	return (rule->from[0] == '\0' || strcmp(rule->from, from->ib.name) == 0) &&
	       (rule->to[0] == '\0' || strcmp(rule->to, to->ib.name) == 0);
}

struct link_state *link_state(struct fabric *fabric, const struct fabric_device *from,
			      const struct fabric_device *to)
{
	struct link_state **slot = &fabric->links[from->index * NIC_DEVICES_MAX + to->index];

	if (*slot != NULL) {
		return *slot;
	}
	*slot = nic_alloc(1, sizeof(**slot));
	(*slot)->config = LINK_DEFAULT;
	for (unsigned i = 0; i < fabric->rule_count; i++) {
		if (rule_fits(&fabric->rules[i], from, to)) {
			(*slot)->config = fabric->rules[i].config;
		}
	}
	return *slot;
}

void link_free_all(struct fabric *fabric)
{
	for (unsigned i = 0; i < NIC_DEVICES_MAX * NIC_DEVICES_MAX; i++) {
		free(fabric->links[i]);
	}
	free(fabric->links);
	free(fabric->rules);
}

static void add_rule(struct fabric *fabric, const char *from, const char *to,
		     const struct fabric_link *link)
{
	struct link_rule rule = { .config = *link };
	unsigned kept = 0;

	snprintf(rule.from, sizeof(rule.from), "%s", from != NULL ? from : "");
	snprintf(rule.to, sizeof(rule.to), "%s", to != NULL ? to : "");
	if (rule.config.reorder_ns == 0) {
		rule.config.reorder_ns = LINK_DEFAULT.reorder_ns;
	}

	/* the new rule hides an equal one */
	for (unsigned i = 0; i < fabric->rule_count; i++) {
		struct link_rule *old = &fabric->rules[i];
		if (strcmp(old->from, rule.from) != 0 || strcmp(old->to, rule.to) != 0) {
			fabric->rules[kept++] = *old;
		}
	}
	fabric->rules = realloc(fabric->rules, (kept + 1) * sizeof(*fabric->rules));
	if (fabric->rules == NULL) {
		nic_die("out of memory");
	}
	fabric->rules[kept] = rule;
	fabric->rule_count = kept + 1;

	for (unsigned i = 0; i < fabric->device_count; i++) {
		for (unsigned j = 0; j < fabric->device_count; j++) {
			struct link_state *state = fabric->links[i * NIC_DEVICES_MAX + j];
			if (state != NULL &&
			    rule_fits(&rule, fabric->devices[i], fabric->devices[j])) {
				state->config = rule.config;
			}
		}
	}
}

void fabric_set_link(struct fabric *fabric, const char *from, const char *to,
		     const struct fabric_link *link)
{
	uint64_t sum = (uint64_t)link->loss_ppm + link->corrupt_ppm + link->duplicate_ppm +
		       link->reorder_ppm;

	if (sum > LINK_PPM) {
		nic_die("a link's probabilities sum to %lu, above %d", (unsigned long)sum,
			LINK_PPM);
	}
	nic_lock(fabric);
	add_rule(fabric, from, to, link);
	nic_unlock(fabric);
}

static struct fabric_device *device_named(struct fabric *fabric, const char *name)
{
	for (unsigned i = 0; i < fabric->device_count; i++) {
		struct fabric_device *device = fabric->devices[i];
		if (!device->is_removed && strcmp(device->ib.name, name) == 0) {
			return device;
		}
	}
	nic_die("there is no device \"%s\"", name);
}

void fabric_link(struct fabric *fabric, const char *from, const char *to, struct fabric_link *ret)
{
	pthread_mutex_lock(&fabric->lock);
	*ret = link_state(fabric, device_named(fabric, from), device_named(fabric, to))->config;
	pthread_mutex_unlock(&fabric->lock);
}

void fabric_set_black_hole(struct fabric *fabric, const char *a, const char *b, bool is_on)
{
	struct fabric_link link;

	fabric_link(fabric, a, b, &link);
	link.is_black_hole = is_on;
	fabric_set_link(fabric, a, b, &link);
	fabric_link(fabric, b, a, &link);
	link.is_black_hole = is_on;
	fabric_set_link(fabric, b, a, &link);
}

void fabric_next_packets(struct fabric *fabric, const char *from, const char *to,
			 enum fabric_fate fate, uint32_t packets)
{
	nic_lock(fabric);
	link_state(fabric, device_named(fabric, from), device_named(fabric, to))->next[fate] =
		packets;
	nic_unlock(fabric);
}
