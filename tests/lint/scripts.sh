#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The script checker has nothing to say about any script of the tree.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

mapfile -t FILES < <(scripts)
seen "${#FILES[@]}"
if ((${#FILES[@]})); then
  while IFS= read -r line; do problem "scripts: $line"; done < <(shellcheck -x -f gcc "${FILES[@]}" 2>&1)
fi
finish
