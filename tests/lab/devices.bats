#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
# lab: plain
#
# Devices that hang, go, come back, and change: the daemons live on, and the next run passes by itself. Four devices on a bridge;
# node1 has rxe0 (and rxe2), node2 rxe1 (and rxe3). The control channel does not depend on them.

# A call hangs for real, and a hundred rounds take their time where the host is busy.
export BATS_TEST_TIMEOUT=620 GUEST_TIMEOUT=580

load lab

setup_file() { lab_up --devs 4; }
teardown_file() { lab_down; }

LIFE='
  NODE_LISTEN=([1]=127.0.0.1:18620 [2]=127.0.0.1:18621)
  scenario long "$STREAM" "{ warmup: 0s, duration: 20s }"
  scenario short "$PINGPONG" "{ warmup: 0s, iterations: 50 }"
  ports_of() { http "$1" /v1/status | jq -r .ports.active; }
  has_ports() { [[ $(ports_of "$1") == "$2" ]]; }  # node, how many
  passes() { run_scenario 1 short again.json; [[ $(jq -r .verdict again.json) == pass ]]; }
'
# Both devices of each node, and a driver that can be made to hang under node1: see hang.c.
HANG="$LIFE"'
  NODE_DEVICE=([1]="rxe0 }, { name: rxe2" [2]="rxe1 }, { name: rxe3")
  export HANG_DIR=$NODES_DIR/hang
  mkdir "$HANG_DIR"
  hangs() { touch "$HANG_DIR/$1"; }
  returns() { rm "$HANG_DIR/$1"; }
  start_both() {
    local asan=$ASAN_OPTIONS
    node_write 1 short.yaml; node_write 2 short.yaml
    export LD_PRELOAD=$BUILD/tests/lab/hang.so ASAN_OPTIONS=$asan:verify_asan_link_order=0
    node_start 1
    unset LD_PRELOAD; ASAN_OPTIONS=$asan
    node_start 2
  }
  is_sick() { http 1 /v1/status | jq -e ".sick == [] | not" >/dev/null; }
  is_well() { http 1 /v1/status | jq -e ".sick == []" >/dev/null; }
  # What was measured between two devices: file, device of node1, condition.
  pair_holds() { holds "$1" ".measurements | map(select([.initiator, .responder] | any(.device == \"$2\"))) | length > 0 and all(.[]; $3)"; }
  # Asks for the health all the time, until the test is over.
  watch_health() {
    while :; do curl -sS -o /dev/null -w "%{http_code}\n" --max-time 10 "http://${NODE_HTTP[1]}/healthz" || echo failed; sleep 1; done >health 2>/dev/null &
    HEALTH_PID=$!
  }
  health_was_good() {
    kill "$HEALTH_PID"; wait "$HEALTH_PID" || :
    [[ $(sort -u health) == 200 ]] || fail "/healthz: $(sort health | uniq -c)"
  }
'

teardown() { "$LAB" exec --name "$(lab_name)" -- lab-reset; }

