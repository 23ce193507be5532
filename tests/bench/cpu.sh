#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What one 64-byte write costs the CPU: perftest's ib_write_bw and rdmatestd, each between two processes of its own, both on the null
# device (nullverbs.h), so that only their own instructions differ. Latency is recorded by rdmatestd all the time.
#
#   instructions   callgrind's total of the initiator for two numbers of operations; their difference leaves out all but the loop
#   nanoseconds    what the program itself reports, the best of several rounds in turn
#   system calls   of rdmatestd's worker thread for two numbers of operations, in either way of posting: they must be the same ones
#
# usage: tests/bench/cpu.sh [ROUNDS]      environment: BUILD (build), PORT (28600: five ports from there on)
# Exit status 0: rdmatestd is at most perftest's in every line and its loop makes no system call; 1: it is not; 2: cannot be measured.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
ROUNDS=${1:-5}
PORT=${PORT:-28600}
SIZE=64
FEW=200000 MANY=1200000 # counted operations: multiples of every signal interval
NATIVE=20000000
WORK=$(mktemp -d)

# The two ways of posting: name, post_list, signal_interval, options of perftest
SHAPES=("post_list 1, a signal every 100|1|100|-Q 100" "post_list 16, a signal every 16|16|16|-l 16")

die() { printf 'bench cpu: %s\n' "$*" >&2; exit 2; }
# shellcheck disable=SC2317 # called by the trap
cleanup() {
  local rc=$? pid
  trap - EXIT
  for pid in $(jobs -p); do kill "$pid" 2>/dev/null || :; done
  wait 2>/dev/null || :
  rm -rf "$WORK"
  exit "$rc"
}
trap cleanup EXIT

[[ $ROUNDS =~ ^[1-9][0-9]*$ ]] || die "ROUNDS \"$ROUNDS\" is no number above 0"
for tool in ib_write_bw valgrind strace jq curl awk; do
  command -v "$tool" >/dev/null || die "$tool is not installed; ./dev setup bench installs it"
done
PROGRAMS=$(cd "${BUILD:-$TOP/build}" 2>/dev/null && pwd) || die "there is no build directory ${BUILD:-$TOP/build}; ./dev build makes it"
NULLVERBS=$(find "$PROGRAMS/tests/bench" -maxdepth 1 -name 'libnullverbs*.so' 2>/dev/null | head -n 1)
[[ $NULLVERBS ]] || die "there is no null device in $PROGRAMS/tests/bench; ./dev build makes it"

# What measures leaves its number here: in a subshell nobody would end what it started.
RESULT=''
CALLGRIND="valgrind --tool=callgrind --callgrind-out-file=$WORK/callgrind.out --log-file=$WORK/callgrind"
collected() {
  RESULT=$(awk '/Collected/ { print $4 }' "$WORK/callgrind")
  [[ $RESULT ]] || { cat "$WORK/callgrind" >&2; die "callgrind counted nothing"; }
}
per_operation() { RESULT=$(awk -v few="$1" -v many="$2" -v n=$((MANY - FEW)) 'BEGIN { printf "%.1f", (many - few) / n }'); }  # few, many

# ---------------------------------------------------------------- perftest

# Waits until something listens on a port of this machine, without connecting to it.
listening() {  # port, pid
  local hex end=$((SECONDS + 60))
  hex=$(printf ':%04X ' "$1")
  until grep -qsE "${hex}[0-9A-F:]+ 0A" /proc/net/tcp /proc/net/tcp6; do
    kill -0 "$2" 2>/dev/null || die "ib_write_bw ended before it listened on port $1"
    ((SECONDS < end)) || die "ib_write_bw does not listen on port $1"
    sleep 0.02
  done
}

