#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The order of the folders of daemon/: a file includes its own folder and those on its line below. Third-party headers
# belong to the folders named for them. api/ctl is a client: it sees base (util to judge) and nothing that acts.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/common.bash"

declare -A MAY=(
  [util]=''
  [model]='util'
  [config]='util model'
  [judge]='util model'
  [host]='util model'
  [verbs]='util model host'
  [engine]='util model host verbs'
  [control]='util model'
  [store]='util model'
  [fleet]='util model control'
  [run]='util model config judge host verbs engine control fleet'
  [http]='util model config judge run store'
  [ctl]='util model config judge'
  [top]='util model config judge host verbs engine control store fleet run http'
)
# header pattern -> folders that may include it
LIBRARIES=(
  'infiniband/verbs.h=verbs engine'
  'infiniband/*=verbs'
  'rdma/rdma_netlink.h=host'
  'rdma/*=verbs'
  'gnutls/*=control'
  'yaml.h=util'
  'jansson.h=util'
  'microhttpd.h=http'
  'sqlite3.h=store'
  'systemd/sd-event.h=verbs engine control store fleet run http top'
  'systemd/*=http top'
  'curl/*=ctl'
)

has_word() { [[ " $1 " == *" $2 "* ]]; }

check_library() {  # file:line folder header
  local rule pattern folders
  for rule in "${LIBRARIES[@]}"; do
    pattern=${rule%%=*} folders=${rule#*=}
    # shellcheck disable=SC2053 # the right side is a pattern
    if [[ $3 == $pattern ]]; then
      has_word "$folders" "$2" || problem "$1: layers: <$3> belongs to: $folders; not to $2"
      return
    fi
  done
}

check_own() {  # file:line folder header
  local target=${3%%/*}
  if [[ $3 != */* ]]; then
    [[ $2 == top ]] || problem "$1: layers: \"$3\" names no folder; includes start at daemon/, as in \"util/error.h\""
  elif [[ $target != "$2" ]] && ! has_word "${MAY[$2]}" "$target"; then
    problem "$1: layers: $2/ may not use $target/ (it may use: ${MAY[$2]:-nothing})"
  fi
}

COUNT=0
while IFS= read -r file; do
  COUNT=$((COUNT + 1))
  case $file in
    daemon/*/*) folder=${file#daemon/} folder=${folder%%/*} ;;
    daemon/*) folder=top ;;
    api/ctl/*) folder=ctl ;;
    *) continue ;;
  esac
  if [[ ! -v MAY[$folder] ]]; then problem "$file:1: layers: daemon/$folder/ is in no line of tests/lint/layers.sh"; continue; fi
  while IFS=: read -r line text; do
    header=${text#*[<\"]} header=${header%%[>\"]*}
    if [[ $text == *\<* ]]; then check_library "$file:$line" "$folder" "$header"; else check_own "$file:$line" "$folder" "$header"; fi
  done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' "$file" || :)
done < <(c_files daemon api)
seen "$COUNT"
finish
