// SPDX-License-Identifier: MIT
#pragma once

/*
 * Who may begin a TLS handshake with us, before anything is known of him but his address: a limit
 * for each source, one for all strangers, and one of their own for known nodes, so that strangers
 * cannot keep them out. A known node's source is its address; a stranger's the IPv4 address or the
 * /64 of the IPv6 one. Constant memory: of too many sources those that asked longest ago are
 * forgotten, the limit in sum is not. Loop thread.
 *
 * What the limits are for (measured: GnuTLS 3.7, 2.3 GHz Xeon, CPU time of the listening side, all
 * told): a connection that is closed unheard costs 5 us, one that ends at a wrong key 60 us, one
 * that becomes a session 0.5 ms, of which the key exchange takes 0.14. So strangers get at most 1.2
 * % of the time of the loop without the fleet key, 10 % with it.
 */

#include <stdbool.h>
#include <stdint.h>

#define GATE_PER_SECOND 20 /* of one source */
#define GATE_BURST 40
#define GATE_STRANGERS_PER_SECOND 200
#define GATE_STRANGERS_BURST 400
#define GATE_KNOWN_PER_SECOND 200
#define GATE_KNOWN_BURST 1024 /* a whole fleet that comes back at once */

struct gate;

struct gate_source {
	uint8_t bytes[16];
	bool is_known;
};

struct gate *gate_new(void);
void gate_free(struct gate *gate);
/* A node of ours lives at this numeric address, with or without port; other text is ignored. The
 * last 2,048 are remembered. */
void gate_know(struct gate *gate, const char *address, uint64_t now_mono_ns);
/* address: as net_accept tells it. What is no IP address is one source with all others of its kind.
 */
void gate_look(const struct gate *gate, const char *address, struct gate_source *ret);
bool gate_is_same(const struct gate_source *a, const struct gate_source *b);
/* False: over a limit. */
bool gate_admit(struct gate *gate, const struct gate_source *source, uint64_t now_mono_ns);
