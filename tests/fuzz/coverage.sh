#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Which lines of the parsers (file `parsers`) the corpora reach: a table, and failure when one file is below 90 %.
# usage: coverage.sh BUILD, made with clang's -fprofile-instr-generate -fcoverage-mapping
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

BUILD=$(realpath "${1:?usage: coverage.sh BUILD}")
LEAST=90
OUT=$BUILD/coverage
BAD=0
rm -rf "$OUT"
mkdir -p "$OUT"

OBJECTS=()
while IFS= read -r target; do
  mapfile -t folders < <(echo "$FUZZ/corpus/$target"; seed_folders "$target" "$TOP")
  LLVM_PROFILE_FILE=$OUT/$target.profraw "$BUILD/tests/fuzz/replay-$target" "${folders[@]}" >/dev/null
  OBJECTS+=(${OBJECTS[0]:+-object} "$BUILD/tests/fuzz/replay-$target")
done < <(targets)
llvm-profdata merge -sparse -o "$OUT/all.profdata" "$OUT"/*.profraw
llvm-cov export "${OBJECTS[@]}" -summary-only -instr-profile "$OUT/all.profdata" 2>/dev/null |
  jq -r '.data[0].files[] | [(.filename | sub(".*/daemon/"; "")), .summary.lines.count, .summary.lines.covered] | @tsv' >"$OUT/lines"

printf '%-34s %6s %8s %7s\n' file lines reached percent
while read -r file rest; do
  [[ $file && $file != \#* ]] || continue
  line=$(awk -F '\t' -v file="$file" '$1 == file { printf "%d %d %.1f", $2, $3, 100 * $3 / $2 }' "$OUT/lines")
  read -r lines reached percent <<<"$line"
  if [[ ! $line ]]; then
    printf '%-34s not linked into any target\n' "$file"
    BAD=$((BAD + 1))
    continue
  fi
  mark=''
  if ((100 * reached < LEAST * lines)); then mark=" below $LEAST %" BAD=$((BAD + 1)); fi
  printf '%-34s %6d %8d %6s%%%s\n' "$file" "$lines" "$reached" "$percent" "$mark"
done <"$FUZZ/parsers"
# one listing of all sources, each below a line with its path
llvm-cov show "${OBJECTS[@]}" -instr-profile "$OUT/all.profdata" 2>/dev/null | awk -v list="$FUZZ/parsers" '
  BEGIN { while ((getline line < list) > 0) wanted[line] = 1 }
  /^\/.*:$/ { file = $0; sub(/.*\/daemon\//, "", file); sub(/:$/, "", file); next }
  (file in wanted) && /^ *[0-9]+\| +0\|/ { sub(/^ */, ""); sub(/\| +0\|/, ": "); print "daemon/" file ":" $0 }' | sort -u -t : -k 1,1 -k 2,2n >"$OUT/missed"
echo "lines that no input reaches: $OUT/missed"
((BAD == 0)) || { echo "fuzz: $BAD files are below $LEAST %"; exit 1; }
