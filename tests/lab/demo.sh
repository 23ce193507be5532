#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ./dev demo: two daemons, real verbs, the shipped scenarios. See ./dev demo --help.
#
# The devices are, in this order: the one asked for (both daemons on it), soft-RoCE of this kernel on a veth pair made
# for it, soft-RoCE in a virtual machine (which runs this script again with --inside).
set -euo pipefail
export LC_ALL=C.UTF-8
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$TOP"
PATH=$PATH:/usr/sbin:/sbin
# shellcheck source=tests/lab/nodes.bash
. tests/lab/nodes.bash

# Fewer, for who looks at all around them.
read -ra SCENARIOS <<<"${DEMO_SCENARIOS:-smoke mixed heartbeat}"
API=127.0.0.1:9879
DEVICE='' ONCE='' INSIDE='' WAIT_PID='' CTL_BEFORE=''

die() { printf 'demo: %s\n' "$*" >&2; exit 2; }
say() { printf '\n== %s\n' "$*"; }

while (($#)); do
  case $1 in
    --device) DEVICE=${2:?demo: --device needs a name, as rdma link shows it}; shift ;;
    --device=*) DEVICE=${1#*=} ;;
    --once) ONCE=1 ;;
    --inside) INSIDE=${2:?}; shift ;;
    *) die "unknown argument '$1' (./dev demo --help)" ;;
  esac
  shift
done

# ---------------------------------------------------------------- where the devices are

need_device() {
  [[ -d /sys/class/infiniband/$DEVICE ]] && return
  local names; names=$(find /sys/class/infiniband -mindepth 1 -maxdepth 1 -printf '%f ' 2>/dev/null) || :
  die "there is no RDMA device '$DEVICE'; this machine has: ${names:-none}"
}

kernel_has_rxe() { [[ -d /sys/module/rdma_rxe ]] || modprobe -q rdma_rxe 2>/dev/null; }

# Both ends of the pair are in one network namespace: each must take packets that come from the other's address. Only
# the two interfaces are told so. The addresses are of the block set aside for benchmarks (RFC 2544).
VETH=(rdmatest0 rdmatest1) RXE=(rdmatest_rxe0 rdmatest_rxe1) ADDRESS=(198.18.99.1 198.18.99.2)
soft_roce_down() {
  local i
  for i in 0 1; do rdma link del "${RXE[i]}" 2>/dev/null || :; done
  ip link del "${VETH[0]}" 2>/dev/null || :
}
soft_roce_up() {
  local i c
  modprobe -q -a ib_uverbs rdma_ucm || :
  soft_roce_down
  ip link add "${VETH[0]}" mtu 9000 type veth peer name "${VETH[1]}" mtu 9000 || die "cannot make a veth pair"
  for i in 0 1; do
    c=/proc/sys/net/ipv4/conf/${VETH[i]}
    echo 1 >"$c/accept_local"; echo 1 >"$c/arp_ignore"; echo 2 >"$c/arp_announce"; echo 2 >"$c/rp_filter"
    ip addr add "${ADDRESS[i]}/24" dev "${VETH[i]}"
    ip link set "${VETH[i]}" up
  done
  for i in 0 1; do rdma link add "${RXE[i]}" type rxe netdev "${VETH[i]}" || die "cannot make a soft-RoCE device on ${VETH[i]}"; done
}

# ---------------------------------------------------------------- install and build

setup_and_build() {
  say "install what is missing"
  ./dev setup build demo "$@"
  say "build"
  # a build directory of a developer is taken as it is; the demo alone needs no test framework
  if [[ -e build/build.ninja ]]; then
    BUILD=$TOP/build
  else
    BUILD=$TOP/build-demo
    [[ -e $BUILD/build.ninja ]] || meson setup "$BUILD" -Dtests=false >"$TOP/build-demo.log" || { cat "$TOP/build-demo.log"; die "meson setup failed"; }
    rm -f "$TOP/build-demo.log"
  fi
  ninja -C "$BUILD" rdmatestd rdmatestctl
}

# ---------------------------------------------------------------- the demo itself

