"""Application of an accepted signal to the in-memory state. No I/O.

Determines what changes in memory and what is to be stored.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from hunchd.domain import signal as signals
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Scope, Trust
from hunchd.domain.signal import Signal
from hunchd.engine.state import collaborators
from hunchd.engine.state.known_errors import error_id, error_meant
from hunchd.engine.state.project import Project, SeenError, Tree
from hunchd.engine.state.runs import Committed, Failed, Happened, Passed
from hunchd.ingestion.errors import ErrorText, understood
from hunchd.ingestion.fixes import FIXED_BY, is_fix
from hunchd.ingestion.outputs import unprefixed
from hunchd.ingestion.redaction import redact_values, redacted_name
from hunchd.prediction.session import SessionEvent
from hunchd.prediction.traces import INSTALLED, common_tail
from hunchd.protocol.messages import signal_from_json, signal_json

# Signals with a path only: by far the most frequent; the secret scan is half of their cost.
PLAIN_KINDS = frozenset({"file_opened", "file_saved", "file_closed"})
PLAIN_FIELDS = frozenset({"kind", "project", "path", "file", "at", "event_id"})
MEANT = "error_meant"  # field of a stored signal: id of the error that its text, a last line, belongs to
# From this number on a rescan of the tree is cheaper.
MANY = 500  # files


@dataclass(frozen=True, slots=True)
class Effect:
    """Follow-up work of a signal.

    Files to parse again, a refresh of the whole tree, new commits, rewritten commits, a bundle to prefetch.
    """

    parse: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refresh: bool = False
    catch_up: bool = False
    prefetch: str | None = None  # a file, or "" for the branch itself
    memories: tuple[Memory, ...] = ()
    rewritten: tuple[tuple[str, str, bool], ...] = ()  # (old commit, new commit, reported by git itself)
    happened: Happened | None = None  # event for the learning of fixes


NOTHING = Effect()


def absorb(signal: Signal, project: Project, tree: Tree) -> Effect:
    """Apply `signal` to the in-memory state of the project.

    Signals from a shell's history lie long in the past: they teach habits and change nothing here.
    """
    if signal.source == "history":
        return NOTHING
    project.last_signal = signal.at
    if project.predictor is not None and (event := session_event(signal)) is not None:
        project.predictor.note(event)
    match signal:
        case signals.FileOpened(path=path):
            tree.open(path, signal.at, by_agent=signal.source == signals.BY_AGENT)
            return Effect(prefetch=path)
        case signals.FileSaved(path=path):
            tree.saved(path, signal.at)
            project.touch()
            return Effect(parse=(path,), prefetch=path if path in tree.opened else None)
        case signals.FileClosed(path=path):
            tree.close(path)
        case signals.SessionEnded(source=signals.BY_AGENT):
            tree.close_agents()
        case signals.FileDeleted(path=path):
            tree.close(path)
            project.touch()
            return Effect(parse=(path,), removed=(path,))
        case signals.FilesChanged(saved=saved, deleted=deleted, complete=True) if len(saved) + len(deleted) < MANY:
            project.touch()
            return Effect(parse=(*saved, *deleted))
        case signals.FilesChanged() | signals.OperationEnded():
            project.touch()
            return Effect(refresh=True, catch_up=True)
        case signals.BranchCheckout(branch=branch):
            tree.branch = branch
            project.touch()
            return Effect(refresh=True, prefetch="")
        case signals.Commit(sha=sha):
            return Effect(catch_up=True, happened=Committed(str(tree.root), sha, signal.at))
        case signals.Merge():
            return Effect(catch_up=True)
        case signals.Rewrite(old=old, new=new, source=source):
            return Effect(catch_up=True, rewritten=((old, new, source == "hook"),))
        case signals.Used(path=str(path)):
            if project.predictor is not None:
                project.predictor.outcome(path, used=True)
        case signals.CollaboratorJoined(name=name, email=email):
            collaborators.joined(project, name, email or "", signal.at)
        case signals.ErrorSeen():
            return _error(signal, project, tree)
        case signals.ErrorCleared():
            gone = _clear(signal, project)
            named = signal.file is not None or signal.text is not None
            return Effect(happened=Passed(str(tree.root), gone, signal.command, signal.at, named))
        case signals.CommandFinished(exit_code=0, command=command):
            gone = _clear(signals.ErrorCleared(project=signal.project, at=signal.at, command=command), project)
            return Effect(happened=Passed(str(tree.root), gone, command, signal.at))
    return NOTHING


def event_id(signal: Signal) -> str | None:
    """Return a stable id for events that git hooks and the watcher both report.

    Returns None for a signal without a natural key.
    """
    match signal:
        case signals.Commit(sha=str(name)) | signals.Merge(sha=str(name)):
            pass
        case signals.Rewrite(old=old, new=new):
            name = f"{old}:{new}"
        case _:
            return None
    told = f"{type(signal).__name__}:{name}:{signal.project}"
    return "git:" + hashlib.blake2b(told.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()


def cleaned(signal: Signal) -> Signal:
    """Redact secrets in a signal, including those in branch names."""
    told, found = redact_values(signal_json(signal))
    return signal_from_json(told) if found else signal


def session_event(signal: Signal) -> SessionEvent | None:
    """Convert a signal to the predictor's event, or return None if it has none."""
    at = int(signal.at.timestamp())
    match signal:
        case signals.FileOpened(path=path):
            return SessionEvent("opened", at, path)
        case signals.FileSaved(path=path):
            return SessionEvent("saved", at, path)
        case signals.FileClosed(path=path):
            return SessionEvent("closed", at, path)
        case signals.Used(path=str(path)):
            return SessionEvent("used", at, path)
        case signals.ErrorSeen(file=str(path)):
            return SessionEvent("error", at, path)
        case signals.BranchCheckout(branch=branch):
            return SessionEvent("checkout", at, branch=branch)
    return None


