"""POST /agents/{id}/events: receives the payload of an agent's hook.

The hook prints the response. It waits for less than a tenth of a second, or a little longer at the start of a session,
so the response is sent first and the event is processed afterwards.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from hunchd.domain.context import Bundle
from hunchd.domain.errors import HunchError, NotFound
from hunchd.domain.json_values import JsonObject
from hunchd.domain.signal import BY_AGENT
from hunchd.protocol.agent_hooks import AGENTS, HookEvent, format_reply, parse_event
from hunchd.protocol.decoding import without_lone_surrogates
from hunchd.protocol.requests import AssembleRequest
from hunchd.protocol.session_requests import parse_append_body
from hunchd.protocol.struct_decoding import decode
from hunchd.repository.layout import find_repository
from hunchd.serving import responses
from hunchd.serving.routes import TEXT, route

if TYPE_CHECKING:
    from hunchd.engine import Engine

# Token budgets for unsolicited context: small compared with an agent's window. After the start of a session, edits get
# the most.
_TOKEN_BUDGETS: Final = {"began": 1500, "checked_out": 800, "opens": 400, "edits": 1200, "failed": 900}
# Largest tier sent: conventions (tier 3) only at the start of a session, later only directly relevant items.
_MAX_TIER_AT_START: Final = 3
_MAX_TIER: Final = 2
_MAX_CONTEXTS_PER_SESSION: Final = 24  # contexts per session
_MAX_SESSIONS: Final = 64  # sessions remembered; an older one may get repetitions
_MAX_FAILED_COMMANDS: Final = 256  # failed commands remembered
_MAX_KEY_CHARACTERS: Final = 200  # characters of a key
_ROLES: Final[Mapping[str, str]] = {"prompted": "user", "paused": "assistant"}  # whose words an event carries
# Seconds, of the 0.06 and 0.4 that a hook waits: later responses may not have been received.
_DELIVERY_SECONDS: Final = 0.05
_DELIVERY_SECONDS_AT_START: Final = 0.35


@dataclass(slots=True)
class _SessionContext:
    """Record of the context that was sent to one session.

    `subjects` are the keys of the contexts that were sent. `items` contains, for each item that was sent, its id, its
    title, and the file for which it was listed.
    """

    subjects: set[str] = field(default_factory=set)
    items: set[tuple[str, str, str]] = field(default_factory=set)
    context_count: int = 0  # in total, including late responses

    def get_shown_items(self, file: str) -> frozenset[tuple[str, str]]:
        """Return the items that a context for `file` need not repeat.

        A related file is relevant to one file only, so it does not count if it was listed for a different file.
        """
        return frozenset(
            (identifier, title) for identifier, title, listed_for in self.items if listed_for in ("", file)
        )

    def add(self, subject: str, bundle: Bundle, file: str) -> None:
        """Record the items of a bundle that was sent."""
        self.subjects.add(subject)
        self.items |= {(item.id, item.title, file or "." if item.kind == "file" else "") for item in bundle.items}


class AgentHandlers:
    """Handlers for the hook events that agents send."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sessions: OrderedDict[str, _SessionContext] = OrderedDict()  # by session
        # Root and command, until the command succeeds.
        self._failed_commands: OrderedDict[tuple[str, str], None] = OrderedDict()

    @route(
        "POST /agents/{id}/events",
        "agentEvent",
        body={"type": "object", "description": "in the format of that agent"},
        answers={"text/plain": TEXT},
        errors=(404,),
    )
    async def handle_event(self, request: web.Request, id: str, raw: Any) -> web.StreamResponse:
        """Process an agent's hook payload.

        The response is the text that the hook prints.
        """
        started_at = time.monotonic()
        if id not in AGENTS:
            raise NotFound(f"unknown agent {id[:40]!a}", hint=f"supported agents: {', '.join(AGENTS)}")
        agent, event = id, parse_event(id, without_lone_surrogates(raw))
        root = _find_root(event.folder) if event is not None else None
        if event is None or root is None:
            return await _send_response(request, format_reply(agent, event, ""))
        bundle = await self._build_context(event, root)
        response = await _send_response(request, format_reply(agent, event, bundle.context.strip() if bundle else ""))
        is_there = request.transport is not None and not request.transport.is_closing()
        if bundle is not None and is_there:
            session_context = self._get_session_context(event)
            session_context.context_count += 1
            if time.monotonic() - started_at < (
                _DELIVERY_SECONDS_AT_START if event.kind == "began" else _DELIVERY_SECONDS
            ):
                session_context.add(_context_subject(event, root), bundle, _bundle_file(event, root))
        await self._process_event(event, root)
        return response

    async def _build_context(self, event: HookEvent, root: str) -> Bundle | None:
        """Return the context to send in response to an event, or None.

        Each context is sent once per session. Returns None if it was already sent, contains nothing relevant, or
        belongs to an unknown project.
        """
        if event.kind == "began":
            self._sessions.pop(event.session, None)
        signals = _context_signals(event, root)
        session_context = self._get_session_context(event)
        if (
            signals is None
            or _context_subject(event, root) in session_context.subjects
            or session_context.context_count >= _MAX_CONTEXTS_PER_SESSION
        ):
            return None
        body = {"project": root, "budget": _TOKEN_BUDGETS[event.kind], "signals": signals}
        try:
            request = replace(
                decode(body, AssembleRequest).to_context_request(),
                already_shown=session_context.get_shown_items(_bundle_file(event, root)),
            )
            bundle = await self._engine.get_context(request)
        except NotFound:
            return None
        return (
            bundle if _has_relevant_item(bundle, _MAX_TIER_AT_START if event.kind == "began" else _MAX_TIER) else None
        )

    def _get_session_context(self, event: HookEvent) -> _SessionContext:
        """Return the record of the context sent to the event's session.

        An event that names no session gets an empty record, which is not stored.
        """
        if not event.session:
            return _SessionContext()
        session_context = self._sessions.setdefault(event.session[:_MAX_KEY_CHARACTERS], _SessionContext())
        self._sessions.move_to_end(event.session[:_MAX_KEY_CHARACTERS])
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session_context

    async def _process_event(self, event: HookEvent, root: str) -> None:
        """Store the signal or message that the event carries.

        If the project is unknown, it is registered, so that the next event finds it.
        """
        if event.kind in _ROLES:
            if event.session and event.text.strip():
                await self._append_message(_sanitize_name(event.session), event, root)
            return
        if event.kind == "compacts":  # the agent forgets what was said: read it now; the next message goes on
            self._engine.conversations.request_end(_sanitize_name(event.session))
            return
        if event.kind == "ended":
            self._sessions.pop(event.session[:_MAX_KEY_CHARACTERS], None)
        signal = (
            _to_signal(event, root)
            if event.kind != "passed" or (root, event.command) in self._failed_commands
            else None
        )
        self._track_failure(event, root)
        if signal is not None:
            result = await self._engine.intake.accept([signal | {"project": root, "source": BY_AGENT}])
            if any(one.error.code == NotFound.code for one in result.rejected):
                await self._engine.add_project(root)

    def _track_failure(self, event: HookEvent, root: str) -> None:
        """Remember each failed command until the same command succeeds.

        A command that succeeds is reported only if it is remembered as failed.
        """
        if event.kind in ("failed", "passed"):
            self._failed_commands.pop((root, event.command), None)
        if event.kind == "failed":
            self._failed_commands[root, event.command] = None
            if len(self._failed_commands) > _MAX_FAILED_COMMANDS:
                self._failed_commands.popitem(last=False)

    async def _append_message(self, session: str, event: HookEvent, root: str) -> None:
        body = {"messages": [{"role": _ROLES[event.kind], "content": event.text}], "project": root}
        try:
            await self._engine.conversations.append(session, parse_append_body(body))
        except NotFound:
            await self._engine.add_project(root)


