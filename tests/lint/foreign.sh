#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# No Python, at run time or in tests; no path of the machine something was written on.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

mapfile -t FILES < <(find . -type d \( -name .git -o -name 'build*' -o -name .cache \) -prune -o -type f -print | sed 's|^\./||' | sort)
seen "${#FILES[@]}"
all=() code=()
for file in "${FILES[@]}"; do
  case $file in
    *.py | *.pyx | *.pyc) problem "$file: foreign: a Python file" ;;
    tests/lint/foreign.sh | tests/lint/selftest.sh) ;;
    *.md) all+=("$file") ;;
    *) all+=("$file"); code+=("$file") ;;
  esac
done

# There are thousands: all in one go. A name that holds a colon would be told of by half.
search() {  # pattern, what it is, files..
  local pattern=$1 what=$2; shift 2
  problems < <(printf '%s\0' "$@" | xargs -0 -r grep -HInE -- "$pattern" | sed "s|^\([^:]*:[0-9]*\):.*|\1: foreign: $what|")
}
search '^#!.*python' "a Python script" "${all[@]}"
search "(python3?[[:space:]]+-|find_program\(.python|import\(.python|[^-a-z]python3?[[:space:]]+[^[:space:]]*\.py)" "runs Python" "${code[@]}"
search '(^|[^A-Za-z0-9_.}$-])(/wor[k]/|/root/|/home/[a-z]|/Users/|/tmp/build-)' "a path of one machine" "${all[@]}"
finish
