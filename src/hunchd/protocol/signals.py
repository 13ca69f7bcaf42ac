"""Signals as sent and stored: a strict parser, and lossless conversion to JSON.

Related modules: `requests` (request bodies and queries), `memories` (drafts, patches, records), `responses` (bundles,
projects, errors), `predictions`, `paths`, and at the lowest level `fields` and `decoding`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from dataclasses import fields as fields_of
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, Protocol

from msgspec import Meta, Struct, field

from hunchd.domain.errors import InvalidInput
from hunchd.domain.signal import (
    BranchCheckout,
    CollaboratorJoined,
    CommandFinished,
    Commit,
    ContextUsed,
    ErrorCleared,
    ErrorReported,
    FileClosed,
    FileDeleted,
    FileOpened,
    FileSaved,
    FilesChanged,
    Merge,
    OperationEnded,
    OperationStarted,
    Rewrite,
    SessionEnded,
    SessionStarted,
    Signal,
)
from hunchd.protocol.fields import (
    MAX_TEXT_BYTES,
    Fields,
    ProjectLookup,
    describe_json_type,
    format_rejected_value,
    refuse_unknown_project,
    suggest_similar,
)
from hunchd.protocol.paths import normalize_project_path, to_relative_path
from hunchd.protocol.responses import format_iso
from hunchd.protocol.struct_decoding import CustomReader, Name, PathText, RequiredName, Time, decode

COMMAND_LIMIT: Final = 4096  # bytes
MAX_SIGNALS: Final = 10_000  # signals per request; the largest burst comes from checking out 10,000 files


class PathResolver(Protocol):
    """Function that converts a client's path to a path inside the project.

    `field` is the name that the path has in the client's request.
    """

    def __call__(self, raw: str, project: str, /, *, field: str) -> str: ...


_CLIENT_SIGNALS: Final[Mapping[str, type[Signal]]] = {
    "file_opened": FileOpened,
    "file_saved": FileSaved,
    "file_closed": FileClosed,
    "branch_checkout": BranchCheckout,
    "commit": Commit,
    "merge": Merge,
    "rewrite": Rewrite,
    "error": ErrorReported,
    "error_cleared": ErrorCleared,
    "command_finished": CommandFinished,
    "collaborator_joined": CollaboratorJoined,
    "session_started": SessionStarted,
    "session_ended": SessionEnded,
    "used": ContextUsed,
}
SIGNAL_KINDS: Final = tuple(_CLIENT_SIGNALS)
# Stored and exported like the others, but rejected from clients: only the daemon's watcher can know them.
_WATCHER_SIGNALS: Final[Mapping[str, type[Signal]]] = {
    "file_deleted": FileDeleted,
    "files_changed": FilesChanged,
    "operation_began": OperationStarted,
    "operation_ended": OperationEnded,
}
_STORED_SIGNALS: Final = {**_CLIENT_SIGNALS, **_WATCHER_SIGNALS}
_KIND_OF: Final = {of: kind for kind, of in _STORED_SIGNALS.items()}

# (type, attribute) → name on the wire, where they differ
_WIRE_NAMES: Final[Mapping[tuple[type[Signal], str], str]] = {
    **{(of, "id"): "event_id" for of in _STORED_SIGNALS.values()},
    (BranchCheckout, "previous"): "from",
    (ContextUsed, "memory"): "id",
}

# type → (attribute, name on the wire, default) of each field
_FIELDS: Final = {
    of: tuple((each.name, _WIRE_NAMES.get((of, each.name), each.name), each.default) for each in fields_of(of))
    for of in _KIND_OF
}

_SHA = re.compile(r"[0-9a-fA-F]{4,64}")


def _required_text(fields: Fields, name: str, *, limit: int = MAX_TEXT_BYTES) -> str:
    text = fields.get_shortened_text(name, limit=limit)
    if text is None or not text.strip():
        reason = "is missing; it must be a non-empty string" if text is None else "must be a non-empty string"
        raise fields.error(name, reason)
    return text


def _command(fields: Fields, name: str) -> str | None:
    return fields.get_shortened_text(name, limit=COMMAND_LIMIT)


def _required_command(fields: Fields, name: str) -> str:
    return _required_text(fields, name, limit=COMMAND_LIMIT)


def _parse_sha(fields: Fields, name: str) -> str:
    text = fields.get_required_text(name)
    if not _SHA.fullmatch(text):
        raise fields.error(
            name, f"must be a commit id of 4 to 64 hexadecimal digits; got {format_rejected_value(text)}"
        )
    return text.lower()


EventId = Annotated[str, Meta(max_length=200)]
Sha = Annotated[str, CustomReader(_parse_sha)]
Command = Annotated[str, CustomReader(_command)]
ExitCode = Annotated[int, Meta(ge=-(2**31), le=2**32)]


class SignalBody(Struct, frozen=True, kw_only=True):
    """Fields that all signals have in common.

    Unknown fields are ignored, because newer clients and hooks may send them.
    """

    kind: Annotated[str, Meta(extra_json_schema={"enum": list(SIGNAL_KINDS)})]
    project: Annotated[PathText, Meta(min_length=1, description="absolute path of the working tree")]
    at: Time | None = None
    event_id: Annotated[
        EventId | None,
        Meta(description="two signals with the same id are one event; may also be named id, except in `used`"),
    ] = None
    source: Annotated[Annotated[str, Meta(max_length=64)] | None, Meta(description="editor, agent, hook, cli, …")] = (
        None
    )
    id: EventId | None = None


class SignalsBody(Struct, frozen=True, kw_only=True):
    signals: Annotated[list[SignalBody], Meta(max_length=MAX_SIGNALS)]


class FileBody(SignalBody, frozen=True, kw_only=True):
    path: Annotated[PathText | None, Meta(description="absolute, or relative to the project")] = None
    file: Annotated[
        PathText | None, Meta(description="for an error: its file; in a file signal, another name for path")
    ] = None


class BranchCheckoutBody(SignalBody, frozen=True, kw_only=True):
    branch: RequiredName
    previous: Annotated[Name | None, Meta(description="the previous branch")] = field(name="from", default=None)


class CommitBody(SignalBody, frozen=True, kw_only=True):
    sha: Sha


class MergeBody(SignalBody, frozen=True, kw_only=True):
    sha: Sha | None = None
    branch: Name | None = None


class RewriteBody(SignalBody, frozen=True, kw_only=True):
    old: Sha
    new: Sha


class ErrorBody(SignalBody, frozen=True, kw_only=True):
    text: Annotated[
        str, Meta(description="text of the error; beyond 64 KiB its middle is left out"), CustomReader(_required_text)
    ]
    command: Command | None = None
    exit_code: ExitCode | None = None
    file: PathText | None = None
    line: Annotated[int, Meta(ge=0, le=2**31)] | None = None


class ErrorClearedBody(SignalBody, frozen=True, kw_only=True):
    text: Annotated[str | None, CustomReader(Fields.get_shortened_text)] = None
    command: Command | None = None
    file: PathText | None = None


class CommandFinishedBody(SignalBody, frozen=True, kw_only=True):
    command: Annotated[str, CustomReader(_required_command)]
    exit_code: ExitCode
    duration_ms: Annotated[int, Meta(ge=0, le=10**10)] = 0


class CollaboratorBody(SignalBody, frozen=True, kw_only=True):
    name: RequiredName
    email: Name | None = None


class SessionBody(SignalBody, frozen=True, kw_only=True):
    session: Name | None = None


class UsedBody(SignalBody, frozen=True, kw_only=True):
    path: Annotated[PathText | None, Meta(description="absolute, or relative to the project")] = None
    id: Annotated[Name | None, Meta(description="in `used`: id of the memory that was acted on")] = None


BODY_OF_KIND: Final[Mapping[str, type[SignalBody]]] = {
    "file_opened": FileBody,
    "file_saved": FileBody,
    "file_closed": FileBody,
    "branch_checkout": BranchCheckoutBody,
    "commit": CommitBody,
    "merge": MergeBody,
    "rewrite": RewriteBody,
    "error": ErrorBody,
    "error_cleared": ErrorClearedBody,
    "command_finished": CommandFinishedBody,
    "collaborator_joined": CollaboratorBody,
    "session_started": SessionBody,
    "session_ended": SessionBody,
    "used": UsedBody,
}


def parse_signal(
    raw: Any,
    *,
    now: datetime,
    resolve_path: PathResolver = to_relative_path,
    lookup: ProjectLookup | None = None,
    prefix: str = "",
) -> Signal:
    """Parse one signal from a client.

    If `at` is omitted or later than `now`, the time of the signal is `now`. `resolve_path` converts a client's path to
    a path inside the project. Clients send the id of the event as `event_id`; they may also send it as `id`, except in
    a `used` signal, where `id` is the id of a memory. `prefix` precedes the field names in errors. Raises
    InvalidInput, or NotFound for a project that `lookup` does not know.
    """
    kind = _parse_kind(raw, prefix)
    body = decode(raw, BODY_OF_KIND[kind], where=prefix)
    project = normalize_project_path(body.project, field=f"{prefix}project")
    if lookup is not None:
        refuse_unknown_project(project, lookup, field=f"{prefix}project")
    event_id = body.event_id or (None if isinstance(body, UsedBody) else body.id)

    def resolve_field(name: str, path: str) -> str:
        return resolve_path(path, project, field=f"{prefix}{name}")

    return _CLIENT_SIGNALS[kind](
        project=project,
        at=now if body.at is None or body.at > now else body.at,  # a clock that runs ahead would rank above all
        id=event_id or "",
        source=body.source or "client",
        **_parse_kind_fields(body, resolve_field, prefix),
    )


def signal_to_json(signal: Signal) -> dict[str, Any]:
    """Convert a signal to its stored and exported form.

    Fields that have their default value are omitted.
    """
    of = type(signal)
    result: dict[str, Any] = {"kind": _KIND_OF[of]}
    for attribute, name, default in _FIELDS[of]:
        value = getattr(signal, attribute)
        if value != default:
            result[name] = _to_plain_json(value)
    return result


def signal_from_json(raw: Any) -> Signal:
    """Parse a signal that was converted by `signal_to_json`.

    The signal is restored unchanged, without disk access and without adjusting its time.
    """
    of = _STORED_SIGNALS.get(str(raw.get("kind"))) if isinstance(raw, dict) else None
    if of is None:
        raise InvalidInput(f"not a stored signal; the kind must be one of: {', '.join(_STORED_SIGNALS)}", field="kind")
    values: dict[str, Any] = {}
    for each in fields_of(of):
        name = _WIRE_NAMES.get((of, each.name), each.name)
        if name in raw:
            values[each.name] = tuple(raw[name]) if isinstance(raw[name], list) else raw[name]
        elif each.default is MISSING:
            raise InvalidInput(f"the stored signal lacks the field '{name}'", field=name)
    at = Fields({"at": values["at"]}, ("at",)).get_time("at")
    return of(**(values | {"at": at}))


def _to_plain_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return format_iso(value)
    return list(value) if isinstance(value, tuple) else value


def _parse_kind(raw: Any, prefix: str) -> str:
    if not isinstance(raw, dict):
        raise InvalidInput(
            f"a signal must be a JSON object with 'kind' and 'project'; got {describe_json_type(raw)}",
            field=prefix.rstrip(".") or None,
        )
    kind = raw.get("kind")
    if isinstance(kind, str) and kind in _CLIENT_SIGNALS:
        return kind
    problem = f"is {format_rejected_value(kind)}" if kind is not None else "is missing"
    raise InvalidInput(
        f"'{prefix}kind' {problem}; allowed: {', '.join(SIGNAL_KINDS)}",
        field=f"{prefix}kind",
        hint=suggest_similar(kind or "", SIGNAL_KINDS),
    )


# (name of the field, path as sent) → path inside the project
_FieldPathResolver = Callable[[str, str], str]


def _parse_kind_fields(body: SignalBody, resolve_field: _FieldPathResolver, where: str) -> dict[str, Any]:
    """Return the fields specific to the signal's kind.

    Paths are converted to paths inside the project.
    """
    match body:
        case FileBody():
            name = "file" if body.file and not body.path else "path"
            path = body.path or body.file
            if not path or not path.strip():
                raise InvalidInput(f"'{where}path' is missing; it must be a non-empty string", field=f"{where}path")
            return {"path": resolve_field(name, path)}
        case UsedBody():
            if not body.path and not body.id:
                raise InvalidInput(
                    f"'{where}path' is missing; send the 'path' of the file or the 'id' of the memory that was used",
                    field=f"{where}path",
                )
            return {"path": resolve_field("path", body.path) if body.path else None, "memory": body.id}
    own = {name: getattr(body, name) for name in _attributes(type(body))}
    if "file" in own:
        own["file"] = _resolve_if_inside(own["file"], resolve_field)
    return own


@cache
def _attributes(of: type[SignalBody]) -> tuple[str, ...]:
    return tuple(name for name in of.__struct_fields__ if name not in SignalBody.__struct_fields__)


def _resolve_if_inside(path: str | None, resolve_field: _FieldPathResolver) -> str | None:
    """Resolve the path of the file where an error occurred.

    Returns None if the path is outside the project. The error itself is kept, because errors also point into installed
    libraries.
    """
    if not path:
        return None
    try:
        return resolve_field("file", path)
    except InvalidInput:
        return None