async def _send_response(request: web.Request, text: str) -> web.StreamResponse:
    """Send the complete response.

    It is not an error if the hook has stopped waiting.
    """
    response = responses.build_response(text.encode("utf-8", "replace"), type_="text/plain; charset=utf-8")
    with suppress(ConnectionError):
        await response.prepare(request)
        await response.write_eof()
    return response


def _context_signals(event: HookEvent, root: str) -> JsonObject | None:
    """Return the signals that describe the user's focus at an event.

    Returns None if no context is sent for this kind of event, or if its file is outside the project.
    """
    match event.kind:
        case "began" | "checked_out":
            return {}
        case "opens" | "edits":
            path = _path_in_project(event, root)
            return {"current_file": path} if path is not None else None
        case "failed":
            return {"recent_errors": [{"text": event.text}], "activity": "debugging"}
    return None


def _context_subject(event: HookEvent, root: str) -> str:
    """Return the key of the event's context.

    A context with the same key is sent only once per session.
    """
    match event.kind:
        case "opens" | "edits":
            return f"{event.kind} {_path_in_project(event, root)}"[:_MAX_KEY_CHARACTERS]
        case "failed":
            return f"failed {event.text[-_MAX_KEY_CHARACTERS:]}"
    return f"{event.kind} {event.command}"[:_MAX_KEY_CHARACTERS]


def _to_signal(event: HookEvent, root: str) -> JsonObject | None:
    fields: JsonObject
    match event.kind:
        case "began":
            fields = {"kind": "session_started", "session": event.session}
        case "ended":
            fields = {"kind": "session_ended", "session": event.session}
        case "opens" | "edits" if (path := _path_in_project(event, root)) is not None:
            fields = {"kind": "file_opened", "path": path}
        case "failed":
            fields = {"kind": "error", "text": event.text, "command": event.command}
        case "passed":
            fields = {"kind": "error_cleared", "command": event.command}
        case _:
            return None
    return {name: value for name, value in fields.items() if value}


def _path_in_project(event: HookEvent, root: str) -> str | None:
    """Return the path of the event's file relative to the project's root.

    Returns None if the file is outside the project.
    """
    path = os.path.relpath(os.path.join(event.folder, event.path), root)  # noqa: PTH118
    return None if path.startswith("..") else path


def _bundle_file(event: HookEvent, root: str) -> str:
    """Return the path of the event's file, as context bundles name it.

    Returns "" if the event has no file, or a file outside the project.
    """
    return (_path_in_project(event, root) or "") if event.path else ""


def _has_relevant_item(bundle: Bundle, max_tier: int) -> bool:
    """Return True if the context has an item in a tier up to `max_tier`.

    Tier 1 is the most relevant. An empty bundle has no relevant items.
    """
    return bundle.status != "empty" and any(item.tier <= max_tier for item in bundle.items)


def _find_root(folder: str) -> str | None:
    """Return the root of the repository that contains `folder`.

    Returns None if there is none, or if the repository cannot be used.
    """
    if not os.path.isabs(folder):  # noqa: PTH117
        return None
    try:
        layout = find_repository(Path(folder))
    except (HunchError, OSError, ValueError):
        return None
    return str(layout.root) if layout is not None and not layout.problem else None


def _sanitize_name(name: str) -> str:
    """Convert a session's name to one that is safe in a URL."""
    return "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "-" for each in name)[:100]
