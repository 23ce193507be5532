#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What happens to ports, addresses, MTUs and devices around a run. Each row: its verdict, its first error, the right finding first, and then a
# run that passes with nothing touched but the fault taken back.
# The lines of a test run in the machine: nothing expands here. A test calls a function that runs them.
# shellcheck disable=SC2016,SC2030,SC2031

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

# The daemons talk over the loopback device: what happens to the ports does not touch their sessions. Retries end soon.
PORTS='
  NODE_LISTEN=([1]=127.0.0.1:18620 [2]=127.0.0.1:18621)
  SOON="qp: { local_ack_timeout: 12, retry_cnt: 3 }"
  scenario long "$STREAM" "{ warmup: 0s, duration: 20s }" "$SOON"
  scenario short "$PINGPONG" "{ warmup: 0s, iterations: 200 }"
  first() {  # file, code, least confidence (likely or certain)
    holds "$1" ".measurements[0].findings[0] | .code == \"$2\" and (.confidence == \"$3\" or .confidence == \"certain\")"
  }
  # Of a node: every port of it is told to be so.
  ports_are() { [[ $(http "$1" /v1/devices | jq -r "[.ports[].state] | unique | join(\" \")") == "$2" ]]; }
  passes() { run_scenario 1 short again.json; [[ $(jq -r .verdict again.json) == pass ]]; }
  again() { eventually 60 passes; }
'

