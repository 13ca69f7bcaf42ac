"""In-memory state of one project: trees, models, open files, errors."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from hunchd.core.state.command_history import CommandHistory
from hunchd.core.state.known_fixes import KnownFixes
from hunchd.core.state.known_patterns import KnownPatterns
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.ingestion.redaction import redact_name
from hunchd.prediction.predictor import Predictor
from hunchd.protocol.responses import (
    ProgressAnswer,
    ProjectAnswer,
    ProjectPatternsAnswer,
    ReadingAnswer,
    StageAnswer,
)
from hunchd.repository.layout import RepositoryLayout, find_default_branch, is_folder, is_readable, read_head
from hunchd.repository.reflog import find_last_author
from hunchd.store.code_cache import CodeCache

# About as many files as a person keeps in mind; older ones are not predictive.
MAX_OPEN_FILES = 12
# Longer than a working day, shorter than the time until the next: yesterday's tabs may never have been closed.
ACTIVE_PERIOD = timedelta(hours=12)
MAX_RECENT_ERRORS = 8
MAX_CLEARED_ERRORS = 200
PROFILE_PREFIX = "/profile/"  # path prefix of the documents about the user
# Errors not seen again for a working day are no longer listed under "Now".
ERROR_MAX_AGE = timedelta(hours=12)
# Suspect memories are shown too, marked as such, since the reader may know better.
SHOWN_STATUSES = (Status.ACTIVE, Status.SUSPECT)


@dataclass(slots=True)
class KnownError:
    """Error that may recur.

    `memory` is the id of the memory that stores it.
    """

    memory: str
    headline: str
    text: str
    path: str | None
    line: int | None
    command: str | None
    first: datetime
    last: datetime
    times: int = 1


@dataclass(frozen=True, slots=True)
class Collaborator:
    """Person who joined the project, with the time of joining."""

    name: str
    email: str
    at: datetime
    author: bool = False  # True if detected as author of a commit


@dataclass(slots=True)
class WorkingTree:
    """Main or linked working tree, with its branch and open files."""

    root: Path
    layout: RepositoryLayout
    branch: str = ""
    trunk: str = ""  # the main line, whatever its name; "" if unknown
    sha: str | None = None
    open_files: OrderedDict[str, datetime] = field(default_factory=OrderedDict)
    agent_files: set[str] = field(default_factory=set)  # subset opened by agents only
    user_email: str = ""  # email address of its user

    def refresh_head(self) -> bool:
        """Read HEAD again; return True if the branch or commit has changed."""
        now = read_head(self.layout)
        branch = redact_name(now.branch or "")
        is_changed = (branch, now.sha) != (self.branch, self.sha)
        self.branch, self.sha = branch, now.sha
        self.trunk = redact_name(find_default_branch(self.layout) or "")
        self.user_email = find_last_author(self.layout)
        return is_changed

    def open_file(self, path: str, at: datetime, *, by_agent: bool = False) -> None:
        """Record that a file was opened.

        If more than MAX_OPEN_FILES are then open, the oldest is recorded as closed.
        """
        if not by_agent:
            self.agent_files.discard(path)
        elif path not in self.open_files:
            self.agent_files.add(path)
        self.open_files.pop(path, None)
        self.open_files[path] = at
        while len(self.open_files) > MAX_OPEN_FILES:
            self.close_file(next(iter(self.open_files)))

    def record_save(self, path: str, at: datetime) -> None:
        """Record when an open file was saved."""
        if path in self.open_files:
            self.open_files[path] = max(self.open_files[path], at)

    def list_active_files(self) -> tuple[str, ...]:
        """Return the open files that belong to the current working session.

        These are the files opened or saved less than ACTIVE_PERIOD before the most recently opened or saved file.
        Older files say nothing about the current work.
        """
        newest = max(self.open_files.values(), default=None)
        return tuple(path for path, at in self.open_files.items() if newest is not None and newest - at < ACTIVE_PERIOD)

    def close_file(self, path: str) -> None:
        self.open_files.pop(path, None)
        self.agent_files.discard(path)

    def close_agent_files(self) -> None:
        """Record as closed the files that only agents opened.

        This is called when an agent's session ends. Agents report when they open a file, but never when they close it.
        """
        for path in tuple(self.agent_files):
            self.close_file(path)


@dataclass(slots=True)
class ProgressCount:
    """Number of finished work items and total number of work items."""

    done: int = 0
    total: int = 0

    @property
    def pair(self) -> tuple[int, int]:
        return self.done, self.total


@dataclass(frozen=True, slots=True)
class IndexingStep:
    """Latest progress report from the indexer.

    `at` is its time on the monotonic clock, in seconds.
    """

    step: str
    at: float


@dataclass(slots=True)
class UserState:
    """Facts and profile pages of the user, keyed by id.

    These memories do not belong to any project.
    """

    facts: dict[str, Memory] = field(default_factory=dict)
    profile: dict[str, Memory] = field(default_factory=dict)

    def apply_change(self, change: MemoryChange) -> None:
        """Apply a change to the facts and profile pages."""
        update_shown(change, self.facts, Kind.FACT)
        update_shown(change, self.profile, Kind.DOCUMENT, key_prefix=PROFILE_PREFIX)


def update_shown(change: MemoryChange, memories: dict[str, Memory], kind: Kind, *, key_prefix: str = "") -> None:
    """Apply a change to the shown memories of one kind.

    `memories` contains the shown memories, which are those with the status active or suspect.
    """
    for memory in change.memories:
        if memory.kind is not kind or not (memory.key or "").startswith(key_prefix) or "." in memory.id:
            continue  # versions and chunks are not shown
        if memory.status in SHOWN_STATUSES:
            memories[memory.id] = memory
        else:
            memories.pop(memory.id, None)
    for identifier in change.deletions:
        memories.pop(identifier, None)


@dataclass(slots=True)
class Project:
    """In-memory state of one project.

    `revision` grows with every change that may affect an answer; each bundle stores the revision at which it was built.
    """

    id: str
    name: str
    main: WorkingTree
    cache: Path  # folder of the models, which can be rebuilt
    trees: dict[Path, WorkingTree] = field(default_factory=dict)
    predictor: Predictor | None = None
    code: CodeCache | None = None
    indexing: bool = True
    is_paused: bool = False  # neither watched nor indexed; its signals are refused
    index_error: str = ""
    indexing_step: IndexingStep | None = None
    is_indexed: bool = False  # the initial indexing is complete; from then on it is incremental
    incomplete_reason: str = ""  # why older history is missing
    learned_sha: str | None = None  # sha of the newest unit that the predictor knows
    shallow_boundary: int | None = None  # time of the oldest commit of a shallow clone
    commits: ProgressCount = field(default_factory=ProgressCount)
    files: ProgressCount = field(default_factory=ProgressCount)
    embeddings: ProgressCount = field(default_factory=ProgressCount)
    errors: OrderedDict[str, KnownError] = field(default_factory=OrderedDict)
    cleared_errors: OrderedDict[str, KnownError] = field(default_factory=OrderedDict)  # they may recur
    fixes: KnownFixes = field(default_factory=KnownFixes)
    patterns: KnownPatterns = field(default_factory=KnownPatterns)
    mining: ProgressCount = field(default_factory=ProgressCount)  # files searched for patterns
    is_mining: bool = False
    facts: dict[str, Memory] = field(default_factory=dict)  # by id: conventions, decisions, statements of the user
    conflicts: dict[str, Memory] = field(default_factory=dict)  # by id: open contradictions
    shared_ids: dict[str, str | None] | None = None  # ids from the repository's shared files → branch
    workflows: dict[str, Memory] = field(default_factory=dict)  # by id
    command_history: CommandHistory = field(default_factory=CommandHistory)  # command history and next-step model
    topics: tuple[str, ...] = ()
    guides: frozenset[str] = frozenset()  # files included by its guides for contributors and agents
    collaborators: OrderedDict[str, Collaborator] = field(default_factory=OrderedDict)  # recent ones, by email address
    revision: int = 0
    last_signal: datetime | None = None
    last_request_at: float = 0.0  # monotonic time of the last bundle request, in seconds

    @property
    def root(self) -> Path:
        return self.main.root

    @property
    def is_missing(self) -> bool:
        """True if the project's folder is missing or cannot be read."""
        return not is_readable(self.root)

    @property
    def state(self) -> Literal["indexing", "ready", "missing"]:
        """Lifecycle state of the project, as shown by `hunch status`."""
        return "missing" if self.is_missing else "indexing" if self.indexing else "ready"

    @property
    def problem(self) -> str:
        """Description of the current problem or of unfinished indexing, or ""."""
        if self.is_missing:
            return f"{self.root} {'cannot be read' if is_folder(self.root) else 'is not there'}"
        if self.index_error:
            return f"{self.name}: {self.index_error}"
        if self.incomplete_reason:
            return f"{self.name}: {self.incomplete_reason}"
        if self.predictor is None:
            return f"{self.name}: history is still being read"
        if not self.indexing:
            return ""
        unread = "changes since hunchd last ran" if self.is_indexed else "older history and files"
        return f"{self.name}: {unread} are still being read"

    def tree_of(self, path: str | os.PathLike[str] | None) -> WorkingTree:
        """Return the working tree that contains an absolute path.

        Returns the main tree if no tree contains it or `path` is None.
        """
        if path is not None:
            for root, tree in self.trees.items():
                if Path(path).is_relative_to(root):
                    return tree
        return self.main

    @property
    def user_emails(self) -> frozenset[str]:
        """Email addresses of the users of the working trees, in lower case."""
        return frozenset(tree.user_email.lower() for tree in (self.main, *self.trees.values()) if tree.user_email)

    def record_indexing_step(self, step: str) -> None:
        """Record the indexer's progress."""
        self.indexing_step = IndexingStep(step, time.monotonic())

    def bump_revision(self) -> None:
        """Increment the revision, which invalidates cached bundles."""
        self.revision += 1

    def apply_change(self, change: MemoryChange) -> None:
        """Apply changed memories, so that the next bundle shows them."""
        update_shown(change, self.facts, Kind.FACT)
        update_shown(change, self.conflicts, Kind.CONTRADICTION)
        update_shown(change, self.workflows, Kind.WORKFLOW)
        self.fixes.apply_change(change)
        self.patterns.apply_change(change)
        for identifier in change.deletions:
            self.errors.pop(identifier, None)
            self.cleared_errors.pop(identifier, None)
        self.bump_revision()

    def record_error(self, error: KnownError) -> KnownError:
        """Count one more occurrence of an error, which becomes the newest error."""
        earlier = self.errors.pop(error.memory, None) or self.cleared_errors.pop(error.memory, None)
        if earlier is not None:
            error.times = earlier.times + 1
            error.first = earlier.first
            error.last = max(earlier.last, error.last)
        self.errors[error.memory] = error
        while len(self.errors) > MAX_RECENT_ERRORS:
            self.errors.popitem(last=False)
        return error

    def clear_error(self, identifier: str) -> None:
        """Mark an error as cleared; if it recurs, its count continues."""
        if (error := self.errors.pop(identifier, None)) is not None:
            self.cleared_errors[identifier] = error
        while len(self.cleared_errors) > MAX_CLEARED_ERRORS:
            self.cleared_errors.popitem(last=False)

    def load_error(self, error: KnownError) -> None:
        """Load an open error from the store.

        The error is placed before all errors seen since the daemon started, because it is older than they are.
        """
        if (open_error := self.errors.get(error.memory)) is not None:
            # A replayed occurrence may be counted in the store already; count it once.
            open_error.times = (
                open_error.times + error.times if error.last < open_error.first else max(open_error.times, error.times)
            )
            open_error.first = min(open_error.first, error.first)
        else:
            self.errors[error.memory] = error
            self.errors.move_to_end(error.memory, last=False)
            if len(self.errors) > MAX_RECENT_ERRORS:
                self.errors.popitem(last=False)

    def load_cleared_error(self, error: KnownError) -> None:
        """Load a cleared error from the store."""
        if error.memory not in self.errors:
            self.cleared_errors.setdefault(error.memory, error)
        while len(self.cleared_errors) > MAX_CLEARED_ERRORS:
            self.cleared_errors.popitem(last=False)

    def find_error(self, identifier: str) -> KnownError | None:
        """Return the error with this id, or None.

        The error may be open or cleared.
        """
        return self.errors.get(identifier) or self.cleared_errors.get(identifier)

    def list_fresh_errors(self, now: datetime) -> tuple[KnownError, ...]:
        """Return the open errors seen within ERROR_MAX_AGE, newest first."""
        return tuple(error for error in reversed(self.errors.values()) if now - error.last <= ERROR_MAX_AGE)

    def to_answer(self, store_counts: Mapping[str, int] | None = None) -> ProjectAnswer:
        """Return the project in the form used by the API.

        `store_counts` are the counts of embeddings reported by the store, if available.
        """
        counts = store_counts
        vectors = self.embeddings.pair if counts is None else (counts["embedded"], counts["to_embed"])
        stages = {"commits": self.commits.pair, "files": self.files.pair, "embeddings": vectors}
        reading = None
        if self.state == "indexing" and self.indexing_step is not None:
            silent_seconds = round(time.monotonic() - self.indexing_step.at)
            reading = ReadingAnswer(step=self.indexing_step.step, silent_seconds=silent_seconds)
        return ProjectAnswer(
            id=self.id,
            path=str(self.root),
            name=self.name,
            branch=self.main.branch,
            state=self.state,
            progress=ProgressAnswer(
                **{name: StageAnswer(done=done_count, total=total) for name, (done_count, total) in stages.items()},
                patterns=StageAnswer(done=self.mining.done, total=self.mining.total),
            ),
            worktrees=[str(root) for root in self.trees if root != self.root and is_folder(root)],
            patterns=ProjectPatternsAnswer(known=len(self.patterns), state="mining" if self.is_mining else "ready"),
            reading=reading,
            index_error=self.index_error or self.incomplete_reason or None,
            paused=self.is_paused,
        )
