#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Every test that tests/MATRIX.md names is there: `lab/faults.bats: how its title begins`, `cluster/defects.c: its_function`,
# `config/bad/file.yaml`. The row of a field case (| C04 | ..) names tests that have its number in their own name, and a test with a
# number has a row.
# shellcheck source-path=SCRIPTDIR disable=SC2016
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

DOCUMENT=tests/MATRIX.md
REFERENCE='^`((lab|cluster|unit|config)/[^`: ]+)(: ([^`]+))?`$'

# Prints "line<TAB>case or -<TAB>file<TAB>name" of every test that the document names.
references() {
  local line number=0 case token
  while IFS= read -r line; do
    number=$((number + 1))
    [[ $line == '|'* ]] || continue
    case=-
    [[ ! $line =~ ^\|\ (C[0-9][0-9])\ \| ]] || case=${BASH_REMATCH[1]}
    while IFS= read -r token; do
      [[ ! $token =~ $REFERENCE ]] || printf '%d\t%s\t%s\t%s\n' "$number" "$case" "${BASH_REMATCH[1]}" "${BASH_REMATCH[4]}"
    done < <(grep -oE '`[^`]+`' <<<"$line")
  done <"$DOCUMENT"
}

has_test() {  # file, name
  case $1 in
    *.bats) grep -qF -- "@test \"$2" "tests/$1" ;;
    *.c) [[ $2 =~ ^[A-Za-z0-9_]+$ ]] && grep -qE "(^|[[:space:](])$2[,)]" "tests/$1" ;;
    *) [[ ! $2 ]] ;;
  esac
}

# Prints the numbers that stand in names of tests: "C04".
numbered() {
  {
    grep -hoE '^@test "(C[0-9]{2} )+' tests/lab/*.bats || :
    grep -hoE '^static void (C[0-9]{2}_)+' tests/cluster/*.c tests/unit/*.c || :
  } 2>/dev/null | grep -oE "C[0-9]{2}" | sort -u
}

if [[ ! -s $DOCUMENT ]]; then
  problem "$DOCUMENT:1: matrix: missing"
else
  count=0
  while IFS=$'\t' read -r number case file name; do
    count=$((count + 1))
    if [[ ! -e tests/$file ]]; then
      problem "$DOCUMENT:$number: matrix: there is no tests/$file"
    elif ! has_test "$file" "$name"; then
      problem "$DOCUMENT:$number: matrix: tests/$file has no test \"$name\""
    elif [[ $case != - && $name && ${name^^} != *"$case"* ]]; then
      problem "$DOCUMENT:$number: matrix: the name of \"$name\" lacks $case"
    fi
  done < <(references)
  seen "$count"
  while IFS= read -r case; do
    grep -q "^| $case |" "$DOCUMENT" || problem "$DOCUMENT: matrix: no row for $case, which is in the name of a test"
  done < <(numbered)
fi
finish
