#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What one 64-byte write costs the CPU: perftest's ib_write_bw and rdmatestd, each between two processes of its own, both on the null
# device (nullverbs.h), so that only their own instructions differ. Latency is recorded by rdmatestd all the time.
#
#   instructions   callgrind's total of the initiator for two numbers of operations; their difference leaves out all but the loop
#   nanoseconds    what the program itself reports, the best of several rounds in turn
#   system calls   of rdmatestd's worker thread for two numbers of operations: they must be the same ones
#
# usage: tests/bench/cpu.sh [ROUNDS]      environment: BUILD (build), PORT (28600: eight ports from there on)
# Exit status 0: rdmatestd is at most perftest's in every line and its loop makes no system call; 1: it is not; 2: cannot be measured.
set -euo pipefail
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PROGRAMS=$(cd "${BUILD:-$TOP/build}" && pwd)
ROUNDS=${1:-5}
PORT=${PORT:-28600}
SIZE=64
FEW=200000 MANY=1200000 # counted operations: multiples of every interval below
NATIVE=20000000
WORK=$(mktemp -d)

# The two ways of posting: name, post_list, signal_interval, options of perftest
SHAPES=("post_list 1, a signal every 100|1|100|-Q 100" "post_list 16, a signal every 16|16|16|-l 16")

die() { printf 'bench cpu: %s\n' "$*" >&2; exit 2; }
cleanup() {
  local rc=$? pid
  trap - EXIT
  for pid in $(jobs -p); do kill "$pid" 2>/dev/null || :; done
  wait 2>/dev/null || :
  rm -rf "$WORK"
  exit "$rc"
}
trap cleanup EXIT

for tool in ib_write_bw valgrind strace jq curl awk; do
  command -v "$tool" >/dev/null || die "$tool is not installed; ./dev setup bench installs it"
done
NULLVERBS=$(find "$PROGRAMS/tests/bench" -maxdepth 1 -name 'libnullverbs*.so' 2>/dev/null | head -n 1)
[[ $NULLVERBS ]] || die "there is no null device in $PROGRAMS/tests/bench; ./dev build makes it"

# ---------------------------------------------------------------- perftest

# Waits until something listens on a port of this machine, without connecting to it.
listening() {  # port, pid
  local hex end=$((SECONDS + 60))
  hex=$(printf ':%04X ' "$1")
  until grep -qsE "$hex[0-9A-F:]+ 0A" /proc/net/tcp /proc/net/tcp6; do
    kill -0 "$2" 2>/dev/null || die "ib_write_bw ended before it listened on port $1"
    ((SECONDS < end)) || die "ib_write_bw does not listen on port $1"
    sleep 0.02
  done
}

# Runs both ends; what the client printed goes to $WORK/perftest, callgrind's words to $WORK/callgrind.
perftest() {  # operations, how the client is run (empty or valgrind..), options
  local operations=$1 under=$2 server; shift 2
  local -a command=(ib_write_bw -d null0 -x 0 -s "$SIZE" -n "$operations" -p "$((PORT + 4))" "$@")
  LD_PRELOAD=$NULLVERBS timeout 300 "${command[@]}" >/dev/null 2>&1 & server=$!
  listening "$((PORT + 4))" "$server"
  # shellcheck disable=SC2086 # words
  LD_PRELOAD=$NULLVERBS timeout 300 $under "${command[@]}" 127.0.0.1 >"$WORK/perftest" 2>&1 ||
    { cat "$WORK/perftest" >&2; die "ib_write_bw failed"; }
  wait "$server" || die "the server of ib_write_bw failed"
}

CALLGRIND="valgrind --tool=callgrind --callgrind-out-file=$WORK/callgrind.out --log-file=$WORK/callgrind"
collected() { awk '/Collected/ { print $4 }' "$WORK/callgrind"; }
per_operation() { awk -v few="$1" -v many="$2" -v n=$((MANY - FEW)) 'BEGIN { printf "%.1f", (many - few) / n }'; }

perftest_instructions() {  # options
  local few
  perftest "$FEW" "$CALLGRIND" "$@"; few=$(collected)
  perftest "$MANY" "$CALLGRIND" "$@"
  per_operation "$few" "$(collected)"
}

# The message rate is in millions a second.
perftest_ns() {  # options
  perftest "$NATIVE" "" "$@"
  awk -v size="$SIZE" '$1 == size && $5 > 0 { printf "%.3f\n", 1000 / $5; seen = 1 } END { exit !seen }' "$WORK/perftest" ||
    { cat "$WORK/perftest" >&2; die "ib_write_bw printed no message rate"; }
}

# ---------------------------------------------------------------- rdmatestd

NODES_DIR=$WORK/nodes
NODE_READY_SECONDS=120
NODE_STOP_SECONDS=120
# shellcheck source=tests/lab/nodes.bash
. "$TOP/tests/lab/nodes.bash"
# shellcheck disable=SC2034 # read by nodes.bash
{
  NODE_DEVICE=([1]=null0 [2]=null0)
  NODE_LISTEN=([1]="127.0.0.1:$PORT" [2]="127.0.0.1:$((PORT + 1))")
  NODE_HTTP=([1]="127.0.0.1:$((PORT + 2))" [2]="127.0.0.1:$((PORT + 3))")
}
# What nodes.bash starts: the daemon on the null device, below a program of our choice.
mkdir -p "$WORK/bin"
BUILD=$WORK/bin
ln -s "$PROGRAMS/rdmatestctl" "$BUILD/rdmatestctl"
cat >"$BUILD/rdmatestd" <<SCRIPT
#!/bin/sh
LD_PRELOAD="$NULLVERBS" exec \$UNDER "$PROGRAMS/rdmatestd" "\$@"
SCRIPT
chmod +x "$BUILD/rdmatestd"

