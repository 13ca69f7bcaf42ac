"""Tests of contradiction search, records, resolutions and verdicts of a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hunchd.consolidation.contradiction_records import (
    SETTLED_WITH,
    contradiction_answer,
    create_contradiction,
    reopen_contradiction,
    resolve_contradiction,
    resolve_group,
)
from hunchd.consolidation.contradictions.candidate_search import (
    MAX_PER_MEMORY,
    MIN_CONFIRMED_PROBABILITY,
    ContradictingPair,
    StatementIndex,
    apply_verdicts,
    compare_with_candidates,
    plan_contradictions,
)
from hunchd.consolidation.contradictions.entailment_cache import EntailmentCache, make_pair_key
from hunchd.consolidation.contradictions.requirements import compare_requirements
from hunchd.consolidation.contradictions.statements import (
    extract_statement,
    is_statement,
    may_contradict,
    nearly_repeats,
    score_relatedness,
)
from hunchd.domain.errors import Conflict, InvalidInput
from hunchd.domain.memory import Artifact, Kind, Memory, Scope, Status, Trust
from hunchd.protocol.requests import ResolutionRequest

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


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


SURE = 0.97


def contradiction_between(one: Memory, other: Memory) -> ContradictingPair | None:
    """Return the contradiction of a pair that the model is sure about."""
    look = compare_with_candidates(one, (other,))
    return next(iter(look.apply_probabilities({(a.id, b.id): SURE for a, b in look.unread})), None)


def read(*pairs: tuple[Memory, Memory]) -> EntailmentCache:
    """Return a cache in which the model has read these pairs as contradictions."""
    keys = (make_pair_key(extract_statement(a), extract_statement(b)) for a, b in pairs)
    return EntailmentCache([f"{key} {SURE}" for key in keys])


def entry_from_file(identifier: str, key: str, value: str) -> Memory:
    return replace(claim(identifier, f"{key}: {value}"), key=key, value=value, category="decision")


def test_keys_differing_in_number_no_contradiction() -> None:
    first, second = entry_from_file("m1", "port of worker 1", "8080"), entry_from_file("m2", "port of worker 2", "8081")
    assert contradiction_between(first, second) is None
    assert (
        contradiction_between(entry_from_file("m1", "database port", "5432"), entry_from_file("m2", "db port", "5433"))
        is not None
    )


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        ("birch depends on click ^8.1.0", "package.json of birch pins click at ^8.2.1", True),
        ("birch depends on click ^8.1.0", "The click requirement in birch is ^8.1.0", False),
        ("birch depends on click ^8.1.0", "birch depends on rich ^13.1.0", False),
        ("birch depends on click ^8.1.0", "fjord depends on click ^7.0.0", False),
        ("birch depends on @types/node ^20.1.0", "birch depends on @types/react ^19.0.0", False),
        ("In pyproject.toml of birch, version is 1.4.0", "version for birch (pyproject.toml) is 1.5.0", True),
        ("birch depends on click ^8.1.0", "Nobody knows why we need click 7", None),
        ("Audio is mixed in stereo", "The audio mixer output is mono", None),
    ],
)
def test_requirements_compared_exactly_in_either_order(a: str, b: str, differ: bool | None) -> None:
    assert compare_requirements(a, b) is differ
    assert compare_requirements(b, a) is differ


def test_entry_of_file_is_read_as_sentence() -> None:
    assert extract_statement(entry_from_file("m1", "tests", "pytest")) == "Tests are run with pytest."
    assert extract_statement(entry_from_file("m1", "module", "shop")) == "module: shop"


@pytest.mark.parametrize("tail", [" now", " since last week", ", as of v2", " since March"])
def test_statement_omits_when_it_began(tail: str) -> None:
    said = f"The limit is 4 MiB{tail}."
    memory = replace(entry_from_file("m1", "limit", "4 MiB"), key=None, value=None, content=said)
    assert extract_statement(memory) == "The limit is 4 MiB."


def test_repeated_statement_opens_contradiction_once() -> None:
    old, new = claim("old", "The database is PostgreSQL"), claim("new", "The database is MySQL", days=3)
    again = claim("again", "the database is MySQL.", days=4)
    assert compare_with_candidates(again, [new, old]).unread == ()
    assert [(a.id, b.id) for a, b in compare_with_candidates(old, [new, again]).unread] in (
        [("old", "new")],
        [("old", "again")],
    )


def test_different_scope_or_same_file_no_contradiction() -> None:
    a, b = claim("m1", "The database is PostgreSQL"), claim("m2", "The database is MySQL", days=5)
    assert contradiction_between(a, b) is not None
    assert not may_contradict(a, replace(b, project="p2"))
    assert not may_contradict(a, replace(b, scope=Scope.USER))
    assert not may_contradict(a, replace(b, branch="topic"))
    assert not may_contradict(replace(a, valid_to=a.at + timedelta(days=1)), b)
    assert not may_contradict(replace(a, superseded_by="m2"), b)
    by_file = {"trust": Trust.PROJECT, "source": {"type": "convention", "path": "README.md"}}
    assert not may_contradict(replace(a, **by_file), replace(b, **by_file))  # type: ignore[arg-type]
    same_place = {"key": "database", "category": "decision"}
    assert not may_contradict(replace(a, **same_place), replace(b, **same_place))  # type: ignore[arg-type]


def test_sessions_contradict_across_but_not_within() -> None:
    a, b = claim("m1", "The database is PostgreSQL"), claim("m2", "The database is MySQL", days=5)
    agents: dict[str, Any] = {"trust": Trust.DERIVED, "source": {"type": "client", "client": "mcp"}}
    assert may_contradict(replace(a, **agents), replace(b, **agents))
    assert contradiction_between(replace(a, **agents), replace(b, **agents)) is not None

    def in_session(memory: Memory, name: str) -> Memory:
        return replace(memory, trust=Trust.DERIVED, source={"type": "session", "session": name})

    assert may_contradict(in_session(a, "spring"), in_session(b, "autumn"))
    assert not may_contradict(in_session(a, "spring"), in_session(b, "spring"))
    history: dict[str, Any] = {"trust": Trust.UNTRUSTED, "source": {"type": "commit", "sha": "a" * 40}}
    assert not may_contradict(replace(a, **history), replace(b, **history))


def test_relatedness_falls_back_to_words_without_vector() -> None:
    stereo, mono = claim("m1", "The audio mixer output is stereo"), claim("m2", "The audio mixer output is mono")
    logs = claim("m3", "Logs are kept for a week")
    assert score_relatedness(stereo, mono, 0.8) > score_relatedness(stereo, logs, 0.8) == 0.8
    assert score_relatedness(stereo, mono, None) > 0.5 > score_relatedness(stereo, logs, None)


def test_instructions_for_different_files_no_contradiction() -> None:
    def rule(identifier: str, text: str, days: int, **source: Any) -> Memory:
        told = {"type": "convention", "path": f".cursor/rules/{identifier}.mdc", **source}
        fact = claim(identifier, text, days=days)
        return replace(fact, kind=Kind.FACT, category="instruction", trust=Trust.UNTRUSTED, source=told)

    one = rule("m1", "The database is PostgreSQL", 0, globs=["src/**"])
    assert may_contradict(one, rule("m2", "The database is MySQL", 5, globs=["src/**"]))
    assert not may_contradict(one, rule("m2", "The database is MySQL", 5, globs=["lib/**"]))
    assert not may_contradict(one, rule("m2", "The database is MySQL", 5))


def test_is_statement_only_for_current_claims() -> None:
    commit = replace(claim("m1", "Drop MySQL", kind=Kind.EPISODE), artifacts=(Artifact("commit", "a" * 40),))
    assert is_statement(claim("m2", "The database is MySQL"))
    assert is_statement(claim("m3", "The database is MySQL", kind=Kind.EPISODE))
    assert not is_statement(commit)
    assert not is_statement(claim("m4", "The database is MySQL", kind=Kind.ERROR))
    assert not is_statement(replace(claim("m5", "The database is MySQL"), status=Status.ARCHIVED))


def test_pair_opened_once_with_newer_as_b() -> None:
    new, old = claim("m1", "The database is MySQL", days=9), claim("m2", "The database is PostgreSQL")
    others = [claim(f"m1{number}", f"The {name} service has an owner") for number, name in enumerate(_names()[:6])]
    memories_by_id = {one.id: one for one in (new, old, *others)}

    [planned] = plan_contradictions(memories_by_id, NOW, cache=read((old, new)))
    [record] = planned.after
    answer = contradiction_answer(record)
    assert (answer.a.id, answer.b.id, answer.status) == ("m2", "m1", "open")
    assert answer.reason == "they disagree: 'PostgreSQL' against 'MySQL'"

    closed, change = resolve_contradiction(record, ResolutionRequest(resolution="a_wins"), memories_by_id, NOW)
    loser = next(one for one in change.memories if one.id == "m1")
    assert (loser.status, loser.superseded_by) == (Status.SUPERSEDED, "m2")
    assert list(plan_contradictions(memories_by_id | {closed.id: closed}, NOW, cache=read((old, new)))) == []
    assert list(plan_contradictions(memories_by_id, NOW, since_run=NOW, cache=read((old, new)))) == []


@pytest.mark.parametrize("resolution", ["a_wins", "b_wins", "both_valid", "merged"])
def test_resolution_undo_restores_all(resolution: str) -> None:
    a, b = claim("m1", "Logs are kept for 14 days"), claim("m2", "Logs are kept for 90 days", days=3)
    pair = contradiction_between(a, b)
    assert pair is not None
    present = {"m1": a, "m2": b}
    request = ResolutionRequest(resolution=resolution, note="asked ops", value="Logs are kept for 30 days")
    closed, change = resolve_contradiction(pair.make_record(NOW), request, present, NOW)
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

    opened, back = reopen_contradiction(closed, after, NOW + timedelta(minutes=1))
    restored = {one.id: one for one in back.memories} | {opened.id: opened}
    for side in (a, b):
        assert replace(restored.get(side.id, side), updated=side.updated) == side
    assert opened.status is Status.ACTIVE
    assert all(name not in opened.source for name in ("resolution", "before", "left"))
    with pytest.raises(Conflict):
        reopen_contradiction(opened, after, NOW)


def _group() -> tuple[dict[str, Memory], list[Memory]]:
    """Return four statements, and the pairs old-new, old-file, side-old; old contradicts all others."""
    names = ("old", "new", "file", "side")
    facts = {one: claim(one, f"Logs are kept {day} days", days=day) for day, one in enumerate(names)}
    pairs = [("old", "new"), ("old", "file"), ("side", "old")]
    return facts, [create_contradiction(facts[a], facts[b], NOW) for a, b in pairs]


def _settle(winner: str, resolution: str) -> tuple[dict[str, Memory], list[Memory], dict[str, Memory]]:
    present, pairs = _group()
    request = ResolutionRequest(resolution=resolution, group=True)
    first = next(one for one in pairs if winner in {link["ref"] for link in one.links})
    _, change = resolve_group(first, pairs, request, present, NOW)
    after = present | {one.id: one for one in change.memories}
    return after, pairs, present


@pytest.mark.parametrize(
    ("winner", "resolution", "holding"),
    [
        ("new", "b_wins", {"new", "file", "side"}),
        ("old", "a_wins", {"old"}),
        ("old", "both_valid", {"old", "new", "file", "side"}),
    ],
)
def test_group_is_settled_and_undone_together(winner: str, resolution: str, holding: set[str]) -> None:
    after, pairs, present = _settle(winner, resolution)
    assert {one for one in present if after[one].status is Status.ACTIVE} == holding
    assert all(after[one.id].status is Status.SUPERSEDED for one in pairs)

    settled = [after[one.id] for one in pairs]
    assert [one.source.get(SETTLED_WITH) for one in settled] == [None, pairs[0].id, pairs[0].id]
    back = dict(after)
    for one in settled:
        opened, change = reopen_contradiction(one, after, NOW + timedelta(minutes=1))
        back |= {memory.id: memory for memory in change.memories}
        assert SETTLED_WITH not in opened.source
    assert all(replace(back[one], updated=present[one].updated) == present[one] for one in present)


def test_of_two_losers_none_is_said_to_hold() -> None:
    present, pairs = _group()
    between = create_contradiction(present["new"], present["file"], NOW)
    request = ResolutionRequest(resolution="a_wins", group=True)

    _, change = resolve_group(pairs[0], [*pairs, between], request, present, NOW)

    closed = next(one for one in change.memories if one.id == between.id)
    assert (closed.status, closed.source.get("resolution")) == (Status.SUPERSEDED, None)
    after = present | {one.id: one for one in change.memories}
    assert [one for one in ("old", "new", "file", "side") if after[one].status is Status.ACTIVE] == ["old"]
    opened, _ = reopen_contradiction(closed, after, NOW)
    assert (opened.status, SETTLED_WITH in opened.source) == (Status.ACTIVE, False)


def test_what_a_user_said_is_quoted_as_said() -> None:
    said = replace(claim("m1", "we decided not to change it"), key="change it", value="no")
    record = create_contradiction(said, claim("m2", "the default changes", days=1), NOW)
    assert record.content.startswith("we decided not to change it (you, ")


def test_resolution_merge_two_keys_leaves_one_fact() -> None:
    a = replace(claim("m1", "database: PostgreSQL"), key="database", value="PostgreSQL")
    b = replace(claim("m2", "main database: MySQL", days=2), key="main database", value="MySQL")
    pair = contradiction_between(a, b)
    assert pair is not None
    with pytest.raises(InvalidInput):
        resolve_contradiction(pair.make_record(NOW), ResolutionRequest(resolution="merged"), {"m1": a, "m2": b}, NOW)
    _, change = resolve_contradiction(
        pair.make_record(NOW), ResolutionRequest(resolution="merged", value="CockroachDB"), {"m1": a, "m2": b}, NOW
    )
    after = {one.id: one for one in change.memories}
    assert (after["m2"].value, after["m2"].status) == ("CockroachDB", Status.ACTIVE)
    assert (after["m1"].status, after["m1"].superseded_by) == (Status.SUPERSEDED, "m2")


def test_contradiction_closed_when_side_inactive() -> None:
    a, b = claim("m1", "The database is PostgreSQL"), claim("m2", "The database is MySQL", days=2)
    pair = contradiction_between(a, b)
    assert pair is not None
    record = pair.make_record(NOW)
    inactive = replace(a, status=Status.SUPERSEDED)
    [planned] = plan_contradictions({"m1": inactive, "m2": b, record.id: record}, NOW)
    [closed] = planned.after
    assert (closed.status, closed.source["resolution"]) == (Status.SUPERSEDED, "b_wins")


def test_contradiction_closed_when_side_restated() -> None:
    a, b = claim("m1", "Lines have at most 88 characters"), claim("m2", "Lines may have 100 characters", days=2)
    pair = contradiction_between(a, b)
    assert pair is not None
    record = pair.make_record(NOW)
    restated = replace(b, content="Lines may have 88 characters")
    [planned] = plan_contradictions({"m1": a, "m2": restated, record.id: record}, NOW, cache=EntailmentCache())
    [closed] = planned.after
    assert (closed.status, closed.source.get("resolution")) == (Status.SUPERSEDED, None)

    again = plan_contradictions({"m1": a, "m2": b, closed.id: closed}, NOW, cache=read((a, b)))
    assert [planned.after[0].status for planned in again] == [Status.ACTIVE]  # nobody has decided it


def test_near_repeats_open_one_contradiction() -> None:
    rule = claim("m1", "The parser of headers must not import asyncio")
    one = claim("m2", "Tests of the asyncio parser live in tests/test_asyncio.py and run with tox", days=1)
    same = claim("m3", "Tests for the asyncio parser are in tests/test_asyncio.py, run with tox", days=2)
    never = claim("m4", "Tests for the asyncio parser are not in tests/test_asyncio.py, run with tox", days=2)
    cache = [(rule, one), (rule, same), (rule, never), (one, same), (one, never), (same, never)]
    found = list(plan_contradictions({"m1": rule, "m2": one, "m3": same}, NOW, cache=read(*cache[:3])))
    assert len(found) == 1
    assert nearly_repeats(one, same)
    assert not nearly_repeats(one, never)
    assert not nearly_repeats(claim("m5", "Port 80 is open to all"), claim("m6", "Port 81 is open to all"))


def test_candidates_share_subject() -> None:
    mine = claim("m0", "The payment gateway times out after 5 seconds")
    others = [claim(f"m{number}", f"The {name} is owned by team {number}") for number, name in enumerate(_names(), 1)]
    near = claim("x", "Timeout of the payment gateway: 30 seconds")
    index = StatementIndex([*others, near])
    assert index.find_candidates(mine)[0].id == "x"
    assert {one.id for one in compare_with_candidates(mine, index.find_candidates(mine)).unread[0]} == {"m0", "x"}


def _names() -> Sequence[str]:
    return [f"module{number}" for number in range(60)]


def test_language_model_candidates_related_pairs_first() -> None:
    mine = claim("new", "Invoices are collected and sent overnight", days=5)
    near = claim("old", "Invoices go out as soon as an order is shipped")
    told_outright = claim("no", "Invoices are never collected and sent overnight")
    stranger = claim("far", "The kiosk app is written in Kotlin")
    elsewhere = replace(near, id="branch", branch="topic")
    look = compare_with_candidates(mine, [stranger, told_outright, elsewhere, near])
    candidates = look.select_for_language_model(look.apply_probabilities({}))
    assert [one.get_other(mine).id for one in candidates] == ["no", "old", "far"]
    [record] = [one.make_record(NOW) for one in candidates[1:2]]
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
    assert [
        one.get_other(mine).id for one in compare_with_candidates(mine, [stranger, near]).select_for_language_model([])
    ] == ["old"]


FREELY_WORDED = claim("on", "Query logging is enabled"), claim("off", "Query logging is off", days=3)
EXACT = claim("old", "birch depends on click ^8.1.0"), claim("new", "birch depends on click ^7.0.0", days=3)
READ = {("on", "off"): SURE}


def test_language_model_cannot_overrule_exact_contradiction() -> None:
    old, new = EXACT
    look = compare_with_candidates(new, [old])
    contradicting = look.apply_probabilities({})
    assert len(contradicting) == 1
    assert look.select_for_language_model(contradicting) == []
    assert look.exclude_denied(lambda *_: True) == look
    assert (
        apply_verdicts(contradicting, look.select_for_language_model(contradicting), lambda *_: False) == contradicting
    )


def test_language_model_decides_freely_worded_pairs() -> None:
    old, new = FREELY_WORDED
    near = claim("near", "Query logging has its own disk", days=-1)
    look = compare_with_candidates(new, [near, old])
    contradicting = look.apply_probabilities(READ)
    free = look.select_for_language_model(contradicting)
    assert [one.a.id for one in contradicting] == ["on"]
    assert [one.a.id for one in free] == ["on", "near"]
    assert apply_verdicts(contradicting, free, lambda *_: None) == contradicting
    assert apply_verdicts(contradicting, free, lambda *_: False) == []
    both = apply_verdicts(contradicting, free, lambda *_: True)
    assert [(one.a.id, one.kind) for one in both] == [("on", "wording"), ("near", "meaning")]
    assert both[1].probability == MIN_CONFIRMED_PROBABILITY


def test_unjudged_pairs_limited_confirmed_pairs_unlimited() -> None:
    new = claim("new", "Query logging is off", days=3)
    others = [claim(f"m{number}", f"Query logging of {name} is enabled") for number, name in enumerate(_names()[:5])]
    contradicting = [ContradictingPair(one, new, SURE, "wording") for one in others]
    assert len(apply_verdicts(contradicting, contradicting, lambda *_: None)) == MAX_PER_MEMORY
    assert len(apply_verdicts(contradicting, contradicting, lambda *_: True)) == len(contradicting)


def test_denied_pair_neither_opened_nor_read() -> None:
    memories_by_id = {one.id: one for one in FREELY_WORDED}
    assert len(list(plan_contradictions(memories_by_id, NOW, cache=read(FREELY_WORDED)))) == 1
    assert list(plan_contradictions(memories_by_id, NOW, cache=read(FREELY_WORDED), is_denied=lambda *_: True)) == []
    readings = EntailmentCache()
    assert list(plan_contradictions(memories_by_id, NOW, cache=readings, is_denied=lambda *_: True)) == []
    assert readings.list_unread(10) == []
    exact = {one.id: one for one in EXACT}
    assert len(list(plan_contradictions(exact, NOW, is_denied=lambda *_: True))) == 1