# Runs both ends once; what the client printed is in $WORK/perftest.
perftest_once() {  # operations, below what the client runs (words, may be none), options..
  local operations=$1 under=$2 port=$((PORT + 4)) server rc=0; shift 2
  local -a command=(ib_write_bw -d null0 -x 0 -s "$SIZE" -n "$operations" -p "$port" "$@")
  LD_PRELOAD=$NULLVERBS timeout 300 "${command[@]}" >/dev/null 2>&1 & server=$!
  listening "$port" "$server"
  # shellcheck disable=SC2086 # words
  LD_PRELOAD=$NULLVERBS timeout 300 $under "${command[@]}" 127.0.0.1 >"$WORK/perftest" 2>&1 || rc=$?
  wait "$server" || :
  return "$rc"
}

# On a busy machine its calibration of the clock fails now and then.
perftest() {
  local try
  for ((try = 0; try < 10; try++)); do
    perftest_once "$@" && return
    grep -q 'Correlation coefficient' "$WORK/perftest" || break
  done
  cat "$WORK/perftest" >&2
  die "ib_write_bw failed"
}

perftest_instructions() {  # options..
  local few
  perftest "$FEW" "$CALLGRIND" "$@"; collected; few=$RESULT
  perftest "$MANY" "$CALLGRIND" "$@"; collected
  per_operation "$few" "$RESULT"
}

# The message rate, last in the line, is in millions a second.
perftest_ns() {  # options..
  perftest "$NATIVE" "" "$@"
  RESULT=$(awk -v size="$SIZE" '$1 == size && $5 > 0 { printf "%.3f", 1000 / $5 }' "$WORK/perftest")
  [[ $RESULT ]] || { cat "$WORK/perftest" >&2; die "ib_write_bw printed no message rate"; }
}

# ---------------------------------------------------------------- rdmatestd

NODES_DIR=$WORK/nodes
# shellcheck source=../lab/nodes.bash
. "$TOP/tests/lab/nodes.bash"
# shellcheck disable=SC2034 # read by nodes.bash
{
  NODE_READY_SECONDS=120
  NODE_STOP_SECONDS=120
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
    disruptive: true
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

scenarios() {
  local shape name post_list signal_interval options
  printf 'version: 1\nscenarios:\n'
  for shape in "${SHAPES[@]}"; do
    IFS='|' read -r name post_list signal_interval options <<<"$shape"
    scenario "few-$post_list" "$FEW" "$post_list" "$signal_interval"
    scenario "many-$post_list" "$MANY" "$post_list" "$signal_interval"
    scenario "native-$post_list" "$NATIVE" "$post_list" "$signal_interval"
  done
}
scenarios >"$WORK/cpu.yaml"

daemons_up() {  # below what node1 runs (words, may be none)
  local n
  for n in 1 2; do node_write "$n" "$WORK/cpu.yaml"; done
  UNDER='' node_start 2
  UNDER=$1 node_start 1
  for n in 1 2; do node_ready "$n" || die "the daemons do not start on the null device"; done
}
daemons_down() { nodes_down || die "a daemon did not end well"; }

# A daemon is ready before its peer is up.
peer_up() {
  local end=$((SECONDS + 60))
  until [[ $(http 1 /v1/peers | jq -r '[.. | .state? // empty] | index("up") // empty') ]]; do
    ((SECONDS < end)) || die "node2 does not get up in the eyes of node1: $(http 1 /v1/peers)"
    sleep 0.1
  done
}

run() {  # scenario -> its record in $WORK/record
  peer_up
  timeout 300 "$BUILD/rdmatestctl" --socket="$NODES_DIR/node1/admin.sock" run "$1" --json >"$WORK/record" ||
    { cat "$WORK/record" >&2; die "the run $1 failed"; }
  jq -e '.measurements[0] | .errors == 0 and .completed > 0' "$WORK/record" >/dev/null ||
    { cat "$WORK/record" >&2; die "the run $1 completed nothing"; }
}

instructions_of() {  # scenario
  daemons_up "$CALLGRIND"
  run "$1"
  daemons_down
  collected
}

rdmatestd_instructions() {  # post_list
  local few
  instructions_of "few-$1"; few=$RESULT
  instructions_of "many-$1"
  per_operation "$few" "$RESULT"
}

rdmatestd_ns() {  # post_list
  run "native-$1"
  RESULT=$(jq -r '.measurements[0] | .window_ns / .completed' "$WORK/record")
}

# The names of the system calls that the worker thread makes while its window is open, one a line. It asks for its own CPU time when it
# opens and when it closes the window: what is between lies inside.
window_calls() {  # scenario, file
  local trace
  rm -rf "$WORK/trace"; mkdir "$WORK/trace"
  daemons_up "strace -D -ff -qq -o $WORK/trace/t"
  run "$1"
  daemons_down
  # Only this thread gives itself the name of a worker.
  trace=$(grep -lE '"worker' "$WORK"/trace/t.* | head -n 1) || :
  [[ $trace ]] || die "strace saw no worker thread"
  [[ $(grep -c '^getrusage(RUSAGE_THREAD' "$trace") == 2 ]] || die "the worker opened and closed no window: $(cat "$trace")"
  sed -n '/^getrusage/,/^getrusage/{/^getrusage/!s/(.*//p}' "$trace" >"$2"
}

# ---------------------------------------------------------------- both

failed=0
row() {  # posting, cost, theirs, ours
  awk -v posting="$1" -v cost="$2" -v theirs="$3" -v ours="$4" 'BEGIN {
    is_kept = ours <= theirs
    printf "%-4s  %-32s  %-12s %9.2f %10.2f %7.2f\n", is_kept ? "pass" : "FAIL", posting, cost, theirs, ours, ours / theirs
    exit !is_kept }' || failed=1
}

