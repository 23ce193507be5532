#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Fuzzes targets, one after the other, until one fails or the time of each is over. What was found goes to BUILD/corpus and
# BUILD/findings. usage: fuzz.sh BUILD [TARGET].. [--time SECONDS]
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

BUILD=$(realpath "${1:?usage: fuzz.sh BUILD [TARGET].. [--time SECONDS]}"); shift
SECONDS_EACH=1200
NAMES=()
while (($#)); do
  case $1 in
    --time) SECONDS_EACH=$(number --time "${2:-}"); shift 2 ;;
    --time=*) SECONDS_EACH=$(number --time "${1#*=}"); shift ;;
    -*) die "unknown option '$1' (./dev fuzz --help)" ;;
    *) check_targets "$1"; NAMES+=("$1"); shift ;;
  esac
done
((${#NAMES[@]})) || mapfile -t NAMES < <(targets)

# By libFuzzer's exit status.
word_for() {  # status
  case $1 in 0) echo clean ;; 70) echo 'TOO SLOW' ;; 71) echo 'TOO LARGE' ;; 72) echo interrupted ;; *) echo FOUND ;; esac
}

one_target() {  # target; 0 when it ran clean
  local target=$1 log=$BUILD/findings/$1.log before=$SECONDS rc=0 finding
  local folders=("$BUILD/corpus/$target" "$FUZZ/corpus/$target")
  mapfile -t -O 2 folders < <(seed_folders "$target" "$TOP")
  mkdir -p "$BUILD/corpus/$target"
  fuzzer "$BUILD" "$target" -max_total_time="$SECONDS_EACH" -artifact_prefix="$BUILD/findings/$target-" "${folders[@]}" \
    >"$log" 2>&1 </dev/null || rc=$?
  printf '%-10s %6d s %10s runs %6s edges  %s\n' "$target" $((SECONDS - before)) \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)" \
    "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)" "$(word_for "$rc")"
  ((rc == 0)) && return
  grep -vE '^(INFO|#[0-9]|stat::|Dictionary|	NEW_FUNC)' "$log" | head -n 60
  finding=$(sed -n 's/^artifact_prefix=.*Test unit written to //p' "$log" | tail -n 1)
  echo "fuzz: $target: the input is ${finding:-unknown}; the log is $log"
  echo "fuzz: make it small: $BUILD/tests/fuzz/fuzz-$target -minimize_crash=1 -max_total_time=60 INPUT; then keep it in tests/fuzz/corpus/$target under a name that says what it is"
  return 1
}

mkdir -p "$BUILD/findings"
FAILED=0
for target in "${NAMES[@]}"; do one_target "$target" || FAILED=$((FAILED + 1)); done
((FAILED == 0)) || { echo "fuzz: $FAILED of ${#NAMES[@]} targets failed"; exit 1; }
