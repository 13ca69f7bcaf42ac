"""In-memory state of one project: trees, models, open files, errors."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from hunchd.domain.facts import Change
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.engine.state.known_fixes import KnownFixes
from hunchd.engine.state.known_patterns import KnownPatterns
from hunchd.engine.state.routine import Routine
from hunchd.ingestion.redaction import redacted_name
from hunchd.ingestion.workflows.memories import workflow_from
from hunchd.prediction.predictor import Predictor
from hunchd.protocol.answers import project_json
from hunchd.repository.layout import Layout, default_branch, head, is_folder, is_readable
from hunchd.repository.reflog import writer
from hunchd.store.code import CodeCache

# About as many files as a person keeps in mind; older ones are not predictive.
OPEN_FILES = 12
# Longer than a working day, shorter than until the next: tabs of yesterday may never have been closed.
AT_HAND = timedelta(hours=12)
RECENT_ERRORS = 8
MENDED_ERRORS = 200
PROFILE = "/profile/"  # path prefix of the documents about the user
# Errors not seen again for a working day are not listed under "Now" any more.
ERROR_FRESH = timedelta(hours=12)
# Doubtful memories are shown too, marked as such: the reader may know better.
SHOWN = (Status.ACTIVE, Status.SUSPECT)


@dataclass(slots=True)
class SeenError:
    """Recurring error; `memory` is the id under which it is stored."""

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
    """Person who joined the project, and when."""

    name: str
    email: str
    at: datetime
    author: bool = False  # True if detected as author of a commit


@dataclass(slots=True)
class Tree:
    """Working tree with its branch and open files.

    The main one or a linked worktree.
    """

    root: Path
    layout: Layout
    branch: str = ""
    trunk: str = ""  # the main line, whatever its name; "" if unknown
    sha: str | None = None
    opened: OrderedDict[str, datetime] = field(default_factory=OrderedDict)
    by_agents: set[str] = field(default_factory=set)  # subset opened by agents only
    user: str = ""  # mail address of its user

    def look(self) -> bool:
        """Read HEAD again; return True if the branch or the commit changed."""
        now = head(self.layout)
        branch = redacted_name(now.branch or "")
        changed = (branch, now.sha) != (self.branch, self.sha)
        self.branch, self.sha = branch, now.sha
        self.trunk = redacted_name(default_branch(self.layout) or "")
        self.user = writer(self.layout)
        return changed

    def open(self, path: str, at: datetime, *, by_agent: bool = False) -> None:
        """Record that a file was opened.

        The oldest of more than MAX_OPEN_FILES is closed.
        """
        if not by_agent:
            self.by_agents.discard(path)
        elif path not in self.opened:
            self.by_agents.add(path)
        self.opened.pop(path, None)
        self.opened[path] = at
        while len(self.opened) > OPEN_FILES:
            self.close(next(iter(self.opened)))

    def saved(self, path: str, at: datetime) -> None:
        """Refresh the time of a file that is open."""
        if path in self.opened:
            self.opened[path] = max(self.opened[path], at)

    def at_hand(self) -> tuple[str, ...]:
        """Return the open files of the current sitting.

        Those opened or saved within ACTIVE_PERIOD of the newest one. The others say nothing about the current work.
        """
        newest = max(self.opened.values(), default=None)
        return tuple(path for path, at in self.opened.items() if newest is not None and newest - at < AT_HAND)

    def close(self, path: str) -> None:
        self.opened.pop(path, None)
        self.by_agents.discard(path)

    def close_agents(self) -> None:
        """Close the files that only agents opened, when an agent's session ends.

        Agents report what they open, and never that they close it.
        """
        for path in tuple(self.by_agents):
            self.close(path)


@dataclass(slots=True)
class Progress:
    """Count of finished and of all work items."""

    done: int = 0
    total: int = 0

    @property
    def pair(self) -> tuple[int, int]:
        return self.done, self.total


@dataclass(frozen=True, slots=True)
class Sign:
    """Latest progress report of the indexer, with its monotonic time in seconds."""

    step: str
    at: float


@dataclass(slots=True)
class Own:
    """State that belongs to the user and to no project.

    Facts and profile pages, by id.
    """

    facts: dict[str, Memory] = field(default_factory=dict)
    profile: dict[str, Memory] = field(default_factory=dict)

    def notice(self, change: Change) -> None:
        """Update facts and profile pages with a change."""
        noticed(change, self.facts, Kind.FACT)
        noticed(change, self.profile, Kind.DOCUMENT, under=PROFILE)


def noticed(change: Change, shown: dict[str, Memory], kind: Kind, *, under: str = "") -> None:
    """Update `memories`, the valid or doubtful memories of one kind, with a change."""
    for memory in change.memories:
        if memory.kind is not kind or not (memory.key or "").startswith(under) or "." in memory.id:
            continue  # versions and chunks are not shown
        if memory.status in SHOWN:
            shown[memory.id] = memory
        else:
            shown.pop(memory.id, None)
    for identifier in change.deletions:
        shown.pop(identifier, None)


@dataclass(slots=True)
class Project:
    """State of one project.

    `revision` grows with every change that may affect an answer; bundles store the one they were built at.
    """

    id: str
    name: str
    main: Tree
    cache: Path  # folder of the models, which can be rebuilt
    trees: dict[Path, Tree] = field(default_factory=dict)
    predictor: Predictor | None = None
    code: CodeCache | None = None
    indexing: bool = True
    index_error: str = ""
    reading: Sign | None = None
    whole: bool = False  # the initial indexing is complete; from then on it is incremental
    unread: str = ""  # why older history is missing
    learnt: str | None = None  # sha of the newest unit that the predictor knows
    border: int | None = None  # time of the oldest commit of a shallow clone
    commits: Progress = field(default_factory=Progress)
    files: Progress = field(default_factory=Progress)
    embeddings: Progress = field(default_factory=Progress)
    errors: OrderedDict[str, SeenError] = field(default_factory=OrderedDict)
    mended: OrderedDict[str, SeenError] = field(default_factory=OrderedDict)  # cleared errors; they may recur
    fixes: KnownFixes = field(default_factory=KnownFixes)
    patterns: KnownPatterns = field(default_factory=KnownPatterns)
    mining: Progress = field(default_factory=Progress)  # files searched for patterns
    is_mining: bool = False
    facts: dict[str, Memory] = field(default_factory=dict)  # by id: conventions, decisions, statements of the user
    conflicts: dict[str, Memory] = field(default_factory=dict)  # by id: open contradictions
    shared: dict[str, str | None] | None = None  # ids from the repository's shared files → branch
    workflows: dict[str, Memory] = field(default_factory=dict)  # by id
    routine: Routine = field(default_factory=Routine)  # command history and next-step model
    topics: tuple[str, ...] = ()
    guides: frozenset[str] = frozenset()  # files included by its guides for contributors and agents
    joined: OrderedDict[str, Collaborator] = field(default_factory=OrderedDict)  # recent ones, by mail address
    revision: int = 0
    last_signal: datetime | None = None
    asked: float = 0.0  # monotonic time of the last bundle request, in seconds

    @property
    def root(self) -> Path:
        return self.main.root

    @property
    def missing(self) -> bool:
        """True if its folder is missing or cannot be read."""
        return not is_readable(self.root)

    @property
    def state(self) -> Literal["indexing", "ready", "missing"]:
        """Lifecycle state as `hunch status` shows it."""
        return "missing" if self.missing else "indexing" if self.indexing else "ready"

    @property
    def trouble(self) -> str:
        """Description of what is broken or still being read.

        Empty if nothing is.
        """
        if self.missing:
            return f"{self.root} {'cannot be read' if is_folder(self.root) else 'is not there'}"
        if self.index_error:
            return f"{self.name}: {self.index_error}"
        if self.unread:
            return f"{self.name}: {self.unread}"
        if self.predictor is None:
            return f"{self.name}: history is still being read"
        return f"{self.name}: older history and files are still being read" if self.indexing else ""

    def tree_of(self, path: str | os.PathLike[str] | None) -> Tree:
        """Return the tree that contains an absolute path.

        The main one if none does.
        """
        if path is not None:
            for root, tree in self.trees.items():
                if Path(path).is_relative_to(root):
                    return tree
        return self.main

    @property
    def users(self) -> frozenset[str]:
        """Mail addresses of the users of its trees, in lower case."""
        return frozenset(tree.user.lower() for tree in (self.main, *self.trees.values()) if tree.user)

    def reached(self, step: str) -> None:
        """Record the indexer's progress."""
        self.reading = Sign(step, time.monotonic())

    def touch(self) -> None:
        """Increment the revision, which invalidates cached bundles."""
        self.revision += 1

    def notice(self, change: Change) -> None:
        """Update the state with changed memories, so that the next bundle shows them."""
        noticed(change, self.facts, Kind.FACT)
        noticed(change, self.conflicts, Kind.CONTRADICTION)
        self._forget_workflows(change.deletions)
        noticed(change, self.workflows, Kind.WORKFLOW)
        self.fixes.notice(change)
        self.patterns.notice(change)
        for identifier in change.deletions:
            self.errors.pop(identifier, None)
            self.mended.pop(identifier, None)
        self.touch()

    def _forget_workflows(self, deletions: Iterable[str]) -> None:
        """Keep deleted workflows from being learned again."""
        for identifier in deletions:
            known = self.workflows.get(identifier)
            if known is not None and (workflow := workflow_from(known)) is not None:
                self.routine.forget(identifier, workflow)

    def saw(self, error: SeenError) -> SeenError:
        """Count one more occurrence of an error; the newest comes last."""
        known = self.errors.pop(error.memory, None) or self.mended.pop(error.memory, None)
        if known is not None:
            error.times = known.times + 1
            error.first = known.first
            error.last = max(known.last, error.last)
        self.errors[error.memory] = error
        while len(self.errors) > RECENT_ERRORS:
            self.errors.popitem(last=False)
        return error

    def mend(self, identifier: str) -> None:
        """Mark an error as cleared; if it recurs, its count continues."""
        if (error := self.errors.pop(identifier, None)) is not None:
            self.mended[identifier] = error
        while len(self.mended) > MENDED_ERRORS:
            self.mended.popitem(last=False)

    def recall(self, error: SeenError) -> None:
        """Load an open error from the store.

        It is older than any seen since the start.
        """
        if (seen := self.errors.get(error.memory)) is not None:
            # A replayed occurrence may be counted in the store already; count it once.
            seen.times = seen.times + error.times if error.last < seen.first else max(seen.times, error.times)
            seen.first = min(seen.first, error.first)
        else:
            self.errors[error.memory] = error
            self.errors.move_to_end(error.memory, last=False)
            if len(self.errors) > RECENT_ERRORS:
                self.errors.popitem(last=False)

    def recall_mended(self, error: SeenError) -> None:
        """Load from the store an error that had been cleared."""
        if error.memory not in self.errors:
            self.mended.setdefault(error.memory, error)
        while len(self.mended) > MENDED_ERRORS:
            self.mended.popitem(last=False)

    def known_error(self, identifier: str) -> SeenError | None:
        """Return the error with this id, open or cleared."""
        return self.errors.get(identifier) or self.mended.get(identifier)

    def fresh_errors(self, now: datetime) -> tuple[SeenError, ...]:
        """Return the errors seen within ERROR_MAX_AGE, newest first."""
        return tuple(error for error in reversed(self.errors.values()) if now - error.last <= ERROR_FRESH)

    def json(self, stored: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Serialize the project for the API.

        `store_counts` are the store's own counts, where available.
        """
        vectors = self.embeddings.pair if stored is None else (stored["embedded"], stored["rows"])
        shown = project_json(
            id=self.id,
            path=str(self.root),
            name=self.name,
            branch=self.main.branch,
            state=self.state,
            commits=self.commits.pair,
            files=self.files.pair,
            embeddings=vectors,
        )
        shown["worktrees"] = [str(root) for root in self.trees if root != self.root and is_folder(root)]
        shown["progress"]["patterns"] = {"done": self.mining.done, "total": self.mining.total}
        shown["patterns"] = {"known": len(self.patterns), "state": "mining" if self.is_mining else "ready"}
        if self.state == "indexing" and self.reading is not None:
            silent = round(time.monotonic() - self.reading.at)
            shown["reading"] = {"step": self.reading.step, "silent_seconds": silent}
        if wrong := self.index_error or self.unread:
            shown["index_error"] = wrong
        return shown
