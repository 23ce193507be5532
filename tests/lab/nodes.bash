# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# Daemons side by side on one machine, each with a configuration directory, ports and sockets of its own. For the demo
# and for tests in the lab; source it. Everything lies below $NODES_DIR; daemons are children of this shell.
#
# Set before: TOP (the source tree), BUILD (a build directory), NODES_DIR; and per node N the arrays
#   NODE_DEVICE[N]   RDMA device ('' = every active port)
#   NODE_LISTEN[N]   address:port of the control channel
#   NODE_HTTP[N]     address:port of HTTP
#   NODE_CONTROL_CPUS[N]  daemon.control_cpus, if any
# and NODES_CLIENT, if it shall not be the rdmatestctl of BUILD.

NODE_CODE="" NODE_BODY=""
declare -gA NODE_DEVICE NODE_LISTEN NODE_HTTP NODE_CONTROL_CPUS NODE_PID NODE_STATUS
NODE_READY_SECONDS=${NODE_READY_SECONDS:-60}
NODE_STOP_SECONDS=${NODE_STOP_SECONDS:-30}

# A pause without a process: where QEMU interprets, starting one takes longer than the pause.
node_fifo=$(mktemp -u)
mkfifo -m 600 "$node_fifo"
exec {NODE_NAP}<>"$node_fifo"
rm "$node_fifo"
node_nap() { read -rt "$1" -u "$NODE_NAP" || :; }  # seconds

# The same for a request: NODE_CODE and NODE_BODY, or a status that is not 0 if nobody answers.
node_get() {  # node, path
  local at=${NODE_HTTP[$1]} fd line
  NODE_CODE='' NODE_BODY=''
  { exec {fd}<>"/dev/tcp/${at%:*}/${at##*:}"; } 2>/dev/null || return 1
  printf 'GET %s HTTP/1.0\r\nHost: %s\r\n\r\n' "$2" "$at" >&"$fd"
  read -rt 5 -u "$fd" _ NODE_CODE line || :
  while read -rt 5 -u "$fd" line && [[ $line != $'\r' ]]; do :; done
  IFS= read -rt 5 -u "$fd" -d '' NODE_BODY || :
  exec {fd}>&-
  [[ $NODE_CODE ]]
}

node_fail() { printf 'nodes: %s\n' "$*" >&2; return 1; }