# The rounds alternate, so that what else the machine does meets both.
native() {  # name, post_list, options..
  local name=$1 post_list=$2 round; shift 2
  : >"$WORK/theirs"; : >"$WORK/ours"
  daemons_up ''
  for ((round = 0; round < ROUNDS; round++)); do
    perftest_ns "$@"; echo "$RESULT" >>"$WORK/theirs"
    rdmatestd_ns "$post_list"; echo "$RESULT" >>"$WORK/ours"
  done
  daemons_down
  row "$name" nanoseconds "$(sort -n "$WORK/theirs" | sed -n 1p)" "$(sort -n "$WORK/ours" | sed -n 1p)"
}

printf '64-byte writes on the null device, one queue pair, 128 outstanding; per write, the null device included\n\n'
printf '%-4s  %-32s  %-12s %9s %10s %7s\n' '' posting cost perftest rdmatestd ratio
for shape in "${SHAPES[@]}"; do
  IFS='|' read -r name post_list signal_interval options <<<"$shape"
  read -ra options <<<"$options"
  perftest_instructions "${options[@]}"; theirs=$RESULT
  rdmatestd_instructions "$post_list"
  row "$name" instructions "$theirs" "$RESULT"
  native "$name" "$post_list" "${options[@]}"
done

# The word that traffic began goes to the control thread after the first posts: a write to its event descriptor, where that is asleep a futex.
# The CPU time is read once more before the window closes.
system_calls() {  # name, post_list
  local few many others
  window_calls "few-$2" "$WORK/calls.few"
  window_calls "many-$2" "$WORK/calls.many"
  few=$(wc -l <"$WORK/calls.few") many=$(wc -l <"$WORK/calls.many")
  others=$(cat "$WORK/calls.few" "$WORK/calls.many" | grep -vxE 'write|futex|clock_gettime') || :
  if [[ ! $others ]] && ((few <= 3 && many <= 3)); then
    printf 'pass  %-32s  no system call in the measured loop (%d and %d in the windows of %d and %d writes, to say that traffic began and to read the CPU time at its end)\n' \
      "$1" "$few" "$many" "$FEW" "$MANY"
  else
    failed=1
    printf 'FAIL  %-32s  system calls in the windows of %d and %d writes:\n' "$1" "$FEW" "$MANY"
    sort "$WORK/calls.few" "$WORK/calls.many" | uniq -c
  fi
}

printf '\n'
for shape in "${SHAPES[@]}"; do
  IFS='|' read -r name post_list signal_interval options <<<"$shape"
  system_calls "$name" "$post_list"
done
exit "$failed"
