#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

@test "the devices themselves work: perftest writes from rxe0 to rxe1" {
  run guest '
    listens() { [[ $(</proc/net/tcp)$(</proc/net/tcp6) == *:4853\ * ]]; }
    ib_write_bw -d rxe1 -x 1 -s 4096 -n 200 -F >server 2>&1 &
    eventually 20 listens
    ib_write_bw -d rxe0 -x 1 -s 4096 -n 200 -F 10.99.0.2
    wait $!
  '
  echo "$output"
  [ "$status" -eq 0 ]
  [[ $output == *" 4096 "* ]]
}

@test "smoke passes: write, send and read ping-pong, with samples of each operation" {
  run guest '
    nodes_up "$TOP/scenarios/smoke.yaml"
    run_scenario 1 smoke r.json
    ((RUN_STATUS == 0)) || { cat r.json; fail "status $RUN_STATUS"; }
    verdict r.json pass
    holds r.json ".schema_version == 1"
    holds r.json ".measurements | length >= 1"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "mixed passes, and every operation of the mix has operations and a median" {
  run guest '
    nodes_up "$TOP/scenarios/mixed.yaml"
    run_scenario 1 mixed r.json
    ((RUN_STATUS == 0)) || { cat r.json; fail "status $RUN_STATUS"; }
    verdict r.json pass
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "heartbeat runs by its schedule, and each node shows the result" {
  run guest '
    nodes_up "$TOP/scenarios/heartbeat.yaml"
    done_runs() { [[ $(http 1 /v1/runs | jq "[.. | objects | select(.scenario? == \"heartbeat\" and .verdict? == \"pass\")] | length") -ge 2 ]]; }
    eventually 60 done_runs
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the result of a run is a table for people, with operations, bandwidth and percentiles" {
  run guest '
    nodes_up "$TOP/scenarios/smoke.yaml"
    ctl 1 run smoke
    ctl 1 results
    ctl 1 status
    ctl 1 peers
    ctl 1 devices
  '
  echo "$output"
  [ "$status" -eq 0 ]
  [[ $output == *PASS*smoke* ]]
  [[ $output == *p50*p99* ]]
  [[ $output == *node2* ]]
  [[ $output == *rxe0* ]]
}

@test "promtool has nothing to say about /metrics, before, during and after a run" {
  command -v promtool >/dev/null || { echo "promtool is missing: ./dev setup test"; false; }
  run guest '
    nodes_up "$TOP/scenarios/smoke.yaml"
    http 1 /metrics >before
    scenario long "$STREAM" "{ warmup: 0s, duration: 3s }"
    node_write 1 "$TOP/scenarios/smoke.yaml" long.yaml; kill -HUP "${NODE_PID[1]}"
    run_begin 1 smoke r.json
    sleep 1
    http 1 /metrics >during
    wait "$RUN_PID"
    http 1 /metrics >after
    for when in before during after; do
      grep -q "^rdmatestd_" $when || fail "no rdmatestd_ metric $when the run"
      said=$(promtool check metrics <$when 2>&1) || fail "promtool, $when: $said"
      [[ -z $said ]] || fail "promtool, $when: $said"
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the landing page, health, readiness and the API answer on both nodes" {
  run guest '
    nodes_up "$TOP/scenarios/smoke.yaml"
    for n in 1 2; do
      for path in / /healthz /readyz /metrics /v1/status /v1/devices /v1/peers /v1/scenarios /v1/runs; do
        code=$(curl -sS -o body -w "%{http_code}" --max-time 10 "http://${NODE_HTTP[$n]}$path")
        [[ $code == 200 ]] || { cat body; fail "node$n $path: $code"; }
        [[ -s body ]] || fail "node$n $path: empty"
      done
      code=$(curl -sS -o body -w "%{http_code}" --max-time 10 "http://${NODE_HTTP[$n]}/v1/nothing")
      [[ $code == 404 ]] || fail "/v1/nothing: $code"
      jq -e ".status == 404" body >/dev/null || { cat body; fail "no problem+json"; }
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "accepted to first post takes under 100 ms with a warm neighbour" {
  run guest '
    BUILD=${PLAIN_BUILD:-$BUILD}
    nodes_up "$TOP/scenarios/smoke.yaml"
    run_scenario 1 smoke r.json
    run_scenario 1 smoke r.json
    holds r.json "[.measurements[].accepted_to_first_post_ns] | min > 0 and min < 100000000"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
