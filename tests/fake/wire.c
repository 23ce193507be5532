// SPDX-License-Identifier: MIT
/* Ports and what happens to packets on their way: turns, time, fate. */
#include <stdlib.h>
#include <string.h>

#include "fake/nic.h"

#define WIRE_PPM 1000000
#define WIRE_DELIVER FABRIC_FATES

/* What became of a burst. */
struct outcome {
	uint32_t delivered; /* packets from its beginning that arrive in order */
	bool has_gap; /* later ones arrive after a hole */
	uint32_t lost;
	uint32_t corrupt;
	uint32_t duplicates; /* of the delivered */
	bool has_late; /* one packet comes later, alone */
	uint32_t late;
};

static enum fabric_fate draw_fate(struct fabric *fabric, struct link_state *link)
{
	const struct fabric_link *config = &link->config;

	if (config->is_black_hole) {
		return FABRIC_DROP;
	}
	for (enum fabric_fate fate = 0; fate < FABRIC_FATES; fate++) {
		if (link->next[fate] > 0) {
			link->next[fate]--;
			return fate;
		}
	}
	if ((config->loss_ppm | config->corrupt_ppm | config->duplicate_ppm |
	     config->reorder_ppm) == 0) {
		return WIRE_DELIVER;
	}

	uint64_t draw = nic_random(fabric) % WIRE_PPM;
	if (draw < config->loss_ppm) {
		return FABRIC_DROP;
	}
	draw -= config->loss_ppm;
	if (draw < config->corrupt_ppm) {
		return FABRIC_CORRUPT;
	}
	draw -= config->corrupt_ppm;
	if (draw < config->duplicate_ppm) {
		return FABRIC_DUPLICATE;
	}
	draw -= config->duplicate_ppm;
	return draw < config->reorder_ppm ? FABRIC_REORDER : WIRE_DELIVER;
}

/* Packets of a burst are of one size, but its last. */
static bool is_too_large(const struct link_state *link, const struct flight *flight)
{
	return link->config.largest_bytes > 0 &&
	       flight->bytes > link->config.largest_bytes * flight->wire_packets;
}

static void draw_outcome(struct fabric *fabric, struct link_state *link,
			 const struct flight *flight, struct outcome *ret)
{
	uint32_t packets = flight->wire_packets;
	bool is_broken = false;

	*ret = (struct outcome){ 0 };
	if (is_too_large(link, flight)) {
		ret->lost = packets;
		return;
	}
	for (uint32_t i = 0; i < packets; i++) {
		enum fabric_fate fate = draw_fate(fabric, link);
		if (fate == WIRE_DELIVER || fate == FABRIC_DUPLICATE) {
			ret->delivered += !is_broken;
			ret->has_gap |= is_broken;
			ret->duplicates += !is_broken && fate == FABRIC_DUPLICATE;
			continue;
		}
		if (fate == FABRIC_REORDER && !is_broken) {
			ret->has_late = true;
			ret->late = i;
		}
		ret->lost += fate == FABRIC_DROP;
		ret->corrupt += fate == FABRIC_CORRUPT;
		is_broken = true;
	}
}

static uint64_t serial_ns(uint64_t bytes, uint64_t rate_bps)
{
	return (uint64_t)(((unsigned __int128)bytes * 8 * 1000000000 + rate_bps - 1) / rate_bps);
}

static bool is_reachable(const struct fabric_device *from, const struct fabric_device *to)
{
	return to != NULL && from->is_up && to->is_up && !from->is_removed && !to->is_removed;
}

/* The part of the burst [skip, skip + count) arrives. Payload is shared out: the first taker owns
 * it. */
static void deliver(struct fabric *fabric, const struct flight *flight, uint64_t at_ns,
		    uint32_t skip, uint32_t count, bool has_gap,
		    void (*arrive)(struct fabric *fabric, struct event *event))
{
	struct event *event = nic_event(fabric, at_ns, arrive);

	event->flight = *flight;
	event->flight.psn = psn_add(flight->psn, skip);
	event->flight.first = flight->first + skip;
	event->flight.count = count;
	event->flight.has_gap = has_gap;
	if (flight->wire_packets == flight->count) {
		event->flight.wire_packets = count;
		event->flight.bytes =
			(uint32_t)((uint64_t)flight->bytes * count / flight->wire_packets);
	}
	if (flight->payload != NULL) {
		size_t size = sizeof(*flight->payload) + flight->payload->bytes;
		event->flight.payload = nic_alloc(1, size);
		memcpy(event->flight.payload, flight->payload, size);
	}
}

