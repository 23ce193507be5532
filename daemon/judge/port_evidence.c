// SPDX-License-Identifier: MIT
#include "judge/port_evidence.h"

#include <inttypes.h>
#include <stdio.h>

#include "judge/driver.h"
#include "model/counter.h"
#include "util/memory.h"
#include "util/text.h"

/* Above this many packets for one of ours the port has other users. */
#define SHARED_RATIO 1.02
/* And at both ends above this it surely has. */
#define CLEAR_RATIO 1.5
/* Below both of these, a retransmission is an accident: a host that paused for longer than the
 * acknowledgement timer causes a few. */
#define FEW_RETRANSMISSIONS 10
#define RARE_RETRANSMISSIONS 1e-4
#define FALLBACK_MTU_BYTES 1024u
/* The most that RoCE v2 has around the payload of a packet: Ethernet with VLAN, IPv6, UDP, and the
 * headers of InfiniBand's transport. */
#define HEADER_BYTES 110
/* A port's bytes may be those of its network device, with what this daemon itself and people send.
 */
#define OTHER_BYTES 1048576.0
/* Of a packet of verified payload: itself, what says that it is there, and the answer to that. */
#define VERIFIED_PACKETS 3

static bool is_known(const struct participant *end, enum counter counter)
{
	return end->has_totals && end->totals.has_counters &&
	       end->totals.counters.values[counter].state == COUNTER_READ;
}

static uint64_t value_of(const struct participant *end, enum counter counter)
{
	return is_known(end, counter) ? end->totals.counters.values[counter].value : 0;
}

static double packets_of(const struct measurement *m, uint64_t size_bytes)
{
	uint64_t mtu = m->assignment.workload.qp.path_mtu;

	mtu = mtu == 0 || mtu == SCHEMA_AUTO ? FALLBACK_MTU_BYTES : mtu;
	return size_bytes == 0 ? 1 : (double)((size_bytes + mtu - 1) / mtu);
}

/* What an end sent, or can have sent. */
struct volume {
	double packets;
	double payload_bytes;
};

/*
 * The most that this traffic, from its first post on, can have made an end send without any
 * retransmission. Sizes and kinds are mixed after the window as they were in it.
 */
static struct volume most_sent_of(const struct measurement *m, const struct totals *totals,
				  bool is_initiator)
{
	const struct workload_settings *workload = &m->assignment.workload.workload;
	bool is_answered = workload_is_answered(&m->assignment.workload);
	double packets = 0, bytes = 0, completed = 0;

	for (size_t i = 0; i < totals->class_count; i++) {
		const struct class_totals *class = &totals->classes[i];
		uint64_t size_bytes = class->class.size_bytes;
		double payload = packets_of(m, size_bytes);
		bool is_fetched = operation_traits(class->class.kind) & OPERATION_FETCHES;
		double sent = is_fetched == is_initiator ? 1 : payload;
		double size = is_fetched == is_initiator ? 0 : (double)size_bytes;

		/* A responder acknowledges at most every packet; where it answers both do, and both
		 * send. */
		if (!is_fetched && is_answered) {
			uint64_t response_bytes = operation_response_bytes(
				workload->ops, workload->op_count, class->class.kind, size_bytes);

			sent = payload + packets_of(m, response_bytes);
			size = (double)(is_initiator ? size_bytes : response_bytes);
		} else if (!is_fetched && !is_initiator) {
			sent = payload;
			size = 0;
		}
		packets += sent * (double)class->completed;
		bytes += size * (double)class->completed;
		completed += (double)class->completed;
	}
	if (completed <= 0) {
		return (struct volume){ 0 };
	}

	double scale = (double)totals->traffic_operations / completed;

	return (struct volume){ packets * scale, bytes * scale };
}

/* With direction: both each end asks, and answers what the other one asks. */
static struct volume most_sent(const struct measurement *m, bool is_initiator)
{
	struct volume most = most_sent_of(m, &m->initiator.totals, is_initiator);

