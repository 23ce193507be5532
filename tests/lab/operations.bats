#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
# lab: alone
# lab: plain
#
# Every operation, alone and mixed, on real verbs.

load lab

setup_file() { lab_up; }
teardown_file() { lab_down; }

OPERATIONS='
  ALL="send send_with_imm write write_with_imm read atomic_cmp_and_swp atomic_fetch_and_add"
  size_of() { [[ $1 == atomic_* ]] && echo 8B || echo "$2"; }
'

# Every scenario that was written: all 300 operations, and of a stream all of them at the receiver.
UNRELIABLE='
  all_arrive() {
    local name
      nodes_up ./*.yaml
      for name in ./*.yaml; do
        name=${name##*/}; name=${name%.yaml}
        run_scenario 1 "$name" r.json
        verdict r.json pass
        holds r.json ".measurements[0].completed == 300"
        [[ $name != stream-* ]] || holds r.json ".measurements[0].delivery | .sent == 300 and .received == 300 and .lost == 0"
      done
  }
'

@test "over UD sends of one packet stream, and all of them arrive; a ping-pong goes to and fro; larger ones are refused" {
  run guest "$UNRELIABLE"'
    for op in send send_with_imm; do
      scenario "stream-${op//_/-}" "{ pattern: stream, ops: [{ op: $op, size: 4KiB }], load: { model: closed, outstanding: 16 }, signal_interval: 4 }" "{ warmup: 0, iterations: 300 }" "qp: { qp_type: UD, max_recv_wr: 512, num_qps: 2, qkey: 0x1234 }"
      scenario "ping-${op//_/-}" "{ pattern: pingpong, ops: [{ op: $op, size: 64B }] }" "{ warmup: 0, iterations: 300 }" "qp: { qp_type: UD }" "cq: { mode: event }"
    done
    all_arrive
    holds r.json ".measurements[0].initiator.steps | any(.name == \"create_ah\")"
    # The MTU of the link is not in the scenario: found when the run is planned.
    scenario stream-send "{ pattern: stream, ops: [{ op: send, size: 4097B }], load: { outstanding: 2 } }" "{ warmup: 0, iterations: 300 }" "qp: { qp_type: UD }"
    cp stream-send.yaml node1/scenarios.d/
    kill -HUP "${NODE_PID[1]}"
    eventually 20 node_reloaded 1
    run_scenario 1 stream-send r.json
    verdict r.json error
    finding r.json RDT-0110
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "four queue pairs take their receives from a shared queue, over RC and UD, and buffers are taken in turn" {
  run guest '
    scenario rc "{ pattern: stream, ops: [{ op: send, weight: 2, size: 4KiB }, { op: write_with_imm, size: 16KiB }], load: { model: closed, outstanding: 32 } }" "{ warmup: 0, iterations: 400 }" "qp: { srq: true, num_qps: 4, max_recv_wr: 256 }" "memory: { buffers: 64 }"
    scenario ud "{ pattern: stream, ops: [{ op: send, size: 1KiB }], load: { model: closed, outstanding: 16 } }" "{ warmup: 0, iterations: 400 }" "qp: { qp_type: UD, srq: true, num_qps: 4, max_recv_wr: 256 }" "cq: { mode: event, solicited: true }"
    scenario ping "{ pattern: pingpong, ops: [{ op: send, size: 64B }] }" "{ warmup: 0, iterations: 100 }" "qp: { srq: true, cm: rdma_cm }"
    scenario spread "{ pattern: stream, ops: [{ op: write, size: 16KiB }, { op: read, size: 16KiB }], load: { model: closed, outstanding: 8 } }" "{ warmup: 0, iterations: 400 }" "memory: { buffers: 500 }"
    nodes_up rc.yaml ud.yaml ping.yaml spread.yaml
    for name in rc ud ping spread; do
      run_scenario 1 $name r.json
      verdict r.json pass
      holds r.json ".measurements[0].completed == $([[ $name == ping ]] && echo 100 || echo 400)"
      [[ $name == spread ]] || holds r.json ".measurements[0].responder | (.steps | any(.name == \"create_srq\") and any(.name == \"destroy_srq\")) and (.traffic.receives == $([[ $name == ping ]] && echo 100 || echo 400))"
    done
    # Two halves of 500 buffers of 16 KiB.
    holds r.json ".measurements[0] | [.initiator, .responder] | all(.prepared.buffer_bytes == 2 * 500 * 16384)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "messages in several pieces: gathered and scattered by every operation, and verified" {
  run guest '
    SGES="qp: { max_send_sge: 5, max_recv_sge: 3 }"
    scenario rc "{ pattern: stream, verify: { method: crc32c }, ops: [{ op: send, size: 10000B }, { op: write_with_imm, size: 333B }, { op: read, size: 4KiB }], load: { model: closed, outstanding: 8 } }" "{ warmup: 0, iterations: 300 }" "$SGES"
    scenario writes "{ pattern: stream, verify: { method: crc32c }, ops: [{ op: write, size: 16KiB }], load: { model: closed, outstanding: 8 } }" "{ warmup: 0, iterations: 300 }" "$SGES"
    scenario atomics "{ pattern: stream, ops: [{ op: atomic_fetch_and_add, size: 8B }, { op: write, size: 1B }], load: { model: closed, outstanding: 8 } }" "{ warmup: 0, iterations: 300 }" "qp: { max_send_sge: 5 }"
    scenario ud "{ pattern: stream, verify: { method: sequence }, ops: [{ op: send, size: 1001B }], load: { model: closed, outstanding: 8 } }" "{ warmup: 0, iterations: 300 }" "qp: { qp_type: UD, max_send_sge: 32, max_recv_sge: 32 }"
    scenario ping "{ pattern: pingpong, ops: [{ op: send, size: 64B, inline: true }, { op: write, size: 100B }] }" "{ warmup: 0, iterations: 300 }" "$SGES"
    nodes_up rc.yaml writes.yaml atomics.yaml ud.yaml ping.yaml
    for name in rc writes atomics ud ping; do
      run_scenario 1 $name r.json
      verdict r.json pass
      holds r.json ".measurements[0] | .completed == 300 and .workload.qp.max_send_sge > 1"
      case $name in rc | writes | ud) holds r.json ".measurements[0].verification.verified == 300" ;; esac
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "over UC what takes a receive streams, and all of it arrives; a ping-pong goes to and fro" {
  run guest "$UNRELIABLE"'
    for op in send send_with_imm write_with_imm; do
      scenario "stream-${op//_/-}" "{ pattern: stream, ops: [{ op: $op, size: 16KiB }], load: { model: closed, outstanding: 16 }, signal_interval: 4 }" "{ warmup: 0, iterations: 300 }" "qp: { qp_type: UC, max_recv_wr: 512 }"
      scenario "ping-${op//_/-}" "{ pattern: pingpong, ops: [{ op: $op, size: 64B }] }" "{ warmup: 0, iterations: 300 }" "qp: { qp_type: UC }" "cq: { mode: event }"
    done
    scenario ping-write "{ pattern: pingpong, ops: [{ op: write, size: 64B }] }" "{ warmup: 0, iterations: 300 }" "qp: { qp_type: UC }"
    all_arrive
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "over UC and UD one message in a hundred is lost: counted at the receiver, degraded with RDT-0137, and not when so many may be" {
  run guest '
    # With events no host is called starved: the machine has two CPUs for two ends and the kernel.
    UC="qp: { qp_type: UC, max_recv_wr: 4096 }" EVENT="cq: { mode: event }"
    scenario strict "{ pattern: stream, ops: [{ op: send, size: 64B }], load: { model: closed, outstanding: 16 } }" "{ warmup: 0, iterations: 4000 }" "$UC" "$EVENT"
    scenario lenient "{ pattern: stream, ops: [{ op: send, size: 64B }], load: { model: closed, outstanding: 16 } }" "{ warmup: 0, iterations: 4000 }" "$UC" "$EVENT" "expect: [ lost_ops.ratio <= 5%, errors == 0 ]"
    scenario datagrams "{ pattern: stream, ops: [{ op: send, size: 64B }], load: { model: closed, outstanding: 16 } }" "{ warmup: 0, iterations: 4000 }" "${UC/UC/UD}" "$EVENT"
    nodes_up strict.yaml lenient.yaml datagrams.yaml
    node_meets 1 devices
    # The sessions are on that interface, too: their packets come again.
    tc qdisc add dev veth0 root netem loss 1%
    for name in strict datagrams; do
      run_scenario 1 "$name" r.json
      verdict r.json degraded
      finding r.json RDT-0137
      # 4,000 of 1 %: 40, five standard deviations of 6.3 to either side.
      holds r.json ".measurements[0].delivery | .sent == 4000 and .received + .lost == 4000 and .lost > 8 and .lost < 72"
    done
    run_scenario 1 lenient r.json
    verdict r.json pass
    holds r.json ".measurements[0].findings | all(.code != \"RDT-0137\")"
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "C56 C57 payload of each operation is verified over RC, UC and UD, and none is wrong" {
  run guest "$OPERATIONS"'
    checked() {  # name, method, operations, its other keys, size [, more lines..]
      local name=$1 method=$2 ops=$3 keys=$4; shift 4
      scenario "$name" "{ pattern: stream, verify: { method: $method }, ops: [$ops], load: { model: closed, outstanding: 16 }$keys }" "{ warmup: 0, iterations: 300 }" "$@" "expect: [ verify_errors == 0 ]"
    }
    checked rc-many sequence "{ op: send, size: 24B }, { op: write, size: [ 64B, 20000B ] }, { op: read, size: 4KiB }, { op: atomic_fetch_and_add, size: 8B }, { op: atomic_cmp_and_swp, size: 8B }" "" "qp: { num_qps: 3 }"
    checked rc-immediate crc32c "{ op: send_with_imm, size: 9000B }, { op: write_with_imm, size: 9000B }, { op: read, size: 9000B }" ", signal_interval: 4, post_list: 2"
    checked uc crc32c "{ op: send, size: 9000B }, { op: send_with_imm, size: 24B }, { op: write_with_imm, size: 9000B }" "" "qp: { qp_type: UC, max_recv_wr: 400 }"
    checked ud sequence "{ op: send, size: 1KiB }, { op: send_with_imm, size: 64B }" "" "qp: { qp_type: UD, max_recv_wr: 400 }"
    nodes_up ./*.yaml
    for name in ./*.yaml; do
      name=${name##*/}; name=${name%.yaml}
      run_scenario 1 "$name" r.json
      verdict r.json pass
      holds r.json ".measurements[0] | .completed == 300 and (.verification | .verified == 300 and .corrupted + .lost + .duplicated + .reordered == 0 and .first_corrupted == null)"
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C57 over UC and UD what the network loses, repeats and reorders is counted apart by verified payload" {
  run guest '
    EVENT="cq: { mode: event }" LOAD="load: { model: closed, outstanding: 8 }"
    scenario sends-ud "{ pattern: stream, verify: { method: sequence }, ops: [{ op: send, size: 512B }], $LOAD }" "{ warmup: 0, iterations: 1000 }" "qp: { qp_type: UD, max_recv_wr: 2000 }" "$EVENT"
    scenario writes-uc "{ pattern: stream, verify: { method: sequence }, ops: [{ op: write_with_imm, size: 512B }], $LOAD }" "{ warmup: 0, iterations: 500 }" "qp: { qp_type: UC, max_recv_wr: 4000 }"
    nodes_up ./*.yaml
    node_meets 1 devices
    tc qdisc add dev veth0 root netem loss 1% duplicate 1%
    for name in sends-ud writes-uc; do
      run_scenario 1 $name r.json
      # 1 % of 1,000 (500): 10 (5), five standard deviations of 3.2 (2.2) above.
      holds r.json ".measurements[0] | .completed as \$n | .verification | .sent == \$n and .received + .lost == \$n and .lost <= 17 + \$n / 80 and .corrupted == 0"
      [[ $name == writes-uc ]] || holds r.json ".measurements[0].verification | .lost > 0 and .duplicated > 0 and .duplicated <= 30"
      [[ $name == writes-uc ]] || verdict r.json degraded
      [[ $name == writes-uc ]] || finding r.json RDT-0143
    done
    tc qdisc replace dev veth0 root netem delay 1ms reorder 95%
    run_scenario 1 sends-ud r.json
    verdict r.json degraded
    finding r.json RDT-0143
    holds r.json ".measurements[0].verification | .reordered > 5 and .lost == 0 and .duplicated == 0 and .verified == 1000"
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

# As streams they are in table.bats. A write is seen in memory, and no event tells of it.
@test "each operation is answered in a ping-pong, polling and with completion events, and passes" {
  run guest "$OPERATIONS"'
    for mode in poll event; do for op in $ALL; do
      [[ $mode-$op != event-write ]] || continue
      scenario "$mode-${op//_/-}" "{ pattern: pingpong, ops: [{ op: $op, size: $(size_of "$op" 64B) }] }" "{ warmup: 0, iterations: 300 }" "cq: { mode: $mode }"
    done; done
    nodes_up ./*.yaml
    for name in *.yaml; do
      name=${name%.yaml} op=${name#*-}
      run_scenario 1 "$name" r.json
      verdict r.json pass
      moved r.json "${op//-/_}"
      holds r.json ".measurements[0] | .completed == 300 and .errors == 0 and (.slowest | length == 16) and
        .slowest[0].latency_ns == ([.operations[] | select(.scope == \"size\") | .latency.max_ns] | max)"
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

# Without a delay the kernel has the answer there before ibv_post_send returns.
@test "a measuring thread with completion events sleeps while nothing comes, and no host is called starved for that" {
  run guest '
    tc qdisc add dev veth0 root netem delay 5ms
    scenario sleeper "{ pattern: pingpong, ops: [{ op: send, size: 64B }] }" "{ warmup: 0, iterations: 300 }" "cq: { mode: event }"
    nodes_up sleeper.yaml
    run_scenario 1 sleeper r.json
    verdict r.json pass
    holds r.json ".measurements[0].initiator.worker.cpu_share < 0.7 and .measurements[0].responder.worker.cpu_share < 0.7"
    holds r.json "[.. | objects | .code? // empty] | index(\"RDT-0115\") == null"
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- lab-reset
  [ "$status" -eq 0 ]
}

@test "an open load keeps its rate, polling and with completion events, and tells both latencies" {
  run guest '
    for mode in poll event; do
      scenario open-$mode "{ pattern: stream, ops: [{ op: write, size: 64B }, { op: send, size: 64B }], load: { model: open, ops_rate: 200/s } }" \
        "{ warmup: 200ms, duration: 2s }" "cq: { mode: $mode }"
      sed -i "/disruptive/d" open-$mode.yaml
    done
    # More than it can by far.
    scenario too-much "{ pattern: stream, ops: [{ op: write, size: 64KiB }], load: { model: open, ops_rate: 50k/s, max_outstanding: 4, on_full: drop } }" \
      "{ warmup: 0, duration: 1s }"
    nodes_up open-poll.yaml open-event.yaml too-much.yaml
    for mode in poll event; do
      run_scenario 1 open-$mode r.json
      verdict r.json pass
      # A machine that stands still for 100 ms at the end completes so many later.
      holds r.json ".measurements[0] | .completed >= 380 and .completed <= 420"
      holds r.json "[.measurements[0].operations[] | select(.latency.count > 0)] | length >= 3 and
        all(.[]; .latency.definition == \"intended_to_completion\" and .service_latency.count == .latency.count and .service_latency.mean_ns <= .latency.mean_ns)"
      holds r.json ".measurements[0].initiator.traffic.dropped_operations == 0"
    done
    run_scenario 1 too-much r.json
    holds r.json ".measurements[0].initiator.traffic.dropped_operations > .measurements[0].completed"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C27 buffers are in the memory that is asked for: huge pages, a NUMA node, relaxed ordering; what is not there is refused with the cure, and the next run passes" {
  run guest '
    WORK="{ pattern: stream, ops: [{ op: write, size: 64KiB }, { op: send, size: 4KiB }], load: { model: closed, outstanding: 16 } }"
    RUN="{ warmup: 0s, iterations: 300 }"
    scenario huge "$WORK" "$RUN" "memory: { kind: hugepage, hugepage_size: 2MiB, numa: 0, relaxed_ordering: true }"
    scenario gigantic "$WORK" "$RUN" "memory: { kind: hugepage, hugepage_size: 4MiB }"
    scenario elsewhere "$WORK" "$RUN" "memory: { numa: 7 }"
    scenario here "$WORK" "$RUN" "memory: { numa: 0 }"
    scenario paged "$WORK" "$RUN" "memory: { odp: true }"
    nodes_up ./*.yaml
    refused() {  # scenario, verdict, code, words
      run_scenario 1 "$1" r.json
      verdict r.json "$2"
      holds r.json ".measurements[0] | .findings[0].code == \"$3\" and (.first_error.text | test(\"$4\"))"
    }
    refused huge error RDT-0118 "1 huge pages of 2 MiB are needed, and 0 of this host.s 0 are free; raise vm.nr_hugepages"
    refused gigantic error RDT-0118 "no huge pages of 4 MiB .it has: .*2MiB"
    refused elsewhere error RDT-0118 "NUMA node 7"
    refused paged unsupported RDT-0120 "rxe[01] has no on-demand paging"
    sysctl -q vm.nr_hugepages=4
    run_scenario 1 huge r.json
    verdict r.json pass
    holds r.json ".measurements[0].workload.memory | .kind == \"hugepage\" and .hugepage_bytes == 2097152 and .numa_node == 0 and .relaxed_ordering"
    scenario long "$WORK" "{ warmup: 0s, duration: 4s }" "memory: { kind: hugepage }"
    for n in 1 2; do node_write "$n" ./*.yaml; kill -HUP "${NODE_PID[$n]}"; done
    sleep 1
    run_begin 1 long r.json
    run_measuring 1
    free=$(sed -n "s/HugePages_Free: *//p" /proc/meminfo)
    ((free == 2)) || fail "two ends have two huge pages, and $free of 4 are free"
    wait "$RUN_PID" || :
    verdict r.json pass
    free=$(sed -n "s/HugePages_Free: *//p" /proc/meminfo)
    ((free == 4)) || fail "after the run $free of 4 huge pages are free"
    sysctl -q vm.nr_hugepages=0
    run_scenario 1 here r.json
    verdict r.json pass
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a pair that is measured three times has three verdicts, and mean and interval over all of them; 128 queue pairs are one run" {
  run guest '
    scenario again "{ pattern: stream, ops: [{ op: write, size: 4KiB }, { op: read, size: 64B }], load: { model: closed, outstanding: 8 } }" "{ warmup: 0s, iterations: 500, repeat: 3 }"
    scenario wide "{ pattern: stream, ops: [{ op: write, size: 64B }], load: { model: closed, outstanding: 256 } }" "{ warmup: 0s, iterations: 1280 }" "qp: { num_qps: 128, max_send_wr: 8 }"
    nodes_up again.yaml wide.yaml
    run_scenario 1 again r.json
    verdict r.json pass
    holds r.json "[.measurements[] | [.pair, .repeat_index, .repeat_count, .completed, .verdict]] == [[0,0,3,500,\"pass\"],[1,1,3,500,\"pass\"],[2,2,3,500,\"pass\"]]"
    holds r.json "([.measurements[].initiator.prepared.first_qp_num] | unique | length) == 3"
    holds r.json ".repeats | length == 1 and ([.[0].metrics[].metric] == [\"bandwidth\", \"ops_rate\", \"write.latency.p50\", \"read.latency.p50\"])"
    holds r.json ". as \$r | (\$r.repeats[0].metrics[0]) as \$m | ([\$r.measurements[].bandwidth_bps] | add / 3) as \$mean |
      \$m.count == 3 and (\$m.mean / \$mean - 1 | fabs) < 1e-4 and \$m.ci95_low < \$m.mean and \$m.ci95_high > \$m.mean"
    run_scenario 1 wide r.json
    verdict r.json pass
    holds r.json ".measurements[0] | .completed == 1280 and .initiator.prepared.num_qps == 128"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "in reverse the peer requests, and passes" {
  run guest '
    scenario back "{ pattern: stream, direction: reverse, ops: [{ op: send, size: 4KiB }], load: { model: closed, outstanding: 16 } }" "{ warmup: 0, iterations: 300 }" \
      "peers: { from: \"name=node1\", to: \"name=node2\" }"
    nodes_up back.yaml
    run_scenario 1 back r.json
    verdict r.json pass
    holds r.json ".coordinator == \"node1\" and .measurements[0].initiator.node == \"node2\" and .measurements[0].completed == 300"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "requests are answered with as much as they ask for, over each transport, and large writes of a ping-pong carry immediate data" {
  run guest '
    for type in RC UC UD; do
      size=16KiB; [ $type != UD ] || size=1KiB
      scenario ask-${type,,} "{ pattern: request_response, ops: [{ op: send, size: 64B, response: $size }] }" "{ warmup: 0, iterations: 300 }" "qp: { qp_type: $type }" "disruptive: true"
      [ $type = UD ] || scenario place-${type,,} "{ pattern: request_response, ops: [{ op: write, size: 8B, response: 16KiB }, { op: write, size: 16B }] }" \
        "{ warmup: 0, iterations: 300 }" "qp: { qp_type: $type, path_mtu: 1KiB }" "disruptive: true"
    done
    scenario small "{ pattern: request_response, ops: [{ op: write, size: 8B, response: 1KiB }] }" "{ warmup: 0, iterations: 300 }"
    scenario large "{ pattern: pingpong, ops: [{ op: write, size: 64KiB }] }" "{ warmup: 0, iterations: 100 }" "disruptive: true"
    nodes_up ./*.yaml
    for name in ask-rc ask-uc ask-ud place-rc place-uc small large; do
      run_scenario 1 $name r.json
      verdict r.json pass
      seen=null; definition=round_trip; receives="== 0"
      case $name in
        ask-*) receives="== 300" ;;
        place-*) seen="\"both\""; receives="| . > 100 and . < 200" ;; # half of a deck that is longer than these
        small) seen="\"memory\"" ;;
        large) seen="\"immediate\""; definition=half_round_trip; receives="== 100" ;;
      esac
      holds r.json ".measurements[0] | .writes_seen_by == $seen and .responder.traffic.receives == .initiator.traffic.receives"
      holds r.json ".measurements[0].initiator.traffic.receives $receives"
      holds r.json ".measurements[0].operations | all(.[]; .latency.definition == \"$definition\" and .latency.count == .completed)"
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "both ends stream at the same time, over each transport, and pass" {
  run guest '
    for type in RC UC UD; do
      op=write_with_imm; [ $type != UD ] || op=send_with_imm
      ops="{ op: send, size: 1KiB }, { op: $op, size: 1KiB }"; [ $type != RC ] || ops+=", { op: read, size: 4KiB }, { op: write, size: 16KiB }"
      scenario both-${type,,} "{ pattern: stream, direction: both, ops: [$ops], load: { model: closed, outstanding: 16 } }" "{ warmup: 0, iterations: 600 }" \
        "qp: { qp_type: $type, num_qps: 2, max_recv_wr: 1024 }"
    done
    nodes_up ./*.yaml
    for type in rc uc ud; do
      # Packets of one queue pair leave from two CPUs here, and may overtake each other when one of them stands still: that is said, and
      # rare.
      for _ in 1 2; do
        run_scenario 1 both-$type r.json
        ! jq -e ".verdict == \"degraded\" and (.measurements[0].findings[0].code == \"RDT-0128\")" r.json >/dev/null || continue
        break
      done
      verdict r.json pass
      holds r.json ".measurements[0] | .completed == 600 and .reverse.completed == 600 and .both.completed == 1200 and .end == \"iterations\" and .reverse.end == \"iterations\""
      holds r.json ".measurements[0] | .initiator.traffic.receives == .responder.traffic.receives and .initiator.traffic.receives > 200"
      holds r.json ".measurements[0] | (.both.bandwidth_bps - .bandwidth_bps - .reverse.bandwidth_bps | fabs) < 0.001 * .both.bandwidth_bps"
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the profiles of the programs of perftest pass" {
  run guest '
    nodes_up "$TOP"/scenarios/perftest/*.yaml
    for file in "$TOP"/scenarios/perftest/*.yaml; do
      name=${file##*/}; name=${name%.yaml}
      [[ $name != *_bw || $name == ib_atomic_bw ]] || continue # 64 to 320 MB take long here; their traffic is that of the other streams
      run_scenario 1 "$name" r.json
      verdict r.json pass
    done
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the steps of the tuning ladder pass, and what each gains is told" {
  run guest '
    sed "s/duration: 5s/duration: 1s/; s/warmup: 500ms/warmup: 100ms/" "$TOP/scenarios/tuning-ladder.yaml" >ladder.yaml
    nodes_up ladder.yaml
    steps=$(sed -n "s/^  - name: //p" ladder.yaml)
    for step in $steps; do
      run_scenario 1 $step r.json
      verdict r.json pass
    done
    ctl 1 compare $steps | tee compared
    [[ $(grep -c "^ladder-" compared) == 5 ]]
    [[ $(grep -cE "^ladder-[2-5].* [+-][0-9.]+ % .* [+-][0-9.]+ %$" compared) == 4 ]]
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

# What either measures is not compared: a machine that QEMU interprets pauses one of the programs now and then.
@test "compat.perftest stands beside the output of perftest, column by column" {
  run guest '
    perftest() {  # program, size, iterations: ROW has the numbers
      local server end=$((SECONDS + 30))
      timeout 60 "$1" -d rxe1 -x 1 -p 19000 -F -u 21 -s "$2" -n "$3" >server.log 2>&1 & server=$!
      until grep -qsE ":4A38 [0-9A-F:]+ 0A" /proc/net/tcp /proc/net/tcp6; do ((SECONDS < end)) || fail "$1 does not listen"; node_nap 0.1; done
      timeout 60 "$1" -d rxe0 -x 1 -p 19000 -F -u 21 -s "$2" -n "$3" 10.99.0.2 >client.log 2>&1 || { cat client.log; fail "$1 failed"; }
      wait "$server" || :
      read -r -a ROW <<<"$(grep -E "^ *$2 " client.log || :)"
      [[ ${#ROW[@]} -ge 5 ]] || { cat client.log; fail "$1 printed no row"; }
    }
    scenario lat "{ pattern: pingpong, ops: [{ op: write, size: 2B }] }" "{ warmup: 0, iterations: 1000 }"
    scenario bw "{ pattern: stream, ops: [{ op: send, size: 64KiB }], load: { outstanding: 128 } }" "{ warmup: 0, iterations: 300 }"
    nodes_up lat.yaml bw.yaml
    run_scenario 1 lat r.json
    verdict r.json pass
    perftest ib_write_lat 2 1000
    grep -E "^ *(#bytes|2 )" client.log; jq -c ".measurements[0].compat.perftest" r.json
    holds r.json ".measurements[0].compat.perftest | .program == \"ib_write_lat\" and .size_bytes == ${ROW[0]} and .iterations == ${ROW[1]}"
    holds r.json ".measurements[0].compat.perftest | .t_min_us <= .t_typical_us and .t_typical_us <= .p99_us and .p99_us <= .p99_9_us and .p99_9_us <= 1.005 * .t_max_us"
    run_scenario 1 bw r.json
    verdict r.json pass
    perftest ib_send_bw 65536 300
    grep -E "^ *(#bytes|65536 )" client.log; jq -c ".measurements[0].compat.perftest" r.json
    holds r.json ".measurements[0].compat.perftest | .program == \"ib_send_bw\" and .size_bytes == ${ROW[0]} and .iterations == ${ROW[1]} and .bw_peak_mib_s == 0"
    holds r.json ".measurements[0].compat.perftest | (.msg_rate_mpps * 1e6 * .size_bytes / 1048576 / .bw_average_mib_s - 1 | fabs) < 0.001"
  '
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