# Opened under the umask: at no moment may others read it.
nodes_key() { (umask 077; { od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'; echo; } >"$1"); }

# The lab's two devices on a veth pair.
nodes_of_the_lab() {
  NODE_DEVICE=([1]=rxe0 [2]=rxe1)
  NODE_LISTEN=([1]=10.99.0.1:18620 [2]=10.99.0.2:18620)
  NODE_HTTP=([1]=127.0.0.1:9879 [2]=127.0.0.1:9880)
}

# Writes the configuration of node N, with the given scenario files, and the other nodes as its peers.
node_write() {  # node, scenario files..
  local n=$1 dir=$NODES_DIR/node$1 other file; shift
  mkdir -p "$dir/scenarios.d"
  rm -f "$dir"/scenarios.d/*
  [[ -e $NODES_DIR/fleet.key ]] || nodes_key "$NODES_DIR/fleet.key"
  {
    printf 'version: 1\ninclude: [scenarios.d/*.yaml]\ndaemon:\n'
    printf '  node_name: node%d\n' "$n"
    printf '  listen: { address: "%s", port: %d }\n' "${NODE_LISTEN[$n]%:*}" "${NODE_LISTEN[$n]##*:}"
    printf '  http: { listen: "%s" }\n' "${NODE_HTTP[$n]}"
    printf '  admin_socket: %s\n' "$dir/admin.sock"
    printf '  key_file: %s\n' "$NODES_DIR/fleet.key"
    if [[ ${NODE_CONTROL_CPUS[$n]:-} ]]; then printf '  control_cpus: "%s"\n' "${NODE_CONTROL_CPUS[$n]}"; fi
    if [[ ${NODE_DEVICE[$n]} ]]; then printf '  devices: [{ name: %s }]\n' "${NODE_DEVICE[$n]}"; fi
    printf 'peers:\n'
    for other in "${!NODE_LISTEN[@]}"; do
      if ((other != n)); then printf '  - { name: node%d, address: "%s" }\n' "$other" "${NODE_LISTEN[$other]}"; fi
    done
  } >"$dir/rdmatestd.yaml"
  for file in "$@"; do cp "$file" "$dir/scenarios.d/"; done
}

node_start() {  # node
  local n=$1 dir=$NODES_DIR/node$1
  "$BUILD/rdmatestd" --config="$dir/rdmatestd.yaml" >>"$dir/log" 2>&1 </dev/null {NODE_NAP}>&- &
  NODE_PID[$n]=$!
  unset "NODE_STATUS[$n]"
}

node_alive() { [[ ${NODE_PID[$1]:-} ]] && kill -0 "${NODE_PID[$1]}" 2>/dev/null; }
# Not by $(<file): under "set -e" that ends the shell without a word when the shell has reaped the process and the file is gone.
node_is_zombie() {  # node
  local stat=''
  { read -r stat <"/proc/${NODE_PID[$1]}/stat"; } 2>/dev/null || return 1
  [[ $stat == *') Z '* ]]
}

# Waits until /readyz says yes: listeners and configuration stand.
node_ready() {  # node
  local n=$1 end=$((SECONDS + NODE_READY_SECONDS))
  until node_get "$n" /readyz && [[ $NODE_CODE == 200 ]]; do
    node_alive "$n" || { tail -n 20 "$NODES_DIR/node$n/log" >&2; node_fail "node$n ended instead of getting ready"; return 1; }
    ((SECONDS < end)) || { tail -n 20 "$NODES_DIR/node$n/log" >&2; node_fail "node$n is not ready after $NODE_READY_SECONDS s"; return 1; }
    node_nap 0.05
  done
}

# Waits until all peers of node N are up, and with "devices", until each has told of one: a run before that could only say that
# they are not there. (By patterns, without jq: the demo needs it for nothing else.)
node_meets() {  # node [devices]
  local n=$1 what=${2:-} end=$((SECONDS + NODE_READY_SECONDS)) peers=$((${#NODE_LISTEN[@]} - 1)) status='' devices=''
  until [[ $status == *'"peers":{"up":'"$peers,"* && (! $what || $devices != *'"ports":[]'*) ]]; do
    node_alive "$n" || { tail -n 20 "$NODES_DIR/node$n/log" >&2; node_fail "node$n ended instead of meeting its peers"; return 1; }
    ((SECONDS < end)) || { http "$n" /v1/peers >&2; node_fail "node$n has not met its peers after $NODE_READY_SECONDS s"; return 1; }
    node_nap 0.1
    node_get "$n" /v1/status || :
    status=$NODE_BODY
    node_get "$n" /v1/peers || :
    devices=$NODE_BODY
  done
}

# Waits for the end; NODE_STATUS[N] is the exit status. A daemon that outlives the deadline is killed, and that is a failure.
node_wait() {  # node
  local n=$1 end=$((SECONDS + NODE_STOP_SECONDS)) hung='' rc=0
  [[ ${NODE_PID[$n]:-} ]] || return 0
  while node_alive "$n" && ! node_is_zombie "$n"; do
    if ((SECONDS >= end)); then hung=1; kill -KILL "${NODE_PID[$n]}"; break; fi
    node_nap 0.05
  done
  wait "${NODE_PID[$n]}" 2>/dev/null || rc=$?
  NODE_STATUS[$n]=$rc
  unset "NODE_PID[$n]"
  [[ ! $hung ]] || node_fail "node$n did not end within $NODE_STOP_SECONDS s"
}

node_stop() {  # node [signal]
  node_alive "$1" && kill -"${2:-TERM}" "${NODE_PID[$1]}"
  node_wait "$1"
}

# All daemons, ready, their peers up, with the given scenario files.
nodes_up() {  # scenario files..
  local n
  for n in "${!NODE_LISTEN[@]}"; do node_write "$n" "$@"; node_start "$n"; done
  for n in "${!NODE_LISTEN[@]}"; do node_ready "$n" || return 1; done
  for n in "${!NODE_LISTEN[@]}"; do node_meets "$n" devices || return 1; done
}

# Ends what runs: each must end with status 0, and no sanitizer may have spoken.
nodes_down() {
  local n rc=0
  for n in "${!NODE_PID[@]}"; do ! node_alive "$n" || kill -TERM "${NODE_PID[$n]}"; done
  for n in "${!NODE_PID[@]}"; do
    node_wait "$n" || rc=1
    if [[ ${NODE_STATUS[$n]:-0} != 0 ]]; then node_fail "node$n ended with status ${NODE_STATUS[$n]}" || rc=1; fi
  done
  if grep -lE 'Sanitizer|runtime error:' "$NODES_DIR"/node*/log 2>/dev/null; then
    node_fail "a sanitizer has spoken in the log above" || rc=1
  fi
  return "$rc"
}

ctl() {  # node, arguments of rdmatestctl..
  local n=$1; shift
  "${NODES_CLIENT:-$BUILD/rdmatestctl}" --socket="$NODES_DIR/node$n/admin.sock" "$@"
}

# The body, whatever the status; curl would take a fifth of a second to start there.
http() {  # node, path
  local at=${NODE_HTTP[$1]} fd line=''
  { exec {fd}<>"/dev/tcp/${at%:*}/${at##*:}"; } 2>/dev/null || node_fail "nobody listens at $at" || return 1
  printf 'GET %s HTTP/1.0\r\nHost: %s\r\n\r\n' "$2" "$at" >&"$fd"
  while read -rt 10 -u "$fd" line && [[ $line != $'\r' ]]; do :; done
  timeout 10 cat <&"$fd"
  exec {fd}>&-
}
