"""Request (focus) and response (bundle) of a context query.

Each item in a bundle contains the reasons why it was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hunchd.domain.memory import Trust

Activity = Literal["", "coding", "debugging", "new_feature", "reviewing"]
Level = Literal["full", "summary", "compressed", "index"]
NAME_ROLES = ("removes", "adds", "changes", "is beside")


@dataclass(frozen=True, slots=True)
class ChangedName:
    """Name in the lines of a change, and the files that had it before the change."""

    name: str
    role: int  # index into NAME_ROLES: what the change does with the name
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """What the developer is working on: files, branch, activity, question.

    Paths are relative to the project root; the newest open file comes last.
    """

    project: str  # project id
    file: str | None = None
    open_files: tuple[str, ...] = ()  # visible to the user, so never suggested
    visited: tuple[str, ...] = ()  # opened before `file`; may be suggested again
    branch: str = ""
    activity: Activity = ""
    query: str = ""
    errors: tuple[str, ...] = ()  # texts, newest first
    author: str = ""
    is_change: bool = False  # whether `open_files` are those of the uncommitted change
    changed_names: tuple[ChangedName, ...] = ()  # names in the uncommitted change, if it is reviewed


@dataclass(frozen=True, slots=True)
class PredictedFile:
    """File that is likely to be used next."""

    path: str
    score: float
    confidence: float  # calibrated probability that it will be used, 0..1
    reasons: tuple[str, ...] = ()
    is_specific: bool = True  # whether a reason ties it to the query


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """File, such as a lock file, that changes with almost every commit.

    It will therefore probably change this time too; the estimate is based on history. A `path` that ends in "/" is
    a folder to which each change adds its own entry.
    """

    path: str
    probability: float
    times: int  # of the last `of` changes that were counted
    of: int
    of_file: bool  # changes of the file at hand, or of the whole project


@dataclass(frozen=True, slots=True)
class MissingFile:
    """File that is probably still missing from a change.

    A `path` that ends in "/" is a folder that lacks a new entry.
    """

    path: str
    probability: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PredictedUnit:
    """Past unit of work that is relevant now."""

    sha: str
    subject: str
    at: int  # seconds since the epoch
    score: float
    confidence: float
    reasons: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted files and units of work.

    `precedent` is the past change of the current file that the next one most likely continues.
    `confidence` is the confidence in the most likely file. If it is below the silence threshold, nothing should be
    shown unprompted.
    """

    files: tuple[PredictedFile, ...] = ()
    units: tuple[PredictedUnit, ...] = ()
    confidence: float = 0.0
    expected: tuple[ExpectedFile, ...] = ()
    precedent: PredictedUnit | None = None


Tier = Literal[1, 2, 3, 4]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCandidate:
    """Candidate for a bundle, with its content at decreasing levels of detail, longest first."""

    id: str
    kind: str  # file, error, decision, contradiction, episode, fact, pattern, workflow, convention, topic, …
    tier: Tier
    value: float  # expected usefulness, 0..1: probability of use times how much it would help
    forms: tuple[tuple[Level, str], ...]  # (level, text) longest first; a text may have several lines
    reasons: tuple[str, ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    trust: Trust = Trust.PROJECT
    paths: tuple[str, ...] = ()  # paths it is about, so that duplicates are not both selected
    rank: int = 0  # rank among its kind, as a tie-breaker


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """Candidate that was selected for a bundle, at the level that fits the budget."""

    id: str
    kind: str
    tier: Tier
    level: Level
    tokens: int
    score: float
    reasons: tuple[str, ...]
    source: Mapping[str, Any]
    trust: Trust
    text: str
    title: str = ""  # the first line of the text, without its reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Rendered context with its items and token counts."""

    status: Literal["ok", "empty", "degraded"]
    context: str  # Markdown
    token_count: int
    budget: int
    tiers: Mapping[int, int]  # tokens by tier, 1..4
    items: tuple[ContextItem, ...]
    degraded: tuple[str, ...] = ()
    prefetched: bool = False
    etag: str = ""

    def list_files(self) -> list[tuple[str, float]]:
        """Return the predicted files that the text names, with their probabilities."""
        files = [(str(item.source.get("path")), item.score) for item in self.items if item.kind == "file"]
        for item in self.items:
            files += item.source.get("probabilities", {}).items()
        return files
