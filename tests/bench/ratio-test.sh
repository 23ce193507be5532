#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# bench-ratio says what it must of made-up pairs. usage: ratio-test.sh PATH/TO/bench-ratio
set -euo pipefail
RATIO=${1:?}
failed=0

pairs() { awk -v from="$1" -v to="$2" -v n="$3" 'BEGIN { for (i = 0; i < n; i++) print from + (to - from) * i / (n - 1), 1 }'; }
expect() {  # status, words, command..
  local status=$1 words=$2 rc=0 said; shift 2
  said=$("$@" 2>&1) || rc=$?
  if ((rc != status)) || [[ $said != *"$words"* ]]; then
    printf 'wanted status %s and "%s"; got status %s and "%s"\n' "$status" "$words" "$rc" "$said"
    failed=1
  fi
}
# shellcheck disable=SC2317 # called by expect
of() { printf '%s\n' "$1" | "$RATIO" "${@:2}"; }

expect 0 'median ratio 1.000  90 % interval 1.000 to 1.000' of "$(pairs 1 1 25)" same least 0.95
expect 0 'pass' of "$(pairs 0.96 1.04 25)" good least 0.95
expect 1 'FAIL' of "$(pairs 0.86 1.04 25)" wide least 0.95
expect 0 'upper bound <= 1.10' of "$(pairs 0.9 1.1 25)" good most 1.10
expect 1 'FAIL' of "$(pairs 1.0 1.3 25)" slow most 1.10
# One wild run does not move a median.
expect 0 'pass' of "$(pairs 0.99 1.01 24)"$'\n50 1' outlier most 1.10
# The same pairs, the same interval.
[[ $(pairs 0.5 1.5 25 | "$RATIO" a least 0) == "$(pairs 0.5 1.5 25 | "$RATIO" a least 0)" ]] || { echo "not the same twice"; failed=1; }
expect 2 'pair 3, "inf 1"' of $'1 1\n1 1\ninf 1' x least 0.95
expect 2 'pair 1, "0 1"' of '0 1' x least 0.95
expect 2 'pair 1, "1 1 1"' of '1 1 1' x least 0.95
expect 2 'pair 1, "nan 1"' of 'nan 1' x least 0.95
expect 2 '4 pairs; 5 are the least' of "$(pairs 1 1 4)" x least 0.95
expect 2 'usage' of '1 1' x about 0.95
expect 2 'usage' of '1 1' x least much
exit "$failed"
