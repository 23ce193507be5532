#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What a network does to packets, by netem on the veth pair of the machine: what is said of it, and that nothing is said any more once it is over.
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
# lab: plain

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

# Many packets in little time; and single messages, of which a lost one stops everything until the timer of the queue pair ends. A host
# that is short of CPU takes the force of what counters say (RDT-0115 likely): the clean run tells whether it is.
BOTH='
  PACKETS="{ pattern: stream, ops: [{ op: write, size: 64KiB }], load: { model: closed, outstanding: 16 } }"
  TIMER="qp: { local_ack_timeout: 12, retry_cnt: 7, traffic_class: 0 }"
  scenario stream "$STREAM" "{ warmup: 0s, duration: 1s }" "$TIMER"
  scenario long "$PACKETS" "{ warmup: 0s, duration: 5s }"
  scenario slow "$STREAM" "{ warmup: 0s, duration: 1s }" "expect: [ bandwidth.mean >= 30Mbps ]" "$TIMER"
  scenario rally "$PINGPONG" "{ warmup: 0s, duration: 2s }" "$TIMER"
  nodes_up stream.yaml long.yaml rally.yaml slow.yaml
  starved() { jq -e "[.measurements[0].findings[] | select(.code == \"RDT-0115\" and .confidence != \"possible\")] | length > 0" "$1" >/dev/null; }
  # The first finding about the network, and at least likely, unless this host was starved.
  says() {  # file, code
    if starved "$1"; then
      finding "$1" "$2"
    else
      holds "$1" "[.measurements[0].findings[] | select(.code != \"RDT-0115\")][0] | .code == \"$2\" and .confidence != \"possible\""
    fi
  }
  # Packets had to be sent again, and the counters of both ends say how many were lost. A starved host takes nothing but the force of that.
  resent() {  # file
    if starved "$1"; then holds "$1" ".verdict | IN(\"pass\", \"degraded\", \"inconclusive\")"; else verdict "$1" degraded; fi
    says "$1" RDT-0128
    holds "$1" "[.measurements[0].findings[] | select(.code == \"RDT-0128\")][0].evidence | test(\"retransmissions: node1/rxe0 [0-9]+, node2/rxe1 [0-9]+; .*lost: about [1-9][0-9]* of [0-9]+ packets\")"
  }
  # Nothing above possible but what the host itself is short of.
  clean() {  # file
    verdict "$1" pass
    holds "$1" "[.measurements[0].findings[] | select(.code != \"RDT-0115\" and .confidence != \"possible\")] | length == 0"
  }
  again() { run_scenario 1 stream again.json; clean again.json; }
'

