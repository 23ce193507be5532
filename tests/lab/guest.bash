# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: MIT
#
# What a test in the lab runs inside the virtual machine (lab.bash sources this before the test's own lines). Each test
# is one job: daemons that it starts end with it. At its end they are stopped, and must have ended well.
set -euo pipefail
# QEMU interprets: what a test starts often shall start fast. The C locale opens no file; gojq compiles its own library in a sixth of
# jq's time; the programs of the build are copied into memory.
export LC_ALL=C
: "${TOP:?}" "${BUILD:?}"
! type -P gojq >/dev/null || jq() { gojq "$@"; }
if [[ ! -e /run/rdmatestd-build ]]; then
  mkdir -p /run/rdmatestd-build/plain
  for program in rdmatestd rdmatestctl; do
    cp "$BUILD/$program" /run/rdmatestd-build/
    mount --bind "/run/rdmatestd-build/$program" "$BUILD/$program"
  done
  # The client starts often, and takes twice as long with sanitizers; tests/unit has it with them.
  [[ ! -x ${PLAIN_BUILD:-}/rdmatestctl ]] || cp "$PLAIN_BUILD/rdmatestctl" /run/rdmatestd-build/plain/
fi
NODES_CLIENT=$BUILD/rdmatestctl
[[ ! -x /run/rdmatestd-build/plain/rdmatestctl ]] || NODES_CLIENT=/run/rdmatestd-build/plain/rdmatestctl
NODES_DIR=/run/rdmatestd-test
rm -rf "$NODES_DIR"; mkdir -p "$NODES_DIR"
cd "$NODES_DIR"
export ASAN_OPTIONS=abort_on_error=0:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
# shellcheck source=tests/lab/nodes.bash
. "$TOP/tests/lab/nodes.bash"
nodes_of_the_lab

guest_end() {
  local rc=$? last=$BASH_COMMAND n
  trap - EXIT
  # What a test put aside comes back first.
  ! declare -F guest_leave >/dev/null || guest_leave
  if ((rc == 0)); then nodes_down || rc=1; fi
  if ((rc != 0)); then
    echo "ended with status $rc: $last"
    for n in "$NODES_DIR"/node*/log; do [[ ! -e $n ]] || { echo "--- ${n#"$NODES_DIR"/}"; tail -n 40 "$n"; }; done
  fi
  exit "$rc"
}
trap guest_end EXIT

fail() { printf 'FAILED: %s\n' "$*"; exit 1; }

# A scenario file for tests: short, no schedule, with the given lines in place of the defaults.
scenario() {  # name, workload line, run line [, more lines..]
  local name=$1 workload=$2 run=$3 line; shift 3
  {
    printf 'version: 1\nscenarios:\n  - name: %s\n    workload: %s\n    run: %s\n' "$name" "$workload" "$run"
    [[ $workload != *"pattern: stream"* ]] || printf "    disruptive: true\n"
    for line in "$@"; do printf '    %s\n' "$line"; done
  } >"$NODES_DIR/$name.yaml"
}
PINGPONG='{ pattern: pingpong, ops: [{ op: write, size: 64B }] }'
STREAM='{ pattern: stream, ops: [{ op: write, size: 4KiB }], load: { model: closed, outstanding: 16 } }'

# Runs a scenario to its end: FILE gets the record, RUN_STATUS the exit status.
run_scenario() {  # node, scenario, file
  RUN_STATUS=0
  timeout 120 "$NODES_CLIENT" --socket="$NODES_DIR/node$1/admin.sock" run "$2" --json >"$3" 2>"$3.err" || RUN_STATUS=$?
  [[ "$(<"$3")" == "{"*"}" ]] || { cat "$3" "$3.err"; fail "run $2 printed no JSON (status $RUN_STATUS)"; }
}

# The same in the background, for tests that disturb it; run_end waits for it.
run_begin() { run_scenario "$@" & RUN_PID=$!; }

# Waits until the run that goes on at a node measures: the daemon says so.
run_measuring() {  # node
  local end=$((SECONDS + 60)) id='' progress=''
  until [[ $progress == *'"phase":"measuring"'* ]]; do
    ((SECONDS < end)) || { echo "$progress"; http "$1" /v1/runs; fail "no run is measuring on node$1 after 60 s"; }
    node_nap 0.1
    [[ $id ]] || id=$(http "$1" /v1/runs | jq -r '[.runs[] | select(.state == "running")][0].id // empty')
    [[ $id ]] || continue
    node_get "$1" "/v1/runs/$id/progress" || :
    progress=$NODE_BODY
  done
}

# Gives a node that runs other limits, by a reload.
node_reloaded() { http "$1" /v1/status | jq -e ".config.generation >= 2" >/dev/null; }  # node
node_limits() {  # node, limits
  sed -i "s|^  node_name: .*|&\n  limits: $2|" "$NODES_DIR/node$1/rdmatestd.yaml"
  kill -HUP "${NODE_PID[$1]}"
  eventually 20 node_reloaded "$1"
}

# The record holds this: a jq condition; else it is shown, and in one line what it says.
holds() {  # file, condition
  jq -e "$2" "$1" >/dev/null || { jq . "$1"; in_short "$1"; fail "does not hold in $1: $2"; }
}
in_short() {  # file
  jq -r --arg file "$1" '"\($file): verdict \(.verdict); findings \([.. | objects | select(.code? and .confidence?) | "\(.code) \(.confidence)"] |
    join(", ")); first errors \([.. | objects | .first_error? // empty | "\(.call) on \(.node): \(.text)"] | join(" | "))"' "$1" 2>/dev/null || :
}
verdict() { holds "$1" ".verdict == \"$2\""; }  # file, verdict
finding() { holds "$1" "[.. | objects | .code? // empty] | index(\"$2\") != null"; }  # file, code

# Operations of a kind completed, and their latencies were recorded.
moved() {  # file, operation
  holds "$1" "[.measurements[0].operations[] | select(.scope == \"size\" and .op == \"$2\" and .completed > 0)] |
    length > 0 and all(.[]; .bytes == .completed * .size_bytes and .latency.count > 0 and .latency.max_ns >= .latency.min_ns)"
}

# Waits until a command succeeds.
eventually() {  # seconds, command..
  local end=$((SECONDS + $1)); shift
  until "$@"; do
    ((SECONDS < end)) || fail "not in time: $*"
    node_nap 0.1
  done
}
