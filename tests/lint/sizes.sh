#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Files of at most 600 lines, functions of at most 100 (from the opening to the closing brace), lines of at most 120 columns
# (those with a string literal aside, which is not broken).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

mapfile -t FILES < <(c_files daemon api tests)
seen "${#FILES[@]}"
check() {
  local file
  for file in "${FILES[@]}"; do
    awk -v file="$file" '
    { text = $0; gsub(/\t/, "        ", text) }
    length(text) > 120 && !/"/ { printf "%s:%d: sizes: the line has %d columns; the limit is 120\n", file, NR, length(text) }
    /^\{/ { start = NR }
    /^\}/ && start {
      if (NR - start + 1 > 100) {
        printf "%s:%d: sizes: the function has %d lines; the limit is 100\n", file, start, NR - start + 1
      }
      start = 0
    }
    END { if (NR > 600) printf "%s:600: sizes: the file has %d lines; the limit is 600\n", file, NR }' "$file"
  done
}
problems < <(check)
finish
