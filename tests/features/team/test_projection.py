"""What members say, as memories: one value a key, contradictions, taken over resolutions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hunchd.consolidation.contradiction_records import create_contradiction
from hunchd.domain.facts import MemoryChange, slot_of
from hunchd.domain.memory import Kind, Memory, Status, Trust
from hunchd.features.team.merge import Member, SubjectView
from hunchd.features.team.outbox import plan_dismissals, plan_resolution, plan_statement
from hunchd.features.team.projection import (
    ProjectionTarget,
    SlotState,
    build_claim,
    plan_own_single,
    plan_single,
    plan_slot,
)
from hunchd.features.team.selection import SharingScope
from hunchd.ingestion.fixes import FIX_TAG
from hunchd.protocol.team_records import RecordKind, Resolution, TeamRecord, decode_payload
from tests.features.team.records import NOW, decode_value, record, resolved, stated
from tests.features.team.test_selection import memory

ROSTER = {name: Member(name, name.capitalize(), "member") for name in ("ada", "bob", "cem", "own")}
TARGET = ProjectionTarget("p1", "own", ROSTER, NOW)


def own_value(value: str) -> Memory:
    one = memory(value=value, title=f"queue: {value}", content=f"queue: {value}")
    return replace(one, id=slot_of(one) or "")


class Slot:
    """The key of one machine, with the changes applied."""

    def __init__(self, head: Memory | None = None) -> None:
        self.memories = {head.id: head} if head is not None else {}
        self.slot = slot_of(own_value("x")) or ""

    def show(self, *statements: TeamRecord, resolution: TeamRecord | None = None) -> Slot:
        conflicts = tuple(one for one in self.memories.values() if is_open(one))
        state = SlotState(self.memories.get(self.slot), conflicts)
        for change in plan_slot(
            SubjectView("s", tuple(sorted(statements, key=lambda one: one.clock)), resolution), state, TARGET
        ):
            self.apply(change)
        return self

    def apply(self, change: MemoryChange) -> None:
        self.memories |= {one.id: one for one in change.memories}
        for identifier in change.deletions:
            self.memories.pop(identifier, None)

    @property
    def value(self) -> str | None:
        head = self.memories.get(self.slot)
        return head.value if head is not None and head.status is Status.ACTIVE else None

    @property
    def disputed(self) -> set[frozenset[str]]:
        return {frozenset(one.source[side]["value"] for side in "ab") for one in self.memories.values() if is_open(one)}


def is_open(one: Memory) -> bool:
    return one.kind is Kind.CONTRADICTION and one.status is Status.ACTIVE


def test_first_statement_holds_and_others_contradict() -> None:
    slot = Slot().show(stated("ada", "Redis", 1), stated("bob", "RabbitMQ", 2), stated("cem", "redis", 3))

    assert slot.value == "Redis"
    assert slot.disputed == {frozenset({"Redis", "RabbitMQ"})}


def test_projection_twice_changes_nothing() -> None:
    statements = (stated("ada", "Redis", 1), stated("bob", "RabbitMQ", 2))
    slot = Slot().show(*statements)
    before = dict(slot.memories)

    assert slot.show(*statements).memories == before


def test_own_value_is_not_replaced() -> None:
    slot = Slot(own_value("Kafka")).show(stated("ada", "Redis"), stated("own", "Kafka", 2))

    assert slot.value == "Kafka"
    assert slot.disputed == {frozenset({"Kafka", "Redis"})}


def test_contradiction_closes_when_members_agree() -> None:
    slot = Slot(own_value("Kafka")).show(stated("ada", "Redis"), stated("own", "Kafka", 2))

    assert slot.show(stated("ada", "kafka", 3), stated("own", "Kafka", 2)).disputed == set()


def test_retraction_hands_key_to_next_member() -> None:
    slot = Slot().show(stated("ada", "Redis", 1), stated("bob", "RabbitMQ", 2), stated("cem", "NATS", 3))

    slot.show(stated("bob", "RabbitMQ", 2), stated("cem", "NATS", 3))

    assert slot.value == "RabbitMQ"
    assert slot.disputed == {frozenset({"RabbitMQ", "NATS"})}
    assert slot.show().value is None
    assert slot.disputed == set()


def test_resolution_replaces_decided_own_value() -> None:
    ours, theirs = stated("own", "Kafka", 1), stated("ada", "Redis", 2)
    slot = Slot(own_value("Kafka")).show(ours, theirs)

    slot.show(ours, theirs, resolution=resolved("bob", "Redis", [ours, theirs]))

    assert slot.value == "Redis"
    assert slot.memories[slot.slot].source["by"] == "Ada"
    assert slot.disputed == set()


def test_resolution_names_winner_by_value() -> None:
    ada = stated("ada", "Redis")
    mine = stated("own", "RabbitMQ", clock=2)
    for value, winner in (("RabbitMQ", "a_wins"), ("Redis", "b_wins"), ("NATS", None)):
        slot = Slot(own_value("RabbitMQ")).show(ada, mine)
        slot.show(ada, mine, resolution=resolved("ada", value, [ada, mine]))

        [closed] = [one for one in slot.memories.values() if one.kind is Kind.CONTRADICTION]
        assert (slot.value, closed.source["resolution"]) == (value, winner)


def test_resolution_covers_own_earlier_statement() -> None:
    ours, theirs = stated("own", "Kafka", 1), stated("ada", "Redis", 2)
    chosen = build_claim(theirs, TARGET)
    assert chosen is not None
    conflict = create_contradiction(own_value("NATS"), chosen.memory, NOW)
    resolved_conflict = replace(conflict, status=Status.SUPERSEDED, source={**conflict.source, "before": {}})

    planned = plan_resolution(
        resolved_conflict,
        chosen.memory,
        "s",
        SubjectView("s", (ours, theirs)),
        [ours, theirs],
        SharingScope("p1", "shop", Path("/shop")),
        "own",
    )

    assert planned is not None
    resolution = decode_payload(record(planned.kind, "own", payload=planned.payload), Resolution)
    assert resolution is not None
    assert set(resolution.over) == {ours.id, theirs.id}
    assert resolution.quoted == {"ada": 2}


@st.composite
def views(draw: st.DrawFn) -> tuple[TeamRecord | None, list[tuple[list[TeamRecord], TeamRecord | None]]]:
    """Draw what this machine's user states, if anything, and what it hears of one after the other."""
    ours = draw(st.sampled_from((None, stated("own", "A", 1), stated("own", "B", 3))))
    heard = []
    for _ in range(draw(st.integers(1, 4))):
        statements = [ours] if ours is not None else []
        for author in ("ada", "bob", "cem"):
            value, clock = draw(st.sampled_from(("", "A", "B", "C", "D"))), draw(st.integers(1, 4))
            statements += [stated(author, value, clock)] if value else []
        over = [one for one in statements if draw(st.booleans())]
        resolution = resolved("bob", draw(st.sampled_from("ABE")), over) if over and draw(st.booleans()) else None
        heard.append((statements, resolution))
    return ours, heard