scenario() {  # name, operations, post_list, signal_interval
  cat <<YAML
  - name: $1
    peers: { from: "name=node1", to: "name=node2" }
    qp: { gid_index: 0, path_mtu: 4096B, max_send_wr: 128, max_inline_data: 0 }
    workload:
      pattern: stream
      ops: [{ op: write, size: ${SIZE}B }]
      load: { model: closed, outstanding: 128 }
      post_list: $3
      signal_interval: $4
    run: { warmup: 0, iterations: $2, interval: 1h }
YAML
}

write_scenarios() {
  local shape name post_list signal_interval options
  printf 'version: 1\nscenarios:\n'
  for shape in "${SHAPES[@]}"; do
    IFS='|' read -r name post_list signal_interval options <<<"$shape"
    scenario "few-$post_list" "$FEW" "$post_list" "$signal_interval"
    scenario "many-$post_list" "$MANY" "$post_list" "$signal_interval"
    scenario "native-$post_list" "$NATIVE" "$post_list" "$signal_interval"
  done
}
write_scenarios >"$WORK/cpu.yaml"

daemons_up() {  # how node1 is run
  local n
  for n in 1 2; do node_write "$n" "$WORK/cpu.yaml"; done
  UNDER='' node_start 2
  UNDER=$1 node_start 1
  for n in 1 2; do node_ready "$n" || die "the daemons do not start on the null device"; done
}
daemons_down() { nodes_down || die "a daemon did not end well"; }

run() {  # scenario -> its record in $WORK/record
  local end=$((SECONDS + 60))
  # A daemon is ready before its peer is up.
  until [[ $(http 1 /v1/peers | jq -r '[.. | .state? // empty] | index("up") // empty') ]]; do
    ((SECONDS < end)) || die "node2 does not get up in the eyes of node1"
    sleep 0.1
  done
  timeout 300 "$BUILD/rdmatestctl" --socket="$NODES_DIR/node1/admin.sock" run "$1" --json >"$WORK/record" ||
    { cat "$WORK/record" >&2; die "the run $1 failed"; }
  jq -e '.measurements[0] | .errors == 0 and .operations > 0' "$WORK/record" >/dev/null || die "the run $1 did nothing"
}

instructions_of() {  # scenario
  daemons_up "$CALLGRIND"
  run "$1"
  daemons_down
  collected
}
rdmatestd_instructions() {  # post_list
  local few many
  few=$(instructions_of "few-$1")
  many=$(instructions_of "many-$1")
  per_operation "$few" "$many"
}
rdmatestd_ns() { run "native-$1" && jq -r '.measurements[0] | .window_ns / .operations' "$WORK/record"; }  # post_list

# System calls of the worker thread in one run, one a line, without their arguments.
worker_calls() {  # scenario
  local file
  rm -rf "$WORK/trace"; mkdir "$WORK/trace"
  daemons_up "strace -ff -qq -o $WORK/trace/t"
  run "$1"
  daemons_down
  file=$(grep -lE 'PR_SET_NAME, "worker' "$WORK"/trace/t.* | head -n 1)
  [[ $file ]] || die "strace saw no worker thread"
  sed -n 's/^\([a-z_0-9]*\)(.*/\1/p' "$file"
}

# ---------------------------------------------------------------- both

least() { sort -n | head -n 1; }
failed=0
row() {  # what, unit, theirs, ours
  awk -v what="$1" -v unit="$2" -v theirs="$3" -v ours="$4" 'BEGIN {
    is_kept = ours <= theirs
    printf "%-4s  %-32s  %-12s %9.2f %10.2f %7.2f\n", is_kept ? "pass" : "FAIL", what, unit, theirs, ours, ours / theirs
    exit !is_kept }' || failed=1
}

printf '64-byte writes on the null device, one queue pair, 128 outstanding; per write, the shim included\n\n'
printf '%-4s  %-32s  %-12s %9s %10s %7s\n' '' 'posting' 'cost' 'perftest' 'rdmatestd' 'ratio'
for shape in "${SHAPES[@]}"; do
  IFS='|' read -r name post_list signal_interval options <<<"$shape"
  # shellcheck disable=SC2086 # words
  theirs=$(perftest_instructions $options)
  row "$name" instructions "$theirs" "$(rdmatestd_instructions "$post_list")"
  daemons_up ''
  : >"$WORK/theirs"; : >"$WORK/ours"
  for ((round = 0; round < ROUNDS; round++)); do
    # shellcheck disable=SC2086 # words
    perftest_ns $options >>"$WORK/theirs"
    rdmatestd_ns "$post_list" >>"$WORK/ours"
  done
  daemons_down
  row "$name" nanoseconds "$(least <"$WORK/theirs")" "$(least <"$WORK/ours")"
done

worker_calls few-1 >"$WORK/calls.few"
worker_calls many-1 >"$WORK/calls.many"
few=$(wc -l <"$WORK/calls.few") many=$(wc -l <"$WORK/calls.many")
verdict=pass
((few == many)) || { verdict=FAIL; failed=1; }
printf '\n%-4s  system calls of the worker: %d for %d operations, %d for %d\n' "$verdict" "$few" "$FEW" "$many" "$MANY"
if ((few != many)); then diff <(sort "$WORK/calls.few" | uniq -c) <(sort "$WORK/calls.many" | uniq -c) || :; fi
exit "$failed"
