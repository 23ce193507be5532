// SPDX-License-Identifier: MIT
#pragma once

/*
 * The MESSAGE_ID of each finding in the journal (systemd.journal-fields(7)): never changed, for
 * people's filters and the catalog (systemd/print_findings.c) have it. 28 drawn digits and the
 * four of the code.
 */

#define MESSAGE_ID_FORMAT "9d3fb1c86ae24f7b85c02e94d7a1%04u"
#define MESSAGE_ID_SIZE 33
