"""POST /agents/{id}/events: takes the payload of an agent's hook.

The response is what the hook prints. The hook waits less than a tenth of a second, and a little longer at the start
of a session. So the response is sent first, and the event is processed afterwards.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from hunchd.domain.context import Bundle
from hunchd.domain.errors import HunchError, NotFound
from hunchd.domain.signal import BY_AGENT
from hunchd.protocol.agents import AGENTS, Event, answer, understood
from hunchd.protocol.decoding import without_lone_surrogates
from hunchd.protocol.requests import context_of_body
from hunchd.protocol.sessions import append_of_body
from hunchd.repository.layout import find
from hunchd.serving import answering
from hunchd.serving.asking import Asked

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# Tokens of unsolicited context: small against an agent's window; edits get the most after the session start.
_BUDGETS: Final = {"began": 1500, "checked_out": 800, "opens": 400, "edits": 1200, "failed": 900}
# Largest tier sent: conventions (tier 3) only at the start of a session, later only directly relevant items.
_ANYTHING: Final = 3
_RELEVANT: Final = 2
_MOST: Final = 24  # contexts per session
_SESSIONS: Final = 64  # sessions remembered; an older one may get repetitions
_FAILED: Final = 256  # failed commands remembered
_LONGEST: Final = 200  # characters of a key
# Seconds, of the 0.06 and 0.4 that a hook waits: later responses may not have been received.
_IN_TIME: Final = 0.05
_IN_TIME_AT_THE_BEGINNING: Final = 0.35


@dataclass(slots=True)
class _Given:
    """Context that a session was given.

    Holds subjects, and ids and titles of items with the file they were listed for.
    """

    subjects: set[str] = field(default_factory=set)
    items: set[tuple[str, str, str]] = field(default_factory=set)
    times: int = 0  # in total, including late responses

    def told(self, file: str) -> frozenset[tuple[str, str]]:
        """Return the items that need not be repeated at `file`.

        A related file is relevant per file, so one listed for another file does not count.
        """
        return frozenset((identifier, title) for identifier, title, place in self.items if place in ("", file))

    def add(self, subject: str, bundle: Bundle, file: str) -> None:
        """Record the items of a bundle that was sent."""
        self.subjects.add(subject)
        self.items |= {(item.id, item.title, file or "." if item.kind == "file" else "") for item in bundle.items}


class AgentDoors:
    """Handlers for hook events of agents.

    `body` reads the JSON of a request within the limits.
    """

    def __init__(self, engine: Asked, body: Callable[[web.Request], Awaitable[Any]]) -> None:
        self._engine = engine
        self._body = body
        self._given: OrderedDict[str, _Given] = OrderedDict()  # by session
        self._failed: OrderedDict[tuple[str, str], None] = OrderedDict()  # root and command, until it passes

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [("POST", "/agents/{id}/events", self.events)]

    async def events(self, request: web.Request) -> web.StreamResponse:
        began = time.monotonic()
        agent = request.match_info["id"]
        if agent not in AGENTS:
            raise NotFound(f"unknown agent {agent[:40]!a}", hint=f"supported agents: {', '.join(AGENTS)}")
        event = understood(agent, without_lone_surrogates(await self._body(request)))
        root = _root_of(event.folder) if event is not None else None
        if event is None or root is None:
            return await _answered(request, answer(agent, event, ""))
        bundle = await self._bundle(event, root)
        response = await _answered(request, answer(agent, event, bundle.context.strip() if bundle else ""))
        is_there = request.transport is not None and not request.transport.is_closing()
        if bundle is not None and is_there:
            given = self._known(event)
            given.times += 1
            if time.monotonic() - began < (_IN_TIME_AT_THE_BEGINNING if event.kind == "began" else _IN_TIME):
                given.add(_subject(event, root), bundle, _file(event, root))
        await self._follow(event, root)
        return response

    async def _bundle(self, event: Event, root: str) -> Bundle | None:
        """Return the context worth sending now, once per session.

        Returns None for an unknown project.
        """
        if event.kind == "began":
            self._given.pop(event.session, None)
        signals = _asked(event, root)
        given = self._known(event)
        if signals is None or _subject(event, root) in given.subjects or given.times >= _MOST:
            return None
        body = {"project": root, "budget": _BUDGETS[event.kind], "signals": signals}
        try:
            asked = replace(context_of_body(body), told=given.told(_file(event, root)))
            bundle = await self._engine.context(asked)
        except NotFound:
            return None
        return bundle if _is_worth_telling(bundle, _ANYTHING if event.kind == "began" else _RELEVANT) else None

    def _known(self, event: Event) -> _Given:
        """Return what this session was given.

        An empty record for a session without a name.
        """
        if not event.session:
            return _Given()
        given = self._given.setdefault(event.session[:_LONGEST], _Given())
        self._given.move_to_end(event.session[:_LONGEST])
        if len(self._given) > _SESSIONS:
            self._given.popitem(last=False)
        return given

    async def _follow(self, event: Event, root: str) -> None:
        """Store the signal of the event.

        Register an unknown project, for the next time.
        """
        if event.kind == "paused":
            if event.session and event.text.strip():
                message = {"messages": [{"role": "assistant", "content": event.text}], "project": root}
                await self._heard(_safe(event.session), message)
            return
        if event.kind == "ended":
            self._given.pop(event.session[:_LONGEST], None)
        signal = _signal(event, root) if event.kind != "passed" or (root, event.command) in self._failed else None
        self._notice(event, root)
        if signal is not None:
            accepted = await self._engine.accept_signals([signal | {"project": root, "source": BY_AGENT}])
            if any(one["error"]["code"] == NotFound.code for one in accepted["rejected"]):
                await self._engine.add_project(root)

    def _notice(self, event: Event, root: str) -> None:
        """Remember failed commands until they pass; other passing commands are not reported."""
        if event.kind in ("failed", "passed"):
            self._failed.pop((root, event.command), None)
        if event.kind == "failed":
            self._failed[root, event.command] = None
            if len(self._failed) > _FAILED:
                self._failed.popitem(last=False)

    async def _heard(self, session: str, message: dict[str, Any]) -> None:
        try:
            await self._engine.conversations.append(session, append_of_body(message))
        except NotFound:
            await self._engine.add_project(str(message["project"]))


async def _answered(request: web.Request, text: str) -> web.StreamResponse:
    """Send the complete response.

    A hook that has already gone is not an error.
    """
    response = answering.answer(text.encode("utf-8", "replace"), type_="text/plain; charset=utf-8")
    with suppress(ConnectionError):
        await response.prepare(request)
        await response.write_eof()
    return response


def _asked(event: Event, root: str) -> dict[str, Any] | None:
    """Return the focus signals of an event, or None."""
    match event.kind:
        case "began" | "checked_out":
            return {}
        case "opens" | "edits":
            path = _inside(event, root)
            return {"current_file": path} if path is not None else None
        case "failed":
            return {"recent_errors": [{"text": event.text}], "activity": "debugging"}
    return None


def _subject(event: Event, root: str) -> str:
    """Return the subject of a context, which is sent once per session."""
    match event.kind:
        case "opens" | "edits":
            return f"{event.kind} {_inside(event, root)}"[:_LONGEST]
        case "failed":
            return f"failed {event.text[-_LONGEST:]}"
    return f"{event.kind} {event.command}"[:_LONGEST]


def _signal(event: Event, root: str) -> dict[str, Any] | None:
    told: dict[str, Any]
    match event.kind:
        case "began":
            told = {"kind": "session_started", "session": event.session}
        case "ended":
            told = {"kind": "session_ended", "session": event.session}
        case "opens" | "edits" if (path := _inside(event, root)) is not None:
            told = {"kind": "file_opened", "path": path}
        case "failed":
            told = {"kind": "error", "text": event.text, "command": event.command}
        case "passed":
            told = {"kind": "error_cleared", "command": event.command}
        case _:
            return None
    return {name: value for name, value in told.items() if value}


def _inside(event: Event, root: str) -> str | None:
    """Return the path of the event's file relative to the root.

    Returns None if it is outside.
    """
    path = os.path.relpath(os.path.join(event.folder, event.path), root)  # noqa: PTH118
    return None if path.startswith("..") else path


def _file(event: Event, root: str) -> str:
    """Return the event's file as its bundle names it.

    Returns "" if it has none.
    """
    return (_inside(event, root) or "") if event.path else ""


def _is_worth_telling(bundle: Bundle, least: int) -> bool:
    """Return True if the bundle has an item of a tier up to `least`."""
    return bundle.status != "empty" and any(item.tier <= least for item in bundle.items)


def _root_of(folder: str) -> str | None:
    """Return the root of the repository that contains a folder, or None."""
    if not os.path.isabs(folder):  # noqa: PTH117
        return None
    try:
        layout = find(Path(folder))
    except (HunchError, OSError, ValueError):
        return None
    return str(layout.root) if layout is not None and not layout.trouble else None


def _safe(name: str) -> str:
    """Convert a session's name to one that is safe in a URL."""
    return "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "-" for each in name)[:100]
