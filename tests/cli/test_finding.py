"""Finding, starting and checking the daemon."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hunchd import PROTOCOL
from hunchd.cli import daemon_control
from hunchd.cli.main import main
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from hunchd.protocol import rendezvous
from hunchd.protocol.rendezvous import Rendezvous
from tests.cli.fake_daemon import FakeDaemon

Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("protocol", "message", "hint"),
    [
        (PROTOCOL - 1, "the daemon is older", "hunch restart"),
        (PROTOCOL + 1, "this command is older", "installed with the daemon"),
    ],
)
def test_connect_other_protocol_raises_no_daemon(
    fake: FakeDaemon, protocol: int, message: str, hint: str, capsys: Output
) -> None:
    fake.publish(protocol=protocol, version="9.9.9")

    assert main(["status"]) == 3

    told = capsys.readouterr().err
    assert "(9.9.9)" in told
    assert message in told
    assert hint in told
    assert fake.asked == []


def test_connect_ignores_stale_rendezvous_file(fake: FakeDaemon, capsys: Output) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    fake.publish(pid=ended.pid, socket="/nowhere")

    assert main(["status", "--no-start"]) == 3

    assert "no daemon is running" in capsys.readouterr().err


def test_client_retries_with_token_of_replacement(fake: FakeDaemon) -> None:
    fake.publish(token="o" * 43)
    fake.on_token = fake.publish
    fake.routes["GET /projects"] = (200, {"items": [], "next": None, "total": 0})

    assert main(["projects"]) == 0

    assert [route for route, _ in fake.asked] == ["GET /projects"]


def test_client_rejected_token_is_reported(fake: FakeDaemon, capsys: Output) -> None:
    fake.publish(token="o" * 43)

    assert main(["projects"]) == 1

    assert "the token does not belong to this daemon" in capsys.readouterr().err
    assert fake.asked == []


def test_connect_hanging_daemon_fails_after_timeout(capsys: Output) -> None:
    where = resolve_app_paths()
    ensure_private_folder(where.runtime)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(where.socket_file))
        silent.listen(5)
        told = Rendezvous(PROTOCOL, "http://127.0.0.1:9", str(where.socket_file), "t", os.getpid(), "0.1.0")
        rendezvous.write_rendezvous(where.rendezvous_file, told)
        began = time.monotonic()

        assert main(["status"]) == 3

    assert 1.9 < time.monotonic() - began < 4
    error = capsys.readouterr().err
    assert f"(pid {os.getpid()}) is not responding (2 s)" in error
    assert "Run `hunch restart` to replace it" in error


def test_client_truncated_response_raises(fake: FakeDaemon, capsys: Output) -> None:
    fake.routes["GET /projects"] = (200, b'{"items": [')

    assert main(["projects"]) == 1

    assert "the daemon's answer is not JSON" in capsys.readouterr().err


@pytest.mark.process
def test_launch_failure_quotes_last_log_line(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    words = "import sys; sys.exit('hunchd: config.toml: [serving] has no setting \\'prot\\'.')"
    monkeypatch.setattr(daemon_control, "DAEMON_COMMAND", (sys.executable, "-c", words))

    assert main(["status"]) == 3

    told = capsys.readouterr().err
    assert (
        "the daemon ended with code 1. Its last log line: hunchd: config.toml: [serving] has no setting 'prot'." in told
    )


@pytest.mark.process
def test_launch_log_file_is_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_control, "DAEMON_COMMAND", (sys.executable, "-c", ""))
    before = os.umask(0)
    try:
        main(["start"])
    finally:
        os.umask(before)

    assert resolve_app_paths().log_file.stat().st_mode & 0o777 == 0o600
    assert resolve_app_paths().runtime.stat().st_mode & 0o777 == 0o700


_HOLDER = """
import fcntl, os, signal, sys, time
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
os.write(lock, str(os.getpid()).encode())
print("locked", flush=True)
time.sleep(60)
"""


@pytest.fixture
def lock_holder(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    """Start a process that holds the daemon's lock and answers nobody."""
    file = ensure_private_folder(resolve_app_paths().data) / "daemon.lock"
    character = getattr(request, "param", "willing")
    command = [sys.executable, "-c", _HOLDER, str(file), character]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_stop_ends_lock_holder(lock_holder: subprocess.Popen[str], capsys: Output) -> None:
    assert main(["stop"]) == 0

    assert lock_holder.wait(5) == -15
    assert capsys.readouterr().out == f"hunchd stopped (pid {lock_holder.pid}).\n"
    assert main(["stop"]) == 3


@pytest.mark.parametrize("lock_holder", ["stubborn"], indirect=True)
def test_stop_kills_unresponsive_daemon(lock_holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_control, "STOP_TIMEOUT_SECONDS", 0.3)

    assert main(["stop"]) == 0

    assert lock_holder.wait(5) == -9


def test_holder_ignores_unlocked_file(tmp_path: Path) -> None:
    (ensure_private_folder(resolve_app_paths().data) / "daemon.lock").write_text(str(os.getpid()))

    assert daemon_control.find_lock_holder() is None
