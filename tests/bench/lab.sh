#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Is rdmatestd as good as perftest on real verbs? One boot of the lab, rxe0 against rxe1, both polling, each end with a CPU of its own: PAIRS pairs for every test of TESTS,
# after one that is discarded. A pair is two runs of each program in the order A B B A (the next pair B A A B), so that a machine that grows slower or faster meanwhile favours
# neither; what counts of a program is the best of its runs: others on the machine make a run slower, never faster. Reads are measured
# twice at each place: they scatter most. That one program has more such runs than the other is
# counted apart, those of pairs that were made again included: what took half as long again as the better program's median (from 8 pairs on). Each virtual CPU stays on one of this machine, and the daemons are started anew before every pair:
# where a program lies in memory makes some percent under an interpreting QEMU, and perftest draws its place at each run. Loops under SCHED_IDLE keep the CPUs of this machine
# awake: a virtual one that slept is slow for a second or so, and rdmatestd, which prepares on another CPU, would always begin on one that did, while perftest has just
# calibrated its clock there. A pair in which the runs of one and the same program, rdmatestd or perftest, are more than 15 % apart says something of this machine and
# nothing of the programs: it is made again, half as many times as there are pairs at most, whatever its ratio is; how often, and for which of the two, is told. The scenarios are in lab.yaml. For each test:
#
#   the median of the ratios rdmatestd/perftest and its 90 % bootstrap interval (ratio.c) against the limit
#   runs that fell behind, of both programs: rdmatestd may have as many as perftest, and what chance makes of that (1.8 standard deviations, from five such runs on)
#   packets that rxe0 sent per operation, of both programs (hw_counters/sent_pkts, median of all runs): they must be the same; and how many
#   runs of each sent another number than its median: what soft-RoCE sends again, or acknowledges in another way, is in those
#
# A run that soft-RoCE spoils (perftest's clock calibration, an error of the device on a busy machine) is made again, up to five times, for both
# programs alike; how often is told.
#
# usage: tests/bench/lab.sh [PAIRS [TEST..]]      environment: BUILD (build)
# Without tests: the first five. "engine": all the others.
# Exit status 0: all limits kept; 1: not; 2: cannot be measured. 25 pairs of one test take about 11 minutes, which nothing else should share.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BENCH=$TOP/tests/bench
ITERATIONS=0 # of the test under way
AWAKE=()
# test | iterations, as in lab.yaml | perftest program and options | better, limit of the bound | unit | runs at each place of A B B A
TESTS=("write-bandwidth|1000|ib_write_bw -u 21 -s 65536|least|0.95|MiB/s|1"
       "read-bandwidth|1000|ib_read_bw -u 21 -s 65536|least|0.95|MiB/s|2"
       "write-latency|5000|ib_write_lat -u 21 -s 2|most|1.10|us|1"
       "send-latency|5000|ib_send_lat -u 21 -s 2|most|1.10|us|1"
       "read-latency|5000|ib_read_lat -u 21 -s 2|most|1.10|us|1"
       "write-bandwidth-4k|4000|ib_write_bw -u 21 -s 4096|least|0.95|MiB/s|1"
       "read-bandwidth-4k|4000|ib_read_bw -u 21 -s 4096|least|0.95|MiB/s|2"
       "send-bandwidth-4k|4000|ib_send_bw -u 21 -s 4096|least|0.95|MiB/s|1"
       "send-bandwidth|1000|ib_send_bw -u 21 -s 65536|least|0.95|MiB/s|1"
       "write-bandwidth-event|1000|ib_write_bw -u 21 -e -s 65536|least|0.95|MiB/s|1"
       "atomic-latency|5000|ib_atomic_lat -u 21|most|1.10|us|2"
       "ud-send-latency|5000|ib_send_lat -c UD -s 2|most|1.10|us|2"
       "send-latency-event|2000|ib_send_lat -u 21 -e -s 2|most|1.10|us|2")
FIRST=5 # of them are run when none is named

die() { printf 'bench lab: %s\n' "$*" >&2; exit 2; }

# ---------------------------------------------------------------- on the host