def signal_row(signal: Signal, told: Mapping[str, Any], project: Project, effect: Effect) -> dict[str, Any]:
    """Build the row that the store keeps of a signal.

    It is kept until the signal is absorbed into memories. `raw` is the signal as JSON. The id of the error is
    added where it cannot be derived from the text.
    """
    if isinstance(effect.happened, Failed) and effect.happened.error != error_told_by(told, project.id):
        told = {**told, MEANT: effect.happened.error}
    return {"id": signal.id, "kind": told["kind"], "project": project.id, "at": signal.at.isoformat(), "data": told}


def seen_error(memory: Memory) -> SeenError:
    """Convert a stored error memory to a SeenError."""
    path = next((artifact.ref for artifact in memory.artifacts if artifact.type == "file"), None)
    times = int(memory.value) if memory.value and memory.value.isdigit() else 1
    line, command = memory.source.get("line"), memory.source.get("command")
    return SeenError(
        memory.id, memory.levels.summary, memory.content, path, line, command, memory.created, memory.at, times
    )


def recall_errors(project: Project, memories: Sequence[Memory]) -> None:
    """Load the errors among `memories` (newest first), open and cleared ones, into `project`."""
    for memory in reversed(memories):
        if memory.kind is Kind.ERROR and not is_fix(memory):
            if still_seen(memory):
                project.recall(seen_error(memory))
            else:
                project.recall_mended(seen_error(memory))


def still_seen(memory: Memory) -> bool:
    """Return True if an error was not cleared since it was last seen."""
    cleared = memory.source.get("cleared")
    return not isinstance(cleared, str) or datetime.fromisoformat(cleared) < memory.at


def error_told_by(told: Mapping[str, Any], project: str) -> str | None:
    """Return the id of the error that a stored signal reports, or None."""
    if isinstance(meant := told.get(MEANT), str):
        return meant
    text = told.get("text")
    if told.get("kind") not in ("error", "error_cleared") or not isinstance(text, str):
        return None
    return error_id(project, understood(unprefixed(text)).fingerprint)


def _error(signal: signals.ErrorSeen, project: Project, tree: Tree) -> Effect:
    text = unprefixed(signal.text)
    read = understood(text)
    path, line = signal.file, signal.line
    if path is None:
        path, line = _own_place(read, tree)
        path = _found_by_name(path, project)
        if path is None:
            path, line = _place_elsewhere(read, project)
    identifier = error_meant(text, read, project, path)
    if (known := project.known_error(identifier)) is not None and error_id(project.id, read.fingerprint) != identifier:
        # Only the last line of a known trace: keep the whole trace.
        text, path, line = known.text, known.path, known.line
        read = understood(text)
    seen = project.saw(SeenError(identifier, read.headline, text, path, line, signal.command, signal.at, signal.at))
    project.touch()
    memory = _memory(seen, signal, read, project.id, signal.at)
    links = tuple({"type": FIXED_BY, "ref": fix.id} for fix in project.fixes.of(identifier))
    happened = Failed(str(tree.root), identifier, signal.command, signal.at)
    return Effect(prefetch=path, memories=(replace(memory, links=links),), happened=happened)


