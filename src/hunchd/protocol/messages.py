"""Signals on the wire: strict parser from JSON, exact serialization to JSON.

Neighbours: `requests` (request bodies and queries), `memories` (drafts, patches, the full shape), `answers` (bundles,
predictions, projects, errors), `paths`, and below them `fields` and `decoding`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from dataclasses import fields as fields_of
from datetime import datetime
from typing import Any, Final, Protocol

from hunchd.domain.errors import InvalidInput
from hunchd.domain.signal import (
    BranchCheckout,
    CollaboratorJoined,
    CommandFinished,
    Commit,
    ErrorCleared,
    ErrorSeen,
    FileClosed,
    FileDeleted,
    FileOpened,
    FileSaved,
    FilesChanged,
    Merge,
    OperationBegan,
    OperationEnded,
    Rewrite,
    SessionEnded,
    SessionStarted,
    Signal,
    Used,
)
from hunchd.protocol.answers import iso
from hunchd.protocol.fields import Fields, Known, kind_of_json, shown, suggestion
from hunchd.protocol.paths import PATH_LIMIT, project_path, relative_path

SIGNALS_LIMIT: Final = 10_000  # a request; the largest burst a checkout of 10,000 files makes


class PlaceOf(Protocol):
    """Resolver of a path as sent to a path inside the project.

    `field` is its name in the client's request.
    """

    def __call__(self, raw: str, project: str, /, *, field: str) -> str: ...


_SENT: Final[Mapping[str, type[Signal]]] = {
    "file_opened": FileOpened,
    "file_saved": FileSaved,
    "file_closed": FileClosed,
    "branch_checkout": BranchCheckout,
    "commit": Commit,
    "merge": Merge,
    "rewrite": Rewrite,
    "error": ErrorSeen,
    "error_cleared": ErrorCleared,
    "command_finished": CommandFinished,
    "collaborator_joined": CollaboratorJoined,
    "session_started": SessionStarted,
    "session_ended": SessionEnded,
    "used": Used,
}
SIGNAL_KINDS: Final = tuple(_SENT)
# Stored and exported like the others, but rejected from clients: only the daemon's watcher can know them.
_SEEN: Final[Mapping[str, type[Signal]]] = {
    "file_deleted": FileDeleted,
    "files_changed": FilesChanged,
    "operation_began": OperationBegan,
    "operation_ended": OperationEnded,
}
_KEPT: Final = {**_SENT, **_SEEN}
_KIND_OF: Final = {of: kind for kind, of in _KEPT.items()}

SIGNAL_FIELDS: Final = ("kind", "project", "at", "event_id", "source")
# Further fields of each kind. A file's path may also be called "file", as in an error.
FIELDS_OF_KIND: Final[Mapping[str, tuple[str, ...]]] = {
    "file_opened": ("path", "file", "id"),
    "file_saved": ("path", "file", "id"),
    "file_closed": ("path", "file", "id"),
    "branch_checkout": ("branch", "from", "id"),
    "commit": ("sha", "id"),
    "merge": ("sha", "branch", "id"),
    "rewrite": ("old", "new", "id"),
    "error": ("text", "command", "exit_code", "file", "line", "id"),
    "error_cleared": ("text", "command", "file", "id"),
    "command_finished": ("command", "exit_code", "duration_ms", "id"),
    "collaborator_joined": ("name", "email", "id"),
    "session_started": ("session", "id"),
    "session_ended": ("session", "id"),
    "used": ("path", "id"),
}
# (type, attribute) → name on the wire, where they differ
_WIRE_NAMES: Final[Mapping[tuple[type[Signal], str], str]] = {
    **{(of, "id"): "event_id" for of in _KEPT.values()},
    (BranchCheckout, "previous"): "from",
    (Used, "memory"): "id",
}

# type → (attribute, name on the wire, default) of each field
_FIELDS: Final = {
    of: tuple((each.name, _WIRE_NAMES.get((of, each.name), each.name), each.default) for each in fields_of(of))
    for of in _KIND_OF
}

_SHA = re.compile(r"[0-9a-fA-F]{4,64}")


def parse_signal(
    raw: Any, *, now: datetime, place: PlaceOf = relative_path, known: Known | None = None, where: str = ""
) -> Signal:
    """Parse one signal from a client.

    `at` defaults to `now` and is never later; `place` resolves a path inside the project. The event's own id is
    `event_id`
    on the wire (`id` too, except in `used`, where that is a memory). `where` prefixes the field names in errors.
    Raises
    NotFound for a project that is not `known`.
    """
    kind = _kind(raw, where)
    fields = Fields(raw, SIGNAL_FIELDS + FIELDS_OF_KIND[kind], where=where)
    project = project_path(fields.required_text("project", limit=PATH_LIMIT), field=fields.called("project"))
    fields.refuse_unknown(project, known)
    at = fields.time("at")
    event_id = fields.text("event_id", limit=200) or (fields.text("id", limit=200) if kind != "used" else None)
    common: dict[str, Any] = {
        "project": project,
        "at": now if at is None or at > now else at,  # a clock that runs ahead would rank above all
        "id": event_id or "",
        "source": fields.text("source", limit=64) or "client",
    }

    def inside(name: str, path: str) -> str:
        return place(path, project, field=fields.called(name))

    return _SENT[kind](**common, **_own_fields(kind, fields, inside))


def signal_json(signal: Signal) -> dict[str, Any]:
    """Convert a signal to its stored and exported form.

    Omit fields that have their default.
    """
    of = type(signal)
    result: dict[str, Any] = {"kind": _KIND_OF[of]}
    for attribute, name, default in _FIELDS[of]:
        value = getattr(signal, attribute)
        if value != default:
            result[name] = _plain(value)
    return result


def signal_from_json(raw: Any) -> Signal:
    """Parse the output of `signal_json`, unchanged: no disk access, no adjusted time."""
    of = _KEPT.get(str(raw.get("kind"))) if isinstance(raw, dict) else None
    if of is None:
        raise InvalidInput(f"not a stored signal; its kind is one of: {', '.join(_KEPT)}", field="kind")
    values: dict[str, Any] = {}
    for each in fields_of(of):
        name = _WIRE_NAMES.get((of, each.name), each.name)
        if name in raw:
            values[each.name] = tuple(raw[name]) if isinstance(raw[name], list) else raw[name]
        elif each.default is MISSING:
            raise InvalidInput(f"the stored signal has no '{name}'", field=name)
    at = Fields({"at": values["at"]}, ("at",)).time("at")
    return of(**(values | {"at": at}))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    return list(value) if isinstance(value, tuple) else value


def _kind(raw: Any, where: str) -> str:
    if not isinstance(raw, dict):
        raise InvalidInput(
            f"a signal is a JSON object with 'kind' and 'project'; got {kind_of_json(raw)}",
            field=where.rstrip(".") or None,
        )
    kind = raw.get("kind")
    if isinstance(kind, str) and kind in _SENT:
        return kind
    said = f"is {shown(kind)}" if kind is not None else "is missing"
    raise InvalidInput(
        f"'{where}kind' {said}; allowed: {', '.join(SIGNAL_KINDS)}",
        field=f"{where}kind",
        hint=suggestion(kind or "", SIGNAL_KINDS),
    )


# (name of the field, path as sent) → path inside the project
_Inside = Callable[[str, str], str]


def _own_fields(kind: str, fields: Fields, inside: _Inside) -> dict[str, Any]:
    """Parse the fields that a kind adds to the common ones."""
    match kind:
        case "file_opened" | "file_saved" | "file_closed":
            name = "file" if fields.has("file") and not fields.has("path") else "path"
            return {"path": inside(name, fields.required_text(name, limit=PATH_LIMIT))}
        case "branch_checkout":
            return {"branch": fields.required_text("branch"), "previous": fields.text("from")}
        case "commit":
            return {"sha": _sha(fields, "sha")}
        case "merge":
            return {"sha": _sha(fields, "sha") if fields.has("sha") else None, "branch": fields.text("branch")}
        case "rewrite":
            return {"old": _sha(fields, "old"), "new": _sha(fields, "new")}
        case "error":
            return _error_fields(fields, inside)
        case "error_cleared":
            return {
                "text": fields.shortened_text("text"),
                "command": fields.shortened_text("command", limit=4096),
                "file": _lenient_place(fields.text("file", limit=PATH_LIMIT), inside),
            }
        case "command_finished":
            return _command_fields(fields)
        case "collaborator_joined":
            return {"name": fields.required_text("name"), "email": fields.text("email")}
        case "session_started" | "session_ended":
            return {"session": fields.text("session")}
        case _:
            return _used_fields(fields, inside)


def _error_fields(fields: Fields, inside: _Inside) -> dict[str, Any]:
    text = fields.shortened_text("text")
    if text is None or not text.strip():
        raise fields.refused("text", "is missing or empty; give the error's text")
    return {
        "text": text,
        "command": fields.shortened_text("command", limit=4096),
        "exit_code": fields.maybe_integer("exit_code", low=-(2**31), high=2**32),
        "file": _lenient_place(fields.text("file", limit=PATH_LIMIT), inside),
        "line": fields.maybe_integer("line", low=0, high=2**31),
    }


def _command_fields(fields: Fields) -> dict[str, Any]:
    command = fields.shortened_text("command", limit=4096)
    if command is None or not command.strip():
        raise fields.refused("command", "is missing or empty; give the command line")
    if not fields.has("exit_code"):
        raise fields.refused("exit_code", "is missing; give the command's exit status")
    return {
        "command": command,
        "exit_code": fields.integer("exit_code", 0, low=-(2**31), high=2**32),
        "duration_ms": fields.integer("duration_ms", 0, low=0, high=10**10),
    }


def _used_fields(fields: Fields, inside: _Inside) -> dict[str, Any]:
    path, memory = fields.text("path", limit=PATH_LIMIT), fields.text("id")
    if not path and not memory:
        raise fields.refused("path", "is missing; give the 'path' or the 'id' of what was acted on")
    return {"path": inside("path", path) if path else None, "memory": memory or None}


def _lenient_place(path: str | None, inside: _Inside) -> str | None:
    """Resolve the path of an error.

    Returns None for one outside the project. Errors point into installed libraries too; the error itself is kept.
    """
    if not path:
        return None
    try:
        return inside("file", path)
    except InvalidInput:
        return None


def _sha(fields: Fields, name: str) -> str:
    text = fields.required_text(name)
    if not _SHA.fullmatch(text):
        raise fields.refused(name, f"must be a commit id of 4 to 64 hexadecimal digits; got {shown(text)}")
    return text.lower()
