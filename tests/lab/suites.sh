#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# usage: tests/lab/suites.sh COUNTS SUITE.bats..
#
# Runs suites of the lab, two at a time: much of their time is waiting. One that has the line "# lab: alone" measures, and has the machine
# to itself after the others. What a suite printed is shown when it has ended. COUNTS gets a line with how many
# passed, failed and were skipped, then one for each that failed: suite, test, and what it complained of.
# Exit status: 0, whatever the tests say; 130 when it is stopped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
logs=$here/../../build/lab-logs
# A virtual machine that hangs must end the suite, not the day. timeout makes a process group of its own, which Ctrl-C does not reach:
# hence the trap.
LIMIT_S=900
JOBS=${LAB_JOBS:-$(($(nproc) > 1 ? 2 : 1))}

counts=$1; shift
mkdir -p "$logs"
passed=0 failed=0 skipped=0 failures=()
declare -A running=()  # pid -> suite

stop() {
  local pid
  for pid in "${!running[@]}"; do kill "$pid" 2>/dev/null || :; done
  wait
  for pid in "${!running[@]}"; do down "${running[$pid]}"; done
  exit 130
}
trap stop INT TERM

log_of() { printf '%s/%s.tap' "$logs" "$(basename "$1" .bats)"; }
# A suite that was killed leaves its machine.
down() { "$here/rdma-lab" down --name "test-$(basename "$1" .bats)-$UID" 2>/dev/null || :; }

begin() {  # suite
  local log; log=$(log_of "$1")
  printf "lab: %s begins\n" "${1##*/}"
  : >"$log"
  timeout -k 30 "$LIMIT_S" bats --formatter tap --timing "$1" >"$log" 2>&1 </dev/null &
  running[$!]=$1
}

# "suite: test: complaint"; a test complains by a line "FAILED: ...", and says what a record has in the line before.
failures_of() {  # suite, log
  awk -v suite="$1" '
    function tell() { if (name != "") print suite ": " name (why == "" ? "" : ": " why) }
    /^(not )?ok / { tell(); name = why = held = "" }
    /^not ok / { name = $0; sub(/^not ok [0-9]+ /, "", name) }
    /^# .*: verdict / { held = substr($0, 3) }
    /^# FAILED: / { why = substr($0, 11) (held == "" ? "" : " (" held ")") }
    END { tell() }' "$2"
}

end() {  # suite, exit status
  local suite=$1 rc=$2 log ok bad skip planned named
  log=$(log_of "$suite")
  down "$suite"
  printf '\n== lab: %s\n' "${suite##*/}"
  cat "$log"
  ok=$(grep -c '^ok ' "$log") || :
  bad=$(grep -c '^not ok ' "$log") || :
  skip=$(grep -c '^ok .*# skip' "$log") || :
  planned=$(sed -n 's/^1\.\.//p' "$log" | head -n 1)
  # a suite that died has fewer lines than it planned: each missing one is a failure
  if ((rc != 0)); then echo "lab: ${suite##*/} ended with status $rc"; fi
  bad=$((bad + ${planned:-1} - ok - bad))
  if ((rc != 0 && bad == 0)); then bad=1; fi
  readarray -t named < <(failures_of "${suite##*/}" "$log")
  failures+=("${named[@]}")
  if ((rc != 0 && bad != ${#named[@]})); then failures+=("${suite##*/}: ended with status $rc before all of its tests had"); fi
  passed=$((passed + ok - skip)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

reap() {  # waits for one
  local pid rc=0 suite
  wait -n -p pid || rc=$?
  suite=${running[$pid]}
  unset "running[$pid]"
  end "$suite" "$rc"
}

run() {  # how many at a time, suites..
  local jobs=$1 suite; shift
  for suite in "$@"; do
    ((${#running[@]} < jobs)) || reap
    begin "$suite"
  done
  while ((${#running[@]})); do reap; done
}

together=() alone=()
for suite in "$@"; do
  if grep -q '^# lab: alone$' "$suite"; then alone+=("$suite"); else together+=("$suite"); fi
done
run "$JOBS" "${together[@]}"
run 1 "${alone[@]}"
{
  echo "$passed $failed $skipped"
  ((${#failures[@]} == 0)) || printf '%s\n' "${failures[@]}"
} >"$counts"
