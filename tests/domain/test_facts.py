"""Tests of fact resolution with thousands of random claims, withdrawals and undos."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hunchd.domain.facts import (
    ClaimOutcome,
    MemoryChange,
    find_valid_version,
    is_presentable,
    list_versions,
    remove_versions,
    resolve_claim,
    revise_fact,
    slot_id,
    slot_of,
    undo_last_step,
    withdraw_fact,
)
from hunchd.domain.memory import Kind, Memory, Scope, Status, Trust

DAY = timedelta(days=1)
DAYS = range(46)  # claims are about the first 40, withdrawals happen in the last
START = datetime(2024, 1, 1, tzinfo=UTC)
# 1,000 by HUNCHD_HISTORIES=1000; the everyday check is content with fewer.
HISTORIES = int(os.environ.get("HUNCHD_HISTORIES", "60"))


def test_claim_after_clock_ahead_replaces_value() -> None:
    now = START + 40 * DAY
    ahead = replace(claim("pnpm", 400), id="place", confidence=1.0)
    said = replace(claim("yarn", 40), id="place")
    ruling = resolve_claim(said, ahead, (), now)
    assert ruling.verdict is ClaimOutcome.REPLACED
    assert ruling.memory.value == "yarn"
    [before] = [one for one in ruling.change.memories if one.value == "pnpm"]
    assert before.valid_to == now
    of_then = resolve_claim(replace(claim("npm", 3), id="place"), ahead, (), now)  # about the past: the head stays
    assert of_then.verdict is ClaimOutcome.EARLIER


def test_is_told_future_statement_is_false() -> None:
    now = START + 40 * DAY
    noted = replace(claim("pnpm", 40), id="place")
    assert is_presentable(noted, now)
    assert not is_presentable(replace(noted, valid_from=now + DAY), now)
    assert is_presentable(replace(noted, valid_from=now + DAY), now + DAY)
    committed_ahead = replace(noted, at=now + DAY, valid_from=now + DAY)
    assert is_presentable(committed_ahead, now)
    changed_ahead = replace(noted, updated=now + DAY, valid_from=now + DAY)
    assert is_presentable(changed_ahead, now)
    assert not is_presentable(replace(noted, valid_to=now), now)


def claim(
    value: str,
    day: int = 0,
    *,
    confidence: float = 1.0,
    voice: str = "user",
    key: str = "package manager",
    branch: str | None = None,
    until: int | None = None,
) -> Memory:
    at = START + day * DAY
    memory = Memory(
        id="",
        kind=Kind.FACT,
        title=f"{key}: {value}",
        content=f"{key}: {value}",
        at=at,
        created=at,
        updated=at,
        project="p1",
        category="convention",
        key=key,
        value=value,
        branch=branch,
        confidence=confidence,
        valid_to=None if until is None else START + until * DAY,
        trust=Trust.USER if voice == "user" else Trust.PROJECT,
        source={"type": "convention", "path": voice} if voice != "user" else {"type": "client"},
    )
    return replace(memory, id=slot_of(memory) or "")


@dataclass
class FactRows:
    """Rows of a store; changes are applied atomically in order."""

    rows: dict[str, Memory] = field(default_factory=dict)

    def apply(self, change: MemoryChange) -> None:
        for identifier in change.deletions:
            del self.rows[identifier]
        for memory in change.memories:
            self.rows[memory.id] = memory

    def family(self, place: str) -> list[Memory]:
        return [row for row in self.rows.values() if row.id.partition(".")[0] == place]

    def claim(self, memory: Memory, now: datetime) -> ClaimOutcome:
        earlier = [row for row in self.family(memory.id) if row.id != memory.id]
        ruling = resolve_claim(memory, self.rows.get(memory.id), earlier, now)
        self.apply(ruling.change)
        return ruling.verdict

    def undo(self, place: str, now: datetime) -> None:
        head = self.rows[place]
        before = self.rows.get(head.supersedes) if head.supersedes else None
        self.apply(undo_last_step(head, before, now)[1])

    def value(self, place: str, moment: datetime) -> str | None:
        held = find_valid_version(self.family(place), moment)
        return held.value if held else None


@dataclass
class ReferenceHistory:
    """Reference model of a history: segments ordered by time."""

    segments: list[tuple[int, str, float, int | None]] = field(default_factory=list)
    withdrawn: bool = False  # the last one: a new claim need not measure itself by it

    def claim(self, day: int, value: str, confidence: float, until: int | None) -> None:
        at = max((i for i, one in enumerate(self.segments) if one[0] <= day), default=-1)
        is_last = at == len(self.segments) - 1
        end = until if is_last else min(self.segments[at + 1][0], until if until is not None else 10**9)
        if at >= 0:
            begins, held, surety, ends = self.segments[at]
            if is_last and self.withdrawn:
                self.segments[at] = (begins, held, surety, day if ends is None else min(ends, day))
            elif ends is None or day < ends:
                if held == value:
                    if is_last:
                        self.segments[at] = (begins, held, max(surety, confidence), ends)
                    return
                if confidence < surety:
                    return
                if not is_last and ends is not None:
                    end = min(end if end is not None else ends, ends)
                self.segments[at] = (begins, held, surety, day)
                if is_last and ends is None and until is not None:  # it was over when it was told
                    self.segments.insert(at + 1, (until, held, surety, None))
        self.segments.insert(at + 1, (day, value, confidence, end))
        self.withdrawn = self.withdrawn and not is_last

    def withdraw(self, day: int) -> None:
        begins, value, confidence, _ = self.segments[-1]
        self.segments[-1] = (begins, value, confidence, max(begins, day))
        self.withdrawn = True

    def value(self, day: int) -> str | None:
        held = [one for one in self.segments if one[0] <= day and (one[3] is None or day < one[3])]
        assert len(held) <= 1
        return held[0][1] if held else None


CLAIMS = st.tuples(
    st.just("claim"),
    st.integers(0, 30),
    st.sampled_from(["npm", "pnpm", "yarn", "bun"]),
    st.sampled_from([0.4, 0.7, 0.9, 1.0]),
    st.sampled_from(["user", "package.json", "docs/setup.md"]),
    st.sampled_from([None, None, None, 3, 10]),
)
STEPS = st.one_of(CLAIMS, CLAIMS, CLAIMS, st.just(("withdraw",)), st.just(("undo",)))


@settings(max_examples=HISTORIES, deadline=None, derandomize=HISTORIES < 1000, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, min_size=1, max_size=25))
def test_random_claims_keep_single_valid_value(steps: list[tuple[object, ...]]) -> None:
    kept, line, place, now = FactRows(), ReferenceHistory(), claim("npm").id, START + 40 * DAY
    past: list[dict[int, str | None]] = []  # what held when, before each step that a step back takes back
    for step in steps:
        now += DAY / 24
        before = {day: kept.value(place, START + day * DAY) for day in DAYS}
        head = kept.rows.get(place)
        match step:
            case ("claim", int(day), str(value), float(confidence), str(voice), lasting):
                until = day + lasting if isinstance(lasting, int) else None
                stated = claim(value, day, confidence=confidence, voice=voice, until=until)
                verdict = kept.claim(replace(stated, created=now, updated=now), now)
                line.claim(day, value, confidence, until)
                if verdict in (ClaimOutcome.REPLACED, ClaimOutcome.NEW):
                    past.append(before)
                elif verdict is ClaimOutcome.EARLIER:
                    past.clear()
            case ("withdraw",) if head is not None and head.status is Status.ACTIVE:
                kept.apply(withdraw_fact(head, now))
                line.withdraw(-((START - now) // DAY))
                past.append(before)
            case ("undo",) if past:
                kept.undo(place, now)
                restored = past.pop()
                assert {day: kept.value(place, START + day * DAY) for day in restored} == restored
                line = segments_of(kept, place)
        held = {day: kept.value(place, START + day * DAY) for day in DAYS}
        assert held == {day: line.value(day) for day in held}
        check_invariants(kept, place)


def segments_of(kept: FactRows, place: str) -> ReferenceHistory:
    """Return the segments that the rows represent, checking the last undo."""
    versions = reversed(list_versions(kept.rows[place], kept.rows)) if place in kept.rows else ()
    told = [one for one in versions if one.status is not Status.ARCHIVED]
    return ReferenceHistory(
        [
            (
                (day_of(one.valid_from) or 0),
                one.value or "",
                one.confidence,
                day_of(one.valid_to, up=True),
            )
            for one in told
        ],
        withdrawn=place in kept.rows and kept.rows[place].status is Status.SUPERSEDED,
    )


def day_of(moment: datetime | None, *, up: bool = False) -> int | None:
    if moment is None:
        return None
    days = (moment - START) / DAY
    return int(-(-days // 1)) if up else int(days)


def check_invariants(kept: FactRows, place: str) -> None:
    """Check that at most one row is valid at a time, that one row has the slot's id, and that the chain covers all
    values.
    """
    family = kept.family(place)
    stated = [row for row in family if row.status in (Status.ACTIVE, Status.SUPERSEDED)]
    assert [row.id for row in family if row.status is Status.ACTIVE] in ([place], [])
    for day in DAYS:
        moment = START + day * DAY
        valid = [row for row in stated if row.valid_from <= moment and (row.valid_to is None or moment < row.valid_to)]
        assert len(valid) <= 1, [(row.value, row.valid_from, row.valid_to) for row in valid]
    if place in kept.rows:
        linked = list_versions(kept.rows[place], kept.rows)
        assert {row.id for row in stated} <= {row.id for row in linked}
        begins = [row.valid_from for row in linked]
        assert begins == sorted(begins, reverse=True)


def test_equal_confidence_replaces_lower_is_rejected() -> None:
    kept = FactRows()
    assert kept.claim(claim("npm", 0, confidence=0.8), START) is ClaimOutcome.NEW
    assert kept.claim(claim("pnpm", 5, confidence=0.8), START) is ClaimOutcome.REPLACED
    assert kept.claim(claim("yarn", 9, confidence=0.7), START) is ClaimOutcome.REJECTED

    place = claim("npm").id
    assert kept.rows[place].value == "pnpm"
    assert {row.status for row in kept.family(place) if row.value == "yarn"} == {Status.ARCHIVED}
    assert kept.value(place, START + 3 * DAY) == "npm"


def test_expired_claim_keeps_current_value() -> None:
    kept, now, place = FactRows(), START + 40 * DAY, claim("npm").id
    kept.claim(claim("npm", 0), now)
    kept.claim(claim("bun", 20), now)

    assert kept.claim(claim("pnpm", 25, until=30), now) is ClaimOutcome.EARLIER
    assert kept.claim(claim("yarn", 40, until=35), now) is ClaimOutcome.EARLIER  # since when, it does not say
    assert kept.claim(claim("deno", 40, until=10), now) is ClaimOutcome.EARLIER
    assert [kept.value(place, START + day * DAY) for day in (5, 15, 22, 27, 32, 39)] == [
        "npm",
        "npm",
        "bun",
        "pnpm",
        "bun",
        "bun",
    ]
    check_invariants(kept, place)


def test_equal_claim_of_other_source_conflicts() -> None:
    told = claim("3.9", key="python", voice="pyproject.toml")
    by_another = resolve_claim(claim("3.8", 1, key="python", voice="CONTRIBUTING.md"), told, (), START)
    by_the_same = resolve_claim(claim("3.10", 1, key="python", voice="pyproject.toml"), told, (), START)

    assert (by_another.conflicting, by_another.compared_with and by_another.compared_with.value) == (True, "3.9")
    assert not by_the_same.conflicting


def test_surer_repetition_updates_source_and_undoes() -> None:
    kept = FactRows()
    commit = replace(
        claim("Minitest", 1, confidence=0.6, voice="commit"), content="Use Minitest", trust=Trust.UNTRUSTED
    )
    manifest = replace(claim("minitest", 30, confidence=0.9, voice="Gemfile"), content="tests: minitest")
    place = slot_of(commit) or ""
    kept.claim(commit, START + 2 * DAY)
    assert kept.claim(manifest, START + 30 * DAY) is ClaimOutcome.CONFIRMED

    head = kept.rows[place]
    assert (head.content, head.source, head.trust) == (manifest.content, manifest.source, manifest.trust)
    assert kept.value(place, START + 10 * DAY) == "Minitest"
    kept.claim(replace(commit, at=START + 31 * DAY), START + 31 * DAY)
    assert kept.rows[place].content == manifest.content

    kept.undo(place, START + 32 * DAY)
    assert kept.rows[place].content == commit.content


def test_exact_and_minimum_version_agree() -> None:
    def conflicts(file: str, user: str) -> bool:
        head = claim(file, 1, key="java", voice="pom.xml")
        return resolve_claim(claim(user, 2, key="java"), head, (), START + 3 * DAY).conflicting

    assert not conflicts("17", ">=17")
    assert not conflicts("1.17 or newer", ">= 1.17")
    assert conflicts("17", ">=21")
    assert conflicts("17", "temurin")


def test_repeated_claim_changes_nothing() -> None:
    first = claim("pnpm")
    again = resolve_claim(replace(claim("  PNPM ", 3), content=first.content), first, (), START)

    assert (again.verdict, again.change.memories) == (ClaimOutcome.SAME, ())


def test_rejected_claim_is_stored_once() -> None:
    kept = FactRows()
    kept.claim(claim("npm"), START)
    for hour in range(3):
        kept.claim(claim("yarn", 2, confidence=0.5, voice="README.md"), START + hour * DAY)

    assert len(kept.rows) == 2


def test_place_id_ignores_spelling_only() -> None:
    asked = {"project": "p1", "scope": Scope.PROJECT, "category": "convention"}
    same = slot_id(**asked, key="Package  Manager")
    assert same == slot_id(**asked, key="package manager")
    others = {
        slot_id(**asked, key="tests"),
        slot_id(**asked, key="package manager", branch="next"),
        slot_id(**{**asked, "project": None}, key="package manager"),
        slot_id(**{**asked, "scope": Scope.USER}, key="package manager"),
        slot_id(**{**asked, "category": "decision"}, key="package manager"),
    }
    assert len(others | {same}) == 6


def test_edit_keeps_old_value_as_version() -> None:
    head = claim("npm")
    now = START + 7 * DAY
    kept = FactRows({head.id: head})
    kept.apply(revise_fact(head, replace(head, value="pnpm"), now))

    assert [kept.value(head.id, now + days * DAY) for days in (-8, -1, 0, 1)] == [None, "npm", "pnpm", "pnpm"]


def test_undo_restores_replaced_memory() -> None:
    first = replace(claim("the first way"), id="m1", key=None, status=Status.SUPERSEDED, superseded_by="m2")
    second = replace(claim("the second way"), id="m2", key=None, supersedes="m1")
    kept = FactRows({one.id: one for one in (first, second)})

    restored, change = undo_last_step(second, first, START + DAY)
    kept.apply(change)

    assert restored == kept.rows["m1"]
    assert (restored.status, restored.superseded_by) == (Status.ACTIVE, None)
    assert (kept.rows["m2"].status, kept.rows["m2"].value) == (Status.ARCHIVED, "the second way")


@pytest.mark.parametrize("steps", [1, 3])
def test_withdrawn_value_can_be_restated(steps: int) -> None:
    kept, place = FactRows(), claim("npm").id
    for step in range(steps):
        kept.claim(claim("npm", 10 * step), START)
        kept.apply(withdraw_fact(kept.rows[place], START + (10 * step + 5) * DAY))
    kept.claim(claim("npm", 100), START)

    assert kept.value(place, START + 7 * DAY) is None
    assert kept.value(place, START + 100 * DAY) == "npm"
    assert kept.rows[place].status is Status.ACTIVE


@given(st.permutations(range(6)), st.integers(1, 6))
def test_without_removes_versions_in_any_order(order: list[int], most: int) -> None:
    """A history without some values equals one in which they were never stated."""
    kept, place = FactRows(), claim("0").id
    for day in range(6):
        kept.claim(claim(str(day), day), START)
    for day in order[:most]:
        going = {one.id for one in kept.rows.values() if one.value == str(day)}
        change = remove_versions(kept.rows[place], kept.rows, going, START + 50 * DAY) or MemoryChange()
        kept.apply(change)
        for identifier in going.difference(one.id for one in change.memories):
            del kept.rows[identifier]
    expected = FactRows()
    for day in sorted(order[most:]):
        expected.claim(claim(str(day), day), START)

    left = list_versions(kept.rows[place], kept.rows) if kept.rows else []
    wanted = list_versions(expected.rows[place], expected.rows) if expected.rows else []
    assert len(left) == len(kept.rows)
    assert [(one.value, one.status, one.valid_to) for one in left] == [
        (one.value, one.status, one.valid_to) for one in wanted
    ]
    assert all(one.superseded_by == place for one in left[1:])
