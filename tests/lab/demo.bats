#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# ./dev demo as a newcomer runs it, in the virtual machine that it takes where the kernel has no soft-RoCE (and here, whatever the kernel has).

export BATS_TEST_TIMEOUT=900
TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

setup() {
  cd "$TOP" || return
  if ((EUID != 0)); then skip "the demo installs packages and makes network devices: only root may"; fi
}

teardown() { "$TOP/tests/lab/rdma-lab" down --name demo 2>/dev/null || :; }

is_up() { tests/lab/rdma-lab status | grep -q '^demo .* up$'; }

# What the demo says to type.
type_it() {
  local line
  line=$(sed -n "s/^  \\(.*rdmatestctl .*admin.sock [a-z]*\\) .*/\\1/p" "$BATS_TEST_TMPDIR/log")
  run bash -c "$line"
  echo "$line: $output"
  [[ $status == 0 && $output == *node1* ]]
}

@test "--once: three scenarios pass, each with its operations, bandwidth and percentiles; /metrics is checked during and after; status 0" {
  local scenario
  run env DEMO_IN_LAB=1 ./dev demo --once
  echo "$output"
  [ "$status" -eq 0 ]
  for scenario in smoke mixed heartbeat; do
    grep -E "^PASS  $scenario +node1/rxe0 -> node2/rxe1 " <<<"$output"
  done
  [ "$(grep -cE "^ *operation +size +count +rate +bandwidth +p50 +p99 +p99\.9 +max$" <<<"$output")" -eq 3 ]
  [ "$(grep -cE "^ *write +[0-9][^/]* (k|M)?op/s .*b/s( +[0-9.-]+( [nmu]?s)?){4}$" <<<"$output")" -ge 3 ]
  grep -x "promtool check metrics, during a run: nothing to say" <<<"$output"
  grep -x "promtool check metrics, after the runs: nothing to say" <<<"$output"
  if is_up; then echo "the machine runs on"; return 1; fi
}

@test "what the demo says to type works, and so does the page, until TERM, HUP or INT, which leave no machine behind" {
  local signal end
  for signal in TERM HUP INT; do
    env --default-signal=INT,HUP,TERM DEMO_IN_LAB=1 DEMO_SCENARIOS=heartbeat ./dev demo >"$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
    pid=$!
    end=$((SECONDS + 280))
    # Once to its end; the others are stopped as soon as the machine is up.
    until if [[ $signal == TERM ]]; then grep -q "Ctrl-C ends the demo" "$BATS_TEST_TMPDIR/log"; else is_up; fi; do
      if ! kill -0 "$pid" || ((SECONDS >= end)); then cat "$BATS_TEST_TMPDIR/log"; return 1; fi
      sleep 0.5
    done
    is_up
    if [[ $signal == TERM ]]; then
      grep -E "^PASS  heartbeat " "$BATS_TEST_TMPDIR/log"
      type_it
      curl -fsS --max-time 10 http://127.0.0.1:9879/ | grep -i "<html"
      curl -fsS --max-time 10 http://127.0.0.1:9879/v1/runs | jq -e '.runs | length >= 1'
    fi
    kill -"$signal" "$pid"
    wait "$pid" || :
    if is_up; then echo "after $signal the machine runs on"; return 1; fi
    run curl -sS --max-time 5 http://127.0.0.1:9879/healthz
    [[ $status != 0 ]]
  done
}
