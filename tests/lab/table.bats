#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
# lab: alone
#
# Every transport with every operation, with and without completion events, connected by exchange and by rdma_cm, on one and on four
# queue pairs, closed and open: a scenario for each cell of that table. What a transport has not is refused before anything runs; all
# else passes on real verbs: of each operation two of its sixteen cells that have nothing in common, others for each, and all of them
# with LAB_TABLE=all.

load lab
# The whole table where much else goes on; by itself it is below three minutes, and what is chosen of it below one.
export BATS_TEST_TIMEOUT=840

OPERATIONS="send send_with_imm write write_with_imm read atomic_cmp_and_swp atomic_fetch_and_add"

# One cell a line: transport, operation, cq.mode, connection, queue pairs, load.
cells() {
  local type op mode qps model cm
  for type in RC UC UD; do for op in $OPERATIONS; do for mode in poll event; do for qps in 1 4; do for model in closed open; do for cm in exchange rdma_cm; do
    echo "$type $op $mode $cm $qps $model"
  done; done; done; done; done; done
}

# What a stream may have on a transport: UC has no answers, and of a plain write nobody could tell what was lost; UD has sends alone.
has_operation() {  # transport, operation
  case $1 in
    RC) true ;;
    UC) [[ $2 == send || $2 == *_with_imm ]] ;;
    UD) [[ $2 == send || $2 == send_with_imm ]] ;;
  esac
}
# librdmacm connects no UC.
has_connection() { [[ $1 != UC || $2 == exchange ]]; }  # transport, connection
is_legal() { has_operation "$1" "$2" && has_connection "$1" "$4"; }  # cell..

cell_name() { local name="${1,,}-$2-$3-$4-$5-$6"; echo "${name//_/-}"; }  # cell..

cell() {  # cell..
  local size=1KiB load='{ model: open, ops_rate: 2k/s, max_outstanding: 64 }'
  [[ $2 != atomic_* ]] || size=8B
  printf '  - name: %s\n' "$(cell_name "$@")"
  if [[ $6 == closed ]]; then
    printf '    disruptive: true\n'
    load='{ model: closed, outstanding: 16 }'
  fi
  printf '    qp: { qp_type: %s, cm: %s, num_qps: %s, traffic_class: 0 }\n' "$1" "$4" "$5"
  printf '    cq: { mode: %s }\n' "$3"
  printf '    workload: { pattern: stream, ops: [{ op: %s, size: %s }], load: %s }\n' "$2" "$size" "$load"
  printf '    run: { warmup: 0, iterations: 120 }\n    expect: [errors == 0]\n'
}

# Whether the cell with this number, of all there are, is one of the two of its operation.
is_chosen() {  # number
  local group=$(($1 / 16)) at=$(($1 % 16))
  local is_uc=$((group / 7 == 1)) # its two are of those by exchange
  [[ ${TABLE:-} == all ]] || (((at | is_uc) == (group % 16 | is_uc) || (at | is_uc) == (15 - group % 16 | is_uc)))
}

table() {  # legal | illegal [, transport, completions, connection]
  local cell of number=0
  printf 'version: 1\nscenarios:\n'
  while read -r -a cell; do
    number=$((number + 1))
    [[ $1 == illegal ]] || is_chosen $((number - 1)) || continue
    of=illegal
    ! is_legal "${cell[@]}" || of=legal
    if [[ $of == "$1" && "${cell[0]} ${cell[2]} ${cell[3]}" == "${2:-${cell[0]}} ${3:-${cell[2]}} ${4:-${cell[3]}}" ]]; then
      cell "${cell[@]}"
    fi
  done <<<"$(cells)"
}

