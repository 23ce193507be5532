#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What the documentation says to write is what the program takes: each whole document of YAML in it (a block that
# begins with "version: 1") passes `rdmatestd --check`; one with `daemon:` as the configuration, another as a file of scenarios.
# usage: documents.sh TOP PROGRAM
set -euo pipefail
TOP=$1 PROGRAM=$(realpath "$2")
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
fail() { printf '%s\n' "$*" >&2; exit 1; }

# Each block into a file NUMBER.yaml, without its indentation; a line that is indented less ends it.
blocks_of() {  # document, directory
  awk -v directory="$2" '
    function depth(line) { match(line, /^ */); return RLENGTH }
    within && /[^ ]/ && (depth($0) < indent || /^```/) { within = 0; close(file) }
    !within && /^ *version: 1$/ { within = 1; indent = depth($0); file = sprintf("%s/%d.yaml", directory, ++count) }
    within { print substr($0, indent + 1) >file }' "$1"
}

checked=0
for document in README.md scenarios/README.md packaging/README.md api/man/rdmatestd.yaml.5.scd; do
  mkdir -p "$WORK/blocks" "$WORK/etc/scenarios.d"
  blocks_of "$TOP/$document" "$WORK/blocks"
  for block in "$WORK"/blocks/*.yaml; do
    [[ -e $block ]] || continue
    rm -f "$WORK"/etc/scenarios.d/*
    if grep -q '^daemon:' "$block"; then
      cp "$block" "$WORK/etc/rdmatestd.yaml"
      cp "$TOP/scenarios/smoke.yaml" "$WORK/etc/scenarios.d/"
    else
      printf 'version: 1\ninclude: [scenarios.d/*.yaml]\ndaemon: { key_file: %s/fleet.key }\n' "$WORK" >"$WORK/etc/rdmatestd.yaml"
      cp "$block" "$WORK/etc/scenarios.d/"
    fi
    (umask 077; printf '%064d\n' 0 >"$WORK/fleet.key")
    sed -i "s|/etc/rdmatestd/fleet.key|$WORK/fleet.key|" "$WORK/etc/rdmatestd.yaml"
    said=$("$PROGRAM" --check --config="$WORK/etc/rdmatestd.yaml" 2>&1) || fail "$document: block ${block##*/} is refused:
$said
$(<"$block")"
    checked=$((checked + 1))
  done
  rm -rf "$WORK/blocks"
done
((checked >= 4)) || fail "only $checked documents were found: README.md has two, the others two more"
echo "$checked documents"
