#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What a measuring thread costs that sleeps (cq.mode: event): our traffic at 1,000 operations a second on the null device (nullverbs.h), whose completions are told by
# a channel, against a thread that begins a bare ping-pong over eventfds with another one at the same rate (eventfd.c). PAIRS times A B B A (the next time B A A B), two seconds each; what counts
# of a pair are the sums of either kind.
#
#   the median of the ratios of CPU time for an operation and for a round trip, and its 90 % bootstrap interval (ratio.c): the upper bound must be at most 1.5
#
# usage: tests/bench/event.sh [PAIRS]      environment: BUILD (build)
# Exit status 0: kept; 1: not; 2: cannot be measured. 12 pairs take 100 seconds.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
export LC_ALL=C.UTF-8

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PAIRS=${1:-12} RATE=1000 SECONDS_OF_RUN=2

die() { printf 'bench event: %s\n' "$*" >&2; exit 2; }

[[ $PAIRS =~ ^([5-9]|[1-9][0-9]+)$ ]] || die "PAIRS \"$PAIRS\" is no number of at least 5"
PROGRAMS=$(cd "${BUILD:-$TOP/build}" 2>/dev/null && pwd)/tests/bench || die "there is no build directory ${BUILD:-$TOP/build}; ./dev build makes it"
[[ -x $PROGRAMS/bench-loop && -x $PROGRAMS/bench-eventfd && -e $PROGRAMS/libnullverbs.so ]] || die "$PROGRAMS has no bench-loop, bench-eventfd or null device; ./dev build makes them"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

word() { awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }'; }  # of a line "name value name value"

run() {  # A or B
  local value
  if [[ $1 == A ]]; then
    value=$(LD_PRELOAD=$PROGRAMS/libnullverbs.so "$PROGRAMS/bench-loop" -e -r $RATE -t 4 -n $((RATE * SECONDS_OF_RUN)) | word cpu_ns_per_operation)
  else
    value=$("$PROGRAMS/bench-eventfd" $RATE $SECONDS_OF_RUN | word cpu_ns_per_round_trip)
  fi
  [[ $value ]] || die "$1 measured nothing"
  echo "$value" >>"$WORK/$1"
}

for ((pair = 0; pair < PAIRS; pair++)); do
  if ((pair % 2)); then order="B A A B"; else order="A B B A"; fi
  for which in $order; do run "$which"; done
done
for which in A B; do awk 'NR % 2 { first = $1; next } { print first + $1 }' "$WORK/$which" >"$WORK/$which.pairs"; done
median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
printf 'CPU time at %d/s: %s ns for an operation of rdmatestd, %s ns for a round trip over eventfds (medians)\n' "$RATE" "$(median <"$WORK/A")" "$(median <"$WORK/B")"
paste -d ' ' "$WORK"/{A,B}.pairs | "$PROGRAMS/bench-ratio" event-cpu most 1.5
