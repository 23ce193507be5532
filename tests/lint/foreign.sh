#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# No Python, at run time or in tests; no path of the machine something was written on.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

mapfile -t FILES < <(find . -type d \( -name .git -o -name 'build*' -o -name .cache \) -prune -o -type f -print | sed 's|^\./||' | sort)
seen "${#FILES[@]}"
for file in "${FILES[@]}"; do
  case $file in
    *.py | *.pyx | *.pyc) problem "$file: foreign: a Python file" ; continue ;;
    tests/lint/foreign.sh | tests/lint/selftest.sh) continue ;;
  esac
  problems < <(grep -InE '^#!.*python' "$file" | sed "s|^\([0-9]*\):.*|$file:\1: foreign: a Python script|")
  case $file in
    *.md) ;;
    *) problems < <(grep -InE "(python3?[[:space:]]+-|find_program\(.python|import\(.python|[^-a-z]python3?[[:space:]]+[^[:space:]]*\.py)" "$file" | sed "s|^\([0-9]*\):.*|$file:\1: foreign: runs Python|") ;;
  esac
  problems < <(grep -InE '(^|[^A-Za-z0-9_.}$-])(/wor[k]/|/root/|/home/[a-z]|/Users/|/tmp/build-)' "$file" | sed "s|^\([0-9]*\):.*|$file:\1: foreign: a path of one machine|")
done
finish
