#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The shell helpers that run daemons side by side (demo, lab): the end of a daemon is seen with its status however fast it
# comes, and neither a process that is gone nor a request that nobody answers ends the shell.
# shellcheck disable=SC2034  # read by the helpers
set -euo pipefail

NODES_DIR=$(mktemp -d)
trap 'rc=$?; ((rc == 0)) || echo "ended with status $rc in round ${round:-0}: $BASH_COMMAND" >&3; rm -rf "$NODES_DIR"' EXIT
exec 3>&2
fail() { printf '%s\n' "$*" >&3; exit 1; }

TOP=$1 BUILD=$NODES_DIR
# shellcheck source=tests/lab/nodes.bash
. "$TOP/tests/lab/nodes.bash"
NODE_STOP_SECONDS=60
printf '#!/bin/sh\nexit 78\n' >"$BUILD/rdmatestd"
chmod 755 "$BUILD/rdmatestd"
mkdir "$NODES_DIR/node1"

for ((round = 0; round < 100; round++)); do
  node_start 1
  # the shell reaps it now here, now there
  ((round % 2)) || node_nap "0.0$((round % 10))"
  node_wait 1
  [[ ${NODE_STATUS[1]} == 78 ]] || fail "round $round: status ${NODE_STATUS[1]}, not 78"
done

NODE_PID[1]=2147483647  # above any process number
! node_is_zombie 1 || fail "a process that is not there is a zombie"
! node_alive 1 || fail "a process that is not there is alive"
NODE_HTTP[1]=127.0.0.1:1
! node_get 1 /readyz || fail "a port where nobody listens answered"
