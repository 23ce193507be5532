// SPDX-License-Identifier: MIT
#pragma once

/*
 * What RDMA ports this host has, as an inventory tells it. Remembers from scan to scan: a device
 * whose facts in sysfs stay the same is not opened again (a context that is open keeps a device
 * from being removed), but once a minute, or when asked to.
 *
 * scan_run runs on one thread at a time and may block; scan_asks_about on the control thread.
 */

#include <stdbool.h>

#include "model/inventory.h"
#include "model/topology.h"
#include "util/error.h"

struct scan;

/* sys_root: "" or a directory with a fake /sys for tests; borrowed. */
struct scan *scan_new(const char *sys_root);
void scan_free(struct scan *scan);

/*
 * Fills the ports of *ret from all devices that `settings` selects (all ports that are active, or
 * were, in name order, when it lists none; those listed, in that order, also when they are not
 * active). A device that cannot be asked is left out and named in *err (first one), the others are
 * told all the same: 0 unless nothing could be listed at all. A configured device that is absent is
 * no error here, but ret->problem, with what is there instead. is_fresh: asks every device,
 * whatever sysfs says.
 */
int scan_run(struct scan *scan, const struct daemon_settings *settings, bool is_fresh,
	     struct inventory *ret, struct error *err);

/*
 * Scans to come leave these alone, and tell what was known of them: a call to them hangs. Replaces
 * the list before. Not while one runs.
 */
void scan_leave(struct scan *scan, char (*names)[LIMIT_NAME], size_t count);
/*
 * What an earlier scan told of a device, for one that is left alone from the beginning. Not while
 * one runs.
 */
void scan_remember(struct scan *scan, const char *name, const struct inventory *inventory);

/*
 * The running scan goes no further than the device that it is asking, which may hang: its owner
 * goes on with `next`, a new one, which has what this one knows of all others. False: it is at no
 * device, or just left it. Control thread; `next` must not run.
 */
bool scan_cut(struct scan *scan, struct scan *next);
/*
 * What `from` learnt of a device when it asked it last, in place of what `scan` knows. The next
 * scan tells that without asking again. Not while
 * either runs.
 */
void scan_adopt(struct scan *scan, const struct scan *from, const char *name);

/* Whether the last scan saw such a device at all, selected or not. Not while one runs. */
bool scan_is_present(const struct scan *scan, const char *name);

/*
 * The device that a running scan is asking, NULL when none: named when it hangs. (One that was cut:
 * the one that it was cut at.) Valid until the
 * next scan begins.
 */
const char *scan_asks_about(const struct scan *scan);
