#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# lab: plain
#
# Rows of the fault matrix and field cases (tests/MATRIX.md) about permissions, limits, addresses, names, clocks and disks. Each: what is said
# while the fault is there, then a run that passes with nothing touched but the fault taken back. Three devices on a bridge: what is lost
# behind it is lost in silence.
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016

load lab

setup_file() { lab_up --devs 3; }
teardown_file() { lab_down; }
teardown() { "$LAB" exec --name "$(lab_name)" -- 'chmod 666 /dev/infiniband/uverbs*; lab-reset'; }

MATRIX='
  NODE_LISTEN=([1]=127.0.0.1:18620 [2]=127.0.0.1:18621)
  SOON="qp: { local_ack_timeout: 12, retry_cnt: 3 }"
  scenario short "$PINGPONG" "{ warmup: 0s, iterations: 200 }"
  scenario long "$PINGPONG" "{ warmup: 0s, duration: 5s }"
  scenario big "{ pattern: stream, ops: [{ op: write, size: 1MiB }], load: { model: closed, outstanding: 1 } }" "{ warmup: 0s, iterations: 3 }"
  scenario wide "{ pattern: stream, ops: [{ op: write, size: 4KiB }], load: { model: closed, outstanding: 4 } }" "{ warmup: 0s, iterations: 200 }" "$SOON"
  scenario sweep "{ pattern: stream, seed: 7, ops: [{ op: write, size: [{ size: 64B, weight: 20 }, { size: 1KiB, weight: 20 }, { size: 4KiB }] }], load: { model: closed, outstanding: 4 } }" \
    "{ warmup: 0s, iterations: 400 }" "$SOON"
  scenario zero "$PINGPONG" "{ warmup: 0s, iterations: 200 }" "qp: { gid_index: 0 }"
  first() {  # file, code, least confidence (likely or certain)
    holds "$1" ".measurements[0].findings[0] | .code == \"$2\" and (.confidence == \"$3\" or .confidence == \"certain\")"
  }
  fails_at() {  # file, stage, call
    holds "$1" ".measurements[0].first_error | .stage == \"$2\" and .call == \"$3\""
  }
  says() { holds "$1" "[.measurements[0] | .first_error.text, .findings[0].text] | any(test(\"$2\"))"; }  # file, words
  passes() { run_scenario 1 "${1:-short}" again.json; [[ $(jq -r .verdict again.json) == pass ]]; }
  again() { eventually 60 passes "$@"; }
  # The second daemon as a user who may do nothing: node 2 is nobody.
  start_both_as_nobody() {  # scenario files..
    local n
    for n in 1 2; do node_write "$n" "$@"; done
    chmod -R a+rX "$NODES_DIR"; chown -R nobody node2
    chmod 600 fleet.key; install -m 600 -o nobody fleet.key node2/fleet.key
    sed -i "s|key_file: .*|key_file: $NODES_DIR/node2/fleet.key|" node2/rdmatestd.yaml
    node_start 1
    setpriv --reuid nobody --regid nogroup --clear-groups --bounding-set=-all --inh-caps=-all \
      "$BUILD/rdmatestd" --config="$NODES_DIR/node2/rdmatestd.yaml" >>node2/log 2>&1 </dev/null &
    NODE_PID[2]=$!
    node_ready 1
    node_meets 1
  }
'

