"""`hunch agent-hook AGENT`: an agent's hooks call it; it tells the daemon what happens and the agent what to know.

It never starts anything it waits for, never fails and never holds an agent up: what the daemon has not answered within
a tenth of a second is left out. A file's context is given once in a session.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hunchd.cli.agents.events import Event, answer, understood
from hunchd.cli.client import Client
from hunchd.cli.errors import NoDaemon, Refused
from hunchd.config.places import make_private, places
from hunchd.domain.errors import HunchError
from hunchd.protocol.rendezvous import Rendezvous, is_alive, read
from hunchd.repository.layout import find

if TYPE_CHECKING:
    from argparse import Namespace

# Seconds for all questions together. On a machine where that is too little, a user may give more.
PATIENCE: Final = 0.08
_PATIENCE_VARIABLE: Final = "HUNCH_HOOK_PATIENCE"
_SENT: Final = 0.02  # seconds that a signal is given to reach the daemon when there are none left: 0.1 in all
# Tokens of what is given unasked: little beside an agent's window, and most for what it is about to change.
_BUDGETS: Final = {"began": 1500, "checked_out": 800, "opens": 400, "edits": 1200, "failed": 900}
# Conventions (tier 3) are worth a place at the start of a session; later only what is about the matter.
_ANYTHING: Final = 3
_RELEVANT: Final = 2
_MOST: Final = 24  # contexts given in one session
_STALE: Final = 3 * 86_400  # seconds after which a session's note of what it was given is swept away


def agent_hook(arguments: Namespace) -> int:
    return answer_hook(arguments.agent)


def answer_hook(agent: str) -> int:
    """Always 0: an agent must not stop because of us."""
    event, context = None, ""
    try:
        event = understood(agent, json.loads(sys.stdin.buffer.read() or b"null"))
        if event is not None:
            context = _answered(event)
    except (OSError, ValueError, HunchError) as error:
        if os.environ.get("HUNCH_DEBUG"):
            print(f"hunch: {error}", file=sys.stderr)
    if printed := answer(agent, event, context):
        print(printed)
    return 0


def _answered(event: Event) -> str:
    layout = find(Path(event.folder or "."))
    if layout is None or layout.trouble:
        return ""
    root = str(layout.root)
    daemon = read(places().rendezvous_file)
    if daemon is None or not is_alive(daemon.pid):
        if event.kind == "began":
            _start_daemon()
        return ""
    return _told_and_asked(event, root, Asking(daemon), Session(event.session))


def _told_and_asked(event: Event, root: str, asking: Asking, session: Session) -> str:
    """The context is asked for first: it is what the agent waits for, and the signal has been sent when it is on its
    way."""
    signal: dict[str, Any] | None = None
    try:
        match event.kind:
            case "began":
                signal = {"kind": "session_started", "session": event.session or None}
                session.sweep()
                return session.once("project", lambda: asking.context(root, _BUDGETS["began"], least=_ANYTHING))
            case "checked_out":
                return session.once(event.command, lambda: asking.context(root, _BUDGETS["checked_out"]))
            case "opens" | "edits":
                path = os.path.relpath(os.path.join(event.folder, event.path), root)  # noqa: PTH118
                if path.startswith(".."):
                    return ""
                signal = {"kind": "file_opened", "path": path}
                budget = _BUDGETS[event.kind]
                return session.once(f"{event.kind} {path}", lambda: asking.context(root, budget, file=path))
            case "failed":
                signal = {"kind": "error", "text": event.text, "command": event.command or None}
                return session.once(event.text[-200:], lambda: asking.about_error(root, event.text))
            case "paused":
                asking.hear(root, event)
            case "ended":
                signal = {"kind": "session_ended", "session": event.session or None}
                session.end()
    finally:
        if signal is not None:
            asking.tell(root, signal)
    return ""


class Asking:
    """Questions to the daemon that share one patience."""

    def __init__(self, daemon: Rendezvous) -> None:
        self._daemon = daemon
        self._until = time.monotonic() + _patience()

    def _client(self, *, at_least: float = 0.0) -> Client:
        left = max(self._until - time.monotonic(), at_least)
        if left <= 0:
            raise TimeoutError("the daemon did not answer in time")
        return Client(self._daemon, timeout=left)

    def tell(self, root: str, signal: Mapping[str, Any]) -> None:
        """Send a signal. Once it is sent the daemon has it, whether there is time for its answer or not."""
        said = {name: value for name, value in signal.items() if value is not None}
        try:
            self._client(at_least=_SENT).post("/signals", {"signals": [{**said, "project": root, "source": "agent"}]})
        except NoDaemon:
            return

    def context(self, root: str, budget: int, *, file: str | None = None, least: int = _RELEVANT) -> str:
        """The bundle's text. A project that is not known is added, for the next time."""
        try:
            bundle = self._client().get("/context", project=root, file=file, budget=budget)
        except Refused as refused:
            if refused.status != 404:
                raise
            self._client(at_least=_SENT).post("/projects", {"path": root})
            return ""
        return _worth_telling(bundle, least)

    def about_error(self, root: str, text: str) -> str:
        signals = {"recent_errors": [{"text": text}], "activity": "debugging"}
        body = {"project": root, "budget": _BUDGETS["failed"], "signals": signals}
        return _worth_telling(self._client().post("/context/assemble", body), _RELEVANT)

    def hear(self, root: str, event: Event) -> None:
        """Keep the agent's last words; what was decided is found in them when the session ends."""
        if event.session and event.text.strip():
            message = {"role": "assistant", "content": event.text}
            try:
                self._client().post(
                    f"/sessions/{_safe(event.session)}/messages", {"messages": [message], "project": root}
                )
            except Refused:
                return  # a daemon without sessions


