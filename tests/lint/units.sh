#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# systemd-analyze verify is silent about the units as they are installed below /usr, and finds what they run; the sandbox does
# not get looser than it was.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

STAGE=$(mktemp -d)
trap 'rm -rf "$STAGE"' EXIT
mkdir -p "$STAGE"/usr/{sbin,bin,lib/systemd/system}
for program in usr/sbin/rdmatestd usr/bin/rdmatestctl usr/bin/kill; do
  printf '#!/bin/sh\n' >"$STAGE/$program"
  chmod 755 "$STAGE/$program"
done
# what the units name of the rest of the system
for name in sysinit.target basic.target shutdown.target sockets.target multi-user.target network-online.target rdma-hw.target; do
  printf '[Unit]\nDescription=%s\n' "$name" >"$STAGE/usr/lib/systemd/system/$name"
done
printf '[Unit]\nDescription=modprobe\n[Service]\nType=oneshot\nExecStart=/usr/bin/kill\n' \
  >"$STAGE/usr/lib/systemd/system/modprobe@.service"
printf '[Slice]\n' | tee "$STAGE/usr/lib/systemd/system/system.slice" >"$STAGE/usr/lib/systemd/system/-.slice"

UNITS=()
for file in systemd/*.service.in systemd/*.socket systemd/*.socket.in; do
  [[ -e $file ]] || continue
  name=${file##*/} name=${name%.in}
  sed 's|@sbindir@|/usr/sbin|g; s|@bindir@|/usr/bin|g; s|@docdir@|/usr/share/doc/rdmatestd|g' "$file" \
    >"$STAGE/usr/lib/systemd/system/$name"
  if grep -n '@[a-z]*@' "$file" | grep -vE '@(sbindir|bindir|docdir)@' >/dev/null; then
    problem "$file:1: units: an unknown @word@ is left"
  fi
  UNITS+=("$name")
done
seen "${#UNITS[@]}"
if ((${#UNITS[@]})); then
  problems < <(systemd-analyze --root="$STAGE" verify "${UNITS[@]}" 2>&1 | sed 's/^/units: /')
  for name in "${UNITS[@]}"; do
    [[ $name == *.service ]] || continue
    problems < <(systemd-analyze security --offline=true --threshold=20 --no-pager \
      "$STAGE/usr/lib/systemd/system/$name" 2>&1 >/dev/null | sed "s/^/units: $name: /")
    systemd-analyze security --offline=true --threshold=20 --no-pager "$STAGE/usr/lib/systemd/system/$name" >/dev/null 2>&1 ||
      problem "units: $name: exposure is above 2.0 (systemd-analyze security --offline=true)"
  done
fi
finish
