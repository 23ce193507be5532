#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
#
# Every operation, alone and mixed, on real verbs.

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

OPERATIONS='
  ALL="send send_with_imm write write_with_imm read atomic_cmp_and_swp atomic_fetch_and_add"
  size_of() { [[ $1 == atomic_* ]] && echo 8B || echo "$2"; }
  of_all() {  # pattern, its other keys, size
    local op size
    for op in $ALL; do
      size=$(size_of "$op" "$3")
      scenario "${op//_/-}" "{ pattern: $1, ops: [{ op: $op, size: $size }]$2 }" "{ warmup: 0, iterations: 300 }"
    done
    nodes_up ./*.yaml
    for op in $ALL; do
      run_scenario 1 "${op//_/-}" r.json
      verdict r.json pass
      moved r.json "$op"
      holds r.json ".measurements[0].completed == 300 and .measurements[0].errors == 0"
    done
  }
'

@test "each operation streams, and passes" {
  run guest "$OPERATIONS"'of_all stream ", load: { model: closed, outstanding: 16 }, signal_interval: 4, post_list: 2" 16KiB'
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "each operation is answered in a ping-pong, and passes" {
  run guest "$OPERATIONS"'of_all pingpong "" 64B'
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "all operations in one mix, on four queue pairs and in a ping-pong: each has its share and its samples" {
  run guest "$OPERATIONS"'
    list=
    for op in $ALL; do list+="{ op: $op, size: $(size_of "$op" 2KiB) }, "; done
    scenario streamed "{ pattern: stream, ops: [${list%, }], load: { model: closed, outstanding: 32 } }" "{ warmup: 0, iterations: 2100 }" "qp: { num_qps: 4 }"
    scenario answered "{ pattern: pingpong, ops: [${list%, }] }" "{ warmup: 0, iterations: 700 }"
    nodes_up streamed.yaml answered.yaml
    for name in streamed answered; do
      run_scenario 1 $name r.json
      verdict r.json pass
      for op in $ALL; do moved r.json $op; done
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