outside() {
  local tool cpu
  for tool in ib_write_bw jq curl awk; do
    command -v "$tool" >/dev/null || die "$tool is not installed; ./dev setup bench installs it"
  done
  BUILD=$(cd "${BUILD:-$TOP/build}" 2>/dev/null && pwd) || die "there is no build directory; ./dev build makes it"
  [[ -x $BUILD/rdmatestd && -x $BUILD/tests/bench/bench-ratio ]] || die "$BUILD has no rdmatestd or bench-ratio; ./dev build makes them"
  trap 'kill "${AWAKE[@]}" 2>/dev/null || :' EXIT
  for ((cpu = 0; cpu < $(nproc); cpu++)); do chrt -i 0 sh -c 'while :; do :; done' & AWAKE+=($!); done
  "$TOP/tests/lab/rdma-lab" run --pin -t 7200 --project "$TOP" -e BUILD="$BUILD" -- "$BENCH/lab.sh" --inside "$@"
}

# ---------------------------------------------------------------- in the lab

RESULT='' # of what was run last, in the unit of the test
PACKETS=''
REPEATED_A=0 REPEATED_B=0
declare -A UNEVEN

sent_packets() { sleep 0.03; cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts; } # what is read is up to 10 ms old

listening() {  # port, pid
  local hex end=$((SECONDS + 30))
  hex=$(printf ':%04X ' "$1")
  until grep -qsE "${hex}[0-9A-F:]+ 0A" /proc/net/tcp /proc/net/tcp6; do
    kill -0 "$2" 2>/dev/null || return 1
    ((SECONDS < end)) || return 1
    sleep 0.02
  done
}

# Bandwidth is the average, latency t_typical.
perftest() {  # program and options..
  local server before column=5 size=8 # of atomics, which take no -s
  [[ $1 != *_bw ]] || column=4
  [[ " $* " != *" -s "* ]] || size=${*: -1}
  timeout 60 taskset -c 1 "$1" -d rxe1 -x 1 -p 19000 -F -n "$ITERATIONS" "${@:2}" >/dev/null 2>&1 & server=$!
  RESULT=''
  if listening 19000 "$server"; then
    before=$(sent_packets)
    timeout 60 taskset -c 0 "$1" -d rxe0 -x 1 -p 19000 -F -n "$ITERATIONS" "${@:2}" 10.99.0.2 >"$WORK/record" 2>&1 || :
    PACKETS=$(($(sent_packets) - before))
    RESULT=$(awk -v size="$size" -v column="$column" '$1 == size && $column ~ /^[0-9.]+$/ && $column > 0 { print $column }' "$WORK/record")
  fi
  [[ $RESULT ]] || kill "$server" 2>/dev/null || :
  wait "$server" || :
  [[ $RESULT ]]
}

rdmatestd() {  # scenario
  local before value
  before=$(sent_packets)
  ctl 1 run "$1" --json >"$WORK/record" || return
  PACKETS=$(($(sent_packets) - before))
  if [[ $1 == *-bandwidth* ]]; then
    value='.bytes * 1e9 / .window_ns / 1048576'
  else
    value='.operations[] | select(.scope == "size") | .latency.percentiles[] | select(.p == "50") | .value_ns / 1000'
  fi
  RESULT=$(jq -er --argjson n "$ITERATIONS" ".measurements[0] | select(.completed == \$n) | $value" "$WORK/record")
}

# An end that moves between CPUs has its packets overtake each other in the kernel, and two that poll on one CPU wait for each other: what
# measures has a CPU of its own at each end, of both programs. The initiating daemon's other threads are kept off its CPU, as perftest has none.
daemons_write() {
  local n
  NODE_CONTROL_CPUS=([1]=1)
  PROGRAMS=$BUILD
  BUILD=$WORK/bin
  mkdir "$BUILD"
  ln -s "$PROGRAMS/rdmatestctl" "$BUILD/rdmatestctl"
  # shellcheck disable=SC2016 # the script expands them
  printf '#!/bin/sh\nexec taskset -c "$ON_CPU" "%s" "$@"\n' "$PROGRAMS/rdmatestd" >"$BUILD/rdmatestd"
  chmod +x "$BUILD/rdmatestd"
  for n in 1 2; do node_write "$n" "$BENCH/lab.yaml"; done
}

daemons_anew() {
  local n
  nodes_down || die "the daemons did not end well"
  ON_CPU=0,1 node_start 1
  ON_CPU=1 node_start 2
  for n in 1 2; do node_ready "$n" || die "the daemons do not start"; done
  for n in 1 2; do node_meets "$n" devices || die "the daemons do not meet"; done
}

