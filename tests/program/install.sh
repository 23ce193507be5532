#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What meson install puts in place: the links of installed documents lead somewhere, and each installed path that documents and
# manual pages name is there.
set -euo pipefail

build=$1 prefix=$2
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
DESTDIR=$stage meson install -C "$build" --no-rebuild >/dev/null
documents=$stage$prefix/share/doc/rdmatestd
problems=0

say() { echo "$*" >&2; problems=$((problems + 1)); }

links=0
while IFS= read -r file; do
  while IFS= read -r link; do
    links=$((links + 1))
    [[ -e $(dirname "$file")/$link ]] || say "${file#"$documents"/}: $link is not installed"
  done < <(grep -oE '\]\([^)#:]+[)#]' "$file" | sed -E 's/^\]\(//; s/[)#]$//')
done < <(find "$documents" -name '*.md')
((links > 10)) || say "only $links links: this test shows nothing"

# Of the prefix /usr, of which documents speak.
paths=0
while IFS= read -r path; do
  paths=$((paths + 1))
  path=${path%[.,:]}
  [[ -e $stage$path || -e $stage$prefix${path#/usr} ]] || say "$path is named, and not installed"
done < <({ find "$documents" -name '*.md' -exec cat {} +; find "$stage" -path '*/man/*' -type f -exec sh -c 'gzip -dcf "$1" | sed "s/\\\\-/-/g; s/\\\\&//g"' - {} \; ; } |
  grep -oE '(^|[ `(|])/(usr|lib)/[a-z0-9./_-]*(rdma|share|bin)[A-Za-z0-9./_-]*' | sed -E 's/^[ `(|]//' | sort -u)
((paths > 3)) || say "only $paths paths: this test shows nothing"
((problems == 0))
