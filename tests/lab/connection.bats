#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
#
# Queue pairs that the kernel's connection manager connects (qp.cm: rdma_cm), on real verbs.

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

# node1 connects with a library in front of it that can be made to lie: see forge.c.
FORGE='
  export FORGE_DIR=$NODES_DIR/forge
  mkdir "$FORGE_DIR"
  scenario cm "$PINGPONG" "{ warmup: 0s, iterations: 50 }" "qp: { cm: rdma_cm }"
  start_both() {
    local asan=$ASAN_OPTIONS
    node_write 1 cm.yaml; node_write 2 cm.yaml
    export LD_PRELOAD=$BUILD/tests/lab/forge.so ASAN_OPTIONS=$asan:verify_asan_link_order=0
    node_start 1
    unset LD_PRELOAD; ASAN_OPTIONS=$asan
    node_start 2
    node_ready 1; node_ready 2; node_meets 1 devices; node_meets 2 devices
  }
  is_connecting() {
    local id
    id=$(http 1 /v1/runs | jq -r "[.runs[] | select(.state == \"running\")][0].id // empty")
    [[ $id && $(http 1 "/v1/runs/$id/progress") == *"\"phase\":\"connecting\""* ]]
  }
'

@test "by rdma_cm each operation streams over four queue pairs, and each phase is in the result" {
  run guest '
    for op in write read send write_with_imm atomic_fetch_and_add; do
      size=16KiB; [[ $op != atomic* ]] || size=8B
      scenario "${op//_/-}" "{ pattern: stream, ops: [{ op: $op, size: $size }], load: { outstanding: 16 } }" "{ warmup: 0, iterations: 300 }" "qp: { cm: rdma_cm, num_qps: 4 }"
    done
    nodes_up ./*.yaml
    for op in write read send write_with_imm atomic_fetch_and_add; do
      run_scenario 1 "${op//_/-}" r.json
      verdict r.json pass
      moved r.json "$op"
      holds r.json ".measurements[0].completed == 300 and .measurements[0].errors == 0"
    done
    phases="[\"resolve_addr\", \"resolve_route\", \"connect\", \"established\", \"disconnect\"]"
    holds r.json "$phases as \$wanted | .measurements[0].initiator.steps | [.[] | select(.count == 4 and .duration_ns > 0) | .name] | contains(\$wanted)"
    holds r.json "[\"accept\", \"established\"] as \$wanted | .measurements[0].responder.steps | [.[] | select(.count == 4) | .name] | contains(\$wanted)"
    [[ -z $(rdma resource show cm_id) ]] || fail "left: $(rdma resource show cm_id)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "by rdma_cm the other end of datagrams is found, and a ping-pong goes to and fro from either node" {
  run guest '
    scenario datagrams "{ pattern: stream, ops: [{ op: send, size: 1KiB }], load: { outstanding: 8 } }" "{ warmup: 0, iterations: 300 }" "qp: { cm: rdma_cm, qp_type: UD, num_qps: 2, max_recv_wr: 512 }"
    scenario ping "{ pattern: pingpong, ops: [{ op: send, size: 64B }] }" "{ warmup: 0, iterations: 300 }" "qp: { cm: rdma_cm }" "cq: { mode: event }"
    nodes_up ./*.yaml
    run_scenario 1 datagrams r.json
    verdict r.json pass
    holds r.json "[\"resolve_addr\", \"resolve_route\", \"connect\"] as \$wanted | .measurements[0].initiator.steps | [.[] | select(.count == 2) | .name] | contains(\$wanted)"
    # The other node asks, and its connections come from there.
    run_scenario 2 ping r.json
    verdict r.json pass
    [[ -z $(rdma resource show cm_id) ]] || fail "left: $(rdma resource show cm_id)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C37 a wrong token is rejected, and said; what is swallowed is a connection without an answer; then a run passes" {
  run guest "$FORGE"'
    start_both
    touch "$FORGE_DIR/forge.rxe0"
    run_scenario 1 cm r.json
    verdict r.json inconclusive
    finding r.json RDT-0160
    holds r.json ".measurements[0].first_error | .kind == \"cm_reject\" and .number == 28 and .status_name == \"IB_CM_REJ_CONSUMER_DEFINED\" and
      (.text | test(\"does not know the token\"))"
    rm "$FORGE_DIR/forge.rxe0"
    touch "$FORGE_DIR/swallow.rxe0"
    run_scenario 1 cm r.json
    verdict r.json fail
    finding r.json RDT-0161
    rm "$FORGE_DIR/swallow.rxe0"
    run_scenario 1 cm r.json
    verdict r.json pass
    [[ -z $(rdma resource show cm_id) ]] || fail "left: $(rdma resource show cm_id)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "kill -9 of the responder while connections are made: inconclusive, RDT-0101, nothing left, and pass once it is back" {
  run guest "$FORGE"'
    start_both
    touch "$FORGE_DIR/swallow.rxe0"
    run_begin 1 cm r.json
    eventually 20 is_connecting
    kill -KILL "${NODE_PID[2]}"
    wait "${NODE_PID[2]}" || :
    unset "NODE_PID[2]"
    wait "$RUN_PID"
    verdict r.json inconclusive
    finding r.json RDT-0101
    rm "$FORGE_DIR/swallow.rxe0"
    [[ -z $(rdma resource show cm_id) ]] || fail "left: $(rdma resource show cm_id)"
    node_start 2; node_ready 2; node_meets 1 devices; node_meets 2 devices
    passes() { run_scenario 1 cm again.json; [[ $(jq -r .verdict again.json) == pass ]]; }
    eventually 60 passes
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a device that goes after a run by rdma_cm is let go by the daemon and by librdmacm, and passes once it is back" {
  run guest '
    scenario cm "$PINGPONG" "{ warmup: 0s, iterations: 50 }" "qp: { cm: rdma_cm }"
    nodes_up cm.yaml
    run_scenario 1 cm r.json
    verdict r.json pass
    # Waits in the kernel until nobody has it open.
    timeout 20 rdma link del rxe1 || fail "rxe1 is still held"
    rdma link add rxe1 type rxe netdev veth1
    passes() { run_scenario 1 cm again.json; [[ $(jq -r .verdict again.json) == pass ]]; }
    eventually 60 passes
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "connections are set up and taken down again and again, each phase timed; kill -9 of the responder among them leaves nothing" {
  run guest '
    scenario churn "{ pattern: connect }" "{ warmup: 0, iterations: 60 }" "qp: { cm: rdma_cm, num_qps: 4 }" "expect: [errors == 0, latency.p50 <= 10s, resolve_addr.latency.max <= 20s]"
    scenario endless "{ pattern: connect }" "{ warmup: 0, duration: 60s }" "qp: { cm: rdma_cm, num_qps: 4 }"
    nodes_up ./*.yaml
    run_scenario 1 churn r.json
    verdict r.json pass
    holds r.json ".measurements[0] | .completed == 60 and .errors == 0 and .connections.failed == 0 and ([.operations[] | select(.scope == \"phase\" and .completed == 60 and .latency.min_ns > 0)] | length) == 8"
    holds r.json ".measurements[0].connections.accepted | length == 5 and ([.[] | .op] | contains([\"accept\", \"established\"])) and all(.completed >= 56)"
    jq -r ".measurements[0] | \"connections/s \(.ops_per_s)\", (.operations[] | \"\(.op) p50 \(.latency.percentiles[0].value_ns) max \(.latency.max_ns) ns\")" r.json
    [[ $(http 1 /metrics) == *"rdmatestd_connection_phase_seconds_count{scenario=\"churn\",phase=\"resolve_route\"} 60"* ]] || fail "no phase in the metrics"
    [[ -z $(rdma resource show cm_id)$(rdma resource show qp | grep -v "type GSI\|type SMI") ]] || fail "left: $(rdma resource show cm_id) $(rdma resource show qp)"
    run_begin 1 endless r.json
    run_measuring 1
    kill -KILL "${NODE_PID[2]}"
    wait "${NODE_PID[2]}" || :
    unset "NODE_PID[2]"
    wait "$RUN_PID"
    verdict r.json inconclusive
    finding r.json RDT-0101
    [[ -z $(rdma resource show cm_id) ]] || fail "left: $(rdma resource show cm_id)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