one() {  # A or B, test, perftest words..
  local which=$1 name=$2 try; shift 2
  for ((try = 0; try < 5; try++)); do
    if [[ $which == A ]]; then
      rdmatestd "$name" && break
      REPEATED_A=$((REPEATED_A + 1))
    else
      perftest "$@" && break
      REPEATED_B=$((REPEATED_B + 1))
    fi
  done
  ((try < 5)) || { cat "$WORK/record" >&2; die "$name: five runs in a row failed"; }
  echo "$RESULT" >>"$WORK/$name.$which"
  echo "$PACKETS" >>"$WORK/$name.$which.packets"
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }  # file
# The best of the runs that a program has in each pair: of rates the highest one, of latencies the lowest.
of_pairs() {  # file, least or most, runs of a pair
  awk -v is_rate="$([[ $2 == least ]] && echo 1 || echo 0)" -v runs="$3" '
    (NR - 1) % runs == 0 || (is_rate ? $1 > best : $1 < best) { best = $1 }
    NR % runs == 0 { print best }' "$1"
}
# What a tenth, a quarter, half, three quarters and nine tenths of the runs do not exceed, between the least and the greatest.
spread() {  # file
  sort -n "$1" | awk '{ v[NR] = $1 } END { split("0 0.1 0.25 0.5 0.75 0.9 1", at, " "); for (i = 1; i <= 7; i++) printf " %.4g", v[int(1 + at[i] * (NR - 1) + 0.5)] }'
}
fell_behind() {  # file, least or most, the better program's median
  touch "$1.forgotten"
  cat "$1" "$1.forgotten" | awk -v is_rate="$([[ $2 == least ]] && echo 1 || echo 0)" -v median="$3" '
    is_rate ? $1 * 1.5 < median : $1 > median * 1.5 { count++ } END { print count + 0 }'
}
# Runs that sent another number of packets than the median of their program.
deviated() {  # file, median
  awk -v median="$2" '$1 != median { count++ } END { print count + 0 }' "$1"
}
better() {  # least or most, two numbers
  printf '%s\n' "$2" "$3" | sort -n | { if [[ $1 == least ]]; then tail -n 1; else head -n 1; fi; }
}

# Whether each program was, at its second place in a pair, within 15 % of what it was at its first.
is_even() {  # test, least or most, runs at each place
  local which is_even=0
  for which in A B; do
    tail -n $((2 * $3)) "$WORK/$1.$which" >"$WORK/pair"
    of_pairs "$WORK/pair" "$2" "$3" | awk 'NR == 1 { first = $1 } NR == 2 { exit $1 > 1.15 * first || first > 1.15 * $1 }' && continue
    UNEVEN[$which]=$((UNEVEN[$which] + 1))
    is_even=1
  done
  return "$is_even"
}
forget_pair() {  # test, runs of a pair
  local file
  for file in "$WORK/$1".{A,B}; do tail -n "$2" "$file" >>"$file.forgotten"; done
  for file in "$WORK/$1".{A,B}{,.packets}; do head -n "-$2" "$file" >"$WORK/pair"; mv "$WORK/pair" "$file"; done
}

