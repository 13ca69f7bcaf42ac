"""Tests of the ranking of messages whose statement was changed or withdrawn later."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hunchd.domain.memory import Kind, Memory
from hunchd.protocol.search_results import SearchResult
from hunchd.retrieval.outdated_messages import SAID_BEFORE, put_current_first

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CURRENT = Memory(
    id="f2",
    kind=Kind.FACT,
    title="Audio in Opus",
    content="Audio in Opus, half the size.",
    at=NOW,
    created=NOW,
    updated=NOW,
    links=({"type": "said_in", "ref": "m9"}, {"type": SAID_BEFORE, "ref": "m1"}),
)


def found(identifier: str, score: float) -> SearchResult:
    return SearchResult(
        id=identifier, ref=None, kind="message", title="", snippet="Audio in AAC.", source={}, score=score, reasons=[]
    )


def test_replaced_message_follows_what_holds() -> None:
    results = put_current_first([found("m1", 0.5), found("m4", 0.4)], [CURRENT], NOW)

    assert [one.id for one in results] == ["f2", "m4", "m1"]
    assert results[2].reasons == ["replaced later: Audio in Opus"]
    assert results[0].snippet == "Audio in Opus, half the size."


def test_withdrawn_message_says_so_without_successor() -> None:
    ended = replace(CURRENT, valid_to=NOW - timedelta(days=1))

    results = put_current_first([found("m1", 0.5)], [ended], NOW)

    assert [(one.id, one.reasons) for one in results] == [("m1", ["withdrawn later: Audio in Opus"])]
