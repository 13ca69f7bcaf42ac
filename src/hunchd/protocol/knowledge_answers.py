"""JSON responses about memories, facts, contradictions and sharing."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hunchd.domain.facts import ClaimOutcome
from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import Trust
from hunchd.protocol.memories import MemoryRecord, UsageBody
from hunchd.protocol.requests import ResolutionOutcome
from hunchd.protocol.responses import Count, Fraction, Rejection, TimeText
from hunchd.protocol.steps import StepName


class EarlierValue(Struct, frozen=True, kw_only=True):
    id: str
    value: str
    since: TimeText


class UnderstoodAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Outcome of storing one memory, with the interpretation of its text."""

    id: str
    verdict: ClaimOutcome
    category: str | None = None
    key: str | None = None
    value: str | None = None
    branch: str | None = None
    instead_of: str | None = None
    reason: str | None = None
    replaced: Annotated[EarlierValue | None, Meta(description="the value that was valid before")] = None
    rejected_for: Annotated[EarlierValue | None, Meta(description="the more certain value")] = None
    contradiction: Annotated[str | None, Meta(description="id of the contradiction that this created")] = None
    redacted: Annotated[list[str], Meta(description="the kinds of secrets that were removed")] = []


class IdsAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    ids: Annotated[list[str], Meta(description="ids of the stored memories, in the order sent")]
    understood: Annotated[list[UnderstoodAnswer], Meta(description="how each was stored, in the same order")]
    rejected: list[Rejection] = []


class FeedbackAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    accepted: Count
    unknown: Annotated[list[str], Meta(description="ids that do not exist")]
    rejected: list[Rejection] = []


class UsageEvent(Struct, frozen=True, kw_only=True):
    at: TimeText
    what: str


class MemoryChangeAnswer(Struct, frozen=True, kw_only=True):
    run: str
    step: StepName
    what: str
    why: str
    undone: bool


class MemoryUsageAnswer(Struct, frozen=True, kw_only=True):
    usage: UsageBody
    events: Annotated[list[UsageEvent], Meta(description="recent events, newest first")]
    changes: list[MemoryChangeAnswer]


class ValueChange(Struct, frozen=True, kw_only=True, rename={"before": "from", "after": "to"}):
    at: TimeText
    before: str | None
    after: str | None
    source: JsonObject
    id: str


class FactAnswer(Struct, frozen=True, kw_only=True):
    fact: MemoryRecord | None
    changes: Annotated[list[ValueChange], Meta(description="oldest first")]
    rejected: Annotated[list[MemoryRecord], Meta(description="claims that were less certain than the current value")]


class ContradictionAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two memories that cannot both be true; `b` is the newer one."""

    id: str
    status: Literal["open", "resolved"]
    a: MemoryRecord
    b: MemoryRecord
    reason: str
    confidence: Fraction
    detected_at: TimeText
    project: str | None
    resolved_at: TimeText | None = None
    resolution: ResolutionOutcome | None = None
    note: str | None = None


class NearMemoriesAnswer(Struct, frozen=True, kw_only=True):
    items: Annotated[list[MemoryRecord], Meta(description="nearest first")]
    degraded: list[str]


class SharedFileAnswer(Struct, frozen=True, kw_only=True):
    id: Annotated[str, Meta(description="id of the memory")]
    path: Annotated[str, Meta(description="relative to the root of the repository")]
    title: str
    content: Annotated[str, Meta(description="content of the file")]
    trust: Annotated[Trust, Meta(description="user: the content is in the user's own words")]


class RefusedName(Struct, frozen=True, kw_only=True):
    name: str
    reason: str


class SharedFilesAnswer(Struct, frozen=True, kw_only=True):
    files: list[SharedFileAnswer]
    refused: list[RefusedName]
