#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# lab: alone
# lab: plain
# What is said again and again must be true each time: many rounds (LAB_ROUNDS of each kind, 8; 50 make it 200) without a fault, and none of them may be blamed for anything.
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

# A machine that is short of CPU may say so (RDT-0115): that is no fault of the tester.
ROUNDS='
  rounds() {  # scenario, how many
    local i
    for ((i = 1; i <= $2; i++)); do
      ctl 1 run "$1" --json >>records || { tail -n 1 records; fail "round $i: rdmatestctl ended with $?"; }
    done
    jq -s . records >all.json
    holds all.json "length == $2 and all(.[]; .verdict == \"pass\")"
    holds all.json "[.[].measurements[].findings[] | select(.code != \"RDT-0115\" and .confidence != \"possible\")] | length == 0"
  }
'

@test "C43 round after round of a ping-pong without a fault: pass, and no finding above possible" {
  run guest "$ROUNDS"'
    scenario round "{ pattern: pingpong, ops: [{ op: write, size: 64B }, { op: send, size: 8B }, { op: read, size: 4KiB }] }" "{ warmup: 0s, iterations: 200 }"
    nodes_up round.yaml
    rounds round "$LAB_ROUNDS"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "round after round of writes without a fault: pass, and no finding above possible" {
  run guest "$ROUNDS"'
    scenario round "$STREAM" "{ warmup: 0s, iterations: 2000 }"
    nodes_up round.yaml
    rounds round "$LAB_ROUNDS"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "round after round of reads without a fault: pass, and no finding above possible" {
  run guest "$ROUNDS"'
    scenario round "{ pattern: stream, ops: [{ op: read, size: 16KiB }], load: { model: closed, outstanding: 8 } }" "{ warmup: 0s, iterations: 500 }"
    nodes_up round.yaml
    rounds round "$LAB_ROUNDS"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "round after round of sends without a fault: pass, and no finding above possible" {
  run guest "$ROUNDS"'
    scenario round "{ pattern: stream, ops: [{ op: send, size: 1KiB }], load: { model: closed, outstanding: 32 }, signal_interval: 8 }" "{ warmup: 0s, iterations: 2000 }"
    nodes_up round.yaml
    rounds round "$LAB_ROUNDS"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