	if (run_is_mutual(m)) {
		struct volume more = most_sent_of(m, &m->responder.totals, !is_initiator);

		most.packets += more.packets;
		most.payload_bytes += more.payload_bytes;
	}
	if (workload_is_verified(&m->assignment.workload)) {
		most.packets *= VERIFIED_PACKETS;
	}
	return most;
}

/* Each retransmission may send all again that was under way, and have it acknowledged once more. */
static struct volume most_resent(const struct measurement *m)
{
	const struct totals *totals = &m->initiator.totals;
	uint64_t size_bytes =
		totals->traffic_operations ? totals->traffic_bytes / totals->traffic_operations : 0;
	double messages = (double)(value_of(&m->initiator, COUNTER_RETRANSMISSIONS) +
				   value_of(&m->responder, COUNTER_RETRANSMISSIONS)) *
			  (double)m->assignment.workload.workload.load.outstanding;

	return (struct volume){ messages * packets_of(m, size_bytes),
				messages * (double)size_bytes };
}

/* The counter that tells what a port sent: packets, or, where a driver has none, bytes. */
static enum counter sent_counter(const struct participant *end)
{
	return is_known(end, COUNTER_SENT_PACKETS) ? COUNTER_SENT_PACKETS : COUNTER_SENT_BYTES;
}

static double in_units_of(enum counter counter, struct volume volume)
{
	return counter == COUNTER_SENT_PACKETS
		       ? volume.packets
		       : volume.payload_bytes + HEADER_BYTES * volume.packets;
}

static bool is_shared(const struct measurement *m, const struct participant *end, double *ret_ratio)
{
	enum counter counter = sent_counter(end);
	double most = in_units_of(counter, most_sent(m, end == &m->initiator));
	double resent = in_units_of(counter, most_resent(m));
	double sent = (double)value_of(end, counter);

	if (!is_known(end, counter) || most <= 0) {
		return false;
	}
	*ret_ratio = sent / most;
	return sent >
	       SHARED_RATIO * most + resent + (counter == COUNTER_SENT_BYTES ? OTHER_BYTES : 0);
}

/* So many packets more that it is no matter of counting. */
static bool is_clear(const struct measurement *m, const struct participant *end)
{
	return is_known(end, COUNTER_SENT_PACKETS) &&
	       (double)value_of(end, COUNTER_SENT_PACKETS) >=
		       CLEAR_RATIO * most_sent(m, end == &m->initiator).packets +
			       most_resent(m).packets;
}

/* Bytes of a network device that has not even half of our payload are without those of RDMA; of an
 * end that sends none they tell nothing. */
static bool is_sent_known(const struct measurement *m, const struct participant *end)
{
	double payload_bytes = most_sent(m, end == &m->initiator).payload_bytes;

	return is_known(end, COUNTER_SENT_PACKETS) ||
	       (is_known(end, COUNTER_SENT_BYTES) && payload_bytes > 0 &&
		2 * (double)value_of(end, COUNTER_SENT_BYTES) >= payload_bytes);
}

/* Whether an end that counts retransmissions does not tell whose they may be. */
static bool is_alone_unknown(const struct measurement *m)
{
	const struct participant *const ends[] = { &m->initiator, &m->responder };

	for (size_t i = 0; i < 2; i++) {
		if (value_of(ends[i], COUNTER_RETRANSMISSIONS) > 0 && !is_sent_known(m, ends[i]) &&
		    !(ends[i]->port_use.is_told && ends[i]->port_use.state == PORT_USE_IDLE)) {
			return true;
		}
	}
	return false;
}

/* Who was told to be on the port when the run began, while it was let begin all the same. */
static const char *others_on(const struct participant *end)
{
	const struct port_use_note *note = &end->port_use;

	return note->is_told && note->state == PORT_USE_BUSY ? note->text : NULL;
}

