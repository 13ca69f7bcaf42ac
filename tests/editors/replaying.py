"""Fake daemon that answers from transcripts and records unknown requests."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from hunchd import PROTOCOL
from hunchd.config.app_paths import ensure_private_folder, resolve_app_paths
from hunchd.protocol import rendezvous
from hunchd.protocol.rendezvous import Rendezvous
from tests.editors.transcripts import Exchange, fill_template, make_context_exchange, matches, transcript

VALUES = {"decision": "m-decision", "etag": "e-tag"}


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    given: Any  # the query of a GET, else the body
    if_none_match: str | None
    authorised: bool


@dataclass
class Replay:
    """Answers of the fake daemon.

    Each request gets the first recorded exchange of its kind that was not used yet, or the last one again. Answers
    that were
    recorded after a deletion are only given after it. A client with the current ETag gets 304. Signals may arrive
    in other
    batches than they were recorded in.
    """

    project: Path
    token: str = "t" * 43
    exchanges: list[Exchange] = field(default_factory=list)
    signals: list[dict[str, Any]] = field(default_factory=list)  # in order of arrival
    requests: list[Request] = field(default_factory=list)
    unexpected: list[Request] = field(default_factory=list)  # requests without a recorded exchange
    url: str = ""
    _served: set[int] = field(default_factory=set)
    _told: int = 0  # number of recorded signals received
    _late: list[dict[str, Any]] = field(default_factory=list)  # of the previous transcript, not received yet
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def load(self, *names: str, others: Sequence[str] = ()) -> None:
        """Answer from these transcripts from now on.

        `others` are files whose context is requested too when they are opened: they get that of the transcript "open".
        """
        self._late = [signal for signal, _ in self._recorded_signals()[self._told :]]
        self.exchanges = [exchange for name in names for exchange in transcript(name).exchanges]
        self.exchanges += [make_context_exchange(file) for file in others]
        self._served, self._told = set(), 0
        self.signals, self.requests, self.unexpected = [], [], []

    @property
    def values(self) -> dict[str, str]:
        return VALUES | {"project": str(self.project)}

    def kinds(self) -> list[str]:
        return [signal["kind"] for signal in list(self.signals)]

    def times(self, method: str, path: str) -> int:
        return sum((each.method, each.path) == (method, path) for each in list(self.requests))

    def publish(self) -> None:
        """Write the rendezvous file, like a daemon that has just started."""
        where = resolve_app_paths()
        ensure_private_folder(where.runtime)
        told = Rendezvous(PROTOCOL, self.url, None, self.token, os.getpid(), "0.1.0")
        rendezvous.write_rendezvous(where.rendezvous_file, told)

    def answer(self, request: Request) -> tuple[int, Any]:
        with self._lock:
            self.requests.append(request)
            if not request.authorised and request.path != "/health":
                refused = transcript("stale-token").exchanges[0]
                return refused.status, refused.answer
            found = self._answer_signals(request) if request.path == "/signals" else self._find_answer(request)
            if found is None:
                self.unexpected.append(request)
                return 400, {"error": {"code": "stranger", "message": f"no transcript has {request}"}}
            return found

    def _find_answer(self, request: Request) -> tuple[int, Any] | None:
        begin, end = self._between_deletions()
        matching = [index for index, each in enumerate(self.exchanges) if index <= end and self._agrees(request, each)]
        matching = [index for index in matching if index >= begin] or matching
        if not matching:
            return None
        index = next((each for each in matching if each not in self._served), matching[-1])
        self._served.add(index)
        exchange = self.exchanges[index]
        answer = fill_template(exchange.answer, self.values)
        if exchange.status == 200 and request.if_none_match == f'"{_etag(answer)}"':
            return 304, None
        return exchange.status, answer

    def _between_deletions(self) -> tuple[int, int]:
        """Return the positions of the last requested deletion and of the next one.

        Where there is none, it is the start or the end.
        """
        places = [index for index, each in enumerate(self.exchanges) if each.method == "DELETE"]
        waiting = [index for index in places if index not in self._served]
        return max(self._served.intersection(places), default=0), min(waiting, default=len(self.exchanges))

    def _agrees(self, request: Request, exchange: Exchange) -> bool:
        recorded = exchange.query if request.method == "GET" else exchange.body
        return (
            exchange.token is None
            and exchange.if_none_match is None
            and (request.method, request.path) == (exchange.method, fill_template(exchange.path, self.values))
            and matches(request.given or None, fill_template(recorded, self.values) or None)
        )

    def _answer_signals(self, request: Request) -> tuple[int, Any] | None:
        """Answer each signal like the recorded one; they arrive in the recorded order."""
        recorded = self._recorded_signals()
        rejected = []
        for index, signal in enumerate(request.given["signals"]):
            if self._told >= len(recorded) or not matches(signal, recorded[self._told][0]):
                if any(matches(signal, late) for late in self._late):  # a slow editor
                    continue
                return None
            refusal = recorded[self._told][1]
            self._told += 1
            self.signals.append(signal)
            if refusal is not None:
                rejected.append(refusal | {"index": index})
        return 202, {"accepted": len(request.given["signals"]) - len(rejected), "rejected": rejected}

    def _recorded_signals(self) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Return all recorded signals with their rejections."""
        return [
            (signal, next((each for each in answer["rejected"] if each["index"] == index), None))
            for exchange in self.exchanges
            if exchange.path == "/signals"
            for answer in [fill_template(exchange.answer, self.values)]
            for index, signal in enumerate(fill_template(exchange.body, self.values)["signals"])
        ]


def _etag(answer: Any) -> Any:
    return answer.get("etag") if isinstance(answer, dict) else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    replay: Replay


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a failing test prints enough."""

    def _any(self) -> None:
        replay = self.server.replay
        address = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        status, answer = replay.answer(
            Request(
                self.command,
                unquote(address.path),
                dict(parse_qsl(address.query)) if self.command == "GET" else body,
                self.headers["If-None-Match"],
                self.headers["Authorization"] == f"Bearer {replay.token}",
            )
        )
        content = b"" if answer is None else json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = _any


@contextmanager
def replaying(project: Path) -> Iterator[Replay]:
    """Serve a replay and publish its rendezvous file until the block ends."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.replay = Replay(project, url=f"http://127.0.0.1:{server.server_port}")
    server.replay.publish()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.replay
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
