"""`hunch mcp`: the Model Context Protocol over standard input and output.

It is meant for agents that start their own servers. Each line of input is sent to POST /mcp of the daemon, which is
started if necessary and may be restarted while an agent is connected; each answer is a line of output. The official SDK
would take a second to import and 55 MB in each agent's session (see docs/decisions/0011-mcp-without-its-sdk.md).
"""

from __future__ import annotations

import json
import os
import sys
import threading
from argparse import Namespace
from typing import Any, BinaryIO, Final
from urllib.parse import urlencode

from hunchd.cli.client import Client
from hunchd.cli.daemon_control import connect
from hunchd.cli.errors import NoDaemon, RequestRejected, WrongUsage
from hunchd.domain.errors import HunchError

# After end of input, a pending response is still sent for this long.
_SHUTDOWN_SECONDS: Final = 10.0  # seconds
# Maximum of concurrent requests to the daemon, which also limits the requests from all its clients together.
_MAX_CONCURRENT_REQUESTS: Final = 4
# Environment variable with the project's folder, set by agents that start servers in a different folder.
_PROJECT_VARIABLE: Final = "CLAUDE_PROJECT_DIR"
_INTERNAL_ERROR: Final = -32603  # of JSON-RPC


def serve(arguments: Namespace) -> int:
    """Answer requests from the agent until standard input ends."""
    folder = os.path.realpath(arguments.project or os.environ.get(_PROJECT_VARIABLE) or ".")
    if not os.path.isdir(folder):  # noqa: PTH112 - pathlib is not loaded here
        raise WrongUsage(f"no such folder: {folder!r}.")
    # Stray output must not mix with the messages, so it goes to standard error.
    output, sys.stdout = sys.stdout.buffer, sys.stderr
    MessagePump(folder, output, start=not arguments.no_start).run(sys.stdin.buffer)
    return 0


class MessagePump:
    """Pump that forwards the lines of standard input to the daemon.

    Each line is sent by its own thread, so that pings are answered while a request waits.
    """

    def __init__(self, folder: str, output: BinaryIO, *, start: bool) -> None:
        self._folder = folder
        self._output = output
        self._start = start
        self._client: Client | None = None
        self._write_lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_MAX_CONCURRENT_REQUESTS)

    def run(self, messages: BinaryIO) -> None:
        for line in messages:
            if line.strip():
                self._slots.acquire()
                threading.Thread(target=self._forward, args=(line,), daemon=True).start()
        all(self._slots.acquire(timeout=_SHUTDOWN_SECONDS) for _ in range(_MAX_CONCURRENT_REQUESTS))

    def _forward(self, line: bytes) -> None:
        try:
            # A key lets the daemon recognise a request that is sent again.
            query = urlencode({"folder": os.fsencode(self._folder), "key": os.urandom(8).hex()})
            answer = self._send(f"/mcp?{query}", line)
        except RequestRejected as rejection:
            answer = _build_error(line, str(rejection))
        except (HunchError, OSError) as error:
            answer = _build_error(line, f"hunchd is unavailable: {error} Continue without it, nothing depends on it.")
        if answer is not None:
            self._write(answer)
        self._slots.release()

    def _send(self, target: str, line: bytes) -> Any:
        """Send a line to the daemon and return its answer; if the daemon has ended, connect to the next one."""
        if (client := self._client) is not None:
            try:
                return client.upload(target, line, kind="application/json")
            except NoDaemon:
                pass
        self._client = client = connect(start=self._start)
        return client.upload(target, line, kind="application/json")

    def _write(self, answer: Any) -> None:
        line = json.dumps(answer, separators=(",", ":")).encode("ascii") + b"\n"
        with self._write_lock:
            try:
                self._output.write(line)
                self._output.flush()
            except (BrokenPipeError, ValueError):
                os._exit(0)  # the agent has gone, but the main thread would keep reading


def _build_error(line: bytes, message: str) -> Any:
    """Build the error response to a message that did not reach the daemon, or None if it wants no response."""
    try:
        identifier = json.loads(line)["id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return {"jsonrpc": "2.0", "id": identifier, "error": {"code": _INTERNAL_ERROR, "message": message}}
