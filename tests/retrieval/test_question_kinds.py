"""Tests of the kinds of statements that answer a question, on questions that are not among those trained on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hunchd.domain.memory import Kind, Memory
from hunchd.retrieval.question_kinds import rate_kinds, select_asked
from hunchd.retrieval.ranking import rank_hits
from hunchd.store.hits import Hit

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def fact(content: str, category: str, *, days: int = 0, key: str | None = None) -> Memory:
    at = NOW - timedelta(days=days)
    dates = {"at": at, "created": at, "updated": at}
    return Memory(id=content, kind=Kind.FACT, title=content, content=content, category=category, key=key, **dates)


JOB = fact("Registrar at a small museum", "identity", days=3)
NAME = fact("I'm called Orla", "identity", days=9, key="name")
TASTE = fact("Bullet points, please", "preference")
WORK = fact("Loans are listed by museum", "decision")


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Could you tell me where I work?", "identity"),
        ("Wo lebe ich?", "identity"),
        ("我的工作单位在哪？", "identity"),
        ("Et moi, je m'appelle comment ?", "name"),
        ("¿Quién autoriza las compras?", "person"),
        ("Why does my build fail?", "other"),
    ],
)
def test_question_is_classified_by_answer(question: str, kind: str) -> None:
    rates = rate_kinds(question)
    assert max(rates, key=lambda one: rates[one]) == kind


@pytest.mark.parametrize(
    ("question", "first"), [("What is my job?", JOB), ("Wie heiße ich?", NAME), ("¿Dónde trabajo?", JOB)]
)
def test_question_about_user_finds_identity_first(question: str, first: Memory) -> None:
    hits = [Hit(memory=one, similarity=0.1) for one in (WORK, TASTE, NAME, JOB)]
    ranked = rank_hits(question, hits, depth="shallow", k=5, now=NOW)
    assert ranked[0].memory == first


def test_question_about_code_ignores_identity() -> None:
    hits = [Hit(memory=one, similarity=0.1) for one in (WORK, TASTE, NAME, JOB)]
    assert rank_hits("Where is the parser defined?", hits, depth="shallow", k=5, now=NOW) == []


def test_newest_facts_about_user_are_candidates() -> None:
    facts = [replace(JOB, id=str(days), at=NOW - timedelta(days=days)) for days in range(40)]
    assert [one.id for one in select_asked("What is my job?", [WORK, *facts])] == [str(days) for days in range(20)]
    assert select_asked("Which tests cover the lexer?", facts) == []


def test_question_without_vector_finds_fact_of_kind() -> None:
    decides = replace(fact("合伙人欧阳岚决定进什么书", "person"), source={"type": "session"})
    hits = [Hit(memory=WORK), Hit(memory=decides)]
    assert [one.memory for one in rank_hits("进货的事由谁决定?", hits, depth="shallow", k=5, now=NOW)] == [decides]
    assert select_asked("进货的事由谁决定?", [WORK, decides]) == [decides]
    assert select_asked("Who decides what we buy?", [WORK, decides]) == []  # found by its words and its vector


def test_fact_of_kind_ranks_behind_shared_word() -> None:
    message = replace(fact("Elasticsearch as search engine", "decision"), category=None, kind=Kind.MESSAGE)
    hits = [Hit(memory=WORK, similarity=0.4), Hit(memory=message, similarity=0.4)]
    first, *_ = rank_hits("Which search engine do we use now?", hits, depth="shallow", k=5, now=NOW)
    assert first.memory == message


def test_rare_characters_rank_before_endings() -> None:
    facts = [fact(content, "decision") for content in ("箇条書きにしますか、しませんか、します。", "和暦で。")]
    hits = [Hit(memory=one, lexical=0.0) for one in facts]
    found = rank_hits("日付はどの暦で表示しますか。", hits, depth="shallow", k=2, now=NOW)
    assert found[0].memory.id == "和暦で。"
