#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Does a tester that waits for a port cost the program that uses it anything? One boot of the lab; ib_write_bw (4 KiB) streams from rxe0 to rxe1 all the time and
# prints its bandwidth every second, beside two daemons. In phase A nothing is due; in phase B a bandwidth scenario is, on both ports, and waits, which is looked up. PAIRS times
# A B B A (the next time B A A B), 3 seconds each, after 2 that are discarded when it changes; what counts of a pair are the medians of its six seconds of either kind, since
# what disturbs a host for a second or two must not decide.
#
#   the median of the ratios B/A and its 90 % bootstrap interval (ratio.c): the lower bound must be at least 0.99
#
# usage: tests/bench/foreign.sh [PAIRS]      environment: BUILD (build)
# Exit status 0: kept; 1: not; 2: cannot be measured. 60 pairs take 17 minutes, which nothing else should share.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
DISCARDED=2 SECONDS_OF_PHASE=3

die() { printf 'bench foreign: %s\n' "$*" >&2; exit 2; }

outside() {
  local tool
  for tool in ib_write_bw jq curl awk; do
    command -v "$tool" >/dev/null || die "$tool is not installed; ./dev setup bench installs it"
  done
  BUILD=$(cd "${BUILD:-$TOP/build}" 2>/dev/null && pwd) || die "there is no build directory; ./dev build makes it"
  [[ -x $BUILD/rdmatestd && -x $BUILD/tests/bench/bench-ratio ]] || die "$BUILD has no rdmatestd or bench-ratio; ./dev build makes them"
  exec "$TOP/tests/lab/rdma-lab" run --pin -t 7200 --project "$TOP" -e BUILD="$BUILD" -- "$TOP/tests/bench/foreign.sh" --inside "$@"
}

# The bandwidth of the next second, in VALUE.
next_second() {
  local line fields
  while read -r -t 30 -u "$LINES_OF" line; do
    read -ra fields <<<"$line"
    if [[ ${fields[0]:-} == 4096 ]]; then VALUE=${fields[3]}; return; fi
  done
  cat "$WORK/server" "$WORK/client" >&2
  die "ib_write_bw has ended"
}

waiting() { http 1 /v1/status | jq -r '.runs.waiting_for_ports[0].id // empty'; }

due() {  # yes or no
  local end=$((SECONDS + 20)) id i
  if [[ $1 == "$IS_DUE" ]]; then return; fi
  IS_DUE=$1
  if [[ $1 == yes ]]; then
    ctl 1 run bulk --json >"$WORK/run" 2>&1 & RUN=$!
    until [[ $(waiting) ]]; do ((SECONDS < end)) || { cat "$WORK/run" >&2; die "the run does not wait"; }; sleep 0.2; done
  else
    id=$(waiting)
    [[ $id ]] || { cat "$WORK/run" >&2; die "the run waits no longer"; }
    ctl 1 cancel "$id" >/dev/null
    wait "$RUN" || :
  fi
  for ((i = 0; i < DISCARDED; i++)); do next_second; done
}

# CPU time of all threads of both daemons so far, in CPU_NS.
cpu_of_daemons() {
  local task ns rest
  CPU_NS=0
  for task in /proc/"${NODE_PID[1]}"/task/* /proc/"${NODE_PID[2]}"/task/*; do
    # A thread may end meanwhile.
    if read -r ns rest <"$task/schedstat"; then CPU_NS=$((CPU_NS + ns)); fi 2>/dev/null
  done
}

phase() {  # A or B
  local i before
  if [[ $1 == B ]]; then due yes; else due no; fi
  cpu_of_daemons
  before=$CPU_NS
  for ((i = 0; i < SECONDS_OF_PHASE; i++)); do next_second; echo "$VALUE" >>"$WORK/$1"; done
  cpu_of_daemons
  USED_NS[$1]=$((USED_NS[$1] + CPU_NS - before))
}

median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

of_pairs() {  # file
  local seconds=$((2 * SECONDS_OF_PHASE)) from
  for ((from = 1; from <= $(wc -l <"$1"); from += seconds)); do sed -n "$from,$((from + seconds - 1))p" "$1" | median; done
}

inside() {
  local pairs=${1:-60} pair which order server client n rc=0
  WORK=$(mktemp -d)
  NODES_DIR=$WORK/nodes
  RUN='' VALUE='' IS_DUE=no CPU_NS=0
  declare -gA USED_NS=([A]=0 [B]=0)
  # shellcheck source=../lab/nodes.bash
  . "$TOP/tests/lab/nodes.bash"
  nodes_of_the_lab
  {
    echo 'version: 1'
    echo 'scenarios:'
    echo '  - name: bulk'
    echo '    disruptive: true'
    echo '    workload: { pattern: stream, ops: [{ op: write, size: 64KiB }], load: { model: closed, outstanding: 16 } }'
    echo '    run: { duration: 5s }'
  } >"$WORK/bulk.yaml"
  for n in 1 2; do node_write "$n" "$WORK/bulk.yaml"; node_start "$n"; done
  for n in 1 2; do node_ready "$n" || die "the daemons do not start"; done
  for n in 1 2; do node_meets "$n" devices || die "the daemons do not meet"; done
  taskset -c 1 ib_write_bw -d rxe1 -x 1 -p 19000 -F -D 1 --run_infinitely -s 4096 >"$WORK/server" 2>&1 & server=$!
  sleep 2
  mkfifo "$WORK/lines"
  taskset -c 0 stdbuf -oL ib_write_bw -d rxe0 -x 1 -p 19000 -F -D 1 --run_infinitely -s 4096 10.99.0.2 >"$WORK/lines" 2>"$WORK/client" & client=$!
  exec {LINES_OF}<"$WORK/lines"
  for ((n = 0; n < 5; n++)); do next_second; done
  for ((pair = 0; pair < pairs; pair++)); do
    if ((pair % 2)); then order="B A A B"; else order="A B B A"; fi
    for which in $order; do phase "$which"; done
  done
  due no
  kill "$client" "$server"
  wait "$client" "$server" || :
  printf 'bandwidth of ib_write_bw: %s MB/s while nothing is due, %s while a scenario waits (medians of %d seconds each)\n' \
    "$(median <"$WORK/A")" "$(median <"$WORK/B")" $((2 * pairs * SECONDS_OF_PHASE))
  printf 'CPU time of both daemons together: %s of a CPU while nothing is due, %s while a scenario waits\n' \
    "$(awk -v ns="${USED_NS[A]}" -v s=$((2 * pairs * SECONDS_OF_PHASE)) 'BEGIN { printf "%.2f %%", ns / 1e7 / s }')" \
    "$(awk -v ns="${USED_NS[B]}" -v s=$((2 * pairs * SECONDS_OF_PHASE)) 'BEGIN { printf "%.2f %%", ns / 1e7 / s }')"
  of_pairs "$WORK/A" >"$WORK/A.pairs"
  of_pairs "$WORK/B" >"$WORK/B.pairs"
  paste -d ' ' "$WORK/B.pairs" "$WORK/A.pairs" | "$BUILD/tests/bench/bench-ratio" foreign-bandwidth least 0.99 || rc=1
  nodes_down || rc=2
  rm -rf "$WORK"
  return "$rc"
}

if [[ ${1:-} == --inside ]]; then
  shift
  inside "$@"
else
  [[ ${1:-60} =~ ^([5-9]|[1-9][0-9]+)$ ]] || die "PAIRS \"$1\" is no number of at least 5"
  outside "$@"
fi