@test "no fault: counters are read at both ends, agree with what was sent, and nothing is found" {
  run guest "$BOTH"'
    run_scenario 1 rally r.json
    clean r.json
    run_scenario 1 stream r.json
    clean r.json
    holds r.json ".measurements[0] | .initiator.traffic.traffic_completed as \$n |
      .initiator.counters.sent_packets >= \$n and .responder.counters.received_packets >= \$n and .initiator.traffic.traffic_bytes == \$n * 4096"
    holds r.json ".measurements[0].initiator.counters | has(\"icrc_errors\") | not"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C67 loss of 0.1 %: degraded, RDT-0128, with the gaps that the other end saw" {
  run guest "$BOTH"'
    tc qdisc add dev veth0 root netem loss 0.1%
    run_scenario 1 long r.json
    tc qdisc del dev veth0 root
    resent r.json
    holds r.json ".measurements[0].responder.counters.out_of_sequence > 0"
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "loss of 5 %: degraded, RDT-0128, in a stream and in a ping-pong" {
  run guest "$BOTH"'
    tc qdisc add dev veth0 root netem loss 5%
    for name in stream rally; do
      run_scenario 1 "$name" r.json
      resent r.json
    done
    tc qdisc del dev veth0 root
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "delay of 5 ms: pass, and the latency shows it" {
  run guest "$BOTH"'
    tc qdisc add dev veth0 root netem delay 5ms
    run_scenario 1 rally r.json
    tc qdisc del dev veth0 root
    clean r.json
    # Half of a round trip in which one way is late.
    holds r.json ".measurements[0].operations[0].latency.min_ns >= 2500000"
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "corruption of 2 %: degraded, RDT-0128: what a checksum refused was lost" {
  run guest "$BOTH"'
    tc qdisc add dev veth0 root netem corrupt 2%
    run_scenario 1 stream r.json
    tc qdisc del dev veth0 root
    resent r.json
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "duplication of 10 %: pass: the other end drops what it has" {
  run guest "$BOTH"'
    tc qdisc add dev veth0 root netem duplicate 10%
    run_scenario 1 stream r.json
    tc qdisc del dev veth0 root
    clean r.json
    holds r.json ".measurements[0].responder.counters.duplicate_requests > 0"
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "reordering: degraded, RDT-0128, with requests out of sequence" {
  run guest "$BOTH"'
    tc qdisc add dev veth0 root netem delay 1ms reorder 95%
    run_scenario 1 stream r.json
    tc qdisc del dev veth0 root
    resent r.json
    holds r.json ".measurements[0].responder.counters.out_of_sequence > 0"
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "a throttled rate: the expectation is missed, RDT-0113 first, with the rate that was found, and nothing else is blamed" {
  run guest "$BOTH"'
    tc qdisc add dev veth0 root tbf rate 10mbit burst 32kb latency 500ms
    run_scenario 1 slow r.json
    tc qdisc del dev veth0 root
    # A host that is short of CPU is slow itself, and says so.
    if starved r.json; then verdict r.json inconclusive; else verdict r.json fail; fi
    says r.json RDT-0113
    holds r.json ".measurements[0] | .first_error == null and ([.findings[] | select(.code == \"RDT-0113\")][0].evidence | test(\"actual [0-9.]+ Mb/s, limit 30 Mb/s, [0-9]+ samples\"))"
    run_scenario 1 slow again.json
    clean again.json
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

# As a packet filter does it: what is not RoCE goes through, the neighbour is known.
@test "nothing arrives at UDP port 4791, from the start and in mid-run: fail, RDT-0107 first, and the evidence says where packets went" {
  run guest '
    scenario long "$STREAM" "{ warmup: 0s, duration: 20s }" "qp: { local_ack_timeout: 12, retry_cnt: 2 }"
    scenario rally "$PINGPONG" "{ warmup: 0s, iterations: 200 }"
    nodes_up long.yaml rally.yaml
    closed() {  # by whom it is dropped: at the other end, where no sender notices
      tc qdisc add dev veth1 ingress
      tc filter add dev veth1 parent ffff: protocol ip u32 match ip dport 4791 0xffff action drop
    }
    opened() { tc qdisc del dev veth1 ingress; }
    is_told() {  # file
      verdict "$1" fail
      holds "$1" ".measurements[0].first_error | .class == \"device\" and .stage == \"run\" and .call == \"ibv_poll_cq\" and .kind == \"wc_status\" and .number == 12"
      holds "$1" ".measurements[0].findings[0] | .code == \"RDT-0107\" and .confidence == \"certain\" and (.evidence | test(\"rxe0 sent [0-9]+ packets.*rxe1 received [0-9]+\"))"
    }
    closed
    run_scenario 1 long r.json
    opened
    is_told r.json
    holds r.json ".measurements[0].completed == 0"
    run_begin 1 long r.json
    run_measuring 1
    closed
    wait "$RUN_PID" || :
    opened
    is_told r.json
    run_scenario 1 rally again.json
    verdict again.json pass
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "traffic of others on the port, whose packets alone get lost: RDT-0131, and their retransmissions move no verdict" {
  run guest "$BOTH"'
    for n in 1 2; do node_limits "$n" "{ allow_disruptive: always }"; done
    ib_write_bw -d rxe1 -x 1 -p 19000 -F -D 120 -s 4096 >/dev/null 2>&1 & server=$!
    listens() { ss -ltn | grep -q ":19000 "; }
    eventually 20 listens
    ib_write_bw -d rxe0 -x 1 -p 19000 -F -D 120 -s 4096 10.99.0.2 >/dev/null 2>&1 & client=$!
    theirs() { rdma -j resource show qp link rxe1 | jq -er ".[] | select(.comm == \"ib_write_bw\" and (.state | test(\"RT[RS]\"))) | .lqpn" >qpn; }
    eventually 20 theirs
    # 2 % of what is for their queue pair (what they send again excuses some of what is too much on the port): its number is in the base
    # transport header, behind 20 bytes of IP, 8 of UDP, 4 of its own.
    tc qdisc add dev veth0 root handle 1: prio bands 4
    tc qdisc add dev veth0 parent 1:4 handle 40: netem loss 2%
    tc filter add dev veth0 parent 1: protocol ip prio 1 u32 match u32 "$(<qpn)" 0x00ffffff at 32 flowid 1:4
    resent() { cat /sys/class/infiniband/rxe1/ports/1/hw_counters/out_of_seq_request; }
    before=$(resent)
    run_scenario 1 stream r.json
    (($(resent) > before)) || fail "nothing of theirs was lost: the test says nothing"
    kill "$client" "$server"; wait "$client" "$server" || :
    tc qdisc del dev veth0 root
    verdict r.json pass
    holds r.json ".measurements[0].findings[] | select(.code == \"RDT-0131\" and .confidence == \"likely\") | .evidence | test(\"rxe[01] sent [0-9]+ packets, [0-9.]+ times what this run can have sent\") and test(\"on rxe[01] when the run began: .*ib_write_bw\")"
    holds r.json "[.measurements[0].findings[] | select(.code == \"RDT-0128\" and .confidence != \"possible\")] | length == 0"
    again
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}
