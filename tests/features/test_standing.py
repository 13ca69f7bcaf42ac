"""Tests of what search results say of statements that contradict or replaced each other."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hunchd.consolidation.contradiction_records import create_contradiction
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.features.knowledge.standing import describe_standing
from hunchd.protocol.search_results import SearchResult

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def said(identifier: str, text: str, day: int, trust: Trust = Trust.USER, **source: str) -> Memory:
    at = NOW + timedelta(days=day)
    return Memory(
        id=identifier,
        kind=Kind.FACT,
        title=text,
        content=text,
        at=at,
        created=at,
        updated=at,
        trust=trust,
        source=source,
    )


def found(memory: Memory, score: float) -> SearchResult:
    return SearchResult(
        id=memory.id, ref=None, kind="fact", title=memory.title, snippet="", source={}, score=score, reasons=["why"]
    )


KEEP, DROP = said("keep", "we keep it", 0), said("drop", "we drop it", 1)


def test_last_word_of_person_comes_first() -> None:
    conflict = create_contradiction(KEEP, DROP, NOW)
    first, second = describe_standing([found(KEEP, 0.6), found(DROP, 0.5)], [conflict], [])

    assert (first.id, first.score, second.score) == ("drop", 0.6, 0.5)
    assert first.reasons[0].startswith("to decide: said later than “we keep it” (2026-05-0")
    assert second.reasons[0].startswith("to decide: said before “we drop it” (2026-05-0")


def test_other_source_is_no_last_word() -> None:
    file = said("file", "it is kept", 2, Trust.PROJECT, path="setup.py")
    first, _ = describe_standing([found(KEEP, 0.6), found(file, 0.5)], [create_contradiction(KEEP, file, NOW)], [])

    assert first.id == "keep"
    assert first.reasons[0].startswith("to decide: contradicts “it is kept”")


def test_decision_says_what_it_replaced() -> None:
    ended = replace(KEEP, status=Status.SUPERSEDED, valid_to=NOW + timedelta(days=1))
    [result] = describe_standing([found(DROP, 0.5)], [], [[DROP, ended]])
    [alone] = describe_standing([found(DROP, 0.5)], [], [[DROP]])

    assert [one[:12] for one in result.reasons] == ["holds since ", "replaced “we", "why"]
    assert alone.reasons == ["why"]