@settings(max_examples=300, deadline=None)
@given(views())
def test_values_in_play_follow_from_view(
    drawn: tuple[TeamRecord | None, list[tuple[list[TeamRecord], TeamRecord | None]]],
) -> None:
    ours, heard = drawn
    slot = Slot(own_value(decode_value(ours) or "") if ours is not None else None)
    for statements, resolution in heard:
        slot.show(*statements, resolution=resolution)

        view = SubjectView("s", tuple(statements), resolution)
        expected = {decode_value(one) for one in view.open_statements}
        if (ruling := view.decode_resolution()) is not None and ruling.chosen is not None:
            expected.add(ruling.chosen.value)
        assert set().union(*slot.disputed, {slot.value} - {None}) == expected


@pytest.mark.parametrize(("value", "by"), [("Redis", "Ada"), ("NATS", "Bob")])
def test_resolved_value_names_who_stated_it(value: str, by: str) -> None:
    ours, theirs = stated("own", "Kafka", 1), stated("ada", "Redis", 2)
    slot = Slot(own_value("Kafka")).show(ours, theirs)

    slot.show(ours, theirs, resolution=resolved("bob", value, [ours, theirs]))

    assert (slot.value, slot.memories[slot.slot].source["by"]) == (value, by)


def test_void_resolution_restores_own_value() -> None:
    ours, theirs = stated("own", "Kafka", 1), stated("ada", "Redis", 2)
    slot = Slot(own_value("Kafka")).show(ours, theirs, resolution=resolved("bob", "Redis", [ours, theirs]))

    slot.show(ours, theirs)

    assert slot.value == "Kafka"
    assert slot.memories[slot.slot].trust is Trust.USER
    assert slot.disputed == {frozenset({"Kafka", "Redis"})}


def test_statement_after_resolution_reopens_question() -> None:
    first, second = stated("ada", "Redis", 1), stated("bob", "NATS", 2)
    ruling = resolved("cem", "Redis", [first, second], 3)
    slot = Slot().show(first, second, resolution=ruling)
    assert (slot.value, slot.disputed) == ("Redis", set())

    slot.show(first, stated("bob", "Kafka", 4), resolution=ruling)

    assert slot.disputed == {frozenset({"Redis", "Kafka"})}


