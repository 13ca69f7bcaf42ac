"""Signals: events sent by clients and watchers, as a closed union of types."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

BY_AGENT: Final = "agent"  # source of signals from agent hooks


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalBase:
    """Fields that all signals have.

    `project` is the absolute path of a working tree; `at` is timezone-aware (UTC).
    """

    project: str
    at: datetime
    id: str = ""  # chosen by the client or at acceptance; identifies replays
    source: str = "client"  # editor, agent, hook, watcher, cli, ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOpened(SignalBase):
    path: str  # relative to the project root, with "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSaved(SignalBase):
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileClosed(SignalBase):
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDeleted(SignalBase):
    """Deletion of a file; sent by the watcher only."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesChanged(SignalBase):
    """Change to many files at once, for example by a checkout or a generator.

    This signal is sent by the watcher only, also after a rescan. `complete` is False if there were too many files
    to list; the receiver must then rescan the tree.
    """

    saved: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCheckout(SignalBase):
    branch: str
    previous: str | None = None  # "from" on the wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(SignalBase):
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(SignalBase):
    sha: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite(SignalBase):
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationStarted(SignalBase):
    """Start of a rebase, merge, cherry-pick, revert or bisect.

    Movements of HEAD have no meaning until the operation ends.
    """

    operation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationEnded(SignalBase):
    """Summary of a finished git operation.

    `old` and `new` are the branch's commits before and after the operation; they are equal if it was aborted.
    """

    operation: str
    branch: str | None = None
    old: str | None = None
    new: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReported(SignalBase):
    text: str
    command: str | None = None
    exit_code: int | None = None
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCleared(SignalBase):
    text: str | None = None
    command: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFinished(SignalBase):
    command: str
    exit_code: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CollaboratorJoined(SignalBase):
    name: str
    email: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted(SignalBase):
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded(SignalBase):
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUsed(SignalBase):
    """Use of an item that was shown in a context: a path, or the id of a memory."""

    path: str | None = None
    memory: str | None = None  # "id" on the wire


Signal = (
    FileOpened
    | FileSaved
    | FileClosed
    | FileDeleted
    | FilesChanged
    | BranchCheckout
    | Commit
    | Merge
    | Rewrite
    | OperationStarted
    | OperationEnded
    | ErrorReported
    | ErrorCleared
    | CommandFinished
    | CollaboratorJoined
    | SessionStarted
    | SessionEnded
    | ContextUsed
)
