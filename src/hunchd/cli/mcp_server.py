"""`hunch mcp`: the Model Context Protocol over standard input and output.

It is meant for agents that start their own servers. Static requests are answered at once; the others are forwarded to
the daemon, which is started if necessary and may be restarted while an agent is connected. The official SDK would take
a second to import and 55 MB in each agent's session (see docs/decisions/0011-mcp-without-its-sdk.md).
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from hunchd.cli.errors import NoDaemon, RequestRejected, WrongUsage
from hunchd.domain.errors import HunchError
from hunchd.domain.json_values import JsonObject
from hunchd.protocol.mcp import jsonrpc
from hunchd.protocol.mcp.effects import Conversation, DaemonRequest, Pause, RequestFailed, Result
from hunchd.protocol.mcp.project_resolver import ProjectResolver

# The client and the repository search are imported with the first call: an agent starts its servers and waits for
# their list of tools long before it calls one.
if TYPE_CHECKING:
    from hunchd.cli.client import Client

# After end of input, pending responses are still sent for this long.
_SHUTDOWN_SECONDS: Final = 10.0  # seconds
# Maximum of concurrent requests to the daemon, which also limits the requests from all its clients together.
_MAX_CONCURRENT_REQUESTS: Final = 4
# Environment variable with the project's folder, set by agents that start servers in a different folder.
_PROJECT_VARIABLE: Final = "CLAUDE_PROJECT_DIR"


def serve(arguments: Namespace) -> int:
    """Answer requests from the agent until standard input ends."""
    folder = os.path.realpath(arguments.project or os.environ.get(_PROJECT_VARIABLE) or ".")
    if not os.path.isdir(folder):  # noqa: PTH112 - pathlib is not loaded here
        raise WrongUsage(f"no such folder: {folder!r}.")
    # Stray output must not mix with the messages, so it goes to standard error.
    output, sys.stdout = sys.stdout.buffer, sys.stderr
    server = StdioServer(ProjectResolver(folder, find_root), ConversationDriver(start=not arguments.no_start), output)
    server.serve(sys.stdin.buffer)
    return 0


def find_root(path: str) -> str | None:
    from hunchd.repository import layout

    return layout.find_root(path)


class ConversationDriver:
    """Driver that sends the requests of a conversation to the running daemon.

    A conversation is a generator: it yields the requests that it needs, and returns the response for the agent. If the
    daemon has been replaced, the driver connects to the new one.
    """

    def __init__(self, *, start: bool) -> None:
        self._start = start
        self._client: Client | None = None

    def drive(self, conversation: Conversation[Result]) -> Result:
        """Run the conversation to its end and return its result.

        This call blocks. Several threads may call it at the same time, each for its own conversation.
        """
        step: DaemonRequest | Pause
        try:
            step = next(conversation)
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = conversation.send(None)
                    continue
                try:
                    result = self.send(step)
                except RequestFailed as trouble:
                    step = conversation.throw(trouble)
                else:
                    step = conversation.send(result)
        except StopIteration as stop:
            outcome: Result = stop.value
            return outcome

    def send(self, request: DaemonRequest) -> Any:
        """Send a request to the daemon and return the response.

        Reconnects once if the daemon has ended or its token has changed. Raises RequestFailed if the daemon rejects
        the request or cannot be reached.
        """
        client_before = self._client
        if client_before is not None:
            try:
                return _send_request(client_before, request)
            except NoDaemon:
                self._client = None
            except RequestRejected as rejection:
                if rejection.status != 401:
                    raise _to_request_failed(rejection) from rejection
                self._client = None
        from hunchd.cli.daemon_control import connect

        try:
            self._client = client = connect(start=self._start)
            return _send_request(client, request)
        except RequestRejected as rejection:
            raise _to_request_failed(rejection) from rejection
        except (HunchError, OSError) as error:
            raise RequestFailed(
                f"hunchd is unavailable: {error}",
                hint="continue without it: nothing else depends on it; `hunch doctor` shows the user the cause",
            ) from error


def _send_request(client: Client, request: DaemonRequest) -> Any:
    return client.get(request.path) if request.body is None else client.post(request.path, request.body)


def _to_request_failed(rejection: RequestRejected) -> RequestFailed:
    return RequestFailed(rejection.message, hint=rejection.hint, status=rejection.status)


class StdioServer:
    """Server that reads JSON-RPC messages from standard input, line by line.

    Each request that may have to wait gets its own thread, so that pings are answered in the meantime. A request that
    the agent cancels is not answered.
    """

    def __init__(self, resolver: ProjectResolver, driver: ConversationDriver, output: BinaryIO) -> None:
        self._resolver = resolver
        self._driver = driver
        self._output = output
        self._write_lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_MAX_CONCURRENT_REQUESTS)
        self._threads: dict[str, threading.Thread] = {}

    def serve(self, messages: BinaryIO) -> None:
        for line in messages:
            if line.strip():
                self._handle_line(line)
        deadline = time.monotonic() + _SHUTDOWN_SECONDS
        for thread in list(self._threads.values()):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _handle_line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._write_response(
                jsonrpc.error_response(
                    None, jsonrpc.JsonRpcError(jsonrpc.PARSE_ERROR, "each line must be one JSON message")
                )
            )
            return
        if jsonrpc.is_request(message):
            self._start_request(message)
        elif jsonrpc.is_notification(message):
            if message["method"] == "notifications/cancelled":
                self._threads.pop(_request_key(message.get("params", {}).get("requestId")), None)
        elif not (isinstance(message, dict) and ("result" in message or "error" in message)):
            refusal = jsonrpc.JsonRpcError(
                jsonrpc.INVALID_REQUEST, "a message must be one JSON-RPC 2.0 request or notification"
            )
            self._write_response(
                jsonrpc.error_response(message.get("id") if isinstance(message, dict) else None, refusal)
            )

    def _start_request(self, request: JsonObject) -> None:
        """Start processing a request.

        Requests that do not need the daemon are answered at once, in the order in which they arrive.
        """
        conversation = jsonrpc.answer_request(request, self._resolver, stateless=jsonrpc.is_stateless(request))
        key = _request_key(request["id"])
        if request["method"] not in jsonrpc.DAEMON_METHODS:
            self._write_response(self._driver.drive(conversation))
            return
        thread = threading.Thread(target=self._finish_request, args=(request["id"], conversation), daemon=True)
        self._threads[key] = thread
        thread.start()

    def _finish_request(self, identifier: Any, conversation: Conversation[JsonObject]) -> None:
        try:
            with self._slots:
                response = self._driver.drive(conversation)
        except Exception:  # a bug must not leave the agent without a response
            import logging  # its import takes a tenth of each start

            logging.getLogger(__name__).exception("a request to hunch mcp failed")
            response = jsonrpc.error_response(
                identifier, jsonrpc.JsonRpcError(jsonrpc.INTERNAL_ERROR, "internal error in hunchd")
            )
        key = _request_key(identifier)
        if self._threads.get(key) is threading.current_thread():  # otherwise it was cancelled
            self._write_response(response)
            self._threads.pop(key, None)

    def _write_response(self, response: JsonObject) -> None:
        line = json.dumps(response, separators=(",", ":")).encode("ascii") + b"\n"
        with self._write_lock:
            try:
                self._output.write(line)
                self._output.flush()
            except (BrokenPipeError, ValueError):
                os._exit(0)  # the agent has gone, but the main thread would keep reading


def _request_key(identifier: Any) -> str:
    """Return a key for a JSON-RPC request, from its id.

    The ids 1 and "1" have different keys.
    """
    return repr(identifier)
