# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Every lint is a script that takes the top of a tree, prints what is wrong as "file:line: what", and fails if it printed
# anything. A lint that found nothing to look at fails too: a moved folder must not switch it off.
set -euo pipefail
export LC_ALL=C.UTF-8
# shellcheck disable=SC2034 # for the scripts that read this file
LINT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${1:?usage: ${0##*/} TOP-OF-TREE [ARGUMENT]}"
PROBLEMS=0

problem() { printf '%s\n' "$*" >&2; PROBLEMS=$((PROBLEMS + 1)); }
# Each line of standard input is a problem.
problems() { local line; while IFS= read -r line; do problem "$line"; done; }

# Prints the C files below the given folders, those that exist.
c_files() {
  local top
  for top in "$@"; do [[ ! -d $top ]] || find "$top" -name '*.[ch]' -not -path '*/.*'; done | sort
}

# Prints the scripts of the tree: by name, or by their first line.
scripts() {
  local path others=()
  while IFS= read -r path; do
    case $path in
      *.sh | *.bash | *.bats) echo "$path" ;;
      *.[ch] | *.md | *.yaml | *.json) ;;
      *) others+=("$path") ;;
    esac
  done < <(find . -type d \( -name .git -o -name 'build*' -o -name .cache \) -prune -o -type f -print | sed 's|^\./||' | sort)
  # There are thousands that are no text: all in one go.
  # shellcheck disable=SC2016 # awk's
  printf './%s\0' "${others[@]}" | LC_ALL=C xargs -0 -r awk 'FNR == 1 { if ($0 ~ /^#!.*[\/ ](ba|da)?sh( |$)/) print substr(FILENAME, 3); nextfile }'
}

seen() { (($1 > 0)) || problem "${0##*/}: found nothing to check below $PWD"; }

finish() {
  if ((PROBLEMS > 0)); then
    printf '%s: %d problems\n' "${0##*/}" "$PROBLEMS" >&2
    exit 1
  fi
}
