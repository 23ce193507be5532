#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# How files begin: the SPDX line; headers go on with #pragma once; a source includes its own header first.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

COUNT=0
while IFS= read -r file; do
  COUNT=$((COUNT + 1))
  IFS= read -r first <"$file" || :
  [[ $first == '// SPDX-License-Identifier: MIT' ]] || problem "$file:1: heads: the first line must be // SPDX-License-Identifier: MIT"
  if [[ $file == *.h ]]; then
    [[ $(sed -n 2p "$file") == '#pragma once' ]] || problem "$file:2: heads: the second line of a header must be #pragma once"
  elif [[ -e ${file%.c}.h ]]; then
    IFS=: read -r line text < <(grep -nE '^#include' "$file" || echo '1:') || :
    own=${file%.c}.h own=${own##*/}
    [[ $text == *[/\"]"$own\"" ]] || problem "$file:$line: heads: the first include must be its own header, $own"
  fi
done < <(c_files daemon api tests)
seen "$COUNT"

while IFS= read -r file; do
  head -n 2 "$file" | grep -qx '# SPDX-License-Identifier: MIT' || problem "$file:2: heads: no SPDX line among the first two"
done < <(scripts; find . -type d \( -name .git -o -name 'build*' \) -prune -o -name meson.build -print)
finish
