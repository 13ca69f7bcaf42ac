"""Tests of ageing: summaries, compression, retirement, archiving and erasure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.aging import (
    ERASE_AFTER,
    SHOWN_AS,
    iter_erasable,
    plan_compression,
    plan_forgetting,
    plan_retirement,
    plan_summaries,
    restore,
)
from hunchd.consolidation.extractive_summary import Vocabulary
from hunchd.domain.memory import Kind, Memory, Status, Trust, Usage
from tests.consolidation.made import NOW, by_id, memory

SETTINGS = ConsolidationSettings(forget_share=1.0)
LONG = (
    "The importer read every row twice. We decided to stream `orders.csv` instead of loading it, because the nightly "
    "job in src/import/rows.py ran out of memory at 2.3 GB. Somebody asked about colours. The tests pass again."
)


def ages(plan: object) -> list[str]:
    return [change.before[0].id for change in plan]  # type: ignore[attr-defined]


def test_episodes_by_age_summarised_or_compressed_once() -> None:
    episodes = [memory("young", age=6, content=LONG), memory("week", age=8, content=LONG), memory("month", age=31)]
    summaries = list(plan_summaries(episodes, Vocabulary(), SETTINGS, NOW))
    lines = list(plan_compression(episodes, Vocabulary(), SETTINGS, NOW))

    assert ages(summaries) == ["week"]
    assert ages(lines) == ["month"]
    after = [change.after[0] for change in (*summaries, *lines)]
    assert list(plan_summaries(after, Vocabulary(), SETTINGS, NOW)) == []
    assert list(plan_compression([after[-1]], Vocabulary(), SETTINGS, NOW)) == []
    assert after[0].source[SHOWN_AS] == "summary"
    assert all(one.content == LONG for one in after if one.id == "week")


def test_summary_contains_decision_and_reason() -> None:
    [change] = plan_summaries([memory("m", content=LONG)], Vocabulary(), SETTINGS, NOW)

    summary = change.after[0].levels.summary
    assert "stream `orders.csv` instead of loading it" in summary
    assert "because" in summary
    assert "colours" not in summary.split("because")[0]


@pytest.mark.parametrize(
    "kept",
    [
        memory("user", age=400, trust=Trust.USER),
        memory("cited", age=400, usage=Usage(cited=1)),
        memory("missed", age=400, usage=Usage(missed=1)),
        memory("shown", age=400, usage=Usage(retrieved=1, last=NOW)),
        memory("fact", age=400, kind=Kind.FACT, trust=Trust.PROJECT, source={"type": "convention", "path": "go.mod"}),
        memory("said", age=400, kind=Kind.FACT, trust=Trust.USER),
        memory("page", age=400, kind=Kind.DOCUMENT),
        memory("release", age=400, importance=0.9),
        memory("told", age=400, category="history"),
        memory("young", age=89),
        memory("talk", age=400, tags=("conversation",)),
    ],
    ids=lambda memory: memory.id,
)
def test_forgetting_protected_memory_kept(kept: Memory) -> None:
    changes = list(plan_forgetting(by_id(kept, memory("unused", age=91)), SETTINGS, NOW))

    assert ages(changes) == ["unused"]


def test_forgetting_derived_and_superseded_facts_age() -> None:
    derived = memory("derived", age=91, kind=Kind.FACT, trust=Trust.DERIVED)
    past = {"kind": Kind.FACT, "status": Status.SUPERSEDED, "superseded_by": "new"}
    replaced = memory("replaced", age=400, valid_to=NOW - timedelta(days=91), trust=Trust.DERIVED, **past)
    lately = memory("lately", age=400, valid_to=NOW - timedelta(days=9), trust=Trust.DERIVED, **past)
    by_user = memory("by user", age=900, valid_to=NOW - timedelta(days=366), trust=Trust.USER, **past)
    by_user_lately = memory("kept", age=900, valid_to=NOW - timedelta(days=364), trust=Trust.USER, **past)

    changes = list(
        plan_forgetting(
            by_id(derived, replaced, lately, by_user, by_user_lately), replace(SETTINGS, forget_share=9.0), NOW
        )
    )

    assert sorted(ages(changes)) == ["by user", "derived", "replaced"]


def test_forgetting_limited_to_share_least_important_first() -> None:
    memories = [memory(f"m{number}", age=200, importance=0.1 + number / 100) for number in range(20)]

    changes = list(plan_forgetting(by_id(*memories), replace(SETTINGS, forget_share=0.1), NOW))

    assert ages(changes) == ["m0", "m1"]


def test_archived_memory_restored_or_erased_later() -> None:
    old = memory("m", age=200)
    [change] = plan_forgetting(by_id(old), SETTINGS, NOW)
    archived = change.after[0]

    assert archived.status is Status.ARCHIVED
    assert restore(archived) == old
    assert restore(memory("m", status=Status.ARCHIVED)) is None  # archived by its owner, not for lack of use
    assert list(iter_erasable([archived], NOW)) == []
    later = NOW.replace(month=7, day=2)
    assert list(iter_erasable([archived], later)) == [archived]


def test_forgetting_linked_from_kept_memory_kept() -> None:
    fix = memory("fix", age=200, kind=Kind.ERROR)
    user_memory = memory("told", age=200, trust=Trust.USER, links=({"type": "about", "ref": "fix"},))

    assert list(plan_forgetting(by_id(fix, user_memory), SETTINGS, NOW)) == []


def test_retirement_of_superseded_and_expired_memories() -> None:
    old, new = memory("old"), memory("new", supersedes="old")
    ended, holding = memory("ended", valid_to=NOW), memory("holding")

    changes = {change.before[0].id: change.after[0] for change in plan_retirement(by_id(old, new, ended, holding), NOW)}

    assert set(changes) == {"old", "ended"}
    assert changes["old"].superseded_by == "new"
    assert changes["ended"].status is Status.SUPERSEDED


def test_merged_memory_archived_after_quarter_and_restorable() -> None:
    merged = {"status": Status.SUPERSEDED, "superseded_by": "keeper"}
    copy = memory("copy", age=200, valid_to=NOW - timedelta(days=91), **merged)
    fresh = memory("fresh", age=200, valid_to=NOW - timedelta(days=89), **merged)
    user_copy = replace(copy, id="said", trust=Trust.USER)
    before = replace(copy, id="fact", kind=Kind.FACT)
    [change] = plan_forgetting(by_id(memory("keeper", age=5), copy, fresh, user_copy, before), SETTINGS, NOW)

    [after] = change.after
    assert (after.id, after.status) == ("copy", Status.ARCHIVED)
    assert restore(after) == copy


@pytest.mark.parametrize("date", ["soon", 7, None, "2020-01-01", "2020-01-01T00:00:00"])
def test_erasure_imported_without_valid_date_kept(date: object) -> None:
    imported = memory("theirs", age=900, status=Status.ARCHIVED, source={ERASE_AFTER: date})
    assert list(iter_erasable([imported], NOW)) == []
