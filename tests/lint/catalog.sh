#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The journal's catalog has each finding of the table, once, and journalctl takes it.
set -euo pipefail
TOP=$1 CATALOG=$2
rc=0
say() { echo "catalog.sh: $*"; rc=1; }

mapfile -t codes < <(sed -n 's/^FINDING(\([0-9]*\),.*/\1/p' "$TOP/daemon/model/findings.def")
((${#codes[@]} > 20)) || say "only ${#codes[@]} findings in the table"
ids=$(grep -c '^-- [0-9a-f]\{32\}$' "$CATALOG")
((ids == ${#codes[@]})) || say "$ids entries, ${#codes[@]} findings"
for code in "${codes[@]}"; do
  (($(grep -c "^Subject: RDT-0$code " "$CATALOG") == 1)) || say "RDT-0$code is not there once"
  (($(grep -c "^-- [0-9a-f]*0$code\$" "$CATALOG") == 1)) || say "RDT-0$code has not its MESSAGE_ID"
done
if command -v journalctl >/dev/null; then
  root=$(mktemp -d); trap 'rm -rf "$root"' EXIT
  mkdir -p "$root/usr/lib/systemd/catalog" "$root/var/lib/systemd/catalog"
  cp "$CATALOG" "$root/usr/lib/systemd/catalog/"
  said=$(journalctl --root="$root" --update-catalog 2>&1) || say "journalctl does not take it: $said"
  listed=$(journalctl --root="$root" --list-catalog 2>/dev/null | grep -c 'rdmatestd: RDT-') || :
  ((listed == ${#codes[@]})) || say "journalctl lists $listed of ${#codes[@]}"
fi
exit "$rc"
