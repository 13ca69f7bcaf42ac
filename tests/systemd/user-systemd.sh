#!/bin/bash
# Run a script under a real `systemd --user` in a mount namespace of its own, as root:
#   unshare -m -f bash tests/systemd/user-systemd.sh SCRIPT
# The machine is not changed: /run, /sys/fs/cgroup and HOME belong to the namespace.
set -e
script=$(realpath "$1")
home=$(mktemp -d)
mount --make-rprivate /
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
group=/sys/fs/cgroup/hunchd-test-$$
mkdir -p "$group/manager"
echo $$ >"$group/manager/cgroup.procs"
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user/0
chmod 700 /run/user/0
export HOME=$home XDG_RUNTIME_DIR=/run/user/0 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/0/bus SYSTEMD_LOG_TARGET=console
unset HUNCHD_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME
/lib/systemd/systemd --user >"$home/manager.log" 2>&1 &
manager=$!
leave() {
    kill "$manager"
    wait "$manager" || true
    echo $$ >/sys/fs/cgroup/cgroup.procs
    find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    rm -rf "$home"
}
trap leave EXIT
for _ in $(seq 300); do
    systemctl --user is-system-running >/dev/null 2>&1 && break
    sleep 0.1
done
# The service loads the same package as the tests.
systemctl --user set-environment "PYTHONPATH=$PYTHONPATH"
bash -euo pipefail "$script" || { status=$?; tail -50 "$home/manager.log" >&2; exit $status; }
