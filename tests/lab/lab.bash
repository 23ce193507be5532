# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# For the suites (*.bats) on the host: one virtual machine per suite, one job in it per test.
TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
LAB=$TOP/tests/lab/rdma-lab
# The sanitizers cost a fifth in the lab: a suite that keeps both CPUs busy for long has the line "# lab: plain" and takes ./build, if it is there.
LAB_BUILD=${LAB_BUILD:-$(if grep -q '^# lab: plain$' "$BATS_TEST_FILENAME" && [[ -x $TOP/build/rdmatestd ]]; then echo "$TOP/build"; else echo "$TOP/build-asan"; fi)}
export BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-180}

lab_name() { printf 'test-%s-%d' "$(basename "$BATS_TEST_FILENAME" .bats)" "$(id -u)"; }

lab_up() {  # options of rdma-lab up..
  local program
  for program in rdmatestd rdmatestctl; do
    [[ -x $LAB_BUILD/$program ]] || { echo "$LAB_BUILD/$program is missing: ./dev test lab builds it" >&2; return 1; }
  done
  "$LAB" down --name "$(lab_name)" 2>/dev/null || :
  export LAB_UP_OPTIONS="$*"
  RDMA_LAB_MAXLIFE=1500 "$LAB" up --name "$(lab_name)" --project "$TOP" "$@"
}

lab_down() { "$LAB" down --name "$(lab_name)"; }

# Runs lines in the machine, with the helpers of guest.bash. A machine that answers no more fails this test; the next one gets a new machine.
guest() {  # lines
  local rc=0
  "$LAB" exec --name "$(lab_name)" --node "${LAB_NODE:-1}" -t "${GUEST_TIMEOUT:-150}" -e TOP="$TOP" -e BUILD="$LAB_BUILD" -e LAB_ROUNDS="${LAB_ROUNDS:-8}" -e PLAIN_BUILD="${LAB_PLAIN_BUILD:-$TOP/build}" -- \
    ". \"\$TOP/tests/lab/guest.bash\"
$1" || rc=$?
  # shellcheck disable=SC2086 # words
  if ((rc == 125)); then echo "the machine is started anew"; lab_up ${LAB_UP_OPTIONS:-}; fi
  return "$rc"
}