static bool find_shared(struct measurement *m)
{
	const struct participant *const ends[] = { &m->initiator, &m->responder };
	const struct participant *shared = NULL;
	bool has_excess = false, has_others = false;
	size_t clear = 0; /* ends where the excess is no matter of counting */
	_cleanup_text_ struct text evidence = TEXT_INIT;

	for (size_t i = 0; i < 2; i++) {
		const char *others = others_on(ends[i]);
		double ratio = 0;

		if (is_shared(m, ends[i], &ratio)) {
			enum counter counter = sent_counter(ends[i]);

			text_format(&evidence,
				    "%s%s sent %" PRIu64
				    " %s, %.3g times what this run can have sent",
				    evidence.length > 0 ? "; " : "", ends[i]->endpoint.device,
				    value_of(ends[i], counter),
				    counter == COUNTER_SENT_PACKETS ? "packets" : "bytes", ratio);
			has_excess = true;
			clear += is_clear(m, ends[i]);
			shared = shared ? shared : ends[i];
		}
		if (others != NULL) {
			text_format(&evidence, "%son %s when the run began: %s",
				    evidence.length > 0 ? "; " : "", ends[i]->endpoint.device,
				    others);
			has_others = true;
			shared = shared ? shared : ends[i];
		}
	}
	if (!shared) {
		return false;
	}
	finding_add(&m->findings, FINDING_PORT_SHARED,
		    (has_excess && has_others) || clear == 2 ? CONFIDENCE_LIKELY
							     : CONFIDENCE_POSSIBLE,
		    evidence.data, "%s/%s carried traffic of others meanwhile",
		    shared->endpoint.node, shared->endpoint.device);
	return true;
}

/* Retransmissions of `end` for which something was lost, as far as can be told. */
static uint64_t losses_of(const struct participant *end, const struct participant *other)
{
	uint64_t resent = value_of(end, COUNTER_RETRANSMISSIONS);
	uint64_t duplicates = value_of(other, COUNTER_DUPLICATE_REQUESTS);
	uint64_t gaps = value_of(other, COUNTER_OUT_OF_SEQUENCE);

	if (!driver_resends_without_loss(end->port.driver)) {
		return resent;
	}
	resent = resent > duplicates ? resent - duplicates : 0;
	return gaps > resent ? gaps : resent;
}

static void find_retransmissions(struct measurement *m, enum confidence most, const char *doubt)
{
	uint64_t ours = value_of(&m->initiator, COUNTER_RETRANSMISSIONS);
	uint64_t theirs = value_of(&m->responder, COUNTER_RETRANSMISSIONS);
	uint64_t losses =
		losses_of(&m->initiator, &m->responder) + losses_of(&m->responder, &m->initiator);
	double packets = most_sent(m, true).packets + most_sent(m, false).packets;
	double share = packets > 0 ? (double)losses / packets : 1;
	bool is_rare = losses < FEW_RETRANSMISSIONS || share < RARE_RETRANSMISSIONS;
	char evidence[LIMIT_TEXT];

	/* What a driver sends again without a loss is nobody's trouble: the counters have it. */
	if (ours + theirs == 0 || losses == 0) {
		return;
	}
	snprintf(evidence, sizeof(evidence),
		 "retransmissions: %s/%s %" PRIu64 ", %s/%s %" PRIu64
		 "; requests out of sequence: %" PRIu64 ", duplicate: %" PRIu64
		 "; lost: about %" PRIu64 " of %.0f packets",
		 m->initiator.endpoint.node, m->initiator.endpoint.device, ours,
		 m->responder.endpoint.node, m->responder.endpoint.device, theirs,
		 value_of(&m->initiator, COUNTER_OUT_OF_SEQUENCE) +
			 value_of(&m->responder, COUNTER_OUT_OF_SEQUENCE),
		 value_of(&m->initiator, COUNTER_DUPLICATE_REQUESTS) +
			 value_of(&m->responder, COUNTER_DUPLICATE_REQUESTS),
		 losses, packets);
	finding_add(&m->findings, FINDING_RETRANSMISSIONS, is_rare ? CONFIDENCE_POSSIBLE : most,
		    evidence, "packets between %s/%s and %s/%s had to be sent again",
		    m->initiator.endpoint.node, m->initiator.endpoint.device,
		    m->responder.endpoint.node, m->responder.endpoint.device);
	if (doubt) {
		finding_doubt(&m->findings, FINDING_RETRANSMISSIONS, "%s", doubt);
	}
	if (losses < ours + theirs) {
		finding_doubt(
			&m->findings, FINDING_RETRANSMISSIONS,
			"this driver sends again without a loss when it is busy, and what came twice was not lost");
	}
}

