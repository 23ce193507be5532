#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
# lab: plain
#
# Too little of what a process needs: it says so, and lives on.

# Processes are slow where the host is busy.
export BATS_TEST_TIMEOUT=320 GUEST_TIMEOUT=280

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

# See greed.c for what takes the descriptors.
@test "C26 without descriptors a client, a run and a peer are refused in words, and afterwards the next run passes" {
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
    # The daemon itself needs that one now and then, to look at its devices: then the request is refused, not the run.
    is_refused() {
      timeout 60 "$BUILD/rdmatestctl" --socket="$NODES_DIR/node1/admin.sock" run short --json >refused.json 2>refused.err || :
      [[ $(head -c 1 refused.json) == "{" ]]
    }
    eventually 60 is_refused
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

@test "a device node that is refused, or removed, is told by /readyz, and so is that it is back" {
  run guest '
    mkdir nobody
    printf "version: 1\ndaemon:\n  node_name: node1\n  http: { listen: \"127.0.0.1:9879\" }\n  admin_socket: %s\n  devices: [{ name: rxe0 }]\n" \
      "$PWD/nobody/admin.sock" >nobody/rdmatestd.yaml
    chown -R nobody nobody; chmod 755 .
    mkdir node1
    setpriv --reuid nobody --regid nogroup --clear-groups --bounding-set=-all --inh-caps=-all \
      "$BUILD/rdmatestd" --config="$PWD/nobody/rdmatestd.yaml" >node1/log 2>&1 </dev/null &
    NODE_PID[1]=$!
    : >said
    answers() { [[ $(curl -sS --max-time 10 -o said -w "%{http_code}" http://127.0.0.1:9879/readyz) == "$1" && $(<said) == *"$2"* ]]; }
    node=/dev/infiniband/uverbs0
    numbers=$(stat -c "0x%t 0x%T" "$node")
    eventually 30 answers 200 "1 of 1 ports active"
    chmod 000 "$node"
    eventually 30 answers 503 "its node $node is refused"
    chmod 666 "$node"
    eventually 30 answers 200 "1 of 1 ports active"
    rm "$node"
    eventually 30 answers 503 "is in the kernel, but programs do not see it: its node below /dev/infiniband is missing"
    # shellcheck disable=SC2086 # two words
    mknod -m 666 "$node" c $numbers
    eventually 30 answers 200 "1 of 1 ports active"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
