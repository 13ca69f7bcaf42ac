"""Memory record: one structure for all kinds, with four levels of detail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Literal

CHUNK: Final = "chunk"  # category of a part of a document


class Kind(StrEnum):
    FACT = "fact"
    EPISODE = "episode"
    ERROR = "error"
    PATTERN = "pattern"
    WORKFLOW = "workflow"
    DOCUMENT = "document"
    MESSAGE = "message"
    CONTRADICTION = "contradiction"  # two other memories contradict each other


class Scope(StrEnum):
    USER = "user-private"
    PROJECT = "project-shared"
    SYSTEM = "system"


class Trust(StrEnum):
    """Trust level of the source of a text.

    A text derived from several sources is never trusted more than the least trusted of them.
    """

    USER = "user"
    PROJECT = "project"
    TEAM = "team"  # stated by a member of the project's team
    DERIVED = "derived"
    UNTRUSTED = "untrusted"


class Status(StrEnum):
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    SUSPECT = "suspect"


@dataclass(frozen=True, slots=True)
class Levels:
    """Shorter forms of a memory's full text.

    A form that has not been written yet is empty.
    """

    summary: str = ""
    compressed: str = ""
    index: str = ""


ArtifactType = Literal["commit", "pr", "adr", "file", "tag", "url"]


@dataclass(frozen=True, slots=True)
class Artifact:
    """Source that a memory is based on, such as a commit or file."""

    type: ArtifactType
    ref: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage counters of a memory.

    Observed usage is counted at most once a day. Explicit feedback is counted each time it is given, but changes the
    importance of the memory at most once a day.
    """

    retrieved: int = 0
    cited: int = 0
    ignored: int = 0
    wrong: int = 0
    missed: int = 0  # needed but not shown
    last: datetime | None = None  # last time shown, used or needed; aware


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Stored item of knowledge; `content` is its full text, verbatim after redaction."""

    id: str
    kind: Kind
    title: str
    content: str
    at: datetime  # when it happened, aware
    created: datetime  # when it was stored, aware
    updated: datetime
    project: str | None = None  # project id; None: the user's own
    ref: str | None = None  # the caller's own key, unique within a project
    levels: Levels = Levels()
    category: str | None = None
    key: str | None = None
    value: str | None = None
    scope: Scope = Scope.PROJECT
    branch: str | None = None
    confidence: float = 1.0  # 0..1
    importance: float = 0.5  # 0..1
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    links: tuple[Mapping[str, str], ...] = ()  # {"type": "about|fixes|part_of|…", "ref": …}
    artifacts: tuple[Artifact, ...] = ()
    trust: Trust = Trust.USER
    source: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage = Usage()
    status: Status = Status.ACTIVE
