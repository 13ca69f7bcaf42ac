"""Application of an accepted signal to the in-memory state, without I/O.

The result says what has to be stored and what work has to follow.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from hunchd.core.state import collaborators
from hunchd.core.state.known_errors import error_id, find_error_id
from hunchd.core.state.open_failures import CommitEvent, ErrorEvent, FixEvent, PassEvent
from hunchd.core.state.project import KnownError, Project, WorkingTree
from hunchd.domain import signal as signals
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.signal import Signal
from hunchd.ingestion.errors import ParsedError, parse_error
from hunchd.ingestion.fixes import FIXED_BY_LINK, is_fix
from hunchd.ingestion.redaction import redact_name, redact_values
from hunchd.ingestion.terminal_output import strip_output_prefixes
from hunchd.prediction.session import SessionEvent
from hunchd.prediction.traces import INSTALLED_FOLDER, count_common_tail
from hunchd.protocol.signals import signal_from_json, signal_to_json

# Signals that contain only a path are by far the most frequent; the scan for secrets is half of their cost.
PLAIN_KINDS = frozenset({"file_opened", "file_saved", "file_closed"})
PLAIN_FIELDS = frozenset({"kind", "project", "path", "file", "at", "event_id"})
ERROR_ID_FIELD = "error_meant"  # field of a stored signal: id of the error whose last line its text is
# From this number on, rescanning the tree is cheaper.
RESCAN_THRESHOLD = 500  # files


@dataclass(frozen=True, slots=True)
class SignalEffect:
    """Follow-up work that a signal requires.

    A signal can require that files are parsed, the whole tree is rescanned, new or rewritten commits are learned,
    memories are stored, or a bundle is prefetched.
    """

    paths_to_parse: tuple[str, ...] = ()
    refresh: bool = False
    catch_up: bool = False
    prefetch: str | None = None  # a file, or "" for the bundle of the branch
    memories: tuple[Memory, ...] = ()
    rewritten_commits: tuple[tuple[str, str, bool], ...] = ()  # (old commit, new commit, reported by git itself)
    fix_event: FixEvent | None = None  # event from which fixes are learned


NO_EFFECT = SignalEffect()


def apply_signal(signal: Signal, project: Project, tree: WorkingTree) -> SignalEffect:
    """Apply `signal` to the in-memory state of the project.

    Signals imported from a shell's history are ignored here: they are too old to affect the current state and are
    only used to predict commands.
    """
    if signal.source == "history":
        return NO_EFFECT
    project.last_signal = signal.at
    if project.predictor is not None and (event := to_session_event(signal)) is not None:
        project.predictor.record_event(event)
    match signal:
        case signals.FileOpened(path=path):
            tree.open_file(path, signal.at, by_agent=signal.source == signals.BY_AGENT)
            return SignalEffect(prefetch=path)
        case signals.FileSaved(path=path):
            tree.record_save(path, signal.at)
            project.bump_revision()
            return SignalEffect(paths_to_parse=(path,), prefetch=path if path in tree.open_files else None)
        case signals.FileClosed(path=path):
            tree.close_file(path)
        case signals.SessionEnded(source=signals.BY_AGENT):
            tree.close_agent_files()
        case signals.FileDeleted(path=path):
            tree.close_file(path)
            project.bump_revision()
            return SignalEffect(paths_to_parse=(path,))
        case signals.FilesChanged(saved=saved, deleted=deleted, complete=True) if (
            len(saved) + len(deleted) < RESCAN_THRESHOLD
        ):
            project.bump_revision()
            return SignalEffect(paths_to_parse=(*saved, *deleted))
        case signals.FilesChanged() | signals.OperationEnded():
            project.bump_revision()
            return SignalEffect(refresh=True, catch_up=True)
        case signals.BranchCheckout(branch=branch):
            tree.branch = branch
            project.bump_revision()
            return SignalEffect(refresh=True, prefetch="")
        case signals.Commit(sha=sha):
            return SignalEffect(catch_up=True, fix_event=CommitEvent(str(tree.root), sha, signal.at))
        case signals.Merge():
            return SignalEffect(catch_up=True)
        case signals.Rewrite(old=old, new=new, source=source):
            return SignalEffect(catch_up=True, rewritten_commits=((old, new, source == "hook"),))
        case signals.ContextUsed(path=str(path)):
            if project.predictor is not None:
                project.predictor.record_outcome(path, was_used=True)
        case signals.CollaboratorJoined(name=name, email=email):
            collaborators.add_collaborator(project, name, email or "", signal.at)
        case signals.ErrorReported():
            return _apply_error(signal, project, tree)
        case signals.ErrorCleared():
            cleared_ids = _clear_errors(signal, project)
            is_named = signal.file is not None or signal.text is not None
            return SignalEffect(fix_event=PassEvent(str(tree.root), cleared_ids, signal.command, signal.at, is_named))
        case signals.CommandFinished(exit_code=0, command=command):
            cleared_ids = _clear_errors(
                signals.ErrorCleared(project=signal.project, at=signal.at, command=command), project
            )
            return SignalEffect(fix_event=PassEvent(str(tree.root), cleared_ids, command, signal.at))
    return NO_EFFECT


def derive_event_id(signal: Signal) -> str | None:
    """Return a stable id for an event that may be reported twice.

    Commits, merges and rewrites are reported both by a git hook and by the watcher. Returns None for events that
    only one of the two reports.
    """
    match signal:
        case signals.Commit(sha=str(name)) | signals.Merge(sha=str(name)):
            pass
        case signals.Rewrite(old=old, new=new):
            name = f"{old}:{new}"
        case _:
            return None
    hash_input = f"{type(signal).__name__}:{name}:{signal.project}"
    return "git:" + hashlib.blake2b(hash_input.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()


def redact_signal(signal: Signal) -> Signal:
    """Redact secrets in a signal, including those in branch names."""
    redacted_fields, secret_count = redact_values(signal_to_json(signal))
    return signal_from_json(redacted_fields) if secret_count else signal


def to_session_event(signal: Signal) -> SessionEvent | None:
    """Convert a signal to an event for the predictor.

    Returns None for signals that the predictor does not use.
    """
    at = int(signal.at.timestamp())
    match signal:
        case signals.FileOpened(path=path):
            return SessionEvent("opened", at, path)
        case signals.FileSaved(path=path):
            return SessionEvent("saved", at, path)
        case signals.FileClosed(path=path):
            return SessionEvent("closed", at, path)
        case signals.ContextUsed(path=str(path)):
            return SessionEvent("used", at, path)
        case signals.ErrorReported(file=str(path)):
            return SessionEvent("error", at, path)
        case signals.BranchCheckout(branch=branch):
            return SessionEvent("checkout", at, branch=branch)
    return None


def build_signal_row(signal: Signal, raw: Mapping[str, Any], project: Project, effect: SignalEffect) -> dict[str, Any]:
    """Build the row of a signal for the store.

    The store keeps the row until the signal has been turned into memories. `raw` is the signal as JSON. The id of a
    reported error is added if it cannot be derived from the text.
    """
    if isinstance(effect.fix_event, ErrorEvent) and effect.fix_event.error != get_reported_error_id(raw, project.id):
        raw = {**raw, ERROR_ID_FIELD: effect.fix_event.error}
    return {"id": signal.id, "kind": raw["kind"], "project": project.id, "at": signal.at.isoformat(), "data": raw}


def error_from_memory(memory: Memory) -> KnownError:
    """Convert a stored error memory to a KnownError."""
    path = next((artifact.ref for artifact in memory.artifacts if artifact.type == "file"), None)
    times = int(memory.value) if memory.value and memory.value.isdigit() else 1
    line, command = memory.source.get("line"), memory.source.get("command")
    return KnownError(
        memory.id, memory.levels.summary, memory.content, path, line, command, memory.created, memory.at, times
    )


def load_errors(project: Project, memories: Sequence[Memory]) -> None:
    """Load the open and cleared errors among `memories` into `project`.

    `memories` must be sorted from newest to oldest.
    """
    for memory in reversed(memories):
        if memory.kind is Kind.ERROR and not is_fix(memory):
            if is_open_error(memory):
                project.load_error(error_from_memory(memory))
            else:
                project.load_cleared_error(error_from_memory(memory))


def is_open_error(memory: Memory) -> bool:
    """Return True if an error has recurred or was never cleared."""
    cleared_at = memory.source.get("cleared")
    return not isinstance(cleared_at, str) or datetime.fromisoformat(cleared_at) < memory.at


def get_reported_error_id(raw: Mapping[str, Any], project: str) -> str | None:
    """Return the id of the error that a stored signal concerns.

    The signal may report or clear the error. Returns None if the signal is not about an error or has no text.
    """
    if isinstance(stored_id := raw.get(ERROR_ID_FIELD), str):
        return stored_id
    text = raw.get("text")
    if raw.get("kind") not in ("error", "error_cleared") or not isinstance(text, str):
        return None
    return error_id(project, parse_error(strip_output_prefixes(text)).fingerprint)


def _apply_error(signal: signals.ErrorReported, project: Project, tree: WorkingTree) -> SignalEffect:
    text = strip_output_prefixes(signal.text)
    error_text = parse_error(text)
    path, line = signal.file, signal.line
    if path is None:
        path, line = _find_own_location(error_text, tree)
        path = _resolve_file_name(path, project)
        if path is None:
            path, line = _find_copy_location(error_text, project)
    identifier = find_error_id(text, error_text, project, path)
    if (known_error := project.find_error(identifier)) is not None and error_id(
        project.id, error_text.fingerprint
    ) != identifier:
        # Only the last line of a known trace: keep the whole trace.
        text, path, line = known_error.text, known_error.path, known_error.line
        error_text = parse_error(text)
    error = project.record_error(
        KnownError(identifier, error_text.headline, text, path, line, signal.command, signal.at, signal.at)
    )
    project.bump_revision()
    memory = _build_error_memory(error, signal, error_text, project.id, signal.at)
    links = tuple({"type": FIXED_BY_LINK, "ref": fix.id} for fix in project.fixes.for_error(identifier))
    event = ErrorEvent(str(tree.root), identifier, signal.command, signal.at)
    return SignalEffect(prefetch=path, memories=(replace(memory, links=links),), fix_event=event)


def _clear_errors(signal: signals.ErrorCleared, project: Project) -> tuple[str, ...]:
    """Clear the errors that match the signal's text, command and file.

    Returns the ids of the cleared errors. Fields that the signal lacks match every error, so a signal without any
    of them clears all errors.
    """
    cleared_ids: list[str] = []
    error_text = parse_error(signal.text) if signal.text else None
    for key, error in list(project.errors.items()):
        if (
            (
                error_text is None
                or key == error_id(project.id, error_text.fingerprint)
                or _is_headline_of(error, signal.text)
            )
            and (signal.command is None or error.command == signal.command)
            and (signal.file is None or error.path == signal.file)
        ):
            project.clear_error(key)
            cleared_ids.append(key)
    if cleared_ids:
        project.bump_revision()
    return tuple(cleared_ids)


def _is_headline_of(error: KnownError, text: str | None) -> bool:
    """Return True if `text` is the headline of `error`.

    An editor may report only the headline of a longer error.
    """
    return text is not None and "\n" not in text.strip() and parse_error(text).headline == error.headline


def _find_own_location(error_text: ParsedError, tree: WorkingTree) -> tuple[str | None, int | None]:
    """Return an error's path and line in this tree.

    This is the location that a tool reports, or the stack frame nearest to the point where the error was raised:
    the last frame in Python, the first in other languages. Returns (None, None) if no location is in this tree.
    """
    for place in error_text.nearest_places:
        if (path := get_path_inside(place.path, str(tree.root))) is not None:
            return path, place.line
    return None, None


def _resolve_file_name(path: str | None, project: Project) -> str | None:
    """Resolve a bare file name that is unique in the project.

    Some tools, such as Go's test runner, do not report the folder. Any other `path` is returned unchanged.
    """
    if path is None or "/" in path or project.predictor is None or project.predictor.has_file(path):
        return path
    paths = project.predictor.find_files_by_name(path)
    return paths[0] if len(paths) == 1 else path


def _find_copy_location(error_text: ParsedError, project: Project) -> tuple[str | None, int | None]:
    """Return where an error from another copy of the project occurred.

    The result consists of a path and a line. The other copy may be in a container, on a colleague's machine or at a
    Windows path. Returns (None, None) if no file in this project matches.
    """
    if project.predictor is not None:
        for place in error_text.nearest_places:
            if (
                path := _find_common_path(
                    place.path, project.predictor.find_files_by_name(PurePosixPath(place.path).name)
                )
            ) is not None:
                return path, place.line
    return None, None


def _find_common_path(path: str, known_paths: Sequence[str]) -> str | None:
    """Return the only path in `known_paths` that matches `path`, or None.

    A known path matches if `path` ends with it, or if the two have at least their last two components in common. If
    several match, the longest match is chosen.
    """
    path_parts = PurePosixPath(path).parts
    ends = {one: count_common_tail(PurePosixPath(one).parts, path_parts) for one in known_paths}
    matching = [one for one, common in ends.items() if common == len(PurePosixPath(one).parts) or common > 1]
    longest = [one for one in matching if ends[one] == max(ends.values())]
    return longest[0] if len(longest) == 1 and not INSTALLED_FOLDER.search(path) else None


def get_path_inside(path: str, root: str) -> str | None:
    """Return `path` relative to `root`, with "/" as separator.

    Returns None if the path is outside `root`, belongs to an installed package, or is not a file.
    """
    if path.startswith("<") or (PureWindowsPath(path).drive and not PurePath(path).is_absolute()):
        return None
    if PurePath(path).is_absolute():
        if not PurePath(path).is_relative_to(root):
            return None
        path = str(PurePath(path).relative_to(root))
    normal = os.path.normpath(path).replace(os.sep, "/")
    if normal.startswith("..") or "site-packages/" in normal or "node_modules/" in normal:
        return None
    return normal


def _build_error_memory(
    error: KnownError, signal: signals.ErrorReported, error_text: ParsedError, project: str, now: datetime
) -> Memory:
    artifacts = (Artifact("file", error.path),) if error.path else ()
    memory = Memory(
        id=error.memory,
        kind=Kind.ERROR,
        title=error_text.headline or "error",
        content=error.text,
        at=error.last,
        created=error.first,
        updated=now,
        project=project,
        ref=f"error:{error_text.fingerprint}",
        levels=Levels(summary=error_text.headline, index=error_text.type or error_text.headline[:60]),
        key=error_text.fingerprint,
        value=str(error.times),
        scope=Scope.PROJECT,
        importance=0.7,
        artifacts=artifacts,
        trust=Trust.UNTRUSTED,
        source={
            "type": "signal",
            "kind": "error",
            "actor": signal.source,
            **({"command": error.command} if error.command else {}),
            **({"line": error.line} if error.line else {}),
        },
    )
    return replace(memory, tags=("error", *((error_text.type,) if error_text.type else ())))


def redact_raw_signal(raw: Any) -> Any:
    """Redact secrets in a raw signal.

    Signals about opened, saved and closed files take a fast path, as they contain little text and often repeat the
    same paths.
    """
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if isinstance(kind, str) and kind in PLAIN_KINDS and raw.keys() <= PLAIN_FIELDS:
        texts = {name: raw[name] for name in ("path", "file", "event_id") if isinstance(raw.get(name), str)}
        return raw | {name: redact_name(text) for name, text in texts.items()}
    return redact_values(raw)[0]
