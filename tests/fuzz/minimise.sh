#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Makes the corpora of the tree anew: the inputs that people wrote, and, from what fuzzing left in BUILD/corpus and the old
# corpus, the few and short ones that reach edges which those do not. usage: minimise.sh BUILD [TARGET]..
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

BUILD=$(realpath "${1:?usage: minimise.sh BUILD [TARGET]..}"); shift
check_targets "$@"
NAMES=("$@")
((${#NAMES[@]})) || mapfile -t NAMES < <(targets)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
MAX_BYTES=4096

one_target() {  # target
  local target=$1 corpus=$FUZZ/corpus/$1 file folder count=0
  mkdir -p "$WORK/$target/kept" "$WORK/$target/old" "$WORK/$target/new" "$BUILD/corpus/$target"
  while IFS= read -r folder; do
    while IFS= read -r file; do cp "$file" "$WORK/$target/kept/seed-$((count += 1))"; done < <(find "$folder" -type f)
  done < <(seed_folders "$target" "$TOP")
  while IFS= read -r file; do
    if is_found "$file"; then mv "$file" "$WORK/$target/old/"; else cp "$file" "$WORK/$target/kept/"; fi
  done < <(find "$corpus" -type f)
  find "$BUILD/corpus/$target" -type f -size "-$((MAX_BYTES + 1))c" -exec cp -t "$WORK/$target/new" {} +
  fuzzer "$BUILD" "$target" -merge=1 -use_counters=0 "$WORK/$target/kept" "$WORK/$target/old" "$WORK/$target/new" \
    >"$WORK/$target.log" 2>&1 || { cat "$WORK/$target.log"; die "$target: merging failed"; }
  while IFS= read -r file; do if is_found "$file"; then cp "$file" "$corpus/"; fi; done < <(find "$WORK/$target/kept" -type f)
  printf '%-10s %5d inputs, %7d bytes\n' "$target" "$(find "$corpus" -type f | wc -l)" \
    "$(find "$corpus" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')"
}

for target in "${NAMES[@]}"; do one_target "$target"; done
