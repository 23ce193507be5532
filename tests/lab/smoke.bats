#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# lab: alone
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
# lab: plain

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

@test "the devices themselves work: perftest writes from rxe0 to rxe1" {
  run guest '
    listens() { [[ $(</proc/net/tcp)$(</proc/net/tcp6) == *:4853\ * ]]; }
    ib_write_bw -d rxe1 -x 1 -s 4096 -n 200 -F >server 2>&1 &
    eventually 60 listens
    ib_write_bw -d rxe0 -x 1 -s 4096 -n 200 -F 10.99.0.2
    wait $!
  '
  echo "$output"
  [ "$status" -eq 0 ]
  [[ $output == *" 4096 "* ]]
}

@test "smoke passes: write, send and read ping-pong, with samples of each operation; for people it is a table with bandwidth and percentiles" {
  run guest '
    nodes_up "$TOP/scenarios/smoke.yaml"
    run_scenario 1 smoke r.json
    ((RUN_STATUS == 0)) || { cat r.json; fail "status $RUN_STATUS"; }
    verdict r.json pass
    holds r.json ".schema_version == 1"
    holds r.json ".counts.pass == 1 and (.measurements | length) == 1"
    moved r.json write; moved r.json send; moved r.json read
    ctl 1 results "$(jq -r .id r.json)"
    ctl 1 results; ctl 1 status; ctl 1 peers; ctl 1 devices
  '
  echo "$output"
  [ "$status" -eq 0 ]
  [[ $output == *PASS*smoke* ]]
  [[ $output == *operation*bandwidth*p50*p99*p99.9*max* ]]
  [[ $output == *node2* ]]
  [[ $output == *rxe0* ]]
}

@test "mixed passes, with samples of each operation of the mix, and intervals" {
  run guest '
    nodes_up "$TOP/scenarios/mixed.yaml"
    run_scenario 1 mixed r.json
    ((RUN_STATUS == 0)) || { cat r.json; fail "status $RUN_STATUS"; }
    verdict r.json pass
    moved r.json write; moved r.json send; moved r.json read
    holds r.json ".measurements[0].intervals | length > 1"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "heartbeat runs at the start and by its schedule" {
  run guest '
    nodes_up "$TOP/scenarios/heartbeat.yaml"
    done_by() {  # trigger
      http 1 /v1/runs | jq -e "any(.runs[]; .scenario == \"heartbeat\" and .verdict == \"pass\" and .trigger == \"$1\")" >/dev/null
    }
    eventually 120 done_by startup
    eventually 120 done_by schedule
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "promtool has nothing to say about /metrics, before, during and after a run" {
  command -v promtool >/dev/null || { echo "promtool is missing: ./dev setup test"; false; }
  run guest '
    scenario long "$STREAM" "{ warmup: 0s, duration: 5s }"
    nodes_up long.yaml
    http 1 /metrics >before
    run_begin 1 long r.json
    run_measuring 1
    http 1 /metrics >during
    wait "$RUN_PID"
    http 1 /metrics >after
    for when in before during after; do
      grep -q "^rdmatestd_" $when || fail "no rdmatestd_ metric $when the run"
      said=$(promtool check metrics <$when 2>&1) || fail "promtool, $when: $said"
      [[ -z $said ]] || fail "promtool, $when: $said"
    done
    grep -q "^rdmatestd_.*scenario=\"long\".*verdict=\"pass\".* 1$" after || { cat after; fail "the run is not counted"; }
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

# Without the sanitizers, as it is used: with them it takes five times as long. A host that is busy for some seconds gets more of them; the
# first run opens the devices, and is not counted.
@test "accepted to first post takes under 100 ms with a warm neighbour, as the median; a cold one shows in modify_rtr, or in create_ah" {
  run guest '
    BUILD=${PLAIN_BUILD:-$BUILD}
    scenario tiny "$PINGPONG" "{ warmup: 0s, iterations: 20 }"
    scenario datagrams "{ pattern: pingpong, ops: [{ op: send, size: 64B }] }" "{ warmup: 0s, iterations: 20 }" "qp: { qp_type: UD }"
    nodes_up tiny.yaml datagrams.yaml
    passes() { run_scenario 1 "$1" "$2"; verdict "$2" pass; }
    took=()
    passes tiny warm.json
    for runs in 7 27; do
      while ((${#took[@]} < runs)); do
        passes tiny r.json
        took+=("$(jq .measurements[0].accepted_to_first_post_ns r.json)")
      done
      median=$(printf "%s\n" "${took[@]}" | sort -n | sed -n "$((runs / 2 + 1))p")
      ((median >= 100000000)) || break
    done
    echo "accepted to first post, in ns: ${took[*]}; median $median"
    ((median > 0 && median < 100000000)) || fail "the median is not under 100 ms"
    # The longest step of both ends: whoever asks first waits, and the other one is told by the question.
    longest() { jq -r "[.measurements[0] | .initiator, .responder | .steps[]] | max_by(.max_ns) | \"\(.name) \(.max_ns)\"" "$1"; }
    of() { jq "[.measurements[0] | .initiator, .responder | .steps[] | select(.name == \"$1\") | .max_ns] | max" "$2"; }  # step, file
    for name in tiny datagrams; do
      [[ $name == tiny ]] && step=modify_rtr || step=create_ah
      passes $name warm.json
      ip neigh flush dev veth0; ip neigh flush dev veth1
      passes $name cold.json
      echo "$name: warm $(of $step warm.json) ns, cold $(longest cold.json) ns"
      [[ $(longest cold.json) == "$step "* ]] || fail "it is not $step"
      (($(of $step cold.json) > 4 * $(of $step warm.json))) || fail "$step takes no longer"
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