port_is_free() { ! (exec 3<>"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null; }

check_metrics() {  # when
  local said
  http 1 /metrics >"$NODES_DIR/metrics" || { echo "demo: /metrics does not answer $1"; return 1; }
  command -v promtool >/dev/null || { echo "demo: /metrics answers $1; promtool, which would check it, is not here"; return 0; }
  if ! said=$(promtool check metrics <"$NODES_DIR/metrics" 2>&1) || [[ $said ]]; then
    printf 'demo: promtool check metrics, %s: %s\n' "$1" "$said"
    return 1
  fi
  echo "promtool check metrics, $1: nothing to say"
}

# shellcheck disable=SC2317 # from a trap
finish() {
  local rc=$?
  trap - EXIT INT TERM HUP
  [[ ! $WAIT_PID ]] || kill "$WAIT_PID" 2>/dev/null || :
  nodes_down || rc=1
  if ((rc != 0)); then tail -n 20 "$NODES_DIR"/node*/log 2>/dev/null || :; fi
  rm -rf "$NODES_DIR"
  [[ $PLACE != kernel ]] || soft_roce_down
  exit "$rc"
}

run_all() {
  local name rc worst=0 background
  for name in "${SCENARIOS[@]}"; do
    if [[ $name == mixed ]]; then
      # /metrics is asked while traffic runs, too
      ctl 1 run "$name" & background=$!
      sleep 3
      check_metrics "during a run" || worst=3
      rc=0; wait "$background" || rc=$?
    else
      rc=0; ctl 1 run "$name" || rc=$?
    fi
    ((rc <= worst)) || worst=$rc
    echo
  done
  check_metrics "after the runs" || worst=3
  return "$worst"
}

# The machine is a named one, so that who looks around can run commands in it. Bash hears of a signal at once only while it waits.
lab_wait() {  # command..
  "$@" & WAIT_PID=$!
  local rc=0
  wait "$WAIT_PID" || rc=$?
  WAIT_PID=''
  return "$rc"
}
# shellcheck disable=SC2317 # from a trap
lab_end() {
  local rc=$?
  trap - EXIT
  trap '' INT TERM HUP
  if [[ $WAIT_PID ]]; then kill "$WAIT_PID" 2>/dev/null || :; wait "$WAIT_PID" 2>/dev/null || :; fi
  tests/lab/rdma-lab down --name demo 2>/dev/null || :
  exit "$rc"
}

play() {
  local n rc=0
  for n in 1 2; do port_is_free "${NODE_HTTP[$n]}" || die "${NODE_HTTP[$n]} is in use; is a rdmatestd running? stop it for the demo"; done
  NODES_DIR=$(mktemp -d)
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  say "two daemons: node1 on ${NODE_DEVICE[1]}, node2 on ${NODE_DEVICE[2]}"
  nodes_up "${SCENARIO_FILES[@]}"
  say "the scenarios"
  run_all || rc=$?
  if ((rc != 0)); then echo "demo: not all of it passed (status $rc)"; fi
  if [[ $ONCE ]]; then exit "$rc"; fi
  cat <<END
The daemons go on; heartbeat runs every 10 s. Look around:
  http://$API/            the page of node1
  http://$API/metrics     for Prometheus
  http://$API/v1/runs     results as JSON
END
  echo "In another terminal, from $TOP:"
  echo "  ${CTL_BEFORE}$BUILD/rdmatestctl --socket=$NODES_DIR/node1/admin.sock status    (or run smoke, results, help)"
  echo "Ctrl-C ends the demo."
  # waits for a signal, or for a daemon that ends by itself
  trap 'exit 0' INT TERM HUP
  wait -n "${NODE_PID[@]}" || :
  echo "demo: a daemon ended by itself"
  exit 3
}

SCENARIO_FILES=()
for name in "${SCENARIOS[@]}"; do SCENARIO_FILES+=("scenarios/$name.yaml"); done

if [[ $INSIDE ]]; then
  PLACE=lab BUILD=$INSIDE CTL_BEFORE="tests/lab/rdma-lab exec --name demo -- "
  nodes_of_the_lab
  play
fi

((EUID == 0)) || die "it installs packages and makes network devices: run it as root (sudo ./dev demo)"
[[ ! $DEVICE ]] || need_device
if [[ $DEVICE ]]; then
  PLACE=device
  setup_and_build
  NODE_DEVICE=([1]=$DEVICE [2]=$DEVICE)
  NODE_LISTEN=([1]=127.0.0.1:18620 [2]=127.0.0.1:18621)
  NODE_HTTP=([1]=$API [2]=127.0.0.1:9880)
  play
elif [[ ! ${DEMO_IN_LAB:-} ]] && kernel_has_rxe; then
  PLACE=kernel
  setup_and_build
  soft_roce_up
  NODE_DEVICE=([1]=${RXE[0]} [2]=${RXE[1]})
  NODE_LISTEN=([1]=${ADDRESS[0]}:18620 [2]=${ADDRESS[1]}:18620)
  NODE_HTTP=([1]=$API [2]=127.0.0.1:9880)
  play
else
  if [[ ${DEMO_IN_LAB:-} ]]; then echo "demo: taking a virtual machine, as DEMO_IN_LAB asks"; else echo "demo: this kernel has no soft-RoCE (rdma_rxe): taking a virtual machine"; fi
  setup_and_build lab
  port_is_free "$API" || die "$API is in use; if a demo runs, end it (tests/lab/rdma-lab down --name demo), or stop the rdmatestd that runs"
  tests/lab/rdma-lab down --name demo 2>/dev/null || :
  trap lab_end EXIT
  trap 'exit 143' TERM HUP
  if [[ $ONCE ]]; then trap 'exit 130' INT; else trap 'exit 0' INT; fi
  say "boot"
  rc=0
  lab_wait env RDMA_LAB_MAXLIFE=86400 tests/lab/rdma-lab up --name demo -p "${API##*:}:lo:${API##*:}" --project "$TOP" || exit
  lab_wait tests/lab/rdma-lab exec --name demo -t 86400 -e DEMO_SCENARIOS="${SCENARIOS[*]}" -- "$TOP/tests/lab/demo.sh" --inside "$BUILD" ${ONCE:+--once} || rc=$?
  exit "$rc"
fi