report() {  # test, better, limit, unit, runs of a pair
  local name=$1 ours theirs best rc=0
  best=$(better "$2" "$(median "$WORK/$name.A")" "$(median "$WORK/$name.B")")
  printf '%s: rdmatestd %s, perftest %s %s (medians of %d runs)\n' "$name" "$(median "$WORK/$name.A")" "$(median "$WORK/$name.B")" "$4" $(($5 * PAIRS))
  of_pairs "$WORK/$name.A" "$2" "$5" >"$WORK/$name.A.pairs"
  of_pairs "$WORK/$name.B" "$2" "$5" >"$WORK/$name.B.pairs"
  printf 'spread of the runs, 0 10 25 50 75 90 100 %%: rdmatestd%s; perftest%s\n' "$(spread "$WORK/$name.A")" "$(spread "$WORK/$name.B")"
  # To be seen: whether they scatter, drift or fall into two heaps.
  printf 'ratios in their order:%s\n' "$(paste -d ' ' "$WORK/$name.A.pairs" "$WORK/$name.B.pairs" | awk '{ printf " %.3f", $1 / $2 }')"
  paste -d ' ' "$WORK/$name.A.pairs" "$WORK/$name.B.pairs" | "$PROGRAMS/tests/bench/bench-ratio" "$name" "$2" "$3" || rc=1
  awk -v name="$name" -v pairs="$PAIRS" -v ours="$(fell_behind "$WORK/$name.A" "$2" "$best")" -v theirs="$(fell_behind "$WORK/$name.B" "$2" "$best")" 'BEGIN {
    is_bad = pairs >= 8 && ours + theirs >= 5 && ours - theirs > 1.8 * sqrt(ours + theirs)
    printf "%-4s  %-18s  runs that fell behind: rdmatestd %d, perftest %d\n", is_bad ? "FAIL" : "pass", name, ours, theirs
    exit is_bad }' || rc=1
  ours=$(median "$WORK/$name.A.packets") theirs=$(median "$WORK/$name.B.packets")
  awk -v name="$name" -v ours="$ours" -v theirs="$theirs" -v n="$ITERATIONS" -v runs=$(($5 * PAIRS)) \
    -v our_others="$(deviated "$WORK/$name.A.packets" "$ours")" -v their_others="$(deviated "$WORK/$name.B.packets" "$theirs")" 'BEGIN {
    printf "%-4s  %-18s  packets sent per operation: rdmatestd %.3f, perftest %.3f; another number than this median in %d and %d of %d runs\n\n",
      ours == theirs ? "pass" : "FAIL", name, ours / n, theirs / n, our_others, their_others, runs
    exit ours != theirs }' || rc=1
  return "$rc"
}

inside() {
  local name words better limit unit times time pair again order which pid i rc=0
  local -a program
  # What runs a test, rdmatestctl with its live line for one, stays off the CPU that measures.
  taskset -pc 1 $$ >/dev/null
  # soft-RoCE works in softirqs: at some moments the kernel hands them to ksoftirqd, which then has half of the CPU, and the thread that
  # polls there the other half, for seconds: either program was twice as slow in some of its runs. They go first.
  for pid in $(pgrep ksoftirqd); do chrt -f -p 1 "$pid"; done
  WORK=$(mktemp -d)
  NODES_DIR=$WORK/nodes
  PAIRS=${1:-25}; shift || :
  # shellcheck source=../lab/nodes.bash
  . "$TOP/tests/lab/nodes.bash"
  nodes_of_the_lab
  daemons_write
  for ((i = 0; i < ${#TESTS[@]}; i++)); do
    IFS='|' read -r name ITERATIONS words better limit unit times <<<"${TESTS[i]}"
    if (($# == 0)); then
      ((i < FIRST)) || continue
    elif [[ $* == engine ]]; then
      ((i >= FIRST)) || continue
    else
      [[ " $* " == *" $name "* ]] || continue
    fi
    read -ra program <<<"$words"
    daemons_anew
    one A "$name" "${program[@]}"; one B "$name" "${program[@]}" # discarded: the neighbours are known from here on
    rm "$WORK/$name".*
    UNEVEN=([A]=0 [B]=0)
    for ((pair = 0, again = 0; pair < PAIRS; pair++)); do
      daemons_anew
      if ((pair % 2)); then order="B A A B"; else order="A B B A"; fi
      for which in $order; do
        for ((time = 0; time < times; time++)); do one "$which" "$name" "${program[@]}"; done
      done
      if ((again < PAIRS / 2)) && ! is_even "$name" "$better" "$times"; then
        forget_pair "$name" $((2 * times))
        again=$((again + 1)) pair=$((pair - 1))
      fi
    done
    printf '%s: %d pairs made again; uneven were those of rdmatestd %d times, of perftest %d\n' "$name" "$again" "${UNEVEN[A]}" "${UNEVEN[B]}"
    report "$name" "$better" "$limit" "$unit" $((2 * times)) || rc=1
  done
  nodes_down || rc=2
  printf 'runs made again: rdmatestd %d, perftest %d\n' "$REPEATED_A" "$REPEATED_B"
  rm -rf "$WORK"
  return "$rc"
}

if [[ ${1:-} == --inside ]]; then
  shift
  inside "$@"
else
  [[ ${1:-25} =~ ^([5-9]|[1-9][0-9]+)$ ]] || die "PAIRS \"$1\" is no number of at least 5"
  outside "$@"
fi