static void deliver_all(struct fabric *fabric, const struct flight *flight, struct link_state *link,
			uint64_t at_ns, void (*arrive)(struct fabric *fabric, struct event *event))
{
	struct outcome outcome;
	uint32_t packets = flight->wire_packets;
	/* a read request is one packet that stands for many numbers */
	bool is_whole = packets != flight->count;

	draw_outcome(fabric, link, flight, &outcome);
	uint32_t delivered = outcome.delivered;
	if (is_whole) {
		delivered = delivered > 0 ? flight->count : 0;
	}

	flight->from->counters.tx_lost += outcome.lost;
	flight->to->counters.rx_corrupt += outcome.corrupt;
	if (delivered > 0 || outcome.has_gap) {
		deliver(fabric, flight, at_ns, 0, delivered, outcome.has_gap, arrive);
	}
	if (outcome.duplicates > 0) {
		deliver(fabric, flight, at_ns, 0, delivered, false, arrive);
	}
	if (outcome.has_late) {
		deliver(fabric, flight, at_ns + link->config.reorder_ns, outcome.late,
			is_whole ? flight->count : 1, false, arrive);
	}
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t arrival_ns(struct fabric *fabric, struct link_state *link, uint64_t left_ns)
{
	uint64_t at_ns = left_ns + link->config.latency_ns;

	if (link->config.jitter_ns > 0) {
		at_ns += nic_random(fabric) % (link->config.jitter_ns + 1);
	}
	at_ns = later(at_ns, link->last_arrival_ns);
	link->last_arrival_ns = at_ns;
	return at_ns;
}

uint64_t wire_send(struct fabric *fabric, const struct flight *flight,
		   void (*arrive)(struct fabric *fabric, struct event *event))
{
	struct fabric_device *from = flight->from;
	struct fabric_device *to = flight->to;
	uint32_t packets = flight->wire_packets;
	uint64_t start_ns = later(fabric->now_ns, from->tx_free_ns);

	uint64_t wire_bytes = flight->bytes + (uint64_t)packets * WIRE_GAP_BYTES;
	uint64_t left_ns = start_ns + later(serial_ns(wire_bytes, from->config.rate_bps),
					    from->config.message_ns);
	from->tx_free_ns = left_ns;
	from->counters.tx_packets += packets;
	from->counters.tx_bytes += flight->bytes;
	if (!is_reachable(from, to)) {
		from->counters.tx_lost += packets;
		return left_ns;
	}

	struct link_state *link = link_state(fabric, from, to);
	uint64_t out_ns = left_ns;
	if (link->config.rate_bps > 0) {
		out_ns = later(left_ns, later(start_ns, link->free_ns) +
						serial_ns(wire_bytes, link->config.rate_bps));
		link->free_ns = out_ns;
	}
	uint64_t at_ns = arrival_ns(fabric, link, out_ns);
	at_ns = later(at_ns, to->rx_free_ns + serial_ns(wire_bytes, to->config.rate_bps));
	to->rx_free_ns = at_ns;
	link->last_arrival_ns = at_ns;
	deliver_all(fabric, flight, link, at_ns, arrive);
	return left_ns;
}

void wire_send_control(struct fabric *fabric, const struct flight *flight,
		       void (*arrive)(struct fabric *fabric, struct event *event))
{
	struct fabric_device *from = flight->from;
	struct fabric_device *to = flight->to;

	from->counters.tx_packets++;
	from->counters.tx_bytes += flight->bytes;
	if (!is_reachable(from, to)) {
		from->counters.tx_lost++;
		return;
	}

	struct link_state *link = link_state(fabric, from, to);
	uint64_t left_ns =
		fabric->now_ns + serial_ns(flight->bytes + WIRE_GAP_BYTES, from->config.rate_bps);
	deliver_all(fabric, flight, link, arrival_ns(fabric, link, left_ns), arrive);
}

bool wire_arrived(const struct flight *flight)
{
	struct fabric_counters *counters = &flight->to->counters;

	if (!is_reachable(flight->to, flight->to)) {
		return false;
	}
	counters->rx_packets += flight->wire_packets;
	counters->rx_bytes += flight->bytes;
	return true;
}

/* --- turns at the port --- */

static bool has_work(const struct fake_qp *qp)
{
	return responder_has_work(qp) || requester_has_work(qp);
}

static void run_port(struct fabric *fabric, struct fabric_device *device);

static void port_is_free(struct fabric *fabric, struct event *event)
{
	event->flight.from->has_port_event = false;
	run_port(fabric, event->flight.from);
}

static void run_port(struct fabric *fabric, struct fabric_device *device)
{
	while (!list_is_empty(&device->ready)) {
		if (device->tx_free_ns > fabric->now_ns) {
			if (!device->has_port_event) {
				device->has_port_event = true;
				nic_event(fabric, device->tx_free_ns, port_is_free)->flight.from =
					device;
			}
			return;
		}
		struct fake_qp *qp = list_first(&device->ready, struct fake_qp, ready);
		list_remove(&qp->ready);
		bool has_request = requester_has_work(qp);
		if (responder_has_work(qp) && !(has_request && qp->has_answered)) {
			qp->has_answered = true;
			responder_send(qp);
		} else if (has_request) {
			qp->has_answered = false;
			requester_send(qp);
		}
		if (has_work(qp)) {
			list_append(&device->ready, &qp->ready);
		}
	}
}

void wire_kick(struct fake_qp *qp)
{
	struct fabric_device *device = qp->device;

	if (device->is_removed || !list_is_empty(&qp->ready) || !has_work(qp)) {
		return;
	}
	bool was_empty = list_is_empty(&device->ready);
	list_append(&device->ready, &qp->ready);
	if (was_empty) {
		run_port(device->fabric, device);
	}
}
