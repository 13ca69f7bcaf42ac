"""`hunch mcp`: the Model Context Protocol over standard input and output.

It is for agents that start their servers. It answers static requests at once and forwards the others to the daemon,
which is started if there is none and may be restarted meanwhile. The official SDK would take a second to import and
55 MB in each agent's session: docs/decisions/0011-mcp-without-its-sdk.md.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from hunchd.cli.errors import NoDaemon, Refused, WrongUsage
from hunchd.domain.errors import HunchError
from hunchd.protocol.mcp import wire
from hunchd.protocol.mcp.asking import Answer, Ask, Conversation, Pause, Trouble
from hunchd.protocol.mcp.focus import Focus

# The client and the repository search are imported with the first call: an agent starts its servers and waits for
# their list of tools long before it calls one.
if TYPE_CHECKING:
    from hunchd.cli.client import Client

# After end of input, pending responses are still sent for this long.
_LAST_ANSWERS: Final = 10.0  # seconds
# Concurrent requests to the daemon, which bounds the requests of all its clients.
_AT_ONCE: Final = 4
# The project's folder, set by agents that start servers in another folder.
_PLACE_VARIABLE: Final = "CLAUDE_PROJECT_DIR"


def serve(arguments: Namespace) -> int:
    """Serve until standard input ends."""
    place = os.path.realpath(arguments.project or os.environ.get(_PLACE_VARIABLE) or ".")
    if not os.path.isdir(place):  # noqa: PTH112 - pathlib is not loaded here
        raise WrongUsage(f"no such folder: {place!r}.")
    # Stray output must not mix with the messages, so it goes to standard error.
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    server = StdioServer(Focus(place, root_of), Daemon(start=not arguments.no_start), answers)
    server.read(sys.stdin.buffer)
    return 0


def root_of(path: str) -> str | None:
    """Return the root of the repository that contains a path."""
    from pathlib import Path

    from hunchd.repository.layout import find

    layout = find(Path(path))
    return str(layout.root) if layout is not None and not layout.trouble else None


class Daemon:
    """Driver of conversations, with whichever daemon runs at the moment."""

    def __init__(self, *, start: bool) -> None:
        self._start = start
        self._client: Client | None = None

    def hold(self, conversation: Conversation[Answer]) -> Answer:
        """Drive the conversation to its result.

        Blocks; several threads may drive one each.
        """
        step: Ask | Pause
        try:
            step = next(conversation)
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = conversation.send(None)
                    continue
                try:
                    told = self.ask(step)
                except Trouble as trouble:
                    step = conversation.throw(trouble)
                else:
                    step = conversation.send(told)
        except StopIteration as done:
            outcome: Answer = done.value
            return outcome

    def ask(self, ask: Ask) -> Any:
        """Return the daemon's response.

        Reconnect once if the daemon is gone or has another token.
        """
        known = self._client
        if known is not None:
            try:
                return _sent(known, ask)
            except NoDaemon:
                self._client = None
            except Refused as refused:
                if refused.status != 401:
                    raise _trouble(refused) from refused
                self._client = None
        from hunchd.cli.launching import connect

        try:
            self._client = client = connect(start=self._start)
            return _sent(client, ask)
        except Refused as refused:
            raise _trouble(refused) from refused
        except (HunchError, OSError) as error:
            raise Trouble(
                f"hunchd is unavailable: {error}",
                hint="continue without it, nothing else depends on it; `hunch doctor` shows the user the cause",
            ) from error


def _sent(client: Client, ask: Ask) -> Any:
    return client.get(ask.path) if ask.body is None else client.post(ask.path, ask.body)


def _trouble(refused: Refused) -> Trouble:
    return Trouble(refused.message, hint=refused.hint, status=refused.status)


class StdioServer:
    """Server that reads one message per line.

    Each request that may have to wait gets a thread, so that pings are answered meanwhile; a cancelled one is not
    answered.
    """

    def __init__(self, focus: Focus, daemon: Daemon, answers: BinaryIO) -> None:
        self._focus = focus
        self._daemon = daemon
        self._answers = answers
        self._writing = threading.Lock()
        self._slots = threading.BoundedSemaphore(_AT_ONCE)
        self._running: dict[str, threading.Thread] = {}

    def read(self, messages: BinaryIO) -> None:
        for line in messages:
            if line.strip():
                self._take(line)
        deadline = time.monotonic() + _LAST_ANSWERS
        for thread in list(self._running.values()):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._write(wire.error(None, wire.Refusal(wire.PARSE_ERROR, "a line is one message in JSON")))
            return
        if wire.is_request(message):
            self._begin(message)
        elif wire.is_notification(message):
            if message["method"] == "notifications/cancelled":
                self._running.pop(_key(message.get("params", {}).get("requestId")), None)
        elif not (isinstance(message, dict) and ("result" in message or "error" in message)):
            refusal = wire.Refusal(wire.INVALID_REQUEST, "a message is one JSON-RPC 2.0 request or notification")
            self._write(wire.error(message.get("id") if isinstance(message, dict) else None, refusal))

    def _begin(self, request: dict[str, Any]) -> None:
        """Start a request.

        Answer at once, in order, if it needs no daemon.
        """
        conversation = wire.answer(request, self._focus, stateless=wire.is_stateless(request))
        key = _key(request["id"])
        if request["method"] not in wire.ASKS_DAEMON:
            self._write(self._daemon.hold(conversation))
            return
        thread = threading.Thread(target=self._finish, args=(request["id"], conversation), daemon=True)
        self._running[key] = thread
        thread.start()

    def _finish(self, identifier: Any, conversation: Conversation[dict[str, Any]]) -> None:
        try:
            with self._slots:
                response = self._daemon.hold(conversation)
        except Exception:  # a bug must not leave the agent without a response
            import logging  # its import takes a tenth of each start

            logging.getLogger(__name__).exception("a request to hunch mcp failed")
            response = wire.error(identifier, wire.Refusal(wire.INTERNAL_ERROR, "internal error in hunchd"))
        key = _key(identifier)
        if self._running.get(key) is threading.current_thread():  # otherwise it was cancelled
            self._write(response)
            self._running.pop(key, None)

    def _write(self, response: dict[str, Any]) -> None:
        line = json.dumps(response, separators=(",", ":")).encode("ascii") + b"\n"
        with self._writing:
            try:
                self._answers.write(line)
                self._answers.flush()
            except (BrokenPipeError, ValueError):
                os._exit(0)  # the reader has gone, and the main thread would keep reading


def _key(identifier: Any) -> str:
    """Return a key that distinguishes the ids 1 and "1"."""
    return repr(identifier)