@test "C04 C59 a port that goes down in mid-run: fail, RDT-0132 certain and first, with its moment" {
  run guest "$PORTS"'
    nodes_up long.yaml short.yaml
    run_begin 1 long r.json
    run_measuring 1
    ip link set veth0 down
    wait "$RUN_PID" || :
    verdict r.json fail
    first r.json RDT-0132 certain
    holds r.json ".measurements[0].first_error | .class == \"device\" and .stage == \"run\" and (.kind == \"wc_status\" or .call == \"stall\")"
    holds r.json ".measurements[0].findings[0] | (.text | test(\"port 1 of node[12]/rxe[01] went down at [+][0-9]\")) and (.evidence | test(\"port_err at [+].*down afterwards\"))"
    holds r.json ".measurements[0] | [.initiator, .responder] | all(.port_report | .after.state == \"down\" and any(.events[]; .kind == \"port_err\"))"
    ip link set veth0 up
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "C04 a port that is down at the start: fail, RDT-0132 certain and first, and no traffic" {
  run guest "$PORTS"'
    nodes_up short.yaml
    ip link set veth1 down
    eventually 20 ports_are 2 down
    run_scenario 1 short r.json
    verdict r.json fail
    first r.json RDT-0132 certain
    holds r.json ".measurements[0] | .first_error.stage == \"discover\" and .completed == 0"
    ip link set veth1 up
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "the address that is asked for is not there: error, RDT-0112 certain and first" {
  run guest "$PORTS"'
    scenario four "$PINGPONG" "{ warmup: 0s, iterations: 200 }" "qp: { gid_index: 1 }"
    scenario nine "$PINGPONG" "{ warmup: 0s, iterations: 200 }" "qp: { gid_index: 9 }"
    nodes_up four.yaml nine.yaml short.yaml
    has_gids() { [[ $(http 2 /v1/devices | jq "[.ports[].gids[]] | length") == "$1" ]]; }
    before=$(http 2 /v1/devices | jq "[.ports[].gids[]] | length")
    ip addr del 10.99.0.2/24 dev veth1
    eventually 20 has_gids $((before - 1))
    # The other daemon hears of it a moment later.
    told() { run_scenario 1 four r.json; [[ $(jq -r .verdict r.json) == error ]]; }
    eventually 20 told
    first r.json RDT-0112 certain
    holds r.json ".measurements[0].first_error | .stage == \"resolve\" and (.text | test(\"rxe1 port 1 [(]none[)]\"))"
    ip addr add 10.99.0.2/24 dev veth1
    eventually 20 has_gids "$before"
    again
    run_scenario 1 nine r.json
    verdict r.json error
    first r.json RDT-0112 certain
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "C06 gid_index of one family here and of another there: error, RDT-0112 with both, and pass once they agree" {
  run guest "$PORTS"'
    for n in 1 2; do
      node_write "$n" short.yaml
      sed -i "s/devices: .*/devices: [{ name: ${NODE_DEVICE[$n]}, gid_index: $n }]/" "node$n/rdmatestd.yaml"
      node_start "$n"
    done
    node_ready 1; node_ready 2; node_meets 1 devices; node_meets 2 devices
    run_scenario 1 short r.json
    verdict r.json error
    first r.json RDT-0112 certain
    holds r.json ".measurements[0].first_error.text | test(\"::ffff:10.99.0.1.*fd99::2\")"
    sed -i "s/gid_index: 2/gid_index: 1/" node2/rdmatestd.yaml
    kill -HUP "${NODE_PID[2]}"
    again
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the MTU of one end lowered before the run: a path_mtu that is asked for is refused with both, auto takes what fits" {
  run guest "$PORTS"'
    scenario wide "$PINGPONG" "{ warmup: 0s, iterations: 200 }" "qp: { path_mtu: 4096 }"
    nodes_up wide.yaml short.yaml
    ip link set veth1 mtu 1500
    # Whoever notices first says it, in the same words: the end itself, its daemon, or the one that plans.
    run_scenario 1 wide r.json
    verdict r.json error
    first r.json RDT-0110 certain
    holds r.json ".measurements[0].first_error.text | test(\"path_mtu: 4096.*1024.*node2/rxe1\")"
    # What is auto follows what the other daemon was told: once its scan saw it.
    narrow() { run_scenario 1 short r.json; [[ $(jq -r .verdict r.json) == pass ]]; }
    eventually 20 narrow
    holds r.json ".measurements[0].workload.qp.path_mtu_bytes == 1024"
    ip link set veth1 mtu 9000
    wide() { run_scenario 1 wide again.json; [[ $(jq -r .verdict again.json) == pass ]]; }
    eventually 60 wide
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "the MTU of one end lowered in mid-run: fail, RDT-0134 likely and first, with both MTUs" {
  run guest "$PORTS"'
    nodes_up long.yaml short.yaml
    # A queue before the wire, as a network card has one: see the README.
    tc qdisc add dev veth0 root pfifo limit 1000
    run_begin 1 long r.json
    run_measuring 1
    ip link set veth1 mtu 1500
    wait "$RUN_PID" || :
    verdict r.json fail
    first r.json RDT-0134 likely
    holds r.json ".measurements[0].first_error | .class == \"device\" and .stage == \"run\""
    holds r.json ".measurements[0].findings[0].text | test(\"node2/rxe1 port 1 is 1024 now.*4096\")"
    ip link set veth1 mtu 9000
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

lose_address() {  # node
  run guest "$PORTS n=$1"'
    nodes_up long.yaml short.yaml
    run_begin 1 long r.json
    run_measuring 1
    ip addr del "10.99.0.$n/24" dev "veth$((n - 1))"
    wait "$RUN_PID" || :
    verdict r.json fail
    first r.json RDT-0133 certain
    holds r.json ".measurements[0].first_error | .class == \"device\" and .stage == \"run\" and (.kind == \"wc_status\" or .call == \"stall\")"
    holds r.json ".measurements[0].findings[0].text | test(\"::ffff:10.99.0.$n of node$n/rxe$((n - 1)).*at [+]\")"
    ip addr add "10.99.0.$n/24" dev "veth$((n - 1))"
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "the IPv4 address of the initiator removed in mid-run: fail, RDT-0133 certain and first" { lose_address 1; }

@test "the IPv4 address of the responder removed in mid-run: fail, RDT-0133 certain and first" { lose_address 2; }

lose_device() {  # node
  run guest "$PORTS n=$1"'
    nodes_up long.yaml short.yaml
    run_begin 1 long r.json
    run_measuring 1
    timeout 20 rdma link del "rxe$((n - 1))"
    wait "$RUN_PID" || :
    verdict r.json error
    first r.json RDT-0106 certain
    holds r.json ".measurements[0].first_error | .call == \"device\" and .node == \"node$n\" and .stage == \"run\""
    holds r.json ".measurements[0] | [.initiator, .responder][$n - 1].port_report | .after.is_present == false and any(.events[]; .kind == \"device_removed\")"
    rdma link add "rxe$((n - 1))" type rxe netdev "veth$((n - 1))"
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "the device of the initiator deleted in mid-run: error, RDT-0106 certain and first, and pass once it is there again" { lose_device 1; }

@test "the device of the responder deleted in mid-run: error, RDT-0106 certain and first, and pass once it is there again" { lose_device 2; }
