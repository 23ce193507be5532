#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The lines of a test run in the machine: nothing expands here.
# shellcheck disable=SC2016
#
# The units as meson installs them, systemd as PID 1. The service is node2 (rxe1); node1 is a daemon of the test.

load lab

# What is installed is what people get: the plain build.
LAB_BUILD=${LAB_PLAIN_BUILD:-$TOP/build}
STAGE=$LAB_BUILD/stage

setup_file() {
  rm -rf "$STAGE"
  DESTDIR=$STAGE meson install -C "$LAB_BUILD" --no-rebuild >/dev/null
  lab_up --systemd --udev
  guest '
    tar -C "$BUILD/stage" -cf - . | tar -C / -xf - --keep-directory-symlink --no-overwrite-dir  # /lib is a link
    systemd-sysusers rdmatestd.conf
    mkdir -p /etc/rdmatestd/scenarios.d
    nodes_key /etc/rdmatestd/fleet.key
    cp "$TOP/scenarios/smoke.yaml" /etc/rdmatestd/scenarios.d/
    cat >/etc/rdmatestd/rdmatestd.yaml <<END
version: 1
include: [scenarios.d/*.yaml]
daemon:
  node_name: node2
  listen: { address: "10.99.0.2", port: 18620 }
  key_file: /etc/rdmatestd/fleet.key
  devices: [{ name: rxe1 }]
peers:
  - { name: node1, address: "10.99.0.1:18620" }
END
    systemd-tmpfiles --create rdmatestd.conf
    systemctl daemon-reload
    systemctl list-unit-files "rdmatestd*"
  '
}
teardown_file() { lab_down; }

# node1, on a port of its own: the service has 9879
PARTNER='
  NODE_HTTP[1]=127.0.0.1:9880
  cp /etc/rdmatestd/fleet.key fleet.key
  systemctl start rdmatestd
  node_write 1 "$TOP/scenarios/smoke.yaml"; node_start 1; node_ready 1; node_meets 1 devices
'
# What the service says of itself.
SERVICE='
  service_holds() { curl -fsS --max-time 10 http://127.0.0.1:9879/v1/status >status.json && jq -e "$1" status.json >/dev/null; }
'

@test "start returns when the service is ready, and reload and stop work" {
  run guest "$SERVICE"'
    systemctl start rdmatestd
    [[ $(systemctl is-active rdmatestd) == active ]] || fail "not active"
    service_holds ".state == \"running\"" || fail "$(<status.json)"
    generation=$(jq .config.generation status.json)
    systemctl reload rdmatestd
    [[ $(systemctl is-active rdmatestd) == active ]] || fail "not active after reload"
    service_holds ".config.is_last_reload_ok and .config.generation == $((generation + 1))" || fail "$(<status.json)"
    systemctl stop rdmatestd rdmatestd-http.socket rdmatestd-admin.socket
    [[ $(systemctl show -P Result rdmatestd) == success ]] || fail "$(systemctl status rdmatestd)"
    [[ ! -e /run/rdmatestd/admin.sock ]] || fail "the admin socket outlives its unit"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "STATUS is one sentence for people" {
  run guest '
    systemctl start rdmatestd
    has_status() { [[ $(systemctl show -P StatusText rdmatestd) == *peer* ]]; }
    eventually 60 has_status
    systemctl status --no-pager rdmatestd | grep "Status: "
    [[ $(systemctl show -P StatusText rdmatestd | wc -l) == 1 ]] || fail "more than a line"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "reload with a broken configuration fails and says why; the old one stays in force" {
  run guest "$SERVICE"'
    systemctl start rdmatestd
    service_holds .config.is_last_reload_ok || systemctl reload rdmatestd
    service_holds ".scenarios == 1" || fail "$(<status.json)"
    generation=$(jq .config.generation status.json)
    cp /etc/rdmatestd/scenarios.d/smoke.yaml keep
    echo "    nonsense: 1" >>/etc/rdmatestd/scenarios.d/smoke.yaml
    rc=0; systemctl reload rdmatestd || rc=$?
    cp keep /etc/rdmatestd/scenarios.d/smoke.yaml
    ((rc != 0)) || fail "the reload did not fail"
    [[ $(systemctl is-active rdmatestd) == active ]] || fail "not active any more"
    service_holds "(.config.is_last_reload_ok | not) and .config.generation == $generation and .scenarios == 1" || fail "$(<status.json)"
    in_journal() { journalctl --no-pager -u rdmatestd | grep -E "smoke.yaml:[0-9]+:[0-9]+: .*nonsense" >said; }
    eventually 30 in_journal
    head -n 3 said
    systemctl reload rdmatestd
    service_holds ".config.is_last_reload_ok" || fail "$(<status.json)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

# The deadline is long enough for a busy host: a daemon that is well must not be restarted.
@test "a stopped process is restarted by the watchdog" {
  run guest '
    mkdir -p /run/systemd/system/rdmatestd.service.d
    printf "[Service]\nWatchdogSec=10s\nRestartSec=100ms\n" >/run/systemd/system/rdmatestd.service.d/fast.conf
    systemctl daemon-reload; systemctl restart rdmatestd
    before=$(systemctl show -P MainPID rdmatestd)
    sleep 12
    [[ $(systemctl show -P MainPID rdmatestd) == "$before" ]] || fail "restarted while it was well"
    kill -STOP "$before"
    restarted() {
      local now; now=$(systemctl show -P MainPID rdmatestd)
      [[ $now != 0 && $now != "$before" && $(systemctl is-active rdmatestd) == active ]]
    }
    eventually 90 restarted
    (($(systemctl show -P NRestarts rdmatestd) >= 1)) || fail "no restart counted"
    journalctl --no-pager -u rdmatestd | grep -i "watchdog timeout"
    rm -r /run/systemd/system/rdmatestd.service.d; systemctl daemon-reload; systemctl restart rdmatestd
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the journal explains a finding: MESSAGE_ID, and journalctl -x with what to do" {
  run guest '
    journalctl --update-catalog
    systemctl restart rdmatestd
    # Its peer is not there.
    rdmatestctl run smoke >out 2>&1 || :
    in_journal() { journalctl --no-pager -u rdmatestd MESSAGE_ID=9d3fb1c86ae24f7b85c02e94d7a10102 >said && grep -q "RDT-0102" said; }
    eventually 30 in_journal
    journalctl --no-pager -x -u rdmatestd MESSAGE_ID=9d3fb1c86ae24f7b85c02e94d7a10102 >said
    cat said
    grep -q "Subject: RDT-0102 peer-unreachable" said && grep -q "What to do: " said
    journalctl --no-pager -o json -n 1 MESSAGE_ID=9d3fb1c86ae24f7b85c02e94d7a10102 | jq -e ".PRIORITY == \"4\" and .SYSLOG_IDENTIFIER == \"rdmatestd\" and ._SYSTEMD_UNIT == \"rdmatestd.service\"" >/dev/null
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the sandboxed service runs smoke as responder" {
  run guest "$PARTNER"'
    run_scenario 1 smoke r.json
    verdict r.json pass
    policy=$(chrt -p "$(systemctl show -P MainPID rdmatestd)")
    [[ $policy == *SCHED_BATCH* ]] || fail "the service does not give way: $policy"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the sandboxed service runs smoke when a person asks on the admin socket of the unit" {
  run guest "$PARTNER"'
    [[ $(stat -c "%U:%G %a" /run/rdmatestd/admin.sock) == "rdmatestd:rdmatest-admin 660" ]] || fail "$(stat /run/rdmatestd/admin.sock)"
    up() { rdmatestctl peers --json | jq -e "any(.. | objects; .name? == \"node1\" and .state? == \"up\")" >/dev/null; }
    eventually 60 up
    rdmatestctl run smoke --json >r.json
    verdict r.json pass
    rc=0; setpriv --reuid nobody --regid nogroup --clear-groups rdmatestctl run smoke >refused 2>&1 || rc=$?
    ((rc != 0)) || fail "nobody may start a run"
    grep -q "no permission to use .*admin.sock" refused || fail "$(<refused)"
  '
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a broken configuration: start fails with 78 and is not tried again" {
  run guest '
    cp /etc/rdmatestd/scenarios.d/smoke.yaml keep
    systemctl stop rdmatestd
    echo "  nonsense: 1" >>/etc/rdmatestd/scenarios.d/smoke.yaml
    rc=0; systemctl start rdmatestd || rc=$?
    cp keep /etc/rdmatestd/scenarios.d/smoke.yaml
    ((rc != 0)) || fail "started"
    [[ $(systemctl show -P ExecMainStatus rdmatestd) == 78 ]] || fail "status $(systemctl show -P ExecMainStatus rdmatestd)"
    [[ $(systemctl show -P NRestarts rdmatestd) == 0 ]] || fail "tried again"
    systemctl reset-failed rdmatestd; systemctl start rdmatestd
  '
  echo "$output"
  [ "$status" -eq 0 ]
}
