#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
#
# Too little of what a process needs: it says so, and lives on.

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

# Field case C26: see greed.c for what takes the descriptors.
@test "without descriptors a client, a run and a peer are refused in words, and afterwards the next run passes" {
  run guest '
    scenario short "$PINGPONG" "{ warmup: 0s, iterations: 50 }"
    node_write 1 short.yaml; node_write 2 short.yaml
    node_start 2
    export GREED=$NODES_DIR/greed
    leave() { rm -rf greed.done greed; sleep 0.1; printf "%*s" "$1" "" >greed.new; mv greed.new greed; eventually 20 test -d greed.done; }
    (ulimit -n 48; export LD_PRELOAD=$BUILD/tests/lab/greed.so ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
     exec "$BUILD/rdmatestd" --config="$NODES_DIR/node1/rdmatestd.yaml") >>node1/log 2>&1 </dev/null &
    NODE_PID[1]=$!
    pid=${NODE_PID[1]}
    node_ready 1; node_meets 1 devices; node_meets 2 devices
    run_scenario 1 short before.json
    verdict before.json pass
    has_closed() { ! ls -l /proc/$pid/fd | grep -q uverbs; }
    eventually 40 has_closed

    leave 0
    [[ $(curl -sS --max-time 10 -o said -w "%{http_code}" http://127.0.0.1:9879/healthz) == 503 ]] || fail "$(<said)"
    grep -q "no file descriptor left for this connection; raise LimitNOFILE=" said || fail "$(<said)"
    ctl 1 status >said 2>&1 && fail "status was told: $(<said)"
    grep -q "no file descriptor left" said || fail "$(<said)"

    # One for the request, none for the device.
    leave 1
    run_scenario 1 short refused.json
    verdict refused.json error
    holds refused.json "[.. | strings | select(test(\"Too many open files; this process may have [0-9]+ open, raise that\"))] | length > 0"
    finding refused.json RDT-0118

    node_stop 2
    leave 0
    node_start 2
    is_told() { http 2 /v1/peers | grep -q "no file descriptor left for one more session"; }
    eventually 30 is_told

    rm greed
    node_meets 1 devices; node_meets 2 devices
    run_scenario 1 short after.json
    verdict after.json pass
    [[ $pid == "${NODE_PID[1]}" ]] && kill -0 "$pid" || fail "the daemon ended"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
