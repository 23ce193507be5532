#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What a host does is told from what the fabric does: a daemon whose control group has a tenth of a CPU, and a network that is slow.
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
# lab: plain

load lab

# Each polling thread and the kernel have a CPU of their own: what a host withholds is then what the test withholds.
setup_file() { lab_up --smp 4; }
teardown_file() { lab_down; }

# An expectation that no lab meets: who is blamed for that is the question. And a control group for a node.
UP='
  SHAPE="{ pattern: pingpong, ops: [{ op: send, size: 64B }] }"
  scenario free "$SHAPE" "{ warmup: 0s, iterations: 100 }"
  scenario fast "$SHAPE" "{ warmup: 0s, duration: 7s }" "expect: [ ops_rate.mean >= 100M/s ]"
  scenario brief "$SHAPE" "{ warmup: 0s, duration: 2s }" "expect: [ ops_rate.mean >= 100M/s ]"
  nodes_up free.yaml fast.yaml brief.yaml
  passes() { run_scenario 1 free again.json; jq -e ".verdict == \"pass\"" again.json >/dev/null; }
  echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
  OWN=/sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)
  guest_leave() {
    local group pid
    for group in /sys/fs/cgroup/node[12]; do
      [[ -d $group ]] || continue
      while read -r pid; do echo "$pid" >"$OWN/cgroup.procs"; done <"$group/cgroup.procs"
      rmdir "$group"
    done
  }
  limit() {  # node, cpu.max
    local group=/sys/fs/cgroup/node$1
    mkdir -p "$group"
    echo "$2" >"$group/cpu.max"
    echo "${NODE_PID[$1]}" >"$group/cgroup.procs"
  }
  # For a while of the window: what follows is told in time, also by a daemon that is slow for other reasons.
  run_limited() {  # node, cpu.max, file
    run_begin 1 fast "$3"
    run_measuring 1
    limit "$1" "$2"
    sleep 4
    limit "$1" max
    wait "$RUN_PID" || :
  }
  # The first finding, that sure, about that node.
  first() {  # file, code, confidence, node
    holds "$1" ".measurements[0].findings[0] | .code == \"$2\" and .confidence == \"$3\" and (.text | startswith(\"$4 \"))"
  }
'

@test "a CPU limit of 10 % on the node that answers: inconclusive, RDT-0115 certain and first, the miss steps back; lifted, the next run passes" {
  run guest "$UP"'
    run_limited 2 "10000 100000" r.json
    verdict r.json inconclusive
    first r.json RDT-0115 certain node2
    holds r.json ".measurements[0].findings[0].text | test(\"cpu.max\")"
    holds r.json ".measurements[0].findings[0].evidence | test(\"held threads of the daemon [0-9]+ times\")"
    holds r.json ".measurements[0].findings[] | select(.code == \"RDT-0113\") | .confidence == \"possible\" and (.against | test(\"short of CPU\"))"
    holds r.json ".measurements[0].first_error == null"
    holds r.json ".measurements[0].responder.host | .throttled_ns > 500000000 and .throttled_periods > 4 and .longest_gap_ns > 20000000 and .netdev_mtu_bytes > 1000"
    # The other end is in no such group, and says so.
    holds r.json ".measurements[0].initiator.host.throttled_ns == 0"
    ctl 1 results "$(jq -r .id r.json)" >paper || :
    grep -q "RDT-0115" paper && grep -q "host node2: its CPU limit held it back" paper
    eventually 60 passes
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a CPU limit of 10 % on the node that measures: RDT-0115 certain and first, about that node" {
  run guest "$UP"'
    run_limited 1 "10000 100000" r.json
    verdict r.json inconclusive
    first r.json RDT-0115 certain node1
    eventually 60 passes
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a disruptive run on a host without CPU ends early: inconclusive, RDT-0115 certain and first, the first error says why; the next one passes" {
  run guest "$UP"'
    scenario bulk "$STREAM" "{ warmup: 0s, duration: 40s }"
    scenario short "$STREAM" "{ warmup: 0s, iterations: 500 }"
    cp bulk.yaml short.yaml node1/scenarios.d/
    ctl 1 reload >/dev/null
    run_begin 1 bulk r.json
    run_measuring 1
    limit 1 "22000 100000"
    wait "$RUN_PID" || :
    verdict r.json inconclusive
    first r.json RDT-0115 certain node1
    holds r.json ".measurements[0].first_error | .call == \"starved\" and .node == \"node1\" and (.text | test(\"the measuring thread got [0-9]+ % of a CPU, less than 25 %\"))"
    holds r.json ".measurements[0].initiator.traffic.end == \"error\" and .measurements[0].window_ns < 35000000000"
    limit 1 max
    well() { run_scenario 1 short again.json; jq -e ".verdict == \"pass\"" again.json >/dev/null; }
    eventually 60 well
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a network that is slow: fail, RDT-0113 first, and no host is blamed for it" {
  run guest "$UP"'
    tc qdisc add dev veth0 root netem delay 20ms
    run_scenario 1 brief r.json
    tc qdisc del dev veth0 root
    # A machine that is short of CPU by itself says so; a network never makes it so.
    if jq -e "[.measurements[0].findings[] | select(.code == \"RDT-0115\" and .confidence != \"possible\")] | length == 0" r.json >/dev/null; then
      verdict r.json fail
      holds r.json ".measurements[0].findings[0] | .code == \"RDT-0113\" and .confidence == \"certain\" and (.evidence | test(\"speaks against that host\"))"
    else
      holds r.json "[.measurements[0] | .initiator.worker.cpu_share, .responder.worker.cpu_share] | min < 0.9"
    fi
    eventually 60 passes
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "daemon.control_cpus: who measures has the other CPUs, all else these; a CPU that is not there ends the start with 78" {
  run guest '
    scenario twice "$PINGPONG" "{ warmup: 0s, duration: 2s }"
    NODE_CONTROL_CPUS=([1]=0-1 [2]=0,3)
    nodes_up twice.yaml
    cpus_of() { sed -n "s/^Cpus_allowed_list:\t//p" "$1/status"; }
    for n in 1 2; do
      for task in /proc/"${NODE_PID[$n]}"/task/*; do
        [[ $(cpus_of "$task") == "${NODE_CONTROL_CPUS[$n]}" ]] || fail "$(<"$task/comm") of node$n runs on $(cpus_of "$task")"
      done
    done
    run_scenario 1 twice r.json
    verdict r.json pass
    holds r.json ".measurements[0] | (.initiator.host.cpu | IN(2, 3)) and (.responder.host.cpu | IN(1, 2))"
    node_stop 1
    NODE_CONTROL_CPUS[1]=1,9
    node_write 1 twice.yaml
    node_start 1
    status=0; wait "${NODE_PID[1]}" || status=$?
    ((status == 78)) || fail "ended with $status"
    grep -q "daemon.control_cpus: CPU 9 is not among those that this process may use (0-3)" node1/log || fail "it does not say why"
    unset "NODE_PID[1]"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
