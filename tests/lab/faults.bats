#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

LONG='
  scenario long "$STREAM" "{ warmup: 0s, duration: 20s }"; scenario short "$PINGPONG" "{ warmup: 0s, iterations: 200 }"
  fails_at() {  # file, class, stage, call, node
    holds "$1" ".measurements[0].first_error | .class == \"$2\" and .stage == \"$3\" and .call == \"$4\" and .node == \"$5\""
  }
  first() {  # file, code
    holds "$1" ".measurements[0].findings[0] | .code == \"$2\" and .confidence != \"possible\" and .evidence != null"
  }
  # node2 was lost in mid-run: what was measured until then is there.
  is_lost() {  # file
    verdict "$1" inconclusive
    fails_at "$1" peer run session node2
    first "$1" RDT-0101
    holds "$1" ".measurements[0] | .completed > 0"
  }
'

@test "kill -9 of the responder, which stays away or is back at once: inconclusive, RDT-0101 first, and the next run passes" {
  run guest "$LONG"'
    nodes_up long.yaml short.yaml
    for then in away back; do
      run_begin 1 long r.json
      run_measuring 1
      node_stop 2 KILL
      [[ $then == away ]] || node_start 2
      wait "$RUN_PID" || :
      is_lost r.json
      [[ $then == back ]] || node_start 2
      node_meets 1 devices
      run_scenario 1 short again.json
      verdict again.json pass
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "kill -9 of the coordinator: the responder frees the job and serves the next run" {
  run guest "$LONG"'
    nodes_up long.yaml short.yaml
    run_begin 1 long r.json || :
    run_measuring 1
    node_stop 1 KILL
    wait "$RUN_PID" || :
    node_start 1; node_meets 1 devices
    run_scenario 1 short again.json
    verdict again.json pass
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "SIGSTOP of the coordinator for 8 s during a run: inconclusive, and it is not the other end that is blamed" {
  run guest "$LONG"'
    nodes_up long.yaml short.yaml
    run_begin 1 long r.json
    run_measuring 1
    kill -STOP "${NODE_PID[1]}"
    sleep 8
    kill -CONT "${NODE_PID[1]}"
    wait "$RUN_PID" || :
    verdict r.json inconclusive
    holds r.json "[.. | objects | select(.code? and .confidence? and .confidence != \"possible\") | .code] | .[0] == \"RDT-0115\" and all(. != \"RDT-0101\")"
    node_meets 1 devices
    run_scenario 1 short again.json
    verdict again.json pass
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "SIGSTOP of the responder: inconclusive, RDT-0101 first, and the next run passes once it goes on" {
  run guest "$LONG"'
    nodes_up long.yaml short.yaml
    run_begin 1 long r.json
    run_measuring 1
    kill -STOP "${NODE_PID[2]}"
    wait "$RUN_PID" || :
    kill -CONT "${NODE_PID[2]}"
    is_lost r.json
    node_meets 1 devices
    run_scenario 1 short again.json
    verdict again.json pass
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a peer that is not there: inconclusive, RDT-0102, and no traffic" {
  run guest "$LONG"'
    node_write 1 short.yaml; node_start 1; node_ready 1
    run_scenario 1 short r.json
    ((RUN_STATUS == 4)) || fail "status $RUN_STATUS"
    verdict r.json inconclusive
    finding r.json RDT-0102
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a peer with another fleet key: error, RDT-0103" {
  run guest "$LONG"'
    node_write 1 short.yaml; node_write 2 short.yaml
    nodes_key other.key
    sed -i "s|key_file: .*|key_file: $NODES_DIR/other.key|" node2/rdmatestd.yaml
    # There before it is tried: a run tells what the last attempt showed.
    node_start 2; node_ready 2; node_start 1; node_ready 1
    run_scenario 1 short r.json
    ((RUN_STATUS == 3)) || fail "status $RUN_STATUS"
    verdict r.json error
    finding r.json RDT-0103
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C01 a device that is absent at the start and appears later: RDT-0106, then pass, without a restart" {
  run guest "$LONG"'
    rdma link del rxe1
    for n in 1 2; do node_write $n short.yaml; node_start $n; done
    node_ready 1; node_meets 1
    [[ $(http 2 /readyz) == *"0 of "*" ports active"* ]] || fail "readyz: $(http 2 /readyz)"
    run_scenario 1 short r.json
    verdict r.json error
    finding r.json RDT-0106
    rdma link add rxe1 type rxe netdev veth1
    passes() { run_scenario 1 short again.json; [[ $(jq -r .verdict again.json) == pass ]]; }
    eventually 60 passes
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "C22 a scenario above a device limit: error, RDT-0110 first, before anything is allocated, with the limit" {
  run guest "$LONG"'
    scenario big "{ pattern: stream, ops: [{ op: send, size: 256B, inline: true }] }" "{ warmup: 0s, iterations: 10 }" \
      "qp: { max_inline_data: 4KiB }"
    nodes_up big.yaml short.yaml
    run_scenario 1 big r.json
    verdict r.json error
    fails_at r.json input resource limit node1
    first r.json RDT-0110
    holds r.json ".measurements[0].first_error.text | test(\"max_inline\")"
    run_scenario 1 short again.json
    verdict again.json pass
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a second run while one goes on: it queues, and both pass" {
  run guest '
    scenario first "$STREAM" "{ warmup: 0s, duration: 4s }"
    scenario second "$PINGPONG" "{ warmup: 0s, iterations: 100 }"
    nodes_up first.yaml second.yaml
    run_begin 1 first r1.json
    run_measuring 1
    run_scenario 1 second r2.json
    wait "$RUN_PID"
    verdict r1.json pass
    verdict r2.json pass
    holds r2.json ".started_at >= \"$(jq -r .ended_at r1.json)\""
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a broken configuration at the start: every error with its place, status 78" {
  run guest "$LONG"'
    node_write 1 short.yaml
    sed -i "s/iterations: 200/iterationz: 200/; s/size: 64B/size: 64KB/" node1/scenarios.d/short.yaml
    node_start 1; node_wait 1
    [[ ${NODE_STATUS[1]} == 78 ]] || fail "status ${NODE_STATUS[1]}"
    cat node1/log
    grep -qE "short.yaml:[0-9]+:[0-9]+: .*iterationz.*iterations" node1/log || fail "no did-you-mean"
    grep -qE "short.yaml:[0-9]+:[0-9]+: .*64KB.*KiB" node1/log || fail "no cure for KB"
    rc=0; "$BUILD/rdmatestd" --check --config=node1/rdmatestd.yaml >check 2>&1 || rc=$?
    [[ $rc == 78 ]] || fail "--check: status $rc"
    unset "NODE_STATUS[1]"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a broken configuration at reload: the old one stays, the errors are said, and a good one is taken" {
  run guest "$LONG"'
    nodes_up short.yaml
    cp node1/scenarios.d/short.yaml good
    sed -i "s/pingpong/pingpongg/" node1/scenarios.d/short.yaml
    kill -HUP "${NODE_PID[1]}"
    said() { grep -q "pingpongg" node1/log; }
    eventually 30 said
    run_scenario 1 short r.json
    verdict r.json pass
    sed "s/name: short/name: renamed/" good >node1/scenarios.d/short.yaml
    kill -HUP "${NODE_PID[1]}"
    taken() { [[ $(http 1 /v1/scenarios) == *renamed* ]]; }
    eventually 30 taken
    run_scenario 1 renamed r.json
    verdict r.json pass
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

# Whoever asked for the run may hear no more of it: the log has what became of it.
@test "SIGTERM during a run: inconclusive, RDT-0116, both daemons end cleanly" {
  run guest "$LONG"'
    nodes_up long.yaml
    run_begin 1 long r.json || :
    run_measuring 1
    node_stop 1 TERM
    [[ ${NODE_STATUS[1]} == 0 ]] || fail "node1 ended with ${NODE_STATUS[1]}"
    wait "$RUN_PID" || :
    grep -E "scenario \"long\": inconclusive: RDT-0116 certain: the run was " node1/log || fail "no verdict is told"
    node_alive 2 || fail "node2 ended too"
    node_stop 2 TERM
    [[ ${NODE_STATUS[2]} == 0 ]] || fail "node2 ended with ${NODE_STATUS[2]}"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "SIGTERM of the responder during a run: inconclusive, RDT-0101 first, and the next run passes" {
  run guest "$LONG"'
    nodes_up long.yaml short.yaml
    run_begin 1 long r.json
    run_measuring 1
    node_stop 2 TERM
    [[ ${NODE_STATUS[2]} == 0 ]] || fail "node2 ended with ${NODE_STATUS[2]}"
    wait "$RUN_PID" || :
    is_lost r.json
    holds r.json ".measurements[0].first_error.text | test(\"SIGTERM|stop\")"
    node_start 2; node_meets 1 devices
    run_scenario 1 short again.json
    verdict again.json pass
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
