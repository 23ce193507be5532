// SPDX-License-Identifier: MIT
#include "judge/diagnose_path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "judge/driver.h"
#include "judge/port_evidence.h"
#include "util/units.h"

#define VLANS_SIZE (4 * LIMIT_NAME + 100)
#define NEIGHBOUR_SIZE (4 * LIMIT_NAME + 100)

struct view {
	const struct failure *failure;
	const struct measurement *measurement;
	struct findings *findings;
	const char *evidence;
};

const char *diagnose_path_name(const struct measurement *m, char *buf, size_t size)
{
	if (!m) {
		return "the run";
	}
	snprintf(buf, size, "%s/%s to %s/%s", m->initiator.endpoint.node,
		 m->initiator.endpoint.device, m->responder.endpoint.node,
		 m->responder.endpoint.device);
	return buf;
}

static const char *node_of(const struct view *view)
{
	return view->failure->node[0] ? view->failure->node : "this node";
}

static bool is_errno(const struct view *view, int number)
{
	return view->failure->error.kind == ERROR_KIND_ERRNO &&
	       view->failure->error.number == number;
}

/* What a neighbour that does not answer is asked through; "" where no VLAN has a share in it. */
static const char *write_vlans(const struct measurement *m, char *ret, size_t size)
{
	const struct gid_entry *from =
		m ? inventory_gid(&m->initiator.port, m->initiator.endpoint.gid_index) : NULL;
	const struct gid_entry *to =
		m ? inventory_gid(&m->responder.port, m->responder.endpoint.gid_index) : NULL;
	char words[2][32] = { "no VLAN", "no VLAN" };

	ret[0] = '\0';
	if (!from || !to || (!from->vlan && !to->vlan)) {
		return ret;
	}
	if (from->vlan) {
		snprintf(words[0], sizeof(words[0]), "VLAN %" PRIu64, from->vlan);
	}
	if (to->vlan) {
		snprintf(words[1], sizeof(words[1]), "VLAN %" PRIu64, to->vlan);
	}
	if (from->vlan == to->vlan) {
		snprintf(ret, size, ", which both have in %s (%s, %s)", words[0], from->netdev,
			 to->netdev);
	} else {
		snprintf(ret, size, ": %s is in %s (%s), %s in %s (%s)", m->initiator.endpoint.node,
			 words[0], from->netdev, m->responder.endpoint.node, words[1], to->netdev);
	}
	return ret;
}

/* Where both ends post, either may have failed first. */
static bool is_responders(const struct failure *failure, const struct measurement *m)
{
	return strcmp(failure->node, m->responder.endpoint.node) == 0 &&
	       (strcmp(m->initiator.endpoint.node, m->responder.endpoint.node) != 0 ||
		strcmp(failure->device, m->responder.endpoint.device) == 0);
}

/* The address that was asked for, of whom, and through which interface. */
static const char *write_neighbour(const struct view *view, char *ret, size_t size)
{
	const struct measurement *m = view->measurement;
	const struct participant *asker, *other;
	const struct gid_entry *through, *address;
	char path[DIAGNOSE_PATH_SIZE];

	if (m) {
		asker = is_responders(view->failure, m) ? &m->responder : &m->initiator;
		other = asker == &m->initiator ? &m->responder : &m->initiator;
		through = inventory_gid(&asker->port, asker->endpoint.gid_index);
		address = inventory_gid(&other->port, other->endpoint.gid_index);
		if (through && through->netdev[0] && address && address->gid[0]) {
			snprintf(ret, size, "%s of %s/%s through %s", address->gid,
				 other->endpoint.node, other->endpoint.device, through->netdev);
			return ret;
		}
	}
	snprintf(ret, size, "the address of the other end of %s",
		 diagnose_path_name(m, path, sizeof(path)));
	return ret;
}

static bool find_unresolved(const struct view *view)
{
	bool is_silent = is_errno(view, ETIMEDOUT) || is_errno(view, EHOSTUNREACH) ||
			 is_errno(view, ENETUNREACH) || is_errno(view, EHOSTDOWN);
	char path[DIAGNOSE_PATH_SIZE];
	char vlans[VLANS_SIZE];
	char neighbour[NEIGHBOUR_SIZE];

	if (view->failure->error.stage == STAGE_RESOLVE) {
		finding_add(view->findings, FINDING_PATH_UNRESOLVED, CONFIDENCE_CERTAIN,
			    view->evidence, "no addresses for %s: %s",
			    diagnose_path_name(view->measurement, path, sizeof(path)),
			    view->failure->error.text);
		return true;
	}
	if (view->failure->error.stage == STAGE_MODIFY_QP &&
	    (is_errno(view, ENODEV) || is_errno(view, ENODATA))) {
		finding_add(view->findings, FINDING_PATH_UNRESOLVED, CONFIDENCE_LIKELY,
			    view->evidence, "no network interface is behind the GID of %s any more",
			    node_of(view));
		return true;
	}
	if (view->failure->error.stage != STAGE_MODIFY_QP || !is_silent) {
		return false;
	}
	finding_add(view->findings, FINDING_PATH_UNRESOLVED, CONFIDENCE_LIKELY, view->evidence,
		    "%s got no answer for %s%s", node_of(view),
		    write_neighbour(view, neighbour, sizeof(neighbour)),
		    write_vlans(view->measurement, vlans, sizeof(vlans)));
	return true;
}

