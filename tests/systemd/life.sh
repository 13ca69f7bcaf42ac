# Test of the service from installation to removal; run by user-systemd.sh. Prints a line for each check that passed.
hunch() { "${PYTHON:-python3}" -m hunchd.cli "$@"; }
property() { systemctl --user show "$1" -p "$2" --value; }
pid_of_daemon() { hunch status --json --no-start | "${PYTHON:-python3}" -c 'import json, sys; print(json.load(sys.stdin)["resources"]["pid"])'; }
until_true() {
    for _ in $(seq 600); do
        "$@" 2>/dev/null && return
        sleep 0.1
    done
    echo "timeout: $*" >&2
    return 1
}
is() { [ "$(property "$1" "$2")" = "$3" ]; }
passed() { echo "ok $*"; }

hunch start >/dev/null
manual_pid=$(pid_of_daemon)
hunch service install --json >/dev/null
! kill -0 "$manual_pid" 2>/dev/null
passed "install stops a manually started daemon"
is hunchd.service ActiveState active
is hunchd.socket ActiveState active
is hunchd.service UnitFileState enabled
is hunchd.socket UnitFileState enabled
[ "$(pid_of_daemon)" = "$(property hunchd.service MainPID)" ]
[ "$(property hunchd.service StatusText)" = answering ]
passed "install enables and starts the units; the daemon reports readiness"

socket=$XDG_RUNTIME_DIR/hunchd/hunchd.sock
[ "$(stat -c %a "$socket") $(stat -c %a "$(dirname "$socket")")" = "600 700" ]
passed "socket is only accessible to its user"

hunch stop >/dev/null
until_true is hunchd.service ActiveState inactive
is hunchd.socket ActiveState active
hunch projects >/dev/null 2>&1
[ "$(pid_of_daemon)" = "$(property hunchd.service MainPID)" ]
passed "socket activation starts a stopped daemon"

hunch stop >/dev/null
until_true is hunchd.service ActiveState inactive
for _ in 1 2 3 4 5 6 7 8; do hunch projects >/dev/null 2>&1 & done
wait $(jobs -p)
[ "$(pid_of_daemon)" = "$(property hunchd.service MainPID)" ]
passed "eight concurrent clients start one daemon"

first=$(property hunchd.service MainPID)
kill -KILL "$first"
until_true pid_of_daemon >/dev/null
[ "$(pid_of_daemon)" != "$first" ]
passed "killed daemon is restarted"

mkdir -p "$HOME/.config/systemd/user/hunchd.service.d"
printf '[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\nRestartSec=0\n' >"$HOME/.config/systemd/user/hunchd.service.d/fast.conf"
systemctl --user daemon-reload
systemctl --user restart hunchd.service
first=$(property hunchd.service MainPID)
before=$(property hunchd.service NRestarts)
began=$(date +%s%N)
kill -STOP "$first"
replacement_answers() { now=$(property hunchd.service MainPID) && [ "$now" != "$first" ] && [ "$now" != 0 ] && [ "$(pid_of_daemon)" = "$now" ]; }
until_true replacement_answers
[ "$(property hunchd.service NRestarts)" -gt "$before" ]
passed "watchdog replaces a stopped process, which answers after $((($(date +%s%N) - began) / 1000000)) ms"
rm -r "$HOME/.config/systemd/user/hunchd.service.d"
systemctl --user daemon-reload

before=$(property hunchd.service NRestarts)
rm -rf "$HOME/.local/share/hunchd"
until_true is hunchd.service ActiveState inactive
[ "$(property hunchd.service NRestarts)" = "$before" ]
hunch projects >/dev/null 2>&1
[ "$(pid_of_daemon)" = "$(property hunchd.service MainPID)" ]
passed "daemon exits when its data is deleted and is not restarted; the next command starts a new one"

unit=$HOME/.config/systemd/user/hunchd.service
sed -i 's/^Nice=5/Nice=7/' "$unit"
hunch service status --json | grep -q '"up_to_date": false'
hunch service install --json | grep -q '"up_to_date": true'
grep -q '^Nice=5' "$unit"
is hunchd.service ActiveState active
passed "install over an earlier version updates the unit and keeps it running"

hunch service uninstall >/dev/null
! kill -0 "$(cat "$HOME/.local/share/hunchd/daemon.lock")" 2>/dev/null
[ -z "$(find "$HOME/.config/systemd" -name '*hunchd*')" ]
[ ! -e "$socket" ]
[ "$(property hunchd.service LoadState) $(property hunchd.socket LoadState)" = "not-found not-found" ]
passed "uninstall leaves no process, unit, link or socket"
hunch projects >/dev/null 2>&1
hunch stop >/dev/null
passed "commands start a daemon again after uninstall"
