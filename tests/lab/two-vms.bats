#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machines: nothing expands here.
# shellcheck disable=SC2016
# lab: alone

load lab

COMMON='
  . "$TOP/tests/lab/guest.bash"
  NODE_DEVICE=([1]=rxe0 [2]=rxe0) NODE_HTTP[2]=127.0.0.1:9879
'

@test "smoke passes between two machines" {
  run "$LAB" pair --vms -t 150 --project "$TOP" -e TOP="$TOP" -e BUILD="$LAB_BUILD" \
    --a "$COMMON"'
      nodes_key fleet.key; lab-put key "$(<fleet.key)"
      node_write 1 "$TOP/scenarios/smoke.yaml"; node_start 1; node_ready 1
      lab-barrier ready 60
      node_meets 1 devices
      run_scenario 1 smoke r.json
      verdict r.json pass
      lab-barrier done 60' \
    --b "$COMMON"'
      lab-get key 60 >fleet.key; chmod 600 fleet.key
      node_write 2 "$TOP/scenarios/smoke.yaml"; node_start 2; node_ready 2
      lab-barrier ready 60
      lab-barrier done 100'
  echo "$output"
  [ "$status" -eq 0 ]
}