@test "a destroy_qp that hangs takes its device out of use and no other, and all is well when it returns" {
  run guest "$HANG"'
    start_both; node_ready 1; node_meets 1 devices; node_meets 2 devices
    pid=${NODE_PID[1]}
    run_scenario 1 short before.json
    verdict before.json pass
    watch_health
    hangs ibv_destroy_qp.rxe0
    run_scenario 1 short first.json
    pair_holds first.json rxe2 ".verdict == \"pass\""
    # C43: what was measured before is not worse for it.
    pair_holds first.json rxe0 ".verdict == \"pass\" and .first_error == null and .teardown.call == \"sick\" and .findings[0].code == \"RDT-0135\""
    eventually 30 is_sick
    http 1 /v1/status | jq -e ".sick | length == 1 and .[0].device == \"rxe0\" and .[0].call == \"ibv_destroy_qp\"" || fail "$(http 1 /v1/status)"
    http 1 /v1/devices | jq -e ".ports | map({ (.device): (.sick != null) }) | add == { rxe0: true, rxe2: false }" || fail "$(http 1 /v1/devices)"
    http 1 /metrics | grep -x "rdmatestd_device_sick{device=\"rxe0\"} 1"
    http 1 /metrics | grep -x "rdmatestd_device_sick{device=\"rxe2\"} 0"
    ctl 1 status | tee said; grep -q "rxe0 is sick: ibv_destroy_qp has not returned for" said || fail "rdmatestctl does not tell"
    for node in 1 2; do
      run_scenario $node short sick.json
      finding sick.json RDT-0135
      pair_holds sick.json rxe0 ".first_error.class == \"resource\""
      pair_holds sick.json rxe2 ".verdict == \"pass\""
    done
    returns ibv_destroy_qp.rxe0
    eventually 30 is_well
    run_scenario 1 short after.json
    verdict after.json pass
    health_was_good
    node_alive 1 && [[ ${NODE_PID[1]} == "$pid" ]] || fail "node1 ended"
    [[ $(grep -c "^error: RDMA device \"rxe0\" is sick: ibv_destroy_qp" node1/log) == 1 ]] || fail "not told once"
    [[ $(grep -c "\"rxe0\" is well again: ibv_destroy_qp returned after" node1/log) == 1 ]] || fail "not told once"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a device that cannot be opened at the start, or registers no memory: told, and the other one works" {
  run guest "$HANG"'
    hangs ibv_open_device.rxe0
    start_both; node_ready 1
    eventually 30 is_sick
    eventually 30 has_ports 1 1
    node_meets 2 devices
    http 1 /v1/status | jq -e ".sick[0] | .device == \"rxe0\" and .call == \"ibv_open_device\"" || fail "$(http 1 /v1/status)"
    returns ibv_open_device.rxe0
    eventually 30 has_ports 1 2
    eventually 30 is_well
    eventually 60 passes
    hangs ibv_reg_mr.rxe0
    run_scenario 1 short sick.json
    finding sick.json RDT-0135
    pair_holds sick.json rxe2 ".verdict == \"pass\""
    returns ibv_reg_mr.rxe0
    eventually 30 is_well
    eventually 60 passes
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "an end while a call hangs: what hangs is named, and the process is gone" {
  run guest "$HANG"'
    start_both; node_ready 1; node_meets 1 devices
    hangs ibv_destroy_qp.rxe0
    run_begin 1 short r.json || :
    holding() { [[ $(rdma -j resource show qp | jq "[.[] | select(.ifname == \"rxe0\" and .type == \"RC\")] | length") -gt 0 ]]; }
    eventually 30 holding
    sleep 1
    node_stop 1 TERM
    [[ ${NODE_STATUS[1]} == 1 ]] || fail "status ${NODE_STATUS[1]}"
    grep "ibv_destroy_qp of RDMA device \"rxe0\" has not returned for" node1/log || fail "it is not named"
    wait "$RUN_PID" || :
    unset "NODE_STATUS[1]"
    node_alive 2 || fail "node2 ended, too"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a device that is removed while its context is open and idle: the removal does not wait, and it is used again when it is back" {
  run guest "$LIFE"'
    nodes_up short.yaml
    for round in 1 2; do
      eventually 60 passes
      timeout 20 rdma link del rxe0 || fail "the removal of rxe0 waits for somebody"
      eventually 30 has_ports 1 0
      run_scenario 1 short gone.json
      finding gone.json RDT-0106
      rdma link add rxe0 type rxe netdev veth0
      eventually 30 has_ports 1 1
    done
    eventually 60 passes
    node_alive 1 && node_alive 2 || fail "a daemon ended"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

# What both hold after some rounds, and after a hundred more: the same, but for what a memory allocator keeps. 4 MiB is 40 KiB a round: less
# than what one job has.
@test "C64 a hundred rounds with faults among them: no descriptor, queue pair, region or thread more, and little memory" {
  run guest "$LIFE"'
    MEMORY_SLACK_KIB=4096
    scenario short "$PINGPONG" "{ warmup: 0s, iterations: 10 }"
    # The address sanitizer keeps something of every thread that ever was. Results are few: what grows is a leak.
    BUILD=${PLAIN_BUILD:-$BUILD}
    for n in 1 2; do
      node_write $n short.yaml long.yaml
      sed -i "s/^daemon:/daemon:\n  results: { keep_runs: 10 }/" node$n/rdmatestd.yaml
      node_start $n
    done
    for n in 1 2; do node_ready $n; node_meets $n devices; done
    held() {  # of both daemons
      local n fds="" threads=""
      for n in 1 2; do fds+="$(ls "/proc/${NODE_PID[$n]}/fd" | wc -l) "; threads+="$(ls "/proc/${NODE_PID[$n]}/task" | wc -l) "; done
      echo "fds $fds threads $threads qps $(rdma resource show qp | grep -c "comm rdmatestd") mrs $(rdma resource show mr | grep -c "comm rdmatestd")"
    }
    resident() { awk "/^VmRSS:/ { print \$2 }" "/proc/${NODE_PID[$1]}/status"; }  # node; in KiB
    fault() {  # which
      run_begin 1 long r.json
      run_measuring 1
      case $1 in
      0) ip link set veth1 down; wait "$RUN_PID" || :; ip link set veth1 up ;;
      1) timeout 20 rdma link del rxe1 || fail "the removal waits"; wait "$RUN_PID" || :; rdma link add rxe1 type rxe netdev veth1 ;;
      2) node_stop 2 KILL; wait "$RUN_PID" || :; node_start 2; node_meets 1 devices ;;
      esac
      holds r.json ".verdict != \"pass\""
      eventually 60 passes
    }
    # Twenty in one go: processes are slow here.
    twenty() {
      local urls="" i
      for i in {1..20}; do urls+=" http://node1/v1/scenarios/short/runs"; done
      # shellcheck disable=SC2086
      curl -fsS --max-time 10 --unix-socket node1/admin.sock -d "" $urls >/dev/null
      idle() { http 1 /v1/status | jq -e ".runs.active + .runs.queued == 0" >/dev/null; }
      eventually 200 idle
      http 1 "/v1/runs?limit=10" | jq -e "[.runs[] | select(.verdict == \"pass\")] | length == 10" >/dev/null || fail "$(http 1 /v1/runs)"
    }
    # node2 is killed before: it has to live through the hundred rounds, as node1 does. Contexts of the last run are closed after ten idle seconds.
    fault 2; fault 1; twenty
    sleep 12; before=$(held); memory=(0 "$(resident 1)" "$(resident 2)"); pids="${NODE_PID[*]}"
    twenty; for i in 0 1; do fault $i; twenty; twenty; done
    sleep 12; after=$(held)
    echo "before: $before"; echo "after:  $after"
    [[ $after == "$before" ]] || fail "something is left"
    [[ ${NODE_PID[*]} == "$pids" ]] || fail "a daemon was started anew"
    for n in 1 2; do
      echo "node$n: ${memory[n]} KiB before, $(resident $n) after"
      (($(resident $n) < memory[n] + MEMORY_SLACK_KIB)) || fail "node$n grew"
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
