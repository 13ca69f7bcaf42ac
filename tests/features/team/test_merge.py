"""The merge gives one result, whoever hears of what in which order, how often."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hunchd.features.team.merge import (
    ROSTER_GROUPS,
    Member,
    RegisterKey,
    SubjectView,
    build_roster,
    build_view,
    merge_records,
)
from hunchd.features.team.mirror import Mirror
from hunchd.protocol.team_records import (
    Membership,
    RecordKind,
    Resolution,
    TeamRecord,
    encode_payload,
    find_erased_quotations,
)
from tests.features.team.records import FOUNDER, TEAM, founded, joined, record, resolved, stated, statement

AUTHORS = (FOUNDER, "bob", "cem", "dia")
SUBJECTS = ("s1", "s2", "s3")


@st.composite
def operations(draw: st.DrawFn) -> list[TeamRecord]:
    """Draw what members did: records of every kind, with equal clocks among them."""
    records = [founded(), *map(joined, AUTHORS)]
    for _ in range(draw(st.integers(0, 14))):
        kind = draw(st.sampled_from(tuple(RecordKind)))
        author, clock = draw(st.sampled_from(AUTHORS)), draw(st.integers(1, 6))
        about_member = kind in (
            RecordKind.JOIN,
            RecordKind.LEAVE,
            RecordKind.APPOINT,
            RecordKind.EXCLUDE,
            RecordKind.READMIT,
        )
        subject = draw(st.sampled_from(AUTHORS if about_member else SUBJECTS))
        payload = ""
        if kind is RecordKind.STATE:
            payload = encode_payload(statement(draw(st.sampled_from("xyz"))))
        elif kind is RecordKind.RESOLVE:
            over = tuple(one.id for one in records if one.kind is RecordKind.STATE and draw(st.booleans()))
            quoted = {one: draw(st.integers(1, 6)) for one in AUTHORS if draw(st.booleans())}
            payload = encode_payload(Resolution(over=over, chosen=statement("x"), quoted=quoted))
        elif kind in (RecordKind.JOIN, RecordKind.LEAVE):
            payload = encode_payload(Membership(name=draw(st.sampled_from(("Ada", "Bob")))))
        records.append(record(kind, author, subject, clock, payload))
    return records


Knowledge = tuple[dict[RegisterKey, TeamRecord], dict[str, Member], dict[str, SubjectView]]


def deliver(records: list[TeamRecord], seed: int) -> Knowledge:
    """Return what a member knows that received all records in its own order, in batches, some of them twice."""
    chance = random.Random(seed)
    stream = [*records, *chance.sample(records, chance.randrange(len(records) + 1))]
    chance.shuffle(stream)
    registers: dict[RegisterKey, TeamRecord] = {}
    while stream:
        size = chance.randint(1, len(stream))
        registers = merge_records(registers, stream[:size])
        stream = stream[size:]
    roster = build_roster(TEAM, [one for key, one in registers.items() if key.group in ROSTER_GROUPS])
    views = {
        subject: build_view(subject, [one for one in registers.values() if one.subject == subject], roster)
        for subject in SUBJECTS
    }
    return registers, roster, views


@pytest.mark.slow
@pytest.mark.timeout(1_200)
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(operations(), st.integers(0, 2**31), st.integers(0, 2**31))
def test_merge_in_any_order_is_equal(records: list[TeamRecord], one: int, other: int) -> None:
    assert deliver(records, one) == deliver(records, other)


@settings(max_examples=100, deadline=None)
@given(operations(), st.integers(0, 2**31))
def test_mirror_holds_result_of_merge(records: list[TeamRecord], seed: int) -> None:
    registers, roster, views = deliver(records, 1)
    stream = [*records, *records]
    random.Random(seed).shuffle(stream)
    mirror = Mirror(None)
    for begin in range(0, len(stream), 5):
        mirror.receive(stream[begin : begin + 5], now_ms=10)

    assert build_roster(TEAM, mirror.load_roster_records()) == roster
    found = mirror.load_subjects(SUBJECTS)
    assert {subject: build_view(subject, found[subject], roster) for subject in SUBJECTS} == views
    assert sum(map(len, found.values())) == sum(key.subject in SUBJECTS for key in registers)
    mirror.close()


def test_erasure_outlives_later_statement() -> None:
    old, erasure, new = stated("bob", "x", 1), record(RecordKind.ERASE, "bob", "s", 2), stated("bob", "y", 3)
    mirror = Mirror(None)
    mirror.receive([old], now_ms=10)

    mirror.receive([erasure, new], now_ms=10)
    mirror.receive([old], now_ms=10)

    assert set(merge_records({}, [new, old, erasure]).values()) == {erasure, new}
    assert set(mirror.load_subjects(["s"])["s"]) == {erasure, new}
    mirror.close()


def test_erasure_ends_resolutions_quoting_it() -> None:
    bob, cem = stated("bob", "x", 1), stated("cem", "y", 2)
    resolution, erasure = resolved("ada", "x", [bob, cem], 3, bob=1), record(RecordKind.ERASE, "bob", "s", 4)
    older = resolved("ada", "y", [bob, cem], 2, cem=2)
    roster = roster_of(founded(), *map(joined, ("ada", "bob", "cem")))

    for stream in ([resolution, bob, cem, erasure, older], [erasure, older, cem, bob, resolution]):
        registers = merge_records(merge_records({}, stream[:3]), stream[3:])
        view = build_view("s", registers.values(), roster)
        assert (view.resolution, view.statements) == (None, (cem,))
        assert [one.payload for one in registers.values() if one.kind is RecordKind.RESOLVE] == [""]

    assert find_erased_quotations([resolution, erasure]) == [resolution]
    restated = resolved("ada", "x", [bob, cem], 3, bob=1, cem=5)
    assert not find_erased_quotations([restated, erasure]), "cem still says so"


def roster_of(*records: TeamRecord) -> dict[str, Member]:
    return build_roster(TEAM, records)


def test_exclusion_by_member_is_ignored() -> None:
    members = (founded(), joined("ada"), joined("bob"), joined("cem"))
    by_member = record(RecordKind.EXCLUDE, "bob", "cem", 5)
    of_founder = record(RecordKind.EXCLUDE, "bob", "ada", 5)

    assert not any(one.is_excluded for one in roster_of(*members, by_member, of_founder).values())
    appointed = record(RecordKind.APPOINT, "ada", "bob", 4)
    roster = roster_of(*members, by_member, of_founder, appointed)
    assert [one.author for one in roster.values() if one.is_excluded] == ["cem"]


def test_founding_by_other_gives_no_rights() -> None:
    false_founding = record(RecordKind.FOUND, "bob", TEAM, 1, founded().payload)

    roster = roster_of(false_founding, founded(), joined("ada"), joined("bob"))

    assert {one.author: one.role for one in roster.values()} == {"ada": "founder", "bob": "member"}


def test_same_name_twice_is_told_apart() -> None:
    roster = roster_of(founded(), joined("ada"), joined("mallory", "Ada"))

    assert {one.name for one in roster.values()} == {"Ada ada", "Ada mallory"}


def test_view_of_excluded_member_is_empty() -> None:
    roster = roster_of(founded(), joined("ada"), joined("bob"), record(RecordKind.EXCLUDE, "ada", "bob", 5))

    assert build_view("s", [stated("bob", "x")], roster).statements == ()


def test_resolution_ends_when_resolver_restates() -> None:
    roster = roster_of(founded(), joined("ada"), joined("bob"))
    ours, theirs = stated("ada", "x", 1), stated("bob", "y", 2)
    ruling = resolved("ada", "y", [ours, theirs], 3)

    view = build_view("s", [ours, theirs, ruling], roster)
    assert view.open_statements == ()
    again = stated("ada", "z", 4)
    assert build_view("s", [again, theirs, ruling], roster).open_statements == (theirs, again)
