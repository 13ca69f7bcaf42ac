"""The real daemon as its clients see it: a process, a folder, a rendezvous file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from hunchd.cli import http
from hunchd.config.app_paths import AppPaths, resolve_app_paths
from hunchd.protocol.rendezvous import Rendezvous, read_rendezvous

# Far above what a start or a stop takes: on a busy machine a test waits longer rather than failing.
START = 60.0  # seconds
STOP = 10.0  # seconds
SOURCES = Path(__file__).parents[2] / "src"


@dataclass
class RunningDaemon:
    """Daemon on a home of its own, with `start`, `stop`, `kill`, and requests in between."""

    home: Path
    settings: str = ""  # the text of its config.toml
    environment: Mapping[str, str] = field(default_factory=dict)
    wrapper: Sequence[str] = ()  # a command that becomes the daemon: its process id must stay the same
    process: subprocess.Popen[bytes] | None = None
    told: Rendezvous | None = None

    @property
    def places(self) -> AppPaths:
        return resolve_app_paths({"HUNCHD_HOME": str(self.home)})

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def log(self) -> str:
        file = self.places.log_file
        return file.read_text(errors="replace") if file.exists() else ""

    def start(self) -> RunningDaemon:
        """Start it and wait until it answers."""
        if self.settings:
            self.places.config.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.places.config_file.write_text(self.settings)
        self.process = subprocess.Popen(
            [*self.wrapper, sys.executable, "-m", "hunchd.daemon.main"],
            env={**os.environ, "PYTHONPATH": str(SOURCES), "HUNCHD_HOME": str(self.home), **self.environment},
            stdin=subprocess.DEVNULL,
            cwd="/",
        )
        self.wait_until(self._answers, within=START, what="answer")
        return self

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the daemon ended with {self.process.returncode}:\n{self.log}"
        self.told = read_rendezvous(self.places.rendezvous_file)
        if self.told is None or self.told.pid != self.process.pid:
            return False
        try:
            return self.request("GET", "/health")[0] == 200
        except OSError:
            return False

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
    ) -> tuple[int, Any]:
        """Return the status and the response, decoded if it is JSON."""
        assert self.told is not None
        given = {"Authorization": f"Bearer {self.told.token}"}
        given |= {} if body is None else {"Content-Type": "application/json"}
        response = http.send_request(
            http.Address(self.told.socket, "127.0.0.1", int(self.told.url.rpartition(":")[2])),
            method,
            path + (f"?{urlencode(query)}" if query else ""),
            headers={**given, **(headers or {})},
            body=json.dumps(body).encode() if body is not None else None,
            timeout=timeout,
        )
        content = response.read_body().decode()
        try:
            return response.status, json.loads(content)
        except ValueError:
            return response.status, content

    def get(self, path: str, **query: Any) -> Any:
        status, answer = self.request("GET", path, query=query)
        assert status == 200, (status, answer)
        return answer

    def post(self, path: str, body: Any) -> Any:
        status, answer = self.request("POST", path, body)
        assert status < 300, (status, answer)
        return answer

    def add(self, folder: Path, *, within: float = 60.0) -> dict[str, Any]:
        """Add a project and wait until it is indexed."""
        added = self.post("/projects", {"path": str(folder)})

        def ready() -> bool:
            return any(one["id"] == added["id"] and one["state"] == "ready" for one in self.get("/projects")["items"])

        self.wait_until(ready, within=within, what=f"read {folder}")
        return next(one for one in self.get("/projects")["items"] if one["id"] == added["id"])

    def _status(self) -> str:
        """Return its own status, for the message of a failed wait."""
        try:
            return json.dumps(self.get("/status"))
        except (OSError, AssertionError, ValueError) as error:
            return f"it does not say how it is: {error!r}"

    def wait_until(self, holds: Any, *, within: float, what: str) -> None:
        deadline = time.monotonic() + within
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"the daemon did not {what} within {within:.0f} s:\n{self.log[-4000:]}\n{self._status()}"
                )
            time.sleep(0.02)

    def stop(self) -> int:
        """Ask it to end, as a service manager does; return its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self) -> None:
        """End it like a power cut, without a graceful shutdown."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP)

    def restart(self) -> RunningDaemon:
        self.stop()
        return self.start()


@contextmanager
def daemon_of_many(homes: Path) -> Iterator[RunningDaemon]:
    """Run one daemon for many tests, on a home below `homes`.

    It starts before any test's own environment exists, so it gets its own.
    """
    home = Path(tempfile.mkdtemp(dir=homes, prefix="s"))
    surroundings = {
        "HOME": str(home / "user"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "HF_HUB_OFFLINE": "1",
    }
    with running_daemon(home / "h", environment=surroundings) as started:
        yield started


@contextmanager
def running_daemon(
    home: Path, *, settings: str = "", environment: Mapping[str, str] | None = None, wrapper: Sequence[str] = ()
) -> Iterator[RunningDaemon]:
    """Run a started daemon that is stopped with the block, however that ends."""
    daemon = RunningDaemon(home, settings, environment or {}, wrapper)
    try:
        yield daemon.start()
    finally:
        if daemon.process is not None and daemon.process.poll() is None:
            daemon.stop()
