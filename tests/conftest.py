"""Fixtures that isolate each test: a temporary home, no network, no leaked processes."""

from __future__ import annotations

import ipaddress
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.process_detection import describe_command, starts_process

# Child processes may need this long to end after their pipe was closed.
GRACE = 3.0  # seconds

# Programs that a test without the marker `process` may start: they end before the call returns.
ALLOWED_PROGRAMS = frozenset({"git", "uname"})

# `./dev unit` draws a quarter of the usual examples; CI draws all of them.
hypothesis.settings.register_profile("quick", max_examples=25)

_numbers = count()
_SOURCES = Path(__file__).parents[1] / "src"


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that start a process, so that `-m "not process"` leaves them out."""
    for item in items:
        if isinstance(item, pytest.Function) and starts_process(item):
            item.add_marker("process")


@pytest.fixture(scope="session")
def homes() -> Iterator[Path]:
    """Return the folder with the homes of a test run.

    Its path is short because a Unix socket's path may have 107 bytes at most.
    """
    folder = Path(tempfile.mkdtemp(prefix="hd-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def hunchd_home(homes: Path) -> Path:
    """Return HUNCHD_HOME for this test; the folder does not exist yet."""
    return homes / str(next(_numbers))


@pytest.fixture(autouse=True)
def _own_home(hunchd_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    user = Path(f"{hunchd_home}-user")
    monkeypatch.setenv("HUNCHD_HOME", str(hunchd_home))
    monkeypatch.setenv("HOME", str(user))
    for name in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "ANTHROPIC_API_KEY", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    # Child processes, in any folder, load the same package as the test.
    monkeypatch.setenv("PYTHONPATH", str(_SOURCES))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    yield
    if hunchd_home.exists():
        leaked = _processes_of(hunchd_home, within=GRACE)
        for pid in leaked:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(hunchd_home, ignore_errors=True)
        shutil.rmtree(user, ignore_errors=True)
        assert not leaked, f"this test left processes behind: {leaked}"


def _processes_of(home: Path, *, within: float) -> list[int]:
    """Return the processes that still use `home` after `within` seconds."""
    deadline = time.monotonic() + within
    while (found := [pid for pid in _all_processes() if _home_of(pid) == os.fsencode(home)]) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.05)
    return found


def _all_processes() -> list[int]:
    proc = Path("/proc")
    entries = proc.iterdir() if proc.is_dir() else ()  # not available on this platform
    return [int(entry.name) for entry in entries if entry.name.isdigit() and int(entry.name) != os.getpid()]


def _home_of(pid: int) -> bytes | None:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        alive = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return None
    wanted = b"HUNCHD_HOME="
    return next((line[len(wanted) :] for line in variables if line.startswith(wanted)), None) if alive else None


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on connections to other machines, by name or address."""
    for method in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, method, _guarded(getattr(socket.socket, method)))
    resolve = socket.getaddrinfo

    def local_only(host: Any, *rest: Any, **options: Any) -> Any:
        assert host is None or _is_local(host), f"a test asked the network for {host!r}"
        return resolve(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", local_only)


@pytest.fixture(autouse=True)
def _no_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail if a test without the marker `process` starts a program other than git."""
    if request.node.get_closest_marker("process"):
        yield
        return
    started: list[str] = []
    start = subprocess.Popen.__init__

    def checked(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        if (program := describe_command(args)) not in ALLOWED_PROGRAMS:
            started.append(program)
        start(self, args, *rest, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", checked)
    yield
    assert not started, f"this test starts {started}; mark it with @pytest.mark.process"


def _guarded(connect: Callable[[socket.socket, Any], Any]) -> Callable[[socket.socket, Any], Any]:
    def checked(self: socket.socket, address: Any) -> Any:
        inet = self.family in (socket.AF_INET, socket.AF_INET6)
        assert not inet or _is_local(address[0]), f"a test connected to {address!r}"
        return connect(self, address)

    return checked


def _is_local(host: str | bytes) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in ("", "localhost", "ip6-localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified
