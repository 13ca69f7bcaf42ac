"""Tests of the history of automated updates: one line for each dependency."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from zlib import crc32

import pytest

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation import module_history
from hunchd.consolidation.aging import plan_forgetting
from hunchd.consolidation.extractive_summary import Vocabulary
from hunchd.consolidation.module_history import (
    MIN_EPISODES_PER_CHANGE,
    UPDATES_MODULE,
    list_quoted_ids,
    make_history_id,
    plan_histories,
)
from hunchd.consolidation.plan import PlannedChange, compute_outcome, is_applicable, make_entry
from hunchd.domain.memory import Artifact, Kind, Memory, Trust, Usage
from hunchd.retrieval.ranking import rank_hits
from hunchd.store.hits import Hit
from tests.consolidation.made import NOW, by_id, memory

SETTINGS = ConsolidationSettings()
ID = make_history_id("p", UPDATES_MODULE)


def bump(what: str, number: int, *, age: float, **fields: object) -> Memory:
    sha = f"{crc32(f'{what} {number}'.encode()):08x}{number:032x}"
    title = f"build(deps): Bump {what} from 1.{number} to 1.{number + 1}"
    artifacts = (Artifact("commit", sha), Artifact("file", f"requirements/{what}.txt"))
    defaults = {"title": title, "content": f"{title}\n\nM requirements/{what}.txt", "tags": ("build", "deps", "bot")}
    return memory(f"{what}{number}", age=age, **defaults | {"artifacts": artifacts, "importance": 0.1} | fields)  # type: ignore[arg-type]


def plan_list(memories: dict[str, Memory]) -> list[PlannedChange]:
    return list(plan_histories(memories, Vocabulary(), SETTINGS, NOW))


def after(changes: list[PlannedChange], memories: dict[str, Memory]) -> dict[str, Memory]:
    return memories | {one.id: one for change in changes for one in change.after}


def commit_of(one: Memory) -> str:
    return next(made.ref[:8] for made in one.artifacts if made.type == "commit")


def test_update_history_one_line_per_dependency() -> None:
    bumps = [bump(what, number, age=700 - 6 * number) for number in range(100) for what in ("tox", "django", "anyio")]
    result = after(plan_list(by_id(*bumps)), by_id(*bumps))

    history = result[ID]
    lines = history.content.splitlines()[1:]
    assert len(lines) == 3
    assert all("1.0 → 1.100, 100 times since" in line for line in lines)
    assert all(commit_of(one) in history.content for one in bumps)
    assert all(list_quoted_ids(result[one.id]) == (ID,) for one in bumps)
    assert len(history.content) < sum(len(one.title) for one in bumps) / 4
    assert (history.trust, history.kind, history.category) == (Trust.UNTRUSTED, Kind.EPISODE, "history")
    assert {one.ref for one in history.artifacts} == {f"requirements/{what}.txt" for what in ("tox", "django", "anyio")}


def test_update_history_next_update_extends_line() -> None:
    bumps = [bump("tox", number, age=200 - number) for number in range(10)]
    result = after(plan_list(by_id(*bumps)), by_id(*bumps))
    assert plan_list(result) == []

    erased = {ID: result[ID]}  # long after the episodes were erased
    later = bump("tox", 10, age=70)
    [change] = plan_list(erased | by_id(later))
    [line] = change.after[0].content.splitlines()[1:]
    assert "tox 1.0 → 1.11, 11 times since" in line
    assert all(commit_of(one) in line for one in (*bumps, later))


def test_update_history_artifacts_are_manifests() -> None:
    lock = [Artifact("file", one) for one in ("web/package.json", "web/pnpm-lock.yaml", "src/style.py")]
    many = [Artifact("file", f"templates/{number}/package.json") for number in range(20)]
    bumps = (bump("tox", 0, age=80), bump("web", 1, age=80, artifacts=tuple(lock)), bump("all", 2, age=80))
    bumps = (*bumps[:2], replace(bumps[2], artifacts=tuple(many)))
    history = after(plan_list(by_id(*bumps)), by_id(*bumps))[ID]
    assert {one.ref for one in history.artifacts} == {"requirements/tox.txt", "web/package.json", "web/pnpm-lock.yaml"}


def test_update_history_waits_for_late_updates() -> None:
    memories = after(plan_list(by_id(bump("tox", 0, age=80))), by_id(bump("tox", 0, age=80)))
    waiting = memories | by_id(*(bump("tox", number, age=59 - number) for number in range(1, 20)))
    assert plan_list(waiting) == []

    due = waiting | by_id(bump("django", 1, age=61))
    [change] = plan_list(due)
    assert len(change.before) == 1 + 20


def test_update_history_batches_give_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    bumps = [bump(what, number, age=300 - number) for number in range(60) for what in ("tox", "django")]
    changes = plan_list(by_id(*bumps))
    assert max(len(change.before) for change in changes) == MIN_EPISODES_PER_CHANGE + 1
    monkeypatch.setattr(module_history, "MIN_EPISODES_PER_CHANGE", 1_000)
    [whole] = plan_list(by_id(*bumps))
    assert whole.after[0].content == changes[-1].after[0].content


def test_update_history_undo_restores_all() -> None:
    bumps = [bump("tox", number, age=200 - number) for number in range(40)]
    before = by_id(*bumps)
    present = dict(before)
    entries = [make_entry(change, "p") for change in plan_list(before)]
    for entry in entries:
        restored, removed = compute_outcome(entry, present)
        present = {name: one for name, one in present.items() if name not in removed} | by_id(*restored)
    assert ID in present

    for entry in reversed(entries):
        assert is_applicable(entry.inverse, present)
        restored, removed = compute_outcome(entry.inverse, present)
        present = {name: one for name, one in present.items() if name not in removed} | by_id(*restored)
    assert present == before


def test_search_finds_line_of_forgotten_updates() -> None:
    bumps = [
        bump(what, number, age=400 - number) for number in range(90) for what in ("codecov-action", "tox", "django")
    ]
    history = after(plan_list(by_id(*bumps)), by_id(*bumps))[ID]
    hits = [Hit(memory=one, lexical=5.0, similarity=None) for one in (history, memory("x", title="upload coverage"))]
    best = rank_hits("when was codecov-action bumped", hits, depth="shallow", k=5, now=NOW)[0]
    assert best.memory.id == ID
    assert "codecov-action 1.0 → 1.90, 90 times since" in best.snippet


def test_updates_forgotten_but_history_kept() -> None:
    bumps = [bump("tox", number, age=200 - number) for number in range(30)]
    result = after(plan_list(by_id(*bumps)), by_id(*bumps))
    result[ID] = replace(result[ID], created=NOW - timedelta(days=150), at=NOW - timedelta(days=150))
    plenty = by_id(*(memory(f"m{number}", age=1) for number in range(300)))
    forgotten_ids = {one.id for change in plan_forgetting(result | plenty, SETTINGS, NOW) for one in change.after}
    assert forgotten_ids == {one.id for one in bumps}


def test_update_history_keeps_usage_and_importance() -> None:
    first = bump("tox", 0, age=200)
    result = after(plan_list(by_id(first)), by_id(first))
    result[ID] = replace(result[ID], importance=0.42, usage=Usage(3, 1, 0))
    [change] = plan_list(result | by_id(bump("tox", 1, age=70)))
    assert (change.after[0].importance, change.after[0].usage) == (0.42, Usage(3, 1, 0))


def test_update_history_counts_oldest_series_by_year(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_history, "MAX_LINES", 10)
    bumps = [bump(f"dep{number}", time, age=500 - number - time) for number in range(25) for time in range(2)]
    history = after(plan_list(by_id(*bumps)), by_id(*bumps))[ID]
    lines = history.content.splitlines()[1:]
    assert len([line for line in lines if "2 times since" in line]) == 10
    assert sum(int(line[1:].split()[0]) for line in lines if line.startswith("~")) == 30

    [change] = plan_list({ID: history} | by_id(bump("late", 0, age=70)))
    lines = change.after[0].content.splitlines()[1:]
    assert "late 1.0 → 1.1" in lines[0]
    assert sum(int(line[1:].split()[0]) for line in lines if line.startswith("~")) == 32
