#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
#
# rdmatestd --doctor on real devices, well and with planted faults; with systemd as PID 1, for its sandboxes.

load lab

setup_file() { lab_up --systemd; }
teardown_file() { lab_down; }
teardown() { "$LAB" exec --name "$(lab_name)" -- lab-reset; }

# Runs the doctor for programs, into the file record: processes are slow here. The clock of this machine is emulated and slow when
# the host is busy: never mind what is said of it.
DOCTOR='
  PROGRAM=$BUILD/rdmatestd
  doctor() {  # command to run it under..
    DOCTOR_STATUS=0
    "$@" "$PROGRAM" --doctor --json >record 2>err || DOCTOR_STATUS=$?
    cat err
    jq -e . record >/dev/null || { cat record; fail "the record is no JSON"; }
    jq -r ".summary.text, (.lines[] | select(.status != \"ok\") | \"\(.status) \(.subject): \(.finding)\")" record
  }
  exits() { ((DOCTOR_STATUS == $1)) || fail "exit status $DOCTOR_STATUS, not $1"; }
  sums_up() { [[ $(jq -r .summary.text record) == *"$1" ]] || fail "the summary does not end with: $1"; }
  # There is such a line: id, subject, status, a word of the finding, a word of the cure.
  says() {
    jq -e --arg id "$1" --arg subject "$2" --arg status "$3" --arg finding "$4" --arg cure "$5" "
      any(.lines[]; .id == \$id and .subject == \$subject and .status == \$status and (.finding | contains(\$finding))
        and ((.cure // \"\") | contains(\$cure)))" record >/dev/null || { jq .lines record; fail "not said: $*"; }
  }
  # Of these statuses there is nothing, the clock aside.
  none() { holds record "[.lines[] | select(.id != \"clock-source\" and (.status | IN($1)))] == []"; }
  nobody() { setpriv --reuid nobody --regid nogroup --clear-groups --bounding-set=-all --inh-caps=-all "$@"; }
  # Without systemd-run: to wait for a unit that needs a message bus, which a small machine lacks. (The leak check needs ptrace.)
  unit() {  # -p property.., command..
    local status
    {
      printf "[Service]\nType=oneshot\nEnvironment=ASAN_OPTIONS=detect_leaks=0\n"
      while [[ $1 == -p ]]; do printf "%s\n" "$2"; shift 2; done
      printf "StandardOutput=truncate:%s\nStandardError=truncate:%s\nExecStart=%s\n" "$PWD/unit.out" "$PWD/unit.err" "$*"
    } >/run/systemd/system/doctor-test.service
    systemctl daemon-reload
    systemctl start doctor-test.service 2>/dev/null || :
    status=$(systemctl show --property=ExecMainStatus --value doctor-test.service)
    cat unit.out; cat unit.err >&2
    return "$status"
  }
'

@test "a host that is well: nothing to do, as root and as nobody" {
  run guest "$DOCTOR"'
    doctor; exits 0; none "\"bad\", \"warn\", \"not_seen\""
    "$PROGRAM" --doctor >text || fail "as text: status $?"
    cat text
    [[ $(tr -s " \n" " " <text) == *": this host $(jq -r .summary.text record | sed "s|.*: this host ||") "* ]] || fail "text and record disagree"
    grep -q "^ok        rxe0 port 1 .*active, .* on veth0$" text || fail "not for people"
    sums_up ": this host can run RDMA tests on rxe0 port 1, rxe1 port 1"
    doctor nobody; exits 0; none "\"bad\", \"warn\", \"not_seen\""
    sums_up ": this host can run RDMA tests on rxe0 port 1, rxe1 port 1"
    says port-gid "rxe0 port 1" ok 10.99.0.1 ""
    says port-mtu "rxe0 port 1" ok 4096 ""
    says device-library rxe0 ok "queue pairs" ""
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "three faults at once: a node that nobody may open, a low MTU, a small memory lock" {
  run guest "$DOCTOR"'
    chmod 000 /dev/infiniband/uverbs0
    ip link set veth1 mtu 1500
    ulimit -l 64
    doctor nobody; exits 1
    says device-node rxe0 bad "may not open /dev/infiniband/uverbs0: mode 0000" "chmod 0666 /dev/infiniband/uverbs0"
    says port-mtu "rxe1 port 1" warn "1024 of 4096 bytes: RoCE follows the 1500 bytes of veth1" "ip link set veth1 mtu 4200"
    says memory-lock "memory lock" bad "64 KiB" "LimitMEMLOCK=4G"
    sums_up ": this host cannot run RDMA tests, because a process started from here may lock only 64 KiB of memory"
    holds record "[.lines[] | select(.status == \"bad\")] | length == 2"
    # the cures, as told
    chmod 0666 /dev/infiniband/uverbs0
    ip link set veth1 mtu 4200
    ulimit -l unlimited
    doctor nobody; exits 0; none "\"bad\", \"warn\", \"not_seen\""
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- chmod 0666 /dev/infiniband/uverbs0
  [ "$status" -eq 0 ]
}

@test "a node that only root may open: a warning to root, since the service is not" {
  run guest "$DOCTOR"'
    chmod 600 /dev/infiniband/uverbs0
    doctor; exits 0
    says device-node rxe0 warn "opens for root" "SUBSYSTEM=="
    chmod 666 /dev/infiniband/uverbs0
  '
  echo "$output"
  "$LAB" exec --name "$(lab_name)" -- chmod 0666 /dev/infiniband/uverbs0
  [ "$status" -eq 0 ]
}

@test "ports that are down: which is switched off, and which has no link" {
  run guest "$DOCTOR"'
    ip link set veth0 down
    doctor; exits 1
    says port-state "rxe0 port 1" bad "veth0 is switched off" "ip link set veth0 up"
    says port-state "rxe1 port 1" bad "veth1 is switched on, but sees no link" "cable"
    sums_up "cannot run RDMA tests, because rxe0 port 1 is down (and 1 more)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "only link-local addresses left: bad for this port, the other can be used" {
  run guest "$DOCTOR"'
    ip -4 address flush dev veth0
    ip -6 address flush dev veth0 scope global
    doctor; exits 1
    says port-gid "rxe0 port 1" bad "only link-local GIDs" "ip address add ADDRESS/PREFIX dev veth0"
    sums_up "can run RDMA tests on rxe1 port 1, but rxe0 port 1 has no usable address"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C17 interfaces of one subnet that answer for each other: a warning" {
  run guest "$DOCTOR"'
    for at in all veth0 veth1; do sysctl -q -w "net.ipv4.conf.$at.arp_ignore=0"; done
    doctor; exits 0
    holds record "any(.lines[]; .id == \"arp\" and .status == \"warn\" and (.subject | contains(\"veth0\")))"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "who else uses the devices is named, also to who is not root" {
  run guest "$DOCTOR"'
    listens() { [[ $(</proc/net/tcp)$(</proc/net/tcp6) == *:4853\ * ]]; }
    ib_write_bw -d rxe1 -x 1 -s 4096 -D 60 -F >server 2>&1 &
    eventually 60 listens
    ib_write_bw -d rxe0 -x 1 -s 4096 -D 60 -F 10.99.0.2 >client 2>&1 &
    busy() { [[ $(rdma resource show qp link rxe0) == *"comm ib_write_bw"* && $(rdma resource show qp link rxe1) == *"comm ib_write_bw"* ]]; }
    eventually 60 busy
    doctor nobody; exits 0
    says device-users "other users" warn "1 on rxe0" "rdma resource show qp"
    says device-users "other users" warn "ib_write_bw" "rdma resource show qp"
    kill $(jobs -p); wait || :
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "C03 a library without the provider: the device is there, programs do not see it" {
  run guest "$DOCTOR"'
    in_mounts() { unshare --mount bash -c "mount -t tmpfs none /etc/libibverbs.d; exec \"\$@\"" - "$@"; }
    doctor in_mounts; exits 1
    says device-library rxe0 bad "no part for driver rdma_rxe" "ibverbs-providers"
    sums_up "because libibverbs does not know rxe0 (and 1 more)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "without /dev/infiniband: the node is missed, not the device" {
  run guest "$DOCTOR"'
    in_mounts() { unshare --mount bash -c "mount -t tmpfs none /dev/infiniband; exec \"\$@\"" - "$@"; }
    doctor in_mounts; exits 1
    says device-node rxe0 bad "/dev/infiniband/uverbs0" "--device=/dev/infiniband/uverbs0"
    says port-state "rxe0 port 1" ok active ""
    sums_up "because /dev/infiniband/uverbs0 of rxe0 is not here (and 1 more)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "in units: PrivateDevices=, a closed device list, no netlink; and the shipped sandbox is well" {
  run guest "$DOCTOR"'
    # Neither PrivateTmp= and ProtectHome= nor a home of root alone must hide the program.
    cp "$BUILD/rdmatestd" /usr/local/sbin/; PROGRAM=/usr/local/sbin/rdmatestd
    doctor unit -p PrivateDevices=yes -p User=nobody; exits 1
    says device-node rxe0 bad "/dev of this container or unit" "PrivateDevices=no and DeviceAllow=char-infiniband_verbs rw"
    holds record "any(.lines[]; .id == \"sandbox\" and (.finding | contains(\"with a /dev of its own\")))"
    doctor unit -p DevicePolicy=closed -p User=nobody; exits 1
    says device-node rxe0 bad "is refused though its mode (0666) allows it" "DeviceAllow=char-infiniband_verbs rw"
    doctor unit -p "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6" -p User=nobody -p LimitMEMLOCK=4G; exits 0
    says device-users "other users" not_seen "the kernel does not tell" "AF_NETLINK"
    doctor unit -p LimitMEMLOCK=64K -p User=nobody; exits 1
    says memory-lock "memory lock" bad "64 KiB" "LimitMEMLOCK=4G"

    properties=()
    while IFS= read -r line; do properties+=(-p "$line"); done < <(
      sed -n "/^LimitMEMLOCK=/,/^\[Install\]/p" "$TOP/systemd/rdmatestd.service.in" | grep -E "^[A-Za-z]+=")
    ((${#properties[@]} > 40)) || fail "the sandbox was not found: ${properties[*]}"
    doctor unit "${properties[@]}" -p User=nobody; exits 0; none "\"bad\", \"warn\""
    sums_up ": this host can run RDMA tests on rxe0 port 1, rxe1 port 1"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "in another network namespace: the addresses are not judged" {
  run guest "$DOCTOR"'
    doctor unshare --net; exits 0
    says port-gid "rxe0 port 1" warn "not in this network namespace" "--network=host"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a device of another network namespace alone: the mode is named" {
  run guest "$DOCTOR"'
    rdma link del rxe0; rdma link del rxe1
    rdma system set netns exclusive
    rdma link add rxe0 type rxe netdev veth0
    doctor unshare --net --mount bash -c "mount -t sysfs none /sys; exec \"\$@\"" -
    rdma link del rxe0; rdma system set netns shared
    exits 1
    says devices "RDMA devices" bad "none in this network namespace" "rdma dev set"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "without a device, then without the modules: the first cause is told, and nothing is loaded" {
  run guest "$DOCTOR"'
    rdma link del rxe0; rdma link del rxe1
    doctor nobody; exits 1
    says devices "RDMA devices" bad "no adapter" "modprobe rdma_rxe"
    sums_up "because it has no RDMA device"
    modprobe -r rdma_rxe rdma_ucm rdma_cm ib_umad ib_uverbs ib_cm iw_cm ib_core 2>/dev/null || :
    [[ ! -e /sys/module/ib_uverbs ]] || fail "ib_uverbs is still there: $(lsmod | grep ib_)"
    before=$(lsmod | sort)
    doctor; exits 1
    says kernel-modules "kernel modules" bad ib_uverbs "modprobe ib_uverbs"
    sums_up "because the kernel'\''s RDMA modules are not loaded"
    [[ $(lsmod | sort) == "$before" ]] || fail "modules were loaded: $(lsmod)"
    modprobe rdma_rxe; modprobe ib_uverbs; modprobe rdma_ucm; modprobe ib_umad
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the options: --json goes with --doctor, and a full disk is not a good report" {
  run guest "$DOCTOR"'
    rc=0; "$BUILD/rdmatestd" --json >out 2>err || rc=$?
    ((rc == 2)) && grep -q "goes with --doctor" err || fail "status $rc: $(<err)"
    rc=0; "$BUILD/rdmatestd" --doctor >/dev/full 2>err || rc=$?
    ((rc == 3)) || fail "status $rc"
    "$BUILD/rdmatestd" --help | grep -e --doctor
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