def test_statement_is_quoted_with_member_name() -> None:
    claim = build_claim(stated("ada", "Redis"), TARGET)

    assert claim is not None
    assert claim.memory.trust is Trust.TEAM
    assert (claim.memory.source["by"], claim.memory.project) == ("Ada", "p1")


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "‮evil\x1b[31m text"},
        {"category": "identity-theft", "value": "x" * 90_000},
        {"importance": 99.0, "confidence": -3.0},
        {"files": ("/etc/passwd", "../up", "src/ok.py")},
    ],
)
def test_hostile_statement_is_bounded(fields: dict[str, Any]) -> None:
    claim = build_claim(stated("ada", "Redis", **fields), TARGET)

    assert claim is not None
    one = claim.memory
    assert 0 <= one.importance <= 0.6
    assert 0.5 <= one.confidence <= 1
    assert len(one.value or "") <= 2_000
    assert one.category in ("decision", None)
    assert [file.ref for file in one.artifacts] in ([], ["src/ok.py"])
    assert "\x1b" not in one.content
    assert "‮" not in one.content


def test_fix_of_member_holds_no_secret() -> None:
    secret = "-".join(("hunter", "42", "Xq9vT"))
    content = f"set password={secret}\nand start it again"
    fix = stated("ada", "x", kind=Kind.ERROR, content=content, tags=(FIX_TAG,), key=None)

    claim = build_claim(fix, TARGET)

    assert claim is not None
    assert "[redacted:" in str(claim.memory.source["headline"])
    assert secret not in str(claim.memory)
    assert (claim.memory.source["by"], claim.memory.source["subject"]) == ("Ada", "s")


def test_unreadable_statement_is_ignored() -> None:
    assert build_claim(record(RecordKind.STATE, "ada", payload="{"), TARGET) is None


def test_keyless_statement_follows_its_author() -> None:
    first = build_claim(stated("ada", "x", 1, key=None, content="tests first"), TARGET)
    later = build_claim(stated("ada", "x", 2, key=None, content="tests before code"), TARGET)
    [created] = plan_single(first, None, NOW)
    stored = created.memories[-1]

    assert plan_single(first, stored, NOW) == []
    assert plan_single(later, stored, NOW)[0].memories[-1].content == "tests before code"
    assert plan_single(None, stored, NOW)[0].memories[-1].status is Status.SUPERSEDED


def test_own_keyless_statement_follows_resolution() -> None:
    mine = stated("own", "x", key=None, value=None, content="we release on Tuesdays")
    stored = memory(key=None, value=None, content="we release on Tuesdays")
    decided = SubjectView("s", (mine,), record(RecordKind.RESOLVE, "bob", payload=f'{{"over": ["{mine.id}"]}}'))

    [withdrawn] = plan_own_single(decided, stored, TARGET)
    [ended] = withdrawn.memories
    [restored] = plan_own_single(SubjectView("s", (mine,)), ended, TARGET)

    assert (ended.status, ended.source["withdrawn"]) == (Status.SUPERSEDED, "Bob decided against it")
    assert (restored.memories[0].status, restored.memories[0].source) == (Status.ACTIVE, stored.source)
    assert plan_own_single(decided, ended, TARGET) == plan_own_single(SubjectView("s", (mine,)), stored, TARGET) == []
    scope = SharingScope("p1", "shop", Path("/shop"))
    assert plan_statement(ended, "s", decided, scope, "own", NOW, None) is None, "the team keeps the statement"
    reopening = plan_statement(stored, "s", decided, scope, "own", NOW, None)
    assert reopening is not None
    assert reopening.kind is RecordKind.STATE


def test_withdrawn_statement_of_member_returns() -> None:
    claim = build_claim(stated("ada", "x", 1, key=None, content="tests first"), TARGET)
    [created] = plan_single(claim, None, NOW)
    [ended] = plan_single(None, created.memories[-1], NOW)[0].memories

    assert plan_single(claim, ended, NOW)[0].memories[-1].status is Status.ACTIVE


def test_hidden_statement_is_not_shown() -> None:
    hidden, later = stated("ada", "Redis", 1), stated("bob", "NATS", 2)
    target = replace(TARGET, hidden_ids=frozenset({hidden.id}))

    [change] = plan_slot(SubjectView("s", (hidden, later)), SlotState(None), target)

    assert [one.value for one in change.memories] == ["NATS"]


def test_reopened_keyless_contradiction_withdraws_decision() -> None:
    lost = replace(memory(id="m2", trust=Trust.TEAM), status=Status.SUPERSEDED)
    lost = replace(lost, source={"type": "team Ada", "by": "Ada", "member": "ada", "record": "r1", "subject": "s"})
    conflict = create_contradiction(memory(key=None), lost, NOW)
    closed = replace(conflict, status=Status.SUPERSEDED, source={**conflict.source, "before": [], "note": "CI says so"})

    [decision] = plan_dismissals(closed, [lost], [])
    sent = record(RecordKind.RESOLVE, "own", payload=decision.payload)

    assert plan_dismissals(closed, [lost], [sent]) == []
    assert [one.kind for one in plan_dismissals(conflict, [lost], [sent])] == [RecordKind.UNRESOLVE]
