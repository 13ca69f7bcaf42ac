"""JSON responses to searches, and to requests for the text behind a pointer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from hunchd.domain.json_values import JsonObject

SearchStatus = Literal["ok", "empty", "degraded"]


class SearchResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    ref: Annotated[str | None, Meta(description="the caller's own key")]
    kind: str
    title: str
    snippet: str
    source: JsonObject
    at: Annotated[str | None, Meta(description="time at which it happened or was said, if known")] = None
    score: float
    reasons: list[str]


class SearchAnswer(Struct, frozen=True, kw_only=True):
    results: list[SearchResult]
    status: SearchStatus
    degraded: list[str]
    took_ms: float

    def with_results(self, results: Sequence[SearchResult], more_degradations: Sequence[str] = ()) -> SearchAnswer:
        """Return the response with different results.

        `more_degradations`, which describe what was unavailable in another search, are added to those already listed.
        """
        degraded = list(dict.fromkeys([*self.degraded, *more_degradations]))
        return replace(self, results=list(results), degraded=degraded, status=find_status(results, degraded))


class ExpandAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Full text behind a pointer in a context bundle.

    For a memory or file, `id` and `title` are set; for a topic, `topic` is set.
    """

    id: str | None = None
    title: str | None = None
    topic: str | None = None
    level: str
    project: str | None = None
    text: str


def find_status(results: Sequence[object], degraded: Sequence[str]) -> SearchStatus:
    return "degraded" if degraded else "ok" if results else "empty"