def _patience() -> float:
    try:
        return float(os.environ.get(_PATIENCE_VARIABLE, PATIENCE))
    except ValueError:
        return PATIENCE


def _worth_telling(bundle: Any, least: int) -> str:
    """The text, if something in it is of a tier up to `least`."""
    if bundle["status"] == "empty" or not any(item["tier"] <= least for item in bundle["items"]):
        return ""
    return str(bundle["context"]).strip()


class Session:
    """What was given in one session, so that nothing is given twice; without a name everything is given."""

    def __init__(self, name: str) -> None:
        self._folder = places().runtime / "agents"
        self._note = self._folder / _safe(name) if name else None

    def once(self, what: str, given: Any) -> str:
        """What `given()` says, the first time; nothing afterwards."""
        told = self._told()
        line = " ".join(what.split())
        if line in told or len(told) >= _MOST:
            return ""
        context = str(given())
        if context and self._note is not None:
            make_private(self._folder)
            descriptor = os.open(self._note, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "a", encoding="utf-8", errors="replace") as note:
                note.write(line + "\n")
        return context

    def end(self) -> None:
        if self._note is not None:
            self._note.unlink(missing_ok=True)

    def sweep(self) -> None:
        """A session that begins has been given nothing; notes of sessions that never ended go."""
        self.end()
        if self._folder.is_dir():
            for note in self._folder.iterdir():
                if time.time() - note.stat().st_mtime > _STALE:
                    note.unlink(missing_ok=True)

    def _told(self) -> list[str]:
        if self._note is None or not self._note.exists():
            return []
        return self._note.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]


def _safe(name: str) -> str:
    """A session's name as the name of a file, and as a part of an address."""
    return "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "-" for each in name)[:100]


def _start_daemon() -> None:
    """Have it started, without waiting for it: the next question finds it."""
    if not hasattr(os, "posix_spawn"):
        return
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123
        ends = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), end) for end in (0, 1, 2)]
        os.posix_spawn(sys.executable, [sys.executable, "-m", "hunchd.cli", "start"], os.environ, file_actions=ends)
