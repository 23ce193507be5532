#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Does a device whose driver hangs cost the others anything? One boot of the lab with four devices, two for each of two daemons. In phase A all is well; in phase B
# ibv_destroy_qp of rxe0 does not return (tests/lab/hang.c), and node1 has told that the device is sick. In each phase /healthz of node1 is asked
# REQUESTS times by one connection, and a ping-pong goes from rxe2, the daemon's other device, to rxe3. PAIRS times A B B A (the next time B A A B).
# What counts of a phase are medians: of the answers' times, and p50 of the ping-pong; of the two phases of a kind in a pair the better one, since others on the
# machine make slower, never faster.
#
#   the median of the ratios B/A of both and their 90 % bootstrap intervals (ratio.c): the upper bounds must be at most 1.10
#
# usage: tests/bench/hang.sh [PAIRS]      environment: BUILD (build)
# Exit status 0: kept; 1: not; 2: cannot be measured. 15 pairs take about 8 minutes, which nothing else should share.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
REQUESTS=200

die() { printf 'bench hang: %s\n' "$*" >&2; exit 2; }

outside() {
  local tool
  for tool in jq curl awk; do
    command -v "$tool" >/dev/null || die "$tool is not installed; ./dev setup bench installs it"
  done
  BUILD=$(cd "${BUILD:-$TOP/build}" 2>/dev/null && pwd) || die "there is no build directory; ./dev build makes it"
  [[ -x $BUILD/rdmatestd && -x $BUILD/tests/bench/bench-ratio && -e $BUILD/tests/lab/hang.so ]] ||
    die "$BUILD has no rdmatestd, bench-ratio or hang.so; ./dev build makes them"
  exec "$TOP/tests/lab/rdma-lab" run --pin --devs 4 -t 7200 --project "$TOP" -e BUILD="$BUILD" -- "$TOP/tests/bench/hang.sh" --inside "$@"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
sick() { http 1 /v1/status | jq -r '[.sick[] | "\(.device) \(.call)"] | join(", ")'; }

hangs() {  # yes or no
  local end=$((SECONDS + 60)) wanted=''
  [[ $1 != "$IS_HANGING" ]] || return 0
  IS_HANGING=$1
  if [[ $1 == yes ]]; then
    wanted='rxe0 ibv_destroy_qp'
    touch "$HANG_DIR/ibv_destroy_qp.rxe0"
    ctl 1 run pingpong --json >"$WORK/record" 2>&1 || : # its end hangs
  else
    rm "$HANG_DIR/ibv_destroy_qp.rxe0"
  fi
  until [[ $(sick) == "$wanted" ]]; do
    ((SECONDS < end)) || die "sick is \"$(sick)\" instead of \"$wanted\" after 60 s"
    sleep 0.2
  done
}

phase() {  # A or B
  if [[ $1 == B ]]; then hangs yes; else hangs no; fi
  curl -sf -o /dev/null -w '%{time_total} %{http_code}\n' "http://${NODE_HTTP[1]}/healthz#[1-$REQUESTS]" >"$WORK/answers" || die "/healthz did not answer"
  [[ $(grep -c ' 200$' "$WORK/answers") == "$REQUESTS" ]] || die "/healthz: $(cut -d ' ' -f 2 "$WORK/answers" | sort | uniq -c)"
  cut -d ' ' -f 1 "$WORK/answers" | median >>"$WORK/health.$1"
  ctl 1 run pingpong --json >"$WORK/record" 2>&1 || [[ $1 == B ]] || die "$(cat "$WORK/record")"
  jq -er '.measurements[] | select(.verdict == "pass" and .initiator.device == "rxe2" and .responder.device == "rxe3")
    | .operations[] | select(.scope == "size") | .latency.percentiles[] | select(.p == "50") | .value_ns / 1000' "$WORK/record" >>"$WORK/latency.$1" ||
    die "no latency from rxe2 to rxe3: $(jq -c '.measurements[] | [.initiator.device, .responder.device, .verdict]' "$WORK/record")"
}

best_of_pairs() { awk 'NR % 2 { first = $1; next } { print ($1 < first ? $1 : first) }' "$1"; }

inside() {
  local pairs=${1:-15} pair which order what n rc=0
  WORK=$(mktemp -d)
  NODES_DIR=$WORK/nodes
  IS_HANGING=no
  # shellcheck source=../lab/nodes.bash
  . "$TOP/tests/lab/nodes.bash"
  nodes_of_the_lab
  NODE_DEVICE=([1]="rxe0 }, { name: rxe2" [2]="rxe1 }, { name: rxe3")
  NODE_LISTEN=([1]=127.0.0.1:18620 [2]=127.0.0.1:18621)
  export HANG_DIR=$WORK/hang
  mkdir "$HANG_DIR"
  {
    echo 'version: 1'
    echo 'scenarios:'
    echo '  - name: pingpong'
    echo '    peers: { from: "name=node1", to: "name=node2" }'
    echo '    workload: { pattern: pingpong, ops: [{ op: write, size: 64B }] }'
    echo '    run: { warmup: 0, iterations: 3000, stall_timeout: 10s, timeout: 60s }'
  } >"$WORK/pingpong.yaml"
  for n in 1 2; do node_write "$n" "$WORK/pingpong.yaml"; done
  LD_PRELOAD=$BUILD/tests/lab/hang.so node_start 1
  node_start 2
  for n in 1 2; do node_ready "$n" || die "the daemons do not start"; done
  for n in 1 2; do node_meets "$n" devices || die "the daemons do not meet"; done
  ctl 1 run pingpong --json >"$WORK/record" 2>&1 || die "$(cat "$WORK/record")"
  for ((pair = 0; pair < pairs; pair++)); do
    if ((pair % 2)); then order="B A A B"; else order="A B B A"; fi
    for which in $order; do phase "$which"; done
  done
  hangs no
  printf '/healthz: %s ms while all is well, %s ms while a device hangs (medians); p50 of a write on the other device: %s us, %s us\n' \
    "$(median <"$WORK/health.A" | awk '{ print $1 * 1000 }')" "$(median <"$WORK/health.B" | awk '{ print $1 * 1000 }')" \
    "$(median <"$WORK/latency.A")" "$(median <"$WORK/latency.B")"
  for what in health latency; do
    for which in A B; do best_of_pairs "$WORK/$what.$which" >"$WORK/$what.$which.pairs"; done
    paste -d ' ' "$WORK/$what".{B,A}.pairs | "$BUILD/tests/bench/bench-ratio" "hang-$what" most 1.10 || rc=1
  done
  nodes_down || rc=2
  rm -rf "$WORK"
  return "$rc"
}

if [[ ${1:-} == --inside ]]; then
  shift
  inside "$@"
else
  [[ ${1:-15} =~ ^([5-9]|[1-9][0-9]+)$ ]] || die "PAIRS \"$1\" is no number of at least 5"
  outside "$@"
fi
