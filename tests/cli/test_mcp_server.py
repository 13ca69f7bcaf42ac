"""`hunch mcp` over real pipes, against a fake daemon."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.fake_daemon import FakeDaemon

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


class Agent:
    """An agent's end of the pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._next = 0

    def send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        self._process.stdin.flush()

    def read(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def ask(self, method: str, **params: Any) -> Any:
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        answer = self.read()
        assert answer["id"] == self._next
        return answer["result"] if "result" in answer else answer["error"]

    def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """Return the tool's output, and whether it failed."""
        result = self.ask("tools/call", name=tool, arguments=arguments)
        return (result["content"][0]["text"], result["isError"]) if "content" in result else (result["message"], True)


@contextmanager
def agent(*options: str) -> Iterator[Agent]:
    process = subprocess.Popen(
        [sys.executable, "-m", "hunchd.cli", "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield Agent(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 0
        assert process.stdout is not None
        process.stdout.close()


def answer(message: Any) -> tuple[int, Any]:
    """Answer a request with its method, and a notification with nothing."""
    if "id" not in message:
        return 202, b""
    return 200, {"jsonrpc": "2.0", "id": message["id"], "result": {"method": message["method"]}}


def test_missing_daemon_returns_readable_error(repository: Path) -> None:
    with agent("--no-start") as it:
        it.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        error = it.ask("ping")

    assert error["message"].startswith("hunchd is unavailable: no daemon is running.")
    assert "Continue without it" in error["message"]


def test_messages_are_forwarded_to_daemon(fake: FakeDaemon, repository: Path) -> None:
    fake.routes["POST /mcp"] = answer

    with agent() as it:
        it.send(INITIALIZE)
        assert it.read()["result"] == {"method": "initialize"}
        it.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert it.ask("tools/list") == {"method": "tools/list"}

    assert {each["method"] for each in fake.bodies("POST /mcp")} == {
        "initialize", "notifications/initialized", "tools/list",
    }  # fmt: skip


def test_rejection_becomes_error_response(fake: FakeDaemon, repository: Path) -> None:
    fake.routes["POST /mcp"] = (413, {"error": {"code": "too_large", "message": "the body is too large"}})

    with agent() as it:
        assert it.ask("tools/call")["message"] == "the body is too large"
        fake.routes["POST /mcp"] = answer
        assert it.ask("ping") == {"method": "ping"}


def test_concurrent_requests_to_daemon_are_bounded(fake: FakeDaemon, repository: Path) -> None:
    asked, most, lock = 0, 0, threading.Lock()

    def slowly(message: Any) -> tuple[int, Any]:
        nonlocal asked, most
        with lock:
            asked += 1
            most = max(most, asked)
        time.sleep(0.01)
        with lock:
            asked -= 1
        return answer(message)

    fake.routes["POST /mcp"] = slowly
    with agent() as it:
        for number in range(200):
            it.send({"jsonrpc": "2.0", "id": number, "method": "ping"})
        answers = [it.read() for _ in range(200)]

    assert {one["id"] for one in answers} == set(range(200))
    assert 1 < most <= 4
