#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Each program with ever more file descriptors, from hardly any: it does its work, or ends with a sentence that names what is
# missing. Never by a signal.
set -euo pipefail

rdmatestd=$1 rdmatestctl=$2
dir=$(mktemp -d)
daemon=
trap '[[ ! $daemon ]] || kill -KILL "$daemon" 2>/dev/null || :; rm -rf "$dir"' EXIT

fail() { printf '%s\n' "$*" >&2; cat "$dir/out" >&2; exit 1; }

# Ended with a status of its own, and said why, unless all was well.
ended_well() {  # what, status
  (($2 < 128)) || fail "$1 ended by signal $(($2 - 128))"
  ! grep -qE 'Sanitizer|runtime error:' "$dir/out" || fail "$1: a sanitizer has spoken"
  (($2 == 0)) || grep -qE 'Too many open files|rdma' "$dir/out" || fail "$1 ended with status $2 and no reason"
}

(umask 077; od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n' >"$dir/key")
address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))
cat >"$dir/rdmatestd.yaml" <<END
version: 1
daemon:
  node_name: few
  listen: { address: $address }
  http: { listen: "$address:9879" }
  admin_socket: $dir/admin.sock
  key_file: $dir/key
END

refused=0 served=0
for count in {4..24} 32; do
  : >"$dir/out"
  (ulimit -n "$count"; exec "$rdmatestd" --config="$dir/rdmatestd.yaml") >"$dir/out" 2>&1 &
  daemon=$! status=0 end=$((SECONDS + 100))
  until grep -q 'node "few"' "$dir/out" || ! kill -0 "$daemon" 2>/dev/null; do
    ((SECONDS < end)) || fail "rdmatestd with $count descriptors neither starts nor ends"
    sleep 0.05
  done
  if kill -TERM "$daemon" 2>/dev/null && grep -q 'node "few"' "$dir/out"; then served=$((served + 1)); else refused=$((refused + 1)); fi
  wait "$daemon" || status=$?
  daemon=
  ended_well "rdmatestd with $count descriptors" "$status"
done
((refused > 0 && served > 0)) || fail "$refused starts were refused, $served served: this test shows nothing"

for count in {3..12}; do
  for command in "$rdmatestd --check --config=$dir/rdmatestd.yaml" "$rdmatestd --doctor" "$rdmatestctl --socket=$dir/none status" \
    "$rdmatestctl check $dir/rdmatestd.yaml"; do
    status=0
    # shellcheck disable=SC2086 # words
    (ulimit -n "$count"; exec $command) >"$dir/out" 2>&1 </dev/null || status=$?
    ended_well "$command with $count descriptors" "$status"
  done
done
