#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# foo.c exports only foo and foo_*: what nm sees in the built libraries, against the names of the sources.
# usage: names.sh TOP BUILD-DIRECTORY
# shellcheck source-path=SCRIPTDIR
BUILD=$(realpath "${2:?usage: ${0##*/} TOP BUILD-DIRECTORY}")
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# meson names the object of daemon/util/ring.c either util_ring.c.o or daemon_util_ring.c.o
declare -A SOURCE=()
while IFS= read -r file; do
  mangled=${file//\//_}
  SOURCE[$mangled]=$file
  SOURCE[${mangled#daemon_}]=$file
  SOURCE[${mangled#api_}]=$file
  SOURCE[${mangled#*_*_}]=${SOURCE[${mangled#*_*_}]:-$file}
done < <(c_files daemon api | grep '\.c$')

OBJECTS=0
while IFS= read -r object; do
  name=${object##*/} name=${name%.o}
  file=${SOURCE[$name]:-}
  [[ $file ]] || continue   # of a source that is gone, or generated
  OBJECTS=$((OBJECTS + 1))
  prefix=$(basename "$file" .c) prefix=${prefix//-/_}
  while read -r symbol; do
    case $symbol in
      "$prefix" | "$prefix"_* | main | __*) ;;
      *_fields | *_names) grep -qsE "extern .*[ *]$symbol\\[" "${file%.c}.h" || problem "$file:1: names: exports $symbol, and its header does not declare it" ;;
      *) problem "$file:1: names: exports $symbol; only $prefix and ${prefix}_* may leave this file (static?)" ;;
    esac
  done < <(nm -g --defined-only --format=posix "$object" | cut -d' ' -f1)
done < <(find "$BUILD" -name '*.c.o' -not -path '*/tests/*')
seen "$OBJECTS"
finish