def _clear(signal: signals.ErrorCleared, project: Project) -> tuple[str, ...]:
    """Clear the errors that match the signal by text, command or file.

    Returns their ids. A signal that names none of these clears all errors.
    """
    gone: list[str] = []
    said = understood(signal.text) if signal.text else None
    for key, error in list(project.errors.items()):
        if (
            (said is None or key == error_id(project.id, said.fingerprint) or _is_line_of(error, signal.text))
            and (signal.command is None or error.command == signal.command)
            and (signal.file is None or error.path == signal.file)
        ):
            project.mend(key)
            gone.append(key)
    if gone:
        project.touch()
    return tuple(gone)


def _is_line_of(error: SeenError, text: str | None) -> bool:
    """Return True if `text` is the headline of a longer error.

    An editor may have kept only that line.
    """
    return text is not None and "\n" not in text.strip() and understood(text).headline == error.headline


def _own_place(read: ErrorText, tree: Tree) -> tuple[str | None, int | None]:
    """Return path and line of an error in this tree.

    The location that a tool reports, or the stack frame nearest to the raise: the last frame for Python, the first for
    other languages.
    """
    for place in read.nearest:
        if (path := inside(place.path, str(tree.root))) is not None:
            return path, place.line
    return None, None


def _found_by_name(path: str | None, project: Project) -> str | None:
    """Resolve a bare file name to the only file of that name.

    Some tools, such as Go's tests, report no folder.
    """
    if path is None or "/" in path or project.predictor is None or project.predictor.has(path):
        return path
    found = project.predictor.called(path)
    return found[0] if len(found) == 1 else path


def _place_elsewhere(read: ErrorText, project: Project) -> tuple[str | None, int | None]:
    """Return the nearest location that lies in another copy of the project.

    Such as a container's, a colleague's, or a path on Windows.
    """
    if project.predictor is not None:
        for place in read.nearest:
            if (path := _same_in(place.path, project.predictor.called(PurePosixPath(place.path).name))) is not None:
                return path, place.line
    return None, None


def _same_in(path: str, known: Sequence[str]) -> str | None:
    """Return the one path of `known_paths` that matches `path`.

    `path` ends with it, or shares its last two parts.
    """
    parts = PurePosixPath(path).parts
    ends = {one: common_tail(PurePosixPath(one).parts, parts) for one in known}
    fitting = [one for one, common in ends.items() if common == len(PurePosixPath(one).parts) or common > 1]
    longest = [one for one in fitting if ends[one] == max(ends.values())]
    return longest[0] if len(longest) == 1 and not INSTALLED.search(path) else None


def inside(path: str, root: str) -> str | None:
    """Return `path` relative to `root` with "/", or None.

    Returns None when it is outside, in installed packages, or not a file.
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


def _memory(seen: SeenError, signal: signals.ErrorSeen, read: ErrorText, project: str, now: datetime) -> Memory:
    artifacts = (Artifact("file", seen.path),) if seen.path else ()
    memory = Memory(
        id=seen.memory,
        kind=Kind.ERROR,
        title=read.headline[:120] or "error",
        content=seen.text,
        at=seen.last,
        created=seen.first,
        updated=now,
        project=project,
        ref=f"error:{read.fingerprint}",
        levels=Levels(summary=read.headline, index=read.type or read.headline[:60]),
        key=read.fingerprint,
        value=str(seen.times),
        scope=Scope.PROJECT,
        importance=0.7,
        artifacts=artifacts,
        trust=Trust.UNTRUSTED,
        source={
            "type": "signal",
            "kind": "error",
            "actor": signal.source,
            **({"command": seen.command} if seen.command else {}),
            **({"line": seen.line} if seen.line else {}),
        },
    )
    return replace(memory, tags=("error", *((read.type,) if read.type else ())))


def without_secrets_in(raw: Any) -> Any:
    """Redact secrets in a raw signal.

    Fast path: signals of opened and saved files have few texts, and the same paths again and again.
    """
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if isinstance(kind, str) and kind in PLAIN_KINDS and raw.keys() <= PLAIN_FIELDS:
        texts = {name: raw[name] for name in ("path", "file", "event_id") if isinstance(raw.get(name), str)}
        return raw | {name: redacted_name(text) for name, text in texts.items()}
    return redact_values(raw)[0]