static void find_damage(struct measurement *m, const struct participant *end, enum confidence most,
			const char *doubt)
{
	char evidence[LIMIT_TEXT];
	uint64_t link = value_of(end, COUNTER_LINK_ERRORS);
	uint64_t recovered = value_of(end, COUNTER_LINK_RECOVERIES);
	uint64_t downed = value_of(end, COUNTER_LINK_DOWNED);
	uint64_t icrc = value_of(end, COUNTER_ICRC_ERRORS);

	if (icrc > 0) {
		snprintf(evidence, sizeof(evidence), "icrc_errors +%" PRIu64, icrc);
		finding_add(&m->findings, FINDING_ICRC_ERRORS, most, evidence,
			    "%s/%s dropped damaged packets", end->endpoint.node,
			    end->endpoint.device);
		if (doubt) {
			finding_doubt(&m->findings, FINDING_ICRC_ERRORS, "%s", doubt);
		}
	}
	/* What a link does is nobody's traffic: others on the port make it no less certain. */
	if (link + recovered + downed > 0) {
		snprintf(evidence, sizeof(evidence),
			 "link_errors +%" PRIu64 ", link_recoveries +%" PRIu64
			 ", link_downed +%" PRIu64,
			 link, recovered, downed);
		finding_add(&m->findings, FINDING_LINK_ERRORS, CONFIDENCE_LIKELY, evidence,
			    "the link of %s/%s had errors meanwhile", end->endpoint.node,
			    end->endpoint.device);
	}
}

void port_evidence_find(struct measurement *m)
{
	/* What an error left half done is not told apart from what others sent. */
	bool is_whole = !error_is_set(&m->first_error.error);
	bool is_shared = is_whole && find_shared(m);
	bool is_starved = finding_has(&m->findings, FINDING_HOST_STARVED, CONFIDENCE_LIKELY);
	bool is_unknown = is_alone_unknown(m);
	enum confidence most = is_shared || is_starved || is_unknown ? CONFIDENCE_POSSIBLE
								     : CONFIDENCE_LIKELY;
	const char *doubt =
		is_shared    ? "the port carried traffic of others, which may have caused it"
		: is_starved ? "the host was short of CPU, so that the tester may have caused it"
		: is_unknown ? "the port tells neither packets nor bytes that it sent, so that it "
			       "may have carried traffic of others"
			     : NULL;

	if (is_whole) {
		find_retransmissions(m, most, doubt);
	}
	find_damage(m, &m->initiator, most, doubt);
	find_damage(m, &m->responder, most, doubt);
}

bool port_evidence_is_degraded(const struct measurement *measurement)
{
	const struct findings *findings = &measurement->findings;

	return finding_has(findings, FINDING_RETRANSMISSIONS, CONFIDENCE_LIKELY) ||
	       finding_has(findings, FINDING_ICRC_ERRORS, CONFIDENCE_LIKELY) ||
	       finding_has(findings, FINDING_LINK_ERRORS, CONFIDENCE_LIKELY) ||
	       finding_has(findings, FINDING_LINK_SLOWER, CONFIDENCE_LIKELY) ||
	       finding_has(findings, FINDING_PORT_DOWN, CONFIDENCE_LIKELY);
}

