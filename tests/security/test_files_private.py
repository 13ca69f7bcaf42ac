"""The daemon's files are private: by their modes, and as another user finds out."""

from __future__ import annotations

import http.client
import os
import socket
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon.running import SOURCES, RunningDaemon, running_daemon
from tests.repositories import make_shop

OTHER = 54_321  # a user id that nobody has
as_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can be somebody else")


@contextmanager
def umask(bits: int) -> Iterator[None]:
    before = os.umask(bits)
    try:
        yield
    finally:
        os.umask(before)


def busy(daemon: RunningDaemon, shop: Path) -> None:
    """Make it write everything it ever writes: models, caches, rows, journal, spool, logs."""
    daemon.add(shop)
    daemon.post("/memories", {"kind": "fact", "project": str(shop), "content": "we use pnpm"})
    daemon.post("/memories", {"kind": "fact", "content": "tabs, not spaces"})
    daemon.post("/signals", {"signals": [{"kind": "error", "project": str(shop), "text": "KeyError: 'apple'"}]})
    daemon.get("/context", project=str(shop), file="shop/basket.py")
    daemon.wait_until(lambda: not any(daemon.get("/status")["queues"].values()), within=30, what="store it all")


def open_to_others(folder: Path) -> list[str]:
    """Return every path with more permissions than its owner needs."""
    allowed = {stat.S_IFDIR: 0o700, stat.S_IFREG: 0o600, stat.S_IFSOCK: 0o600, stat.S_IFLNK: 0o777}
    found = []
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_IMODE(mode) & ~allowed[stat.S_IFMT(mode)]:
            found.append(f"{path.relative_to(folder)} {stat.S_IMODE(mode):o}")
    return found


@pytest.mark.parametrize("bits", [0o000, 0o022])
def test_files_are_private_under_any_umask(hunchd_home: Path, tmp_path: Path, bits: int) -> None:
    shop = make_shop(tmp_path / "shop")

    with umask(bits), running_daemon(hunchd_home) as daemon:
        busy(daemon, shop)
        assert open_to_others(hunchd_home) == []
        kinds = {path.suffix for path in hunchd_home.rglob("*")}
        assert {".sock", ".json", ".sqlite", ".hunch", ".lance", ".log"} <= kinds, "not all was written"
        daemon.stop()
        assert open_to_others(hunchd_home) == []

    assert stat.S_IMODE(hunchd_home.stat().st_mode) == 0o700
    (hunchd_home / "data/daemon.lock").chmod(0o640)
    assert open_to_others(hunchd_home) == ["data/daemon.lock 640"]


def as_another(work: Callable[[], object]) -> str:
    """Return the result of `work`, or the name of its exception, in a process of another user."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads: the child only looks at files
        child = os.fork()
    if not child:
        told = "nothing"
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            told = str(work())
        except BaseException as error:
            told = type(error).__name__
        finally:
            os.write(writer, told.encode()[:4_000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as opened:
        told = opened.read().decode()
    os.waitpid(child, 0)
    return told


@pytest.fixture
def public_home() -> Iterator[Path]:
    """Home whose parent folders are open to everyone, like a careless home folder."""
    with tempfile.TemporaryDirectory(prefix="hp-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "h"


def asked_over(path: Path, token: str) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(path))
        connection.sendall(f"GET /status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status


@as_root
def test_other_user_cannot_read_or_connect(public_home: Path, tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    with umask(0), running_daemon(public_home) as daemon:
        busy(daemon, shop)
        assert daemon.told is not None
        token, run = daemon.told.token, daemon.places.runtime
        everything = [public_home, *public_home.rglob("*")]

        readable = as_another(lambda: [str(path) for path in everything if os.access(path, os.R_OK | os.W_OK)])
        assert readable == "[]"
        assert as_another(lambda: list(public_home.iterdir())) == "PermissionError"
        assert as_another(lambda: daemon.places.rendezvous_file.read_bytes()) == "PermissionError"
        assert as_another(lambda: asked_over(run / "hunchd.sock", token)) == "PermissionError"

        # Were all doors of the file system open, and the token known, the socket still asks who it is.
        for path in (public_home, run):
            path.chmod(0o755)
        (run / "hunchd.sock").chmod(0o666)
        assert as_another(lambda: asked_over(run / "hunchd.sock", token)) == "403"
        assert asked_over(run / "hunchd.sock", token) == 200


@pytest.mark.parametrize(
    ("trap", "message"),
    [("link", "symbolic link"), ("group", "chmod 700"), ("world", "chmod 700"), ("foreign", "belongs to another user")],
)
@pytest.mark.parametrize("folder", ["run", "data", "state"])
def test_daemon_refuses_unsafe_home(hunchd_home: Path, tmp_path: Path, folder: str, trap: str, message: str) -> None:
    place = hunchd_home / folder
    hunchd_home.mkdir(mode=0o700)
    match trap:
        case "link":
            place.symlink_to(tmp_path)
        case "group":
            place.mkdir()
            place.chmod(0o770)
        case "world":
            place.mkdir()
            place.chmod(0o777)
        case _:
            if os.geteuid() != 0:
                pytest.skip("only root can give a folder away")
            place.mkdir(mode=0o700)
            os.chown(place, OTHER, OTHER)

    ended = subprocess.run(
        [sys.executable, "-m", "hunchd.daemon.main"],
        env={**os.environ, "PYTHONPATH": str(SOURCES), "HUNCHD_HOME": str(hunchd_home)},
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert ended.returncode == 2
    assert message in ended.stderr
    assert str(place) in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []
