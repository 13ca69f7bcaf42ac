"""Of many statements an answer looks at those that concern the work at hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hunchd.domain.context import Focus
from hunchd.domain.memory import Kind, Memory, Trust
from hunchd.features.context.fact_candidates import (
    MOST_STATED_ELSEWHERE,
    build_fact_candidates,
    extract_words,
    words_at_hand,
)
from hunchd.features.context.fact_index import MOST_GENERAL, FactIndex

NOW = datetime(2026, 5, 20, 12, 0, tzinfo=UTC)


def statement(number: int, content: str, *, importance: float = 0.5, trust: Trust = Trust.USER) -> Memory:
    at = NOW - timedelta(minutes=number)
    return Memory(
        id=f"m{number}",
        kind=Kind.FACT,
        title=content,
        content=content,
        at=at,
        created=at,
        updated=at,
        trust=trust,
        importance=importance,
    )


def many(count: int) -> dict[str, Memory]:
    facts = (statement(number, f"Planet number{'abcdefghij'[number % 10]} has rings") for number in range(count))
    return {fact.id: fact for fact in facts}


def test_index_returns_what_shares_a_word() -> None:
    index = FactIndex(extract_words)
    facts = many(300) | {"m900": statement(900, "Baskets are never empty")}

    index.sync(facts)

    found = [fact.id for fact in index.select_relevant(extract_words("shop/basket"))]
    assert found[0] == "m900"
    assert len(found) == 1 + MOST_GENERAL


def test_index_follows_changed_and_removed_facts() -> None:
    index = FactIndex(extract_words)
    facts = {"m1": statement(1, "Baskets are never empty", importance=0.1)}
    index.sync(facts)

    facts["m1"] = replace(facts["m1"], title="Vouchers expire", content="Vouchers expire")
    index.sync(facts)
    assert index.select_relevant(extract_words("voucher")) == [facts["m1"]]

    facts.clear()
    index.sync(facts)
    assert index.select_relevant(extract_words("voucher")) == []


def test_index_always_returns_what_projects_state() -> None:
    index = FactIndex(extract_words)
    rule = statement(1, "Indent by two", trust=Trust.PROJECT)

    index.sync({rule.id: rule})

    assert index.select_relevant(()) == [rule]


def test_unrelated_statements_do_not_fill_tier_one() -> None:
    index, focus = FactIndex(extract_words), Focus(project="p", file="shop/basket.py")
    index.sync(many(150) | {"m900": statement(900, "Run the tests before basket.py is touched")})

    offered = build_fact_candidates(focus, index.select_relevant(words_at_hand(focus)), (), (), NOW)

    first = [piece for piece in offered if piece.tier == 1]
    assert len(first) == 1 + MOST_STATED_ELSEWHERE
    assert max(first, key=lambda piece: piece.value).id == "m900"
