"""Single daemon for each home, whatever earlier ones left behind."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import AF_UNIX
from socket import socket as Listening

import psutil
import pytest

from hunchd.cli.daemon_control import find_lock_holder, stop_process
from hunchd.config.app_paths import resolve_app_paths
from hunchd.daemon.main import take_lock
from hunchd.protocol.rendezvous import read_rendezvous
from tests.daemon.running import STOP, RunningDaemon, running_daemon

SECOND = [sys.executable, "-m", "hunchd.daemon.main"]
# The start itself is what is tried here: nothing to embed, nothing to watch.
SETTINGS = "[signals]\nwatch_files = false\n[embedding]\nenabled = false\n"


def test_second_daemon_exits_and_names_first(daemon: RunningDaemon) -> None:
    began = time.monotonic()
    second = subprocess.run(SECOND, capture_output=True, text=True, check=False, timeout=20)
    took = time.monotonic() - began

    assert (second.returncode, second.stderr) == (3, f"hunchd: another daemon is running (pid {daemon.pid})\n")
    print(f"a second daemon gave up after {took:.2f} s")  # noqa: T201 - a figure to be told, not a gate
    assert daemon.get("/health")["status"] == "ok"


def test_take_lock_waits_for_pid_of_owner(tmp_path: Path) -> None:
    file = tmp_path / "daemon.lock"
    first = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(first, fcntl.LOCK_EX)  # and no number yet
    writing = threading.Timer(0.2, lambda: os.pwrite(first, b"4711", 0))
    writing.start()
    try:
        assert take_lock(file) == 4711
    finally:
        writing.join()
        os.close(first)


def test_ten_concurrent_daemons_leave_one_running(hunchd_home: Path) -> None:
    hunchd_home.mkdir(mode=0o700)
    daemons, said = [], [hunchd_home / f"said-{number}" for number in range(10)]
    try:
        for file in said:
            with file.open("wb") as stderr:
                daemons.append(subprocess.Popen(SECOND, stderr=stderr))
        deadline = time.monotonic() + 30
        while sum(daemon.poll() is None for daemon in daemons) > 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        [stayed] = [daemon for daemon in daemons if daemon.poll() is None]
        assert {daemon.returncode for daemon in daemons if daemon is not stayed} == {3}
        assert find_lock_holder() == stayed.pid
        told = [file.read_text() for daemon, file in zip(daemons, said, strict=True) if daemon is not stayed]
        assert set(told) == {f"hunchd: another daemon is running (pid {stayed.pid})\n"}
    finally:
        for daemon in daemons:
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(10)


@pytest.mark.timeout(120)
def test_two_kills_do_not_block_start(hunchd_home: Path) -> None:
    starts_after_kills(hunchd_home, 2)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_many_kills_do_not_block_start(hunchd_home: Path) -> None:
    starts_after_kills(hunchd_home, int(os.environ.get("HUNCHD_STARTS", "50")))


def starts_after_kills(home: Path, rounds: int) -> None:
    """Kill the daemon during or after its start; the next start must succeed."""
    chance, left = random.Random(rounds), {"lock": 0, "rendezvous": 0, "socket": 0}
    with running_daemon(home, settings=SETTINGS) as daemon:
        places = daemon.places
        for _ in range(rounds):
            daemon.kill()
            left["lock"] += (places.data / "daemon.lock").exists()
            left["rendezvous"] += places.rendezvous_file.exists()
            left["socket"] += places.socket_file.exists()
            if chance.random() < 0.5:  # one that dies while it starts
                half = subprocess.Popen(SECOND, stderr=subprocess.DEVNULL, env={**os.environ, "HUNCHD_HOME": str(home)})
                time.sleep(chance.uniform(0, 0.8))
                half.kill()
                half.wait(10)
            daemon.start()
            assert find_lock_holder(places) == daemon.pid
            assert daemon.told is not None
            assert daemon.told.pid == daemon.pid
        drafts = [entry.name for entry in places.runtime.iterdir() if entry.name.startswith(".")]
        assert len(drafts) <= 1, drafts  # of a rendezvous that was being written
    assert min(left.values()) == rounds, left


def test_old_token_is_rejected_after_restart(daemon: RunningDaemon) -> None:
    assert daemon.told is not None
    old = daemon.told.token
    daemon.kill()
    daemon.start()
    assert daemon.told.token != old
    assert daemon.request("GET", "/status", headers={"Authorization": f"Bearer {old}"})[0] == 401


def test_rendezvous_with_foreign_pid_is_ignored(daemon: RunningDaemon) -> None:
    told = daemon.places.rendezvous_file.read_text()
    daemon.kill()
    daemon.places.rendezvous_file.write_text(told.replace(str(daemon.pid), str(os.getpid())))
    assert find_lock_holder(daemon.places) is None
    daemon.start()
    assert daemon.get("/status")["resources"]["pid"] == daemon.pid


def test_children_end_with_killed_daemon(daemon: RunningDaemon, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "a.py").write_text("def a(): ...\n")
    daemon.post("/projects", {"path": str(folder)})
    daemon.post("/memories", {"kind": "fact", "content": "so that the store process is at work"})
    daemon.wait_until(lambda: _children(daemon), within=30, what="start its processes")
    children = _children(daemon)
    daemon.kill()
    gone, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    assert len(gone) == len(children)


@pytest.mark.parametrize("gone", ["", "data"])
def test_daemon_ends_when_data_directory_moves(daemon: RunningDaemon, tmp_path: Path, gone: str) -> None:
    daemon.post("/memories", {"kind": "fact", "content": "so that the store process is at work"})
    empty = {"journal": 0, "writer": 0, "embedding": 0}
    daemon.wait_until(lambda: daemon.get("/status")["queues"] == empty, within=60, what="store and embed it")
    children = _children(daemon)
    assert children
    (daemon.home / gone).rename(tmp_path / "taken")

    assert daemon.process is not None
    assert daemon.process.wait(STOP) == 0
    assert psutil.wait_procs(children, timeout=5)[1] == []
    assert not (daemon.home / gone).exists(), "nothing is made anew by who ends"
    log = daemon.places.log_file if gone else tmp_path / "taken" / "state" / "hunchd.log"
    (told,) = [line for line in log.read_text().splitlines() if "WARNING" in line or "ERROR" in line]
    assert "daemon.lock was deleted or replaced" in told

    with started_by_a_command(daemon):
        assert daemon.get("/health")["status"] == "ok"


def test_daemon_without_runtime_directory_ends_keeping_data(daemon: RunningDaemon) -> None:
    daemon.post("/memories", {"kind": "fact", "content": "we deploy on Fridays"})
    shutil.rmtree(daemon.places.runtime)

    with started_by_a_command(daemon):  # which waits for the end of the one before it starts another
        assert daemon.process is not None
        assert daemon.process.wait(STOP) == 0
        asked = {"query": "deploy", "depth": "shallow"}
        daemon.wait_until(lambda: daemon.post("/search", asked)["results"], within=30, what="find the memory")


@contextmanager
def started_by_a_command(daemon: RunningDaemon) -> Iterator[None]:
    """Use the daemon that `hunch start` found or started, and stop it after the block."""
    subprocess.run([sys.executable, "-m", "hunchd.cli", "start"], check=True, capture_output=True)
    daemon.told = read_rendezvous(daemon.places.rendezvous_file)
    try:
        yield
    finally:
        pid = find_lock_holder(daemon.places)
        assert pid is not None
        stop_process(pid)


def test_daemon_with_long_home_path_starts(hunchd_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = hunchd_home.with_name(f"{hunchd_home.name}-run")
    session.mkdir(mode=0o700)
    home = hunchd_home / ("deep" * 40)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    monkeypatch.setenv("HUNCHD_HOME", str(home))
    with running_daemon(home) as daemon:
        assert daemon.told is not None
        assert daemon.told.socket is not None
        socket = Path(daemon.told.socket)
        assert (socket.parent, socket.parent.stat().st_mode & 0o777, socket.stat().st_mode & 0o777) == (
            session / "hunchd",
            0o700,
            0o600,
        )
        said = subprocess.run(
            [sys.executable, "-m", "hunchd.cli", "doctor"], capture_output=True, text=True, check=False
        )
        assert f"(pid {daemon.pid}) at {socket}" in " ".join(said.stdout.split())
    assert list(socket.parent.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_foreign_socket_directory_gets_no_token(hunchd_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = hunchd_home.with_name(f"{hunchd_home.name}-run")
    session.mkdir(mode=0o700)
    home = hunchd_home / ("deep" * 40)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    monkeypatch.setenv("HUNCHD_HOME", str(home))
    (session / "hunchd").mkdir()
    with Listening(AF_UNIX) as stranger:
        stranger.bind(str(resolve_app_paths().socket_file))
        stranger.listen()
        stranger.setblocking(False)
        os.chown(session / "hunchd", 12345, -1)
        daemon = RunningDaemon(home)
        with started_by_a_command(daemon):
            assert daemon.told is not None
            assert daemon.told.socket is None
            assert daemon.get("/health")["status"] == "ok"
            with pytest.raises(BlockingIOError):  # nobody knocked
                stranger.accept()
        assert "belongs to another user" in daemon.log


def test_invalid_home_exits_with_one_line() -> None:
    told = subprocess.run(
        SECOND, env={**os.environ, "HUNCHD_HOME": "/proc/none"}, capture_output=True, text=True, check=False
    )
    assert (told.returncode, told.stderr) == (2, "hunchd: /proc/none: No such file or directory\n")


@pytest.mark.timeout(120)
def test_stop_under_load_is_quick_and_clean(daemon: RunningDaemon, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    for number in range(300):
        (folder / f"a{number}.py").write_text(f"def a{number}(): ...\n" * 50)
    daemon.post("/projects", {"path": str(folder)})  # which is being read when the end comes
    for batch in range(5):
        signals = [
            {"kind": "file_opened", "project": str(folder), "path": f"{n}.py", "event_id": f"{batch}-{n}"}
            for n in range(400)
        ]
        daemon.post("/signals", {"signals": signals})
    daemon.wait_until(lambda: _children(daemon), within=30, what="start its processes")
    children = _children(daemon)

    began = time.monotonic()
    daemon.process.send_signal(signal.SIGTERM)  # type: ignore[union-attr]
    assert daemon.process.wait(10) == 0  # type: ignore[union-attr]
    print(f"stopped in {time.monotonic() - began:.2f} s")  # noqa: T201 - a figure to be told, not a gate
    assert psutil.wait_procs(children, timeout=5)[1] == []
    assert not daemon.places.rendezvous_file.exists()
    assert not daemon.places.socket_file.exists()

    daemon.start()
    lines = daemon.request("GET", "/export", timeout=60)[1].splitlines()
    kept = {line.partition('"event_id":"')[2].partition('"')[0] for line in lines if '"type":"signal"' in line}
    assert {f"{batch}-{n}" for batch in range(5) for n in range(400)} <= kept


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_memory_accepted_before_stop_is_stored(daemon: RunningDaemon) -> None:
    """Accept one of five tries: a stop has less than a second, which a busy machine may need for other things."""

    def nothing_waits() -> bool:
        return bool(daemon.get("/status")["queues"] == {"journal": 0, "writer": 0, "embedding": 0})

    for number in range(5):
        daemon.post("/memories", {"kind": "fact", "content": f"the store is at work, {number}"})
        daemon.wait_until(nothing_waits, within=60, what="store and embed it")
        daemon.post("/memories", {"kind": "fact", "content": f"accepted a moment before the end, {number}"})
        daemon.stop()
        daemon.start()
        if nothing_waits():
            return
    pytest.fail("each of five stops left something to take up")


def _children(daemon: RunningDaemon) -> list[psutil.Process]:
    return psutil.Process(daemon.pid).children(recursive=True)
