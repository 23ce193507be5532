#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Braces always: the body of if, else, for, while, do and list_each is a block.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

mapfile -t FILES < <(c_files daemon api tests)
seen "${#FILES[@]}"
check() {
  local file
  for file in "${FILES[@]}"; do
    awk -f "$LINT/strip.awk" "$file" | awk -v file="$file" '
    function balance(text, opened, closed) {
      opened = gsub(/\(/, "(", text)
      closed = gsub(/\)/, ")", text)
      return opened - closed
    }
    in_macro || /^[ \t]*#/ { in_macro = /\\$/; next }
    !open && /^[ \t]*(\} )?(else if|if|for|while|list_each|json_array_foreach|json_object_foreach) ?\(/ {
      open = 1; depth = 0; start = NR; loop_end = /^[ \t]*\} while/
    }
    !open && /^[ \t]*(\} )?(else|do)$/ {
      printf "%s:%d: braces: the body has none\n", file, NR
    }
    open {
      depth += balance($0)
      if (depth <= 0) {
        open = 0
        if (!loop_end && $0 !~ /\{$/) {
          printf "%s:%d: braces: the body has none\n", file, start
        }
      }
    }'
  done
}
problems < <(check)
finish