@test "what a transport has not is refused at check, with the reason and both places" {
  local file=$BATS_TEST_TMPDIR/illegal.yaml type mode cm op where all=0 i
  # 50 errors are printed at most.
  while read -r type cm mode; do
    table illegal "$type" "$mode" "$cm" >"$file"
    run "$LAB_BUILD/rdmatestd" --check --config="$file"
    [ "$status" -ne 0 ]
    i=0
    while read -r op; do
      for where in 'workload\.ops\[0\]\.op' 'qp\.cm'; do
        if [[ $where == qp* ]]; then
          ! has_connection "$type" "$cm" || continue
        else
          ! has_operation "$type" "$op" || continue
        fi
        grep -qE "^$file:[0-9]+:[0-9]+: error: scenarios\[$i\]\.$where: .+ \(qp\.qp_type: [0-9]+:[0-9]+\)$" <<<"$output" ||
          { echo "cell $i of $type, $mode, $cm: $where"; echo "$output" | head -n 60; false; }
      done
      i=$((i + 1))
    done < <(sed -n 's/.*{ op: \([a-z_]*\),.*/\1/p' "$file")
    all=$((all + i))
  done <<<$'UC exchange\nUC rdma_cm poll\nUC rdma_cm event\nUD exchange\nUD rdma_cm'
  [ "$all" -eq 168 ]
}

@test "every other cell of the table passes" {
  lab_up
  GUEST_TIMEOUT=800 run guest "OPERATIONS=\"$OPERATIONS\" TABLE=${LAB_TABLE:-}
$(declare -f cells has_operation has_connection is_legal cell_name cell is_chosen table)"'
    table legal >table.yaml
    count=$(grep -c "^  - name:" table.yaml)
    wanted=24; [[ $TABLE != all ]] || wanted=168
    ((count == wanted)) || fail "the table has $count legal cells, and not $wanted"
    nodes_up table.yaml
    # A queue of runs holds 64: who is refused asks again.
    end=$((SECONDS + 700)) passed=0
    for name in $(sed -n "s/^  - name: //p" table.yaml); do
      until ctl 1 run "$name" --no-wait >asked 2>&1; do
        ((SECONDS < end)) || { cat asked; fail "$name is not taken"; }
        node_nap 1
      done
    done
    until ((passed == count)); do
      node_nap 1
      node_get 1 "/v1/runs?limit=500" || :
      rest=${NODE_BODY//\"state\":\"done\"/}
      passed=$(((${#NODE_BODY} - ${#rest}) / 14))
      ((SECONDS < end)) || break
    done
    printf "%s\n" "$NODE_BODY" >runs.json
    jq -r ".runs[] | select(.verdict != \"pass\") | \"\(.scenario): \(.state) \(.verdict) \(.first_finding.text // \"\")\"" runs.json
    holds runs.json "[.runs[] | select(.state == \"done\" and .verdict == \"pass\") | .scenario] | unique | length == $count"
    holds runs.json "all(.runs[]; .verdict == \"pass\")"
    # The last one of each operation of RC, and of each other transport, whole: it is what its name says, and each request has its latency.
    for type in rc-send-poll rc-send-event rc-send-with rc-write-poll rc-write-event rc-write-with rc-read rc-atomic-cmp rc-atomic-fetch uc ud; do
      name=$(sed -n "s/^  - name: \($type-.*\)/\1/p" table.yaml | tail -n 1)
      [[ $name ]] || continue
      id=$(jq -r ".runs[] | select(.scenario == \"$name\") | .id" runs.json)
      http 1 "/v1/runs/$id" >r.json
      holds r.json ".measurements[0] | .completed == 120 and (\"-\(.workload.cq.mode)-\(.workload.qp.cm | sub(\"_\"; \"-\"))-\(.workload.qp.num_qps)-\(.workload.workload.load.model)\" as \$end | \"$name\" | endswith(\$end))"
      holds r.json ".measurements[0] | .operations | map(select(.scope == \"size\")) | length == 1 and .[0].bytes == 120 * .[0].size_bytes and .[0].latency.count > 0"
    done
  '
  echo "$output"
  lab_down
  [ "$status" -eq 0 ]
}