void port_evidence_path(const struct measurement *m, char *out, size_t size)
{
	out[0] = '\0';
	if (is_known(&m->initiator, COUNTER_SENT_PACKETS) &&
	    is_known(&m->responder, COUNTER_RECEIVED_PACKETS)) {
		snprintf(out, size,
			 "%s/%s sent %" PRIu64 " packets and received %" PRIu64
			 ", %s/%s received %" PRIu64 " and sent %" PRIu64,
			 m->initiator.endpoint.node, m->initiator.endpoint.device,
			 value_of(&m->initiator, COUNTER_SENT_PACKETS),
			 value_of(&m->initiator, COUNTER_RECEIVED_PACKETS),
			 m->responder.endpoint.node, m->responder.endpoint.device,
			 value_of(&m->responder, COUNTER_RECEIVED_PACKETS),
			 value_of(&m->responder, COUNTER_SENT_PACKETS));
	}
}

/*
 * A request that is given up was sent once and again retry_cnt times: if fewer packets than that
 * are missing at the other end, it was not for want of arriving.
 */
static bool has_arrived(const struct measurement *m, const struct participant *from,
			const struct participant *to)
{
	uint64_t sent = value_of(from, COUNTER_SENT_PACKETS);
	uint64_t received = value_of(to, COUNTER_RECEIVED_PACKETS);
	uint64_t tries = m->assignment.workload.qp.retry_cnt + 1;

	return is_known(from, COUNTER_SENT_PACKETS) && is_known(to, COUNTER_RECEIVED_PACKETS) &&
	       sent > 0 && (received >= sent || sent - received < tries);
}

void port_evidence_doubt_path(const struct measurement *m, struct findings *findings)
{
	if (!has_arrived(m, &m->initiator, &m->responder)) {
		return;
	}
	finding_doubt(findings, FINDING_PATH_LOST,
		      "%s/%s counted %" PRIu64 " packets as received, of %" PRIu64
		      " that %s/%s sent: requests did arrive",
		      m->responder.endpoint.node, m->responder.endpoint.device,
		      value_of(&m->responder, COUNTER_RECEIVED_PACKETS),
		      value_of(&m->initiator, COUNTER_SENT_PACKETS), m->initiator.endpoint.node,
		      m->initiator.endpoint.device);
	if (has_arrived(m, &m->responder, &m->initiator)) {
		finding_doubt(findings, FINDING_PATH_LOST,
			      "%s/%s counted %" PRIu64 " packets as received, of %" PRIu64
			      " that %s/%s sent: answers did arrive",
			      m->initiator.endpoint.node, m->initiator.endpoint.device,
			      value_of(&m->initiator, COUNTER_RECEIVED_PACKETS),
			      value_of(&m->responder, COUNTER_SENT_PACKETS),
			      m->responder.endpoint.node, m->responder.endpoint.device);
	}
}

static void add_pauses(const struct participant *end, struct text *out)
{
	static const struct {
		enum counter counter;
		const char *words;
	} rows[] = {
		{ COUNTER_PAUSES_RECEIVED, "was told to pause" },
		{ COUNTER_PAUSES_SENT, "told its switch to pause" },
		{ COUNTER_CNPS_HANDLED, "was told of congestion" },
		{ COUNTER_SEND_WAIT, "had no leave to send for ticks" },
		{ COUNTER_SEND_DISCARDS, "dropped packets before it sent them" },
		{ COUNTER_RECEIVE_DISCARDS, "dropped packets that came" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (value_of(end, rows[i].counter) > 0) {
			text_format(out, "%s%s/%s %s: +%" PRIu64, out->length ? "; " : "",
				    end->endpoint.node, end->endpoint.device, rows[i].words,
				    value_of(end, rows[i].counter));
		}
	}
}

void port_evidence_pauses(const struct measurement *m, char *out, size_t size)
{
	_cleanup_text_ struct text text = TEXT_INIT;

	add_pauses(&m->initiator, &text);
	add_pauses(&m->responder, &text);
	text_copy(out, size, text.length ? text.data : "");
}
