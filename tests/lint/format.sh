#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# C files are laid out as clang-format 14 does with .clang-format; text has no blanks at line ends and ends with a newline.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

mapfile -t FILES < <(c_files daemon api tests)
seen "${#FILES[@]}"
while IFS= read -r file; do
  problem "$file:1: format: not as clang-format lays it out (./dev format)"
done < <(printf '%s\0' "${FILES[@]}" | xargs -0 -r -n 16 -P "$(nproc)" clang-format --dry-run 2>&1 |
  sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: warning: code should be clang-formatted.*/\1/p' | sort -u)

texts() {
  find . -type d \( -name .git -o -name 'build*' -o -name .cache \) -prune -o -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.bats' \
    -o -name '*.bash' -o -name '*.yaml' -o -name '*.md' -o -name meson.build \) -print0
}
problems < <(texts | xargs -0 -r grep -HnE '[[:blank:]]+$' | sed 's|^\([^:]*:[0-9]*\):.*|\1: format: blanks at the end of the line|')
while IFS= read -r -d '' file; do
  if [[ -s $file && -n $(tail -c 1 "$file") ]]; then problem "$file: format: no newline at the end"; fi
done < <(texts)
finish