@test "C21 a memory lock limit below the buffers: error, RDT-0118 certain and first, with need, limit and cure" {
  run guest "$MATRIX"'
    ulimit -l 64
    start_both_as_nobody big.yaml short.yaml
    node_meets 1 devices
    run_scenario 1 big r.json
    verdict r.json error
    first r.json RDT-0118 certain
    fails_at r.json resource ibv_reg_mr
    holds r.json ".measurements[0].first_error | .class == \"resource\" and .node == \"node2\""
    says r.json "2 MiB cannot be registered.*RLIMIT_MEMLOCK.*64 KiB.*LimitMEMLOCK="
    prlimit --pid "${NODE_PID[2]}" --memlock=unlimited
    again big
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C02 a device node that the daemon may not open: error, RDT-0136 certain and first, on both sides, with the node" {
  run guest "$MATRIX"'
    chmod 000 /dev/infiniband/uverbs1
    start_both_as_nobody short.yaml
    run_scenario 1 short r.json
    verdict r.json error
    first r.json RDT-0136 certain
    fails_at r.json discover ibv_open_device
    holds r.json ".measurements[0].first_error.node == \"node2\""
    says r.json "rxe1.*/dev/infiniband/uverbs1 is refused"
    http 2 /v1/status | jq -e ".ports.active == 0 and (.ports.error | test(\"uverbs1\"))" || fail "$(http 2 /v1/status)"
    chmod 666 /dev/infiniband/uverbs1
    again
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C08 a port without an address: error at resolve, RDT-0112 certain and first, and nothing is set up; then it has one, and passes" {
  run guest "$MATRIX"'
    nodes_up short.yaml
    gids() { http 2 /v1/devices | jq "[.ports[].gids[]] | length"; }
    before=$(gids)
    ip addr flush dev veth1
    sysctl -q net.ipv6.conf.veth1.disable_ipv6=1
    gone() { (($(gids) < before)) && ! passes; }
    eventually 30 gone
    run_scenario 1 short r.json
    verdict r.json error
    first r.json RDT-0112 certain
    fails_at r.json resolve gid
    says r.json "rxe1 port 1 .*addresses of one network"
    holds r.json ".measurements[0].completed == 0"
    sysctl -q net.ipv6.conf.veth1.disable_ipv6=0
    ip addr add 10.99.0.2/24 dev veth1
    again
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

# The kernel keeps the GID of index 0 without an address behind it.
@test "C11 a link-local address that is gone, asked for by its index: fail, RDT-0112 likely and first, and no hang" {
  run guest "$MATRIX"'
    nodes_up zero.yaml short.yaml
    run_scenario 1 zero r.json
    verdict r.json pass
    ip -6 addr flush dev veth1 scope link
    ip neigh flush all
    run_scenario 1 zero r.json
    verdict r.json fail
    first r.json RDT-0112 likely
    fails_at r.json modify_qp ibv_modify_qp
    again
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C30 a neighbour that does not answer: RDT-0112 likely and first, at modify_qp with ETIMEDOUT" {
  run guest "$MATRIX"'
    nodes_up short.yaml
    ip link set veth1 arp off
    ip neigh flush all
    run_scenario 1 short r.json
    first r.json RDT-0112 likely
    fails_at r.json modify_qp ibv_modify_qp
    holds r.json ".measurements[0].first_error | .kind == \"errno\" and .number == 110"
    verdict r.json fail
    ip link set veth1 arp on
    again
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

# The driver of node2 spoils what the other end needs: see spoil.c. A device of the fake NIC does the same in tests/cluster/defects.c.
@test "C47 C48 C49 a wrong rkey, receives that are too short, or none: fail, RDT-0111, RDT-0144 or RDT-0109 first, and pass once they are right" {
  run guest "$MATRIX"'
    LOAD="load: { model: closed, outstanding: 8 }"
    scenario writes "{ pattern: stream, ops: [{ op: write, size: 4KiB }], $LOAD }" "{ warmup: 0s, iterations: 200 }"
    scenario sends "{ pattern: stream, ops: [{ op: send, size: 4KiB }], $LOAD }" "{ warmup: 0s, iterations: 200 }" "qp: { rnr_retry: 1, min_rnr_timer: 12 }"
    export SPOIL_DIR=$NODES_DIR/spoil
    mkdir "$SPOIL_DIR"
    for n in 1 2; do node_write "$n" writes.yaml sends.yaml; done
    node_start 1
    asan=$ASAN_OPTIONS
    export LD_PRELOAD=$BUILD/tests/lab/spoil.so ASAN_OPTIONS=$asan:verify_asan_link_order=0
    node_start 2
    unset LD_PRELOAD; ASAN_OPTIONS=$asan
    node_ready 1; node_ready 2; node_meets 1 devices
    spoilt() {  # what, scenario, code, node and status of the first error (any of these)
      touch "$SPOIL_DIR/$1.rxe1"
      run_scenario 1 "$2" r.json
      rm "$SPOIL_DIR/$1.rxe1"
      in_short r.json
      verdict r.json fail
      first r.json "$3" likely
      fails_at r.json run ibv_poll_cq
      holds r.json ".measurements[0].first_error | .class == \"device\" and .kind == \"wc_status\" and (\"\(.node) \(.number)\" | IN($4))"
      holds r.json ".measurements[0].findings[0].evidence | test(\"rxe0 sent [0-9]+ packets.* at [+].* on node[12]; [0-9]+ flushed behind it; initiator node1: [0-9]+ completed, 1 in error\")"
      run_scenario 1 "$2" again.json
      verdict again.json pass
    }
    spoilt rkey writes RDT-0111 "\"node1 10\""  # remote access error
    # One incident: soft-RoCE has remote operation error here, local QP operation error there (others: remote invalid request, local length).
    spoilt short sends RDT-0144 "\"node2 2\""
    says r.json "node2 refused its own memory.*the other end was told so by IBV_WC_REM_OP_ERR"
    spoilt none sends RDT-0109 "\"node1 13\""  # RNR retries exceeded
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C16 packets above a size are lost on the way: small ones pass, large ones fail, RDT-0107 first, and the cure names the MTU; a mix of sizes shows where the limit is" {
  run guest "$MATRIX"'
    nodes_up short.yaml wide.yaml sweep.yaml
    ip link set sw1 mtu 1200
    run_scenario 1 short r.json
    verdict r.json pass
    run_scenario 1 wide r.json
    verdict r.json fail
    first r.json RDT-0107 likely
    fails_at r.json run ibv_poll_cq
    holds r.json ".measurements[0].findings[0].cure | test(\"MTU along the path\")"
    run_scenario 1 sweep r.json
    verdict r.json fail
    first r.json RDT-0138 likely
    says r.json "packets of up to (64B|1KiB) get through from node1/rxe0 to node2/rxe1, and those of 4KiB do not"
    holds r.json ".measurements[0].first_error | .size_bytes == 4096 and .completed_bytes <= 1024"
    ip link set sw1 mtu 9000
    again wide
    again sweep
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C12 a device that is renamed: it goes on under its old name; who starts with that name is told, and passes with the new one" {
  run guest "$MATRIX"'
    nodes_up long.yaml short.yaml
    run_begin 1 long r.json
    run_measuring 1
    rdma dev set rxe1 name fabric-a
    wait "$RUN_PID" || :
    verdict r.json pass
    passes || fail "$(<again.json)"
    node_stop 2
    node_start 2
    node_meets 1
    run_scenario 1 short r.json
    verdict r.json error
    first r.json RDT-0106 certain
    fails_at r.json discover device
    says r.json "daemon.devices names .rxe1., which is not there .there is: [^)]*fabric-a"
    sed -i "s/name: rxe1/name: fabric-a/" node2/rdmatestd.yaml
    kill -HUP "${NODE_PID[2]}"
    again
    holds again.json ".measurements[0].responder.device == \"fabric-a\""
    rdma dev set fabric-a name rxe1
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

# The same addresses, in VLANs that are not the same at first.
@test "C13 VLANs that differ: fail at modify_qp, RDT-0112 likely and first, with both VLANs; then pass, in tagged packets" {
  run guest "$MATRIX"'
    vlan() {  # device number, VLAN
      ip link add link veth$1 name veth$1.$2 type vlan id $2
      ip addr add 10.98.0.$(($1 + 1))/24 dev veth$1.$2
      ip link set veth$1.$2 up
    }
    in_vlan() { http 1 "/v1/$1" | jq -e "[.. | objects | select(.gid? == \"::ffff:10.98.0.$2\" and .vlan == $3)] | length == 1" >/dev/null; }
    vlan 0 10; vlan 1 20
    index=$(for f in /sys/class/infiniband/rxe0/ports/1/gids/*; do [[ $(<"$f") != *ffff:0a62:0001 ]] || echo "${f##*/}"; done)
    scenario tagged "$PINGPONG" "{ warmup: 0s, iterations: 200 }" "qp: { gid_index: $index }"
    nodes_up tagged.yaml short.yaml
    eventually 30 in_vlan devices 1 10; eventually 30 in_vlan peers 2 20
    run_scenario 1 tagged r.json
    verdict r.json fail
    first r.json RDT-0112 likely
    fails_at r.json modify_qp ibv_modify_qp
    says r.json "node1 is in VLAN 10 .veth0.10., node2 in VLAN 20 .veth1.20."
    holds r.json ".measurements[0] | .initiator.netdev == \"veth0.10\" and .initiator.vlan == 10 and .responder.vlan == 20 and .completed == 0"
    passes short || fail "$(<again.json)"
    ip link del veth1.20; vlan 1 10
    eventually 30 in_vlan peers 2 10
    again tagged
    holds again.json ".measurements[0] | .initiator.vlan == 10 and .responder.vlan == 10"
    # As many as were sent, and none of it without a tag.
    (($(</sys/class/net/veth0.10/statistics/tx_packets) >= 200)) || fail "not through the VLAN"
    ip link del veth0.10; ip link del veth1.10
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C14 a bond that loses and gets back its link, alone and under traffic, and is taken apart and built anew: told, and used again each time" {
  run guest "$MATRIX"'
    modprobe bonding max_bonds=0
    bond() {
      ip link add bond0 mtu 9000 type bond mode active-backup miimon 50
      ip link set veth2 down; ip addr flush dev veth2
      ip link set veth2 master bond0
      ip link set bond0 up; ip addr add 10.99.0.3/24 dev bond0
      rdma link add rxe9 type rxe netdev bond0
    }
    has_ports() { http 2 /v1/status | jq -e ".ports.active == $1" >/dev/null; }
    rdma link del rxe2
    NODE_DEVICE[2]=rxe9
    bond
    nodes_up short.yaml long.yaml
    for state in idle busy; do
      passes || fail "$(<again.json)"
      if [[ $state == busy ]]; then run_begin 1 long r.json; run_measuring 1; fi
      ip link set veth2 nomaster
      if [[ $state == busy ]]; then wait "$RUN_PID" || :; else eventually 30 has_ports 0; run_scenario 1 short r.json; fi
      verdict r.json fail
      first r.json RDT-0132 likely
      ip link set veth2 down; ip link set veth2 master bond0
      eventually 30 has_ports 1
      again
    done
    # As when the network is configured anew: the device goes with the bond.
    run_begin 1 long r.json
    run_measuring 1
    ip link del bond0
    wait "$RUN_PID" || :
    holds r.json ".verdict == \"error\" or .verdict == \"fail\""
    # What is seen of it first is a matter of moments.
    holds r.json ".measurements[0].findings[0] | (.code | IN(\"RDT-0106\", \"RDT-0132\", \"RDT-0133\")) and .confidence != \"possible\""
    eventually 30 has_ports 0
    bond
    eventually 30 has_ports 1
    again
    node_alive 1 && node_alive 2 || fail "a daemon ended"
    rdma link del rxe9; ip link del bond0
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C66 a clock that is set by a day, forward and back, in mid-run: pass, the length is that of the run, and the schedule goes on" {
  run guest "$MATRIX"'
    scenario often "$PINGPONG" "{ warmup: 0s, iterations: 20 }" "schedule: { every: 10s }"
    nodes_up long.yaml often.yaml
    turns() { http 1 "/v1/runs?scenario=often" | jq "[.runs[] | select(.trigger == \"schedule\")] | length"; }
    more() { (($(turns) > before)); }
    run_begin 1 long r.json
    run_measuring 1
    before=$(turns)
    date -s "+1 day"
    sleep 1
    date -s "-2 days"
    wait "$RUN_PID" || :
    verdict r.json pass
    # By the clock that nobody sets.
    holds r.json ".duration_ns > 5000000000 and .duration_ns < 600000000000 and .started_at < .ended_at"
    holds r.json "[.measurements[0].findings[] | select(.code != \"RDT-0115\" and .confidence != \"possible\")] == []"
    eventually 60 more
    # One turn at a time, not one for each that the clock seems to have missed.
    (($(turns) < before + 30)) || fail "a burst: $before, then $(turns)"
    date -s "+1 day"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C91 a disk that is full below log and socket: runs pass, health is good, the daemon ends well" {
  run guest "$MATRIX"'
    mkdir full
    mount -t tmpfs -o size=64k tmpfs full
    for n in 1 2; do node_write "$n" short.yaml; done
    sed -i "s|admin_socket: .*|admin_socket: $NODES_DIR/full/admin.sock|" node1/rdmatestd.yaml
    ln -s "$NODES_DIR/full/admin.sock" node1/admin.sock
    dd if=/dev/zero of=full/fill bs=4k 2>/dev/null || :
    # Each line of its log meets ENOSPC.
    "$BUILD/rdmatestd" --config="$NODES_DIR/node1/rdmatestd.yaml" >/dev/full 2>&1 </dev/null &
    NODE_PID[1]=$!
    node_start 2
    node_ready 1; node_ready 2; node_meets 1 devices
    run_scenario 1 short r.json
    verdict r.json pass
    kill -HUP "${NODE_PID[1]}"
    eventually 20 node_reloaded 1
    [[ $(curl -sS -o /dev/null -w "%{http_code}" --max-time 10 "http://${NODE_HTTP[1]}/healthz") == 200 ]] || fail "no health"
    passes || fail "$(<again.json)"
    node_stop 1
    [[ ${NODE_STATUS[1]} == 0 ]] || fail "node1 ended with ${NODE_STATUS[1]}"
    umount full
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
