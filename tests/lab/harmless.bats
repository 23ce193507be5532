#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Others come first: a scenario that they would feel waits while they use a port of it.
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

UP='
  scenario bulk "$STREAM" "{ warmup: 0s, duration: 2s }" "expect: [ errors == 0 ]"
  scenario rally "$PINGPONG" "{ warmup: 0s, iterations: 200 }" "expect: [ errors == 0 ]"
  nodes_up bulk.yaml rally.yaml
  # A program of others between the two ports, and until it sends.
  foreign_begin() {  # seconds
    ib_write_bw -d rxe1 -x 1 -p 19000 -F -D "$1" -s 4096 >server 2>&1 & FOREIGN_SERVER=$!
    listens() { ss -ltn | grep -q ":19000 "; }
    eventually 20 listens
    ib_write_bw -d rxe0 -x 1 -p 19000 -F -D "$1" -s 4096 10.99.0.2 >client 2>&1 & FOREIGN=$!
    connected() { rdma resource show qp link rxe1 | grep "state RT[RS]" | grep -q ib_write_bw; }
    eventually 20 connected
  }
  foreign_end() { kill "$FOREIGN" "$FOREIGN_SERVER"; wait "$FOREIGN" "$FOREIGN_SERVER" || :; }
  waits() { http 1 /v1/status | jq -e ".runs.waiting_for_ports[0].in_use // \"\" | test(\"ib_write_bw \\\\(process [0-9]+\\\\): [0-9]+ connected queue pair\")" >/dev/null; }
'

@test "a port that others use: a disruptive run waits and says for whom, a ping-pong goes through, then it runs and passes" {
  run guest "$UP"'
    foreign_begin 120
    run_begin 1 bulk r.json
    eventually 20 waits
    said() { ctl 1 status >status && grep -q "waiting *bulk: others use rxe. port 1 .*ib_write_bw" status; }
    eventually 20 said
    counted() { http 1 /metrics >metrics && grep -qx "rdmatestd_runs_waiting 1" metrics; }
    eventually 20 counted
    run_scenario 1 rally rally.json
    verdict rally.json pass
    # It still waits, and the others still go on.
    eventually 20 waits
    kill -0 "$FOREIGN"
    foreign_end
    wait "$RUN_PID"
    verdict r.json pass
    holds r.json ".measurements[0] | .initiator.port_use.state == \"idle\" and .responder.port_use.state == \"idle\""
    holds r.json "[.measurements[0].coordination[] | select(.name == \"in_use_wait\")] | length == 1"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "queue pairs of others that lie still hold it back, too; a run that waits is cancelled like any other" {
  run guest "$UP"'
    foreign_begin 60
    kill -STOP "$FOREIGN" "$FOREIGN_SERVER"
    run_begin 1 bulk r.json
    eventually 20 waits
    ctl 1 cancel "$(http 1 /v1/status | jq -r ".runs.waiting_for_ports[0].id")" >/dev/null
    wait "$RUN_PID" || :
    verdict r.json inconclusive
    finding r.json RDT-0116
    kill -KILL "$FOREIGN" "$FOREIGN_SERVER"
    wait "$FOREIGN" "$FOREIGN_SERVER" || :
    run_scenario 1 bulk again.json
    verdict again.json pass
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "runs after one another do not take their own traffic for that of others" {
  run guest "$UP"'
    for i in 1 2 3; do
      run_scenario 1 bulk r.json
      verdict r.json pass
      holds r.json "[.measurements[0].coordination[] | select(.name == \"in_use_wait\")] | length == 0"
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "allow_disruptive never: refused by name, RDT-0105; always: beside others" {
  run guest "$UP"'
    node_limits 2 "{ allow_disruptive: never }"
    run_scenario 1 bulk r.json
    verdict r.json error
    finding r.json RDT-0105
    holds r.json "[.. | strings | select(test(\"limits.allow_disruptive is never\"))] | length > 0"
    run_scenario 1 rally rally.json
    verdict rally.json pass
    sed -i "s/allow_disruptive: never/allow_disruptive: always/" node2/rdmatestd.yaml
    ctl 2 reload
    node_limits 1 "{ allow_disruptive: always }"
    foreign_begin 120
    run_scenario 1 bulk r.json
    verdict r.json pass
    kill -0 "$FOREIGN"
    foreign_end
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a stream that does not say disruptive: refused at check, with the place, the estimate and the cure" {
  run guest '
    printf "version: 1\nscenarios:\n  - name: a\n    workload: %s\n" "$STREAM" >a.yaml
    node_write 1 a.yaml
    ! "$BUILD/rdmatestd" --check --config=node1/rdmatestd.yaml >out 2>&1
    cat out
    grep -q "a.yaml:4:.*disruptive: must be true: 16 operations .* fill the port (100 % of its rate), above 5 %; write disruptive: true" out
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
