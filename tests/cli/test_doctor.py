"""`hunch doctor` and `hunch logs`: they work when the daemon does not."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from hunchd.cli import checks
from hunchd.cli.logs import read_last_lines
from hunchd.cli.main import main
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from tests.cli.fake_daemon import FakeDaemon

Output = pytest.CaptureFixture[str]


def run_doctor(capsys: Output, *options: str) -> dict[str, list[dict[str, str]]]:
    """Return the findings of the doctor by the name of the check."""
    capsys.readouterr()
    main(["doctor", "--json", *options])
    told: dict[str, list[dict[str, str]]] = {}
    for check in json.loads(capsys.readouterr().out):
        told.setdefault(check["name"], []).append(check)
    return told


def test_doctor_fresh_machine_is_ok_creates_nothing(capsys: Output, hunchd_home: Path) -> None:
    told = run_doctor(capsys)

    assert [check["finding"] for name in told for check in told[name] if check["verdict"] == "bad"] == []
    assert told["daemon"][0]["finding"] == "not running"
    assert not hunchd_home.exists()


def test_doctor_responding_daemon_is_ok(fake: FakeDaemon, capsys: Output) -> None:
    finding = f"hunchd 0.1.0 is running (pid {os.getpid()}) at {resolve_app_paths().socket_file}"
    ok = {"name": "daemon", "verdict": "ok", "finding": finding, "advice": "", "fixable": False}
    assert run_doctor(capsys)["daemon"] == [ok]


def test_doctor_names_unreachable_team(fake: FakeDaemon, capsys: Output) -> None:
    team = {"state": "unreachable", "failure": "/mnt/team is not reachable"}
    fake.routes["GET /status"] = (200, {"projects": [{"id": "p1", "path": "/src/shop", "team": team}]})

    main(["doctor"])

    assert "/src/shop: unreachable: /mnt/team is not reachable" in capsys.readouterr().out


@pytest.mark.parametrize(("state", "failure", "verdict"), [("in step", "", "ok"), ("read-only", "refused", "note")])
def test_doctor_names_every_team(fake: FakeDaemon, capsys: Output, state: str, failure: str, verdict: str) -> None:
    project = {"id": "p1", "path": "/src/shop", "team": {"state": state, "failure": failure}}
    fake.routes["GET /status"] = (200, {"projects": [project]})

    [check] = [one for one in run_doctor(capsys)["team"] if "/src/shop" in one["finding"]]

    assert (check["verdict"], state in check["finding"]) == (verdict, True)


def test_doctor_names_private_credentials_file(fake: FakeDaemon, capsys: Output) -> None:
    file = resolve_app_paths().config / "team-credentials.toml"
    assert str(file) in str(run_doctor(capsys)["team"])
    ensure_private_folder(file.parent)
    file.touch(mode=0o644)

    [check] = run_doctor(capsys)["team"]

    assert (check["verdict"], check["advice"], check["fixable"]) == ("bad", f"chmod 600 {file}", True)


def test_doctor_fixes_readable_token(fake: FakeDaemon, capsys: Output) -> None:
    resolve_app_paths().rendezvous_file.chmod(0o644)

    assert "is readable by others (644)" in run_doctor(capsys)["daemon"][0]["finding"]

    assert run_doctor(capsys, "--fix")["daemon"][0]["verdict"] == "ok"
    assert resolve_app_paths().rendezvous_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give a folder away")
def test_doctor_finds_home_below_foreign_folder(capsys: Output, hunchd_home: Path) -> None:
    ensure_private_folder(hunchd_home)
    os.chown(hunchd_home, 12345, 12345)
    try:
        [found] = run_doctor(capsys)["folders"][1:]
    finally:
        os.chown(hunchd_home, os.getuid(), os.getgid())

    assert f"{hunchd_home} belongs to user 12345" in found["finding"]
    assert found["verdict"] == "bad"
    assert "HUNCHD_HOME" in found["advice"]


def test_doctor_fixes_world_writable_parent(capsys: Output, hunchd_home: Path) -> None:
    ensure_private_folder(hunchd_home).chmod(0o777)

    assert run_doctor(capsys)["folders"][1]["finding"] == f"anybody can write to {hunchd_home}"
    assert run_doctor(capsys, "--fix")["folders"][1]["verdict"] == "ok"
    assert hunchd_home.stat().st_mode & 0o777 == 0o775


def test_doctor_finds_occupied_port(capsys: Output) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        ensure_private_folder(resolve_app_paths().config)
        resolve_app_paths().config_file.write_text(f"[serving]\nport = {other.getsockname()[1]}\n")

        [found] = run_doctor(capsys)["port"]

    assert found["verdict"] == "bad"
    assert "is in use by another program" in found["finding"]
    assert "port = 0" in found["advice"]


def test_doctor_finds_lock_without_rendezvous(capsys: Output) -> None:
    with (ensure_private_folder(resolve_app_paths().data) / "daemon.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4242")
        lock.flush()

        [found] = run_doctor(capsys)["locks"]

    assert (found["verdict"], found["advice"]) == ("bad", "It may be starting; if this persists, run `hunch restart`.")
    assert "pid 4242" in found["finding"]


def test_doctor_accepts_socket_of_service_manager(capsys: Output) -> None:
    ensure_private_folder(resolve_app_paths().runtime)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(resolve_app_paths().socket_file))
        listening.listen()

        assert "the service manager is listening" in run_doctor(capsys, "--fix")["daemon"][1]["finding"]
    assert resolve_app_paths().socket_file.exists()


def test_doctor_finds_overwritten_hooks(capsys: Output, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    main(["hooks", "install", str(tmp_path)])
    assert run_doctor(capsys)["hooks"][0]["verdict"] == "ok"
    (tmp_path / ".git" / "hooks" / "post-merge").write_text("#!/bin/sh\n")

    [found] = run_doctor(capsys)["hooks"]

    assert found["finding"] == f"{tmp_path}: post-merge no longer report to hunchd"
    assert f"hunch hooks install {tmp_path}" in found["advice"]


def test_doctor_fixes_open_folders(capsys: Output) -> None:
    ensure_private_folder(resolve_app_paths().data).chmod(0o755)

    [found] = run_doctor(capsys)["folders"]
    assert (found["verdict"], found["advice"]) == ("bad", f"chmod 700 {resolve_app_paths().data}")
    assert main(["doctor"]) == 1

    assert main(["doctor", "--fix"]) == 0
    assert resolve_app_paths().data.stat().st_mode & 0o777 == 0o700


def test_doctor_names_read_only_file_system(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    data, access, statvfs = ensure_private_folder(resolve_app_paths().data), os.access, os.statvfs
    known = statvfs(data)
    told = SimpleNamespace(**{name: getattr(known, name) for name in dir(known) if name.startswith("f_")})
    told.f_flag |= os.ST_RDONLY
    monkeypatch.setattr(os, "access", lambda path, mode: access(path, mode) and not (path == data and mode & os.W_OK))
    monkeypatch.setattr(os, "statvfs", lambda path: told if path == data else statvfs(path))

    [found] = run_doctor(capsys)["folders"]

    assert found["finding"] == f"{data} is on a file system that is mounted read-only"
    assert "chmod" not in found["advice"]


def test_doctor_fix_removes_stale_files(fake: FakeDaemon, capsys: Output) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    fake.publish(pid=ended.pid, socket="/nowhere")

    [found] = run_doctor(capsys)["daemon"]
    assert (found["verdict"], f"({ended.pid})" in found["finding"]) == ("note", True)

    run_doctor(capsys, "--fix")
    assert not resolve_app_paths().rendezvous_file.exists()


def test_doctor_reports_invalid_settings(capsys: Output) -> None:
    ensure_private_folder(resolve_app_paths().config)
    resolve_app_paths().config_file.write_text("[serving]\nprot = 1\n")

    [found] = run_doctor(capsys)["settings"]

    assert found["verdict"] == "bad"
    assert "[serving] has no setting 'prot'. Did you mean 'port'?" in found["finding"]


def test_doctor_rejects_old_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\necho git version 2.17.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert (checks.check_git().verdict, checks.check_git().finding) == ("bad", "git version 2.17.1")

    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert checks.check_git().finding == "git is not on the PATH"


def test_doctor_notices_clock_set_back() -> None:
    where = resolve_app_paths()
    ensure_private_folder(where.data)
    tomorrow = time.time() + 86_400
    os.utime(where.data, (tomorrow, tomorrow))

    assert "24 h in the future" in checks.check_clock(where).finding


def test_doctor_shows_newest_log_error(capsys: Output) -> None:
    ensure_private_folder(resolve_app_paths().state)
    resolve_app_paths().log_file.write_text(
        "2026-01-01 ERROR a: first\n2026-01-01 INFO b: fine\n2026-01-02 ERROR c: second\n"
    )

    [found] = run_doctor(capsys)["log"]

    assert found["finding"] == "2 errors in the last 3 lines, the newest: 2026-01-02 ERROR c: second"


def test_doctor_report_hides_user_name(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(resolve_app_paths().data.parent))
    ensure_private_folder(resolve_app_paths().data)

    main(["doctor"])

    assert str(resolve_app_paths().data.parent) not in capsys.readouterr().out


def test_logs_prints_last_lines(capsys: Output) -> None:
    ensure_private_folder(resolve_app_paths().state)
    resolve_app_paths().log_file.write_text("".join(f"line {number}\n" for number in range(30_000)))

    assert main(["logs", "-n", "2"]) == 0

    assert capsys.readouterr().out == "line 29998\nline 29999\n"


@pytest.fixture
def east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "XYZ-2")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("east")
def test_logs_json_prints_object_per_line(capsys: Output) -> None:
    ensure_private_folder(resolve_app_paths().state)
    record = logging.LogRecord("hunchd.serving.http", logging.ERROR, "", 1, "POST /x: %s", ("\u00e9\x1b[31m",), None)
    record.created = datetime(2026, 3, 1, 12, 0, 0, 250_000, UTC).timestamp()
    record.msecs = 250.0
    written = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s").format(record)
    resolve_app_paths().log_file.write_text(f"{written}\nTraceback (most recent call last):\n")

    assert main(["logs", "--json"]) == 0

    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {
            "at": "2026-03-01T12:00:00.250000Z",
            "level": "ERROR",
            "part": "hunchd.serving.http",
            "message": "POST /x: \u00e9\x1b[31m",
        },
        {"message": "Traceback (most recent call last):"},
    ]


def test_logs_without_file_names_path(capsys: Output) -> None:
    assert main(["logs"]) == 1

    assert f"there is no log yet: {resolve_app_paths().log_file}" in capsys.readouterr().err


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("text", [b"", b"a", b"a\n", b"a\nb\nc\n", b"a\nb\nc"])
def test_last_lines_match_whole_file(tmp_path: Path, text: bytes, count: int) -> None:
    path = tmp_path / "log"
    path.write_bytes(text)

    with path.open("rb") as file:
        assert read_last_lines(file, count) == text.decode().splitlines()[-count or len(text) :]


def test_logs_follow_survives_rotation() -> None:
    ensure_private_folder(resolve_app_paths().state)
    log = resolve_app_paths().log_file
    log.write_text("old\n")
    command = subprocess.Popen([sys.executable, "-m", "hunchd.cli", "logs", "-f"], stdout=subprocess.PIPE, text=True)
    with command:
        assert command.stdout
        stuck = threading.Timer(20, command.kill)
        stuck.start()
        assert command.stdout.readline() == "old\n"
        with log.open("a") as file:
            file.write("more\n")
        assert command.stdout.readline() == "more\n"
        log.rename(log.with_name("hunchd.log.1"))
        log.write_text("new\n")
        assert command.stdout.readline() == "new\n"
        stuck.cancel()
        command.terminate()


class Usage(NamedTuple):
    """Fake of `shutil.disk_usage`, for a disk with that many MiB free."""

    free: int


@pytest.mark.parametrize(
    ("free", "least", "verdict"), [(900, 1000, "bad"), (300, 64, "note"), (300, 400, "bad"), (63, 64, "bad")]
)
def test_doctor_disk_limit_follows_settings(
    free: int, least: int, verdict: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_private_folder(resolve_app_paths().config)
    resolve_app_paths().config_file.write_text(f"[store]\nmin_free_mib = {least}\n")
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _folder: Usage(free * 1024 * 1024))

    disk = run_doctor(capsys)["disk"][0]

    assert disk["verdict"] == verdict
    assert "64 MB" not in disk["advice"]
    assert (f"min_free_mib = {least}" in disk["finding"]) == (verdict == "bad")
