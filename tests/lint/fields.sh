#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The field reference in scenarios/README.md, between its two marks, is what the program prints: every key of the schema is
# documented, no other is, and each says what it means.
# usage: fields.sh TOP PROGRAM
# shellcheck source-path=SCRIPTDIR
PROGRAM=$(realpath "${2:?usage: ${0##*/} TOP PROGRAM}")
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

REFERENCE=scenarios/README.md
CURE="write anew what stands between <!-- fields --> and <!-- /fields -->: rdmatestd --print-fields"
if [[ ! -s $REFERENCE ]]; then
  problem "$REFERENCE:1: fields: missing"
elif [[ $(grep -cx -e '<!-- fields -->' -e '<!-- /fields -->' "$REFERENCE") != 2 ]]; then
  problem "$REFERENCE:1: fields: the marks <!-- fields --> and <!-- /fields --> must each stand once, on lines of their own"
elif ! PRINTED=$("$PROGRAM" --print-fields); then
  problem "fields: $PROGRAM --print-fields failed"
else
  problems < <(grep -E '^\| `.*\|[[:blank:]]*\|$' <<<"$PRINTED" | sed 's/^/fields: a key without a meaning (.doc of its schema): /')
  WRITTEN=$(sed -n '/^<!-- fields -->$/,/^<!-- \/fields -->$/{//!p}' "$REFERENCE")
  if [[ $PRINTED != "$WRITTEN" ]]; then
    problems < <(diff -u <(echo "$WRITTEN") <(echo "$PRINTED") | sed "1,2d;s|^|$REFERENCE: fields: |")
    problem "$REFERENCE:1: fields: not what rdmatestd --print-fields prints; $CURE"
  fi
fi
finish
