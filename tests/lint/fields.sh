#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The field reference, scenarios/README.md, is what the program prints: every key of the schema is documented, no other is.
# usage: fields.sh TOP PROGRAM
# shellcheck source-path=SCRIPTDIR
PROGRAM=$(realpath "${2:?usage: ${0##*/} TOP PROGRAM}")
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

REFERENCE=scenarios/README.md
if [[ ! -s $REFERENCE ]]; then
  problem "$REFERENCE:1: fields: missing; make it with rdmatestd --print-fields >$REFERENCE"
elif ! PRINTED=$("$PROGRAM" --print-fields && echo .); then
  problem "fields: $PROGRAM --print-fields failed"
elif [[ ${PRINTED%.} != "$(cat "$REFERENCE" && echo)" && ${PRINTED%.} != "$(cat "$REFERENCE")"$'\n' ]]; then
  problems < <(diff -u "$REFERENCE" <(printf '%s' "${PRINTED%.}") | sed "1,2d;s|^|$REFERENCE: fields: |")
  problem "$REFERENCE:1: fields: not what rdmatestd --print-fields prints; write it anew"
fi
finish
