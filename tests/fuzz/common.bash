# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# What the scripts of this folder share.
set -euo pipefail
export LC_ALL=C.UTF-8
# shellcheck disable=SC2034 # for the scripts that read this file
FUZZ=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034
TOP=$(cd "$FUZZ/../.." && pwd)

die() { printf 'fuzz: %s\n' "$*" >&2; exit 2; }

# Prints the targets, in order of meson.build.
targets() { sed -n "/^fuzz_targets = {/,/^}/s/^  '\([a-z]*\)': {.*/\1/p" "$FUZZ/meson.build"; }

check_targets() {  # targets..
  local target
  for target in "$@"; do
    [[ -e $FUZZ/fuzz-$target.c ]] || die "unknown target '$target'; the targets are: $(targets | paste -sd ' ')"
  done
}

# Prints the folders of good inputs that a target has beside its corpus.
seed_folders() {  # target tree
  case $1 in document) printf '%s\n' "$2/tests/config" "$2/scenarios" ;; esac
}

# Inputs that people wrote have names that say what they are; the names of those found by a fuzzer are their SHA-1.
is_found() { [[ ${1##*/} =~ ^[0-9a-f]{40}$ ]]; }

number() {  # what value
  [[ $2 =~ ^[1-9][0-9]{0,6}$ ]] || die "$1: '$2' is not a number of seconds from 1 to 9999999"
  echo "$2"
}

# Runs a libFuzzer program at low priority with the bounds that hold for all of them; FUZZ_OPTIONS may change them.
fuzzer() {  # build target arguments..
  local build=$1 target=$2; shift 2
  # shellcheck disable=SC2086 # several words
  nice -n 19 "$build/tests/fuzz/fuzz-$target" -rss_limit_mb=1024 -timeout=25 -print_final_stats=1 \
    -dict="$build/tests/fuzz/$target.dict" ${FUZZ_OPTIONS:-} "$@"
}