static const char *driver_of(const struct view *view)
{
	const struct measurement *m = view->measurement;

	if (!m) {
		return "";
	}
	return is_responders(view->failure, m) ? m->responder.port.driver
					       : m->initiator.port.driver;
}

static bool may_mean(const struct view *view, enum driver_meaning meaning)
{
	return view->failure->error.kind == ERROR_KIND_WC_STATUS &&
	       driver_may_mean(driver_of(view), view->failure->error.number, meaning);
}

/* Nothing came back for a request. */
static bool is_silence(const struct view *view)
{
	return may_mean(view, DRIVER_SILENCE);
}

/* Payload of the largest packet of a message. */
static uint64_t packet_bytes(const struct measurement *m, uint64_t size_bytes)
{
	uint64_t mtu = m->assignment.workload.qp.path_mtu;

	return mtu == 0 || mtu == SCHEMA_AUTO || size_bytes < mtu ? size_bytes : mtu;
}

/* What got through was smaller than what did not: the path works, up to a size. */
static bool find_size_threshold(const struct view *view)
{
	const struct failure *failure = view->failure;
	const struct measurement *m = view->measurement;
	const struct endpoint *from, *to;
	char passed[UNITS_SIZE], lost[UNITS_SIZE];
	bool is_fetched, is_backward;

	/* Without the other daemon's totals it may as well have died at that moment. */
	if (!is_silence(view) || !m || !m->responder.has_totals ||
	    failure->size_bytes == FAILURE_UNKNOWN || failure->completed_bytes == FAILURE_UNKNOWN ||
	    packet_bytes(m, failure->completed_bytes) >= packet_bytes(m, failure->size_bytes)) {
		return false;
	}
	/* The payload of a read comes from the other end of who asked for it. */
	is_fetched = operation_traits(failure->operation) & OPERATION_FETCHES;
	is_backward = is_responders(failure, m) != is_fetched;
	from = is_backward ? &m->responder.endpoint : &m->initiator.endpoint;
	to = is_backward ? &m->initiator.endpoint : &m->responder.endpoint;
	finding_add(view->findings, FINDING_SIZE_THRESHOLD, CONFIDENCE_LIKELY, view->evidence,
		    "packets of up to %s get through from %s/%s to %s/%s, and those of %s do not",
		    units_write_size(packet_bytes(m, failure->completed_bytes), passed), from->node,
		    from->device, to->node, to->device,
		    units_write_size(packet_bytes(m, failure->size_bytes), lost));
	return true;
}

static bool find_lost(const struct view *view)
{
	bool has_heard_both = view->measurement && view->measurement->responder.has_totals;
	bool is_untold;
	char path[DIAGNOSE_PATH_SIZE];

	if (!is_silence(view)) {
		return false;
	}
	is_untold = may_mean(view, DRIVER_UNTOLD);
	/* Both daemons were heard to the end: then it is not that one of them died. */
	finding_add(
		view->findings, FINDING_PATH_LOST,
		has_heard_both && !is_untold ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY,
		view->evidence,
		"packets do not get through from %s: retries were used up without an acknowledgement",
		diagnose_path_name(view->measurement, path, sizeof(path)));
	if (is_untold) {
		finding_doubt(view->findings, FINDING_PATH_LOST,
			      "this driver has the same status for receives that were missing, and "
			      "for a device that failed");
	}
	if (!has_heard_both) {
		finding_doubt(view->findings, FINDING_PATH_LOST,
			      "the other end sent no totals: it may not have been there to answer");
	} else {
		port_evidence_doubt_path(view->measurement, view->findings);
	}
	return true;
}

bool diagnose_path(const struct failure *failure, const struct measurement *measurement,
		   const char *evidence, struct findings *findings)
{
	struct view view = { failure, measurement, findings, evidence };

	return find_unresolved(&view) || find_size_threshold(&view) || find_lost(&view);
}
