"""Tests of contradiction search, records, resolutions and verdicts of a language model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hunchd.consolidation.conflicts import conflict_json, reopened, settled
from hunchd.consolidation.contradictions.features import FEATURES, compared
from hunchd.consolidation.contradictions.judging import judged
from hunchd.consolidation.contradictions.reading import clauses_of
from hunchd.consolidation.contradictions.readings import Readings
from hunchd.consolidation.contradictions.scanning import (
    MOST_OF_ONE,
    SAID_BY_MODEL,
    Opposition,
    Statements,
    as_judged,
    contradictions,
    held_against,
    may_oppose,
    nearness,
    states,
)
from hunchd.consolidation.contradictions.values import excluding, values_in
from hunchd.consolidation.contradictions.weights import shipped
from hunchd.domain.errors import Conflict, InvalidInput
from hunchd.domain.memory import Artifact, Kind, Memory, Scope, Status, Trust
from hunchd.protocol.requests import Resolution

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
BLIND = Path(__file__).parents[2] / "benchmarks" / "data" / "contradictions_blind.jsonl"


def claim(identifier: str, content: str, *, days: int = 0, kind: Kind = Kind.FACT, trust: Trust = Trust.USER) -> Memory:
    at = NOW - timedelta(days=100 - days)
    return Memory(
        id=identifier,
        kind=kind,
        title=content[:60],
        content=content,
        at=at,
        created=at,
        updated=at,
        project="p1",
        trust=trust,
    )


def contradiction_between(one: Memory, other: Memory) -> Opposition | None:
    return next(iter(held_against(one, (other,)).opposed), None)


def entry_from_file(identifier: str, key: str, value: str) -> Memory:
    return replace(claim(identifier, f"{key}: {value}"), key=key, value=value, category="decision")


def test_keys_differing_in_number_no_contradiction() -> None:
    first, second = entry_from_file("m1", "port of worker 1", "8080"), entry_from_file("m2", "port of worker 2", "8081")
    assert contradiction_between(first, second) is None
    assert (
        contradiction_between(entry_from_file("m1", "database port", "5432"), entry_from_file("m2", "db port", "5433"))
        is not None
    )


OPPOSED = [
    ("Drop support for Python 3.7", "requires-python is >=3.7"),
    ("Dropped Python 2 support", "Python 2.7 is supported"),
    ("Support for Django 3.2 and older was removed", "Django 3.1 is what production runs"),
    ("The exporter supports streaming", "The exporter does not support streaming"),
    ("Query logging is enabled", "query logging is off"),
    ("Always pin dependencies", "Never pin dependencies"),
    ("Secrets are kept in Vault; they are rotated monthly", "The database is MySQL. Never keep secrets in Vault"),
    ("The database is PostgreSQL", "Our database is MySQL"),
    ("Prefer webhooks over polling for sync", "Prefer polling over webhooks for sync"),
    ("minimum Ruby version is 3.1", "Ruby 2.7 is supported"),
    ("birch depends on click ^8.1.0", "package.json of birch pins click at ^8.2.1"),
    ("Requests time out after 5 seconds", "The request timeout is one minute"),
    ("Result order is ascending", "results are returned in descending order"),
]
BOTH_HOLD = [
    ("Drop support for Python 3.7", "python: >=3.9"),
    ("Python 2 support was removed", "python: >=3.8"),
    ("Support for Node 14 was dropped.", "Node >=18 is required"),
    ("Removed support for Django 3.2 and older", "Django 4.2 and newer are supported"),
    ("Query logging is enabled in production", "Query logging is disabled in staging"),
    ("Query logging is disabled", "query logging is not enabled"),
    ("Until 2.0 the database was MySQL", "The database is PostgreSQL"),
    ("We support Chrome", "We support Firefox"),
    ("birch depends on click ^8.1.0", "birch depends on rich ^13.1.0"),
    ("birch depends on click ^8.1.0", "fjord depends on click ^7.0.0"),
    ("Ruby >= 3.1", "We run Ruby 3.3"),
    ("The request timeout is 60 seconds", "Requests time out after one minute"),
    ("Small files are inlined", "Large files are not inlined"),
    ("PNG uploads are accepted", "JPEG uploads are accepted"),
    ("Never pin dependencies", "Dependencies must not be pinned"),
]


@pytest.mark.parametrize(("a", "b"), OPPOSED)
def test_contradicting_pair_found_in_either_order(a: str, b: str) -> None:
    assert judged(a, b).contradicts
    assert judged(b, a).contradicts


@pytest.mark.parametrize(("a", "b"), BOTH_HOLD)
def test_compatible_pair_not_reported(a: str, b: str) -> None:
    assert not judged(a, b).contradicts


def test_blind_labelled_pairs_precision() -> None:
    rows = [json.loads(line) for line in BLIND.read_text("utf-8").splitlines()]
    agreed = [row for row in rows if row["label"] == row["meant"]]
    verdicts = [(judged(row["a"], row["b"]).contradicts, bool(row["label"])) for row in agreed]
    hits = sum(said and label for said, label in verdicts)
    assert len(agreed) >= 150
    assert hits / sum(said for said, _ in verdicts) > 0.65
    assert hits / sum(label for _, label in verdicts) > 0.25


def test_clause_comparison_symmetric_and_matches_weights() -> None:
    assert len(shipped().weights) == len(FEATURES)
    for a, b in OPPOSED + BOTH_HOLD:
        one, other = clauses_of(a)[0], clauses_of(b)[0]
        assert len(compared(one, other).features) == len(FEATURES)
        assert bool(compared(one, other).kind) == bool(compared(other, one).kind)


@pytest.mark.parametrize(
    ("one", "other", "exclude"),
    [
        (">=3.11", "3.8 through 3.10", True),
        (">=1.22", "1.26", False),
        ("^18.2.0", "17.0.2", True),
        ("at most 10 MB", "25 MB", True),
        ("15", "15.4", False),
        ("30 minutes", "1800 seconds", False),
        ("below 4", "at least 4.21", True),
        ("1.0.0rc1", "1.0.0rc2", True),
    ],
)
def test_version_ranges_exclusive_or_overlapping(one: str, other: str, exclude: bool) -> None:
    [mine], [theirs] = values_in(one), values_in(other)
    assert excluding(mine, theirs) is exclude
    assert excluding(theirs, mine) is exclude


def test_different_scope_or_same_file_no_contradiction() -> None:
    a, b = claim("m1", "The database is PostgreSQL"), claim("m2", "The database is MySQL", days=5)
    assert contradiction_between(a, b) is not None
    assert not may_oppose(a, replace(b, project="p2"))
    assert not may_oppose(a, replace(b, scope=Scope.USER))
    assert not may_oppose(a, replace(b, branch="topic"))
    assert not may_oppose(replace(a, valid_to=a.at + timedelta(days=1)), b)
    assert not may_oppose(replace(a, superseded_by="m2"), b)
    by_file = {"trust": Trust.PROJECT, "source": {"type": "convention", "path": "README.md"}}
    assert not may_oppose(replace(a, **by_file), replace(b, **by_file))  # type: ignore[arg-type]
    same_place = {"key": "database", "category": "decision"}
    assert not may_oppose(replace(a, **same_place), replace(b, **same_place))  # type: ignore[arg-type]


def test_sessions_contradict_across_but_not_within() -> None:
    a, b = claim("m1", "The database is PostgreSQL"), claim("m2", "The database is MySQL", days=5)
    agents: dict[str, Any] = {"trust": Trust.DERIVED, "source": {"type": "client", "client": "mcp"}}
    assert may_oppose(replace(a, **agents), replace(b, **agents))
    assert contradiction_between(replace(a, **agents), replace(b, **agents)) is not None

    def in_session(memory: Memory, name: str) -> Memory:
        return replace(memory, trust=Trust.DERIVED, source={"type": "session", "session": name})

    assert may_oppose(in_session(a, "spring"), in_session(b, "autumn"))
    assert not may_oppose(in_session(a, "spring"), in_session(b, "spring"))
    history: dict[str, Any] = {"trust": Trust.UNTRUSTED, "source": {"type": "commit", "sha": "a" * 40}}
    assert not may_oppose(replace(a, **history), replace(b, **history))


def test_relatedness_falls_back_to_words_without_vector() -> None:
    stereo, mono = claim("m1", "The audio mixer output is stereo"), claim("m2", "The audio mixer output is mono")
    logs = claim("m3", "Logs are kept for a week")
    assert nearness(stereo, mono, 0.8) > nearness(stereo, logs, 0.8) == 0.8
    assert nearness(stereo, mono, None) > 0.5 > nearness(stereo, logs, None)


def test_instructions_for_different_files_no_contradiction() -> None:
    def rule(identifier: str, text: str, days: int, **source: Any) -> Memory:
        told = {"type": "convention", "path": f".cursor/rules/{identifier}.mdc", **source}
        fact = claim(identifier, text, days=days)
        return replace(fact, kind=Kind.FACT, category="instruction", trust=Trust.UNTRUSTED, source=told)

    one = rule("m1", "The database is PostgreSQL", 0, globs=["src/**"])
    assert may_oppose(one, rule("m2", "The database is MySQL", 5, globs=["src/**"]))
    assert not may_oppose(one, rule("m2", "The database is MySQL", 5, globs=["lib/**"]))
    assert not may_oppose(one, rule("m2", "The database is MySQL", 5))


def test_is_statement_only_for_current_claims() -> None:
    commit = replace(claim("m1", "Drop MySQL", kind=Kind.EPISODE), artifacts=(Artifact("commit", "a" * 40),))
    assert states(claim("m2", "The database is MySQL"))
    assert states(claim("m3", "The database is MySQL", kind=Kind.EPISODE))
    assert not states(commit)
    assert not states(claim("m4", "The database is MySQL", kind=Kind.ERROR))
    assert not states(replace(claim("m5", "The database is MySQL"), status=Status.ARCHIVED))


def test_pair_opened_once_with_newer_as_b() -> None:
    new, old = claim("m1", "The database is MySQL", days=9), claim("m2", "The database is PostgreSQL")
    others = [claim(f"m1{number}", f"The {name} service has an owner") for number, name in enumerate(_names()[:6])]
    memories_by_id = {one.id: one for one in (new, old, *others)}

    [planned] = contradictions(memories_by_id, NOW)
    [record] = planned.after
    answer = conflict_json(record)
    assert (answer["a"]["id"], answer["b"]["id"], answer["status"]) == ("m2", "m1", "open")
    assert answer["reason"] == "they choose something else for the same"

    closed, change = settled(record, Resolution(resolution="a_wins"), memories_by_id, NOW)
    loser = next(one for one in change.memories if one.id == "m1")
    assert (loser.status, loser.superseded_by) == (Status.SUPERSEDED, "m2")
    assert list(contradictions(memories_by_id | {closed.id: closed}, NOW)) == []
    assert list(contradictions(memories_by_id, NOW, since_run=NOW)) == []


@pytest.mark.parametrize("resolution", ["a_wins", "b_wins", "both_valid", "merged"])
def test_resolution_undo_restores_all(resolution: str) -> None:
    a, b = claim("m1", "Logs are kept for 14 days"), claim("m2", "Logs are kept for 90 days", days=3)
    pair = contradiction_between(a, b)
    assert pair is not None
    present = {"m1": a, "m2": b}
    request = Resolution(resolution=resolution, note="asked ops", value="Logs are kept for 30 days")
    closed, change = settled(pair.record(NOW), request, present, NOW)
    after = present | {one.id: one for one in change.memories}
    holding = {one.content for one in after.values() if one.status is Status.ACTIVE and one.kind is Kind.FACT}
    assert (
        holding
        == {
            "a_wins": {a.content},
            "b_wins": {b.content},
            "both_valid": {a.content, b.content},
            "merged": {"Logs are kept for 30 days"},
        }[resolution]
    )

    opened, back = reopened(closed, after, NOW + timedelta(minutes=1))
    restored = {one.id: one for one in back.memories} | {opened.id: opened}
    for side in (a, b):
        assert replace(restored.get(side.id, side), updated=side.updated) == side
    assert opened.status is Status.ACTIVE
    assert all(name not in opened.source for name in ("resolution", "before", "left"))
    with pytest.raises(Conflict):
        reopened(opened, after, NOW)


def test_resolution_merge_two_keys_leaves_one_fact() -> None:
    a = replace(claim("m1", "database: PostgreSQL"), key="database", value="PostgreSQL")
    b = replace(claim("m2", "main database: MySQL", days=2), key="main database", value="MySQL")
    pair = contradiction_between(a, b)
    assert pair is not None
    with pytest.raises(InvalidInput):
        settled(pair.record(NOW), Resolution(resolution="merged"), {"m1": a, "m2": b}, NOW)
    _, change = settled(pair.record(NOW), Resolution(resolution="merged", value="CockroachDB"), {"m1": a, "m2": b}, NOW)
    after = {one.id: one for one in change.memories}
    assert (after["m2"].value, after["m2"].status) == ("CockroachDB", Status.ACTIVE)
    assert (after["m1"].status, after["m1"].superseded_by) == (Status.SUPERSEDED, "m2")


def test_contradiction_closed_when_side_inactive() -> None:
    a, b = claim("m1", "The database is PostgreSQL"), claim("m2", "The database is MySQL", days=2)
    pair = contradiction_between(a, b)
    assert pair is not None
    record = pair.record(NOW)
    inactive = replace(a, status=Status.SUPERSEDED)
    [planned] = contradictions({"m1": inactive, "m2": b, record.id: record}, NOW)
    [closed] = planned.after
    assert (closed.status, closed.source["resolution"]) == (Status.SUPERSEDED, "b_wins")


def test_candidates_share_subject() -> None:
    mine = claim("m0", "The payment gateway times out after 5 seconds")
    others = [claim(f"m{number}", f"The {name} is owned by team {number}") for number, name in enumerate(_names(), 1)]
    near = claim("x", "Timeout of the payment gateway: 30 seconds")
    index = Statements([*others, near])
    assert index.near(mine)[0].id == "x"
    assert [one.b.id for one in held_against(mine, index.near(mine)).opposed] in (["x"], ["m0"])


def _names() -> Sequence[str]:
    return [f"module{number}" for number in range(60)]


def test_language_model_candidates_related_pairs_first() -> None:
    mine = claim("new", "Invoices are collected and sent overnight", days=5)
    near = claim("old", "Invoices go out as soon as an order is shipped")
    told_outright = claim("no", "Invoices are never collected and sent overnight")
    stranger = claim("far", "The kiosk app is written in Kotlin")
    elsewhere = replace(near, id="branch", branch="topic")
    look = held_against(mine, [stranger, told_outright, elsewhere, near])
    candidates = look.for_judge(look.told({}))
    assert [one.beside(mine).id for one in candidates] == ["no", "old", "far"]
    [record] = [one.record(NOW) for one in candidates[1:2]]
    assert record.source["reason"] == "a language model says that they cannot both hold"
    assert (record.source["a"]["id"], record.source["b"]["id"]) == ("old", "new")


def test_language_model_file_pairs_need_common_word() -> None:
    def of_file(identifier: str, content: str) -> Memory:
        return replace(
            claim(identifier, content, trust=Trust.PROJECT), source={"type": "instruction", "path": identifier}
        )

    mine = of_file("new", "Invoices are collected and sent overnight")
    near = of_file("old", "Invoices go out as soon as an order is shipped")
    stranger = of_file("far", "The kiosk app is written in Kotlin")
    assert [one.beside(mine).id for one in held_against(mine, [stranger, near]).for_judge([])] == ["old"]


FREELY_WORDED = claim("on", "Query logging is enabled"), claim("off", "Query logging is off", days=3)
EXACT = [
    (claim("old", "birch depends on click ^8.1.0"), claim("new", "birch depends on click ^7.0.0", days=3)),
    (
        replace(claim("old", "database: MySQL", trust=Trust.PROJECT), key="database", value="MySQL"),
        claim("new", "The database is PostgreSQL", days=3),
    ),
]


@pytest.mark.parametrize(("old", "new"), EXACT, ids=["requirements", "an entry of a file"])
def test_language_model_cannot_overrule_exact_contradiction(old: Memory, new: Memory) -> None:
    look = held_against(new, [old])
    contradicting = look.told({})
    assert len(contradicting) == 1
    assert look.for_judge(contradicting) == []
    assert look.without(lambda *_: True) == look
    assert as_judged(contradicting, look.for_judge(contradicting), lambda *_: False) == contradicting


def test_language_model_decides_explicit_contradiction() -> None:
    old, new = claim("old", "Invoices are sent overnight"), claim("new", "Invoices are never sent overnight", days=3)
    look = held_against(new, [old])
    contradicting = look.told({})
    assert look.open == ()
    assert look.for_judge(contradicting) == contradicting != []
    assert look.without(lambda *_: True).told({}) == []


def test_language_model_decides_freely_worded_pairs() -> None:
    old, new = FREELY_WORDED
    near = claim("near", "Query logging has its own disk", days=-1)
    look = held_against(new, [near, old])
    contradicting = look.told({})
    free = look.for_judge(contradicting)
    assert [one.a.id for one in contradicting] == ["on"]
    assert [one.a.id for one in free] == ["on", "near"]
    assert as_judged(contradicting, free, lambda *_: None) == contradicting
    assert as_judged(contradicting, free, lambda *_: False) == []
    both = as_judged(contradicting, free, lambda *_: True)
    assert [(one.a.id, one.judgement.kind) for one in both] == [
        ("on", contradicting[0].judgement.kind),
        ("near", "meaning"),
    ]
    assert both[0].judgement.probability == max(contradicting[0].judgement.probability, SAID_BY_MODEL)


def test_unjudged_pairs_limited_confirmed_pairs_unlimited() -> None:
    new = claim("new", "Query logging is off", days=3)
    others = [claim(f"m{number}", f"Query logging of {name} is enabled") for number, name in enumerate(_names()[:5])]
    contradicting = [Opposition(one, new, judged("Query logging is enabled", new.content)) for one in others]
    assert len(as_judged(contradicting, contradicting, lambda *_: None)) == MOST_OF_ONE
    assert len(as_judged(contradicting, contradicting, lambda *_: True)) == len(contradicting)


def test_denied_pair_neither_opened_nor_read() -> None:
    memories_by_id = {one.id: one for one in FREELY_WORDED}
    assert len(list(contradictions(memories_by_id, NOW))) == 1
    assert list(contradictions(memories_by_id, NOW, denied=lambda *_: True)) == []
    readings = Readings()
    assert list(contradictions(memories_by_id, NOW, readings=readings, denied=lambda *_: True)) == []
    assert readings.unread(10) == []
    exact = {one.id: one for one in EXACT[0]}
    assert len(list(contradictions(exact, NOW, denied=lambda *_: True))) == 1
