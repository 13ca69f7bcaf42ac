"""Tests of usage tracking: bounded effects, each evidence once a day."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from hunchd.config.app_paths import replace_private_file
from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.usage_feedback import (
    IMPORTANCE_RANGE,
    MIN_UNREQUESTED_IMPORTANCE,
    estimate_attention,
    plan_usage,
)
from hunchd.domain.memory import Memory, Trust
from hunchd.features.consolidation.usage import REPEAT_WINDOW, UsageTracker
from hunchd.retrieval.ranking import USAGE_BOOST, rank_hits
from hunchd.store.hits import Hit
from tests.consolidation.made import NOW, by_id, memory

SETTINGS = ConsolidationSettings()


def apply_usage(usage: UsageTracker, memories: dict[str, Memory]) -> dict[str, Memory]:
    """Apply the usage as a nightly run does."""
    tallies = usage.get_tallies()
    changed = {one.id: one for change in plan_usage(memories, tallies) for one in change.after}
    usage.subtract_tallies(tallies)
    return memories | changed


def test_shown_memory_counts_once_a_day() -> None:
    usage = UsageTracker()
    for minute in range(300):
        usage.record_shown([("m1", ())], NOW + timedelta(minutes=minute))

    told = apply_usage(usage, by_id(memory("m1")))["m1"]
    assert (told.usage.retrieved, told.usage.last) == (1, NOW + timedelta(minutes=299))
    assert usage.get_tallies() == {}


def test_repeated_query_counts_first_results_ignored() -> None:
    usage = UsageTracker()
    found = [f"m{number}" for number in range(1, 13)]
    for day in range(12):
        at = NOW + timedelta(days=day)
        usage.record_query("why is it slow", "p", found, at)
        usage.record_use("m2", at + timedelta(seconds=30))
        usage.record_query("Why is it  slow", "p", found, at + REPEAT_WINDOW / 2)
        usage.record_query("something else", "p", [], at + REPEAT_WINDOW / 2)

    told = usage.get_tallies()
    assert told["m1"].ignored > told["m3"].ignored > told["m9"].ignored
    assert told["m12"].ignored == 0
    assert told["m2"].ignored == 0
    assert told["m2"].cited == 12


def test_open_after_shown_counts_as_cited() -> None:
    usage = UsageTracker()
    usage.record_shown([("m1", ("src/a.py",)), ("m2", ("src/b.py",))], NOW)
    usage.record_open("src/a.py", NOW + timedelta(minutes=3))
    usage.record_open("src/b.py", NOW + timedelta(hours=3))

    assert {name: tally.cited for name, tally in usage.get_tallies().items()} == {"m1": 1, "m2": 0}
    assert [event.what for event in usage.list_events("m1")] == ["src/a.py was opened after it was shown"]


def test_simulated_users_raise_useful_items() -> None:
    """Ten similar answers, three of them useful, shown by rank; a reader uses what helps, if seen."""
    chance = random.Random(5)
    useful = {"m3", "m6", "m9"}
    memories = by_id(*(memory(f"m{number}", content="the cache is slow", title=f"t{number}") for number in range(10)))
    usage = UsageTracker()

    def order() -> list[str]:
        hits = [Hit(memory=one, lexical=5.0, similarity=0.6) for one in memories.values()]
        return [one.memory.id for one in rank_hits("cache slow", hits, depth="deep", k=10, now=NOW)]

    first = order()
    for day in range(30):
        for asked in range(4):
            at = NOW + timedelta(days=day, hours=asked)
            found = order()
            usage.record_query(f"question {asked}", "p", found, at)
            seen = [name for place, name in enumerate(found, start=1) if chance.random() < estimate_attention(place)]
            for name in seen:
                if name in useful:
                    usage.record_use(name, at + timedelta(minutes=1))
            if not useful & set(seen):
                usage.record_query(f"question {asked}", "p", found, at + timedelta(minutes=2))
        memories = apply_usage(usage, memories)

    last = order()
    assert sum(map(first.index, useful)) > sum(map(last.index, useful))
    assert set(last[:3]) == useful
    assert all(memories[name].importance > 0.4 for name in useful)
    assert all(memories[name].importance < 0.4 for name in set(memories) - useful if memories[name].usage.ignored > 8)


def test_adversarial_feedback_stays_within_bounds() -> None:
    usage = UsageTracker()
    memories = by_id(
        memory("strange", importance=0.4),
        memory("mine", importance=0.45, trust=Trust.USER),
        memory("good", importance=0.6, trust=Trust.USER),
    )
    for day in range(400):
        at = NOW + timedelta(days=day)
        for _ in range(50):
            usage.record_feedback("strange", "cited", at)
            usage.record_use("strange", at)
            usage.record_use("mine", at)
            usage.record_feedback("good", "wrong", at)
        told = memories["strange"]
        memories["strange"] = replace(told, usage=replace(told.usage, cited=told.usage.cited + 50))
        told = memories["good"]
        memories["good"] = replace(told, usage=replace(told.usage, wrong=told.usage.wrong + 50))
        memories = apply_usage(usage, memories)

    assert memories["strange"].importance < MIN_UNREQUESTED_IMPORTANCE
    assert memories["mine"].importance < MIN_UNREQUESTED_IMPORTANCE
    assert memories["good"].importance >= 0.6 - IMPORTANCE_RANGE
    assert memories["strange"].trust is Trust.UNTRUSTED
    hits = [Hit(memory=one, lexical=5.0, similarity=0.6) for one in (memories["strange"], memory("fresh"))]
    scores = {one.memory.id: one.score for one in rank_hits("work", hits, depth="deep", k=5, now=NOW)}
    assert scores["strange"] <= scores["fresh"] * (1 + USAGE_BOOST) * 1.05


def test_load_restores_saved_usage_only(tmp_path: Path) -> None:
    usage = UsageTracker()
    usage.record_query("where is AKIAIOSFODNN7EXAMPLE used", "p", ["m1", "m2"], NOW)
    usage.record_use("m1", NOW)
    told = usage.dump()
    assert told is not None
    assert "AKIAIOSFODNN7EXAMPLE" not in told
    assert usage.dump() is None
    replace_private_file(tmp_path / "usage.json", told)

    again = UsageTracker.load(tmp_path / "usage.json")
    assert again.get_tallies() == usage.get_tallies()
    assert again.list_queries("p", 5) == usage.list_queries("p", 5) != []

    again.forget(["m1"])
    assert again.list_queries("p", 5) == []
    assert "m1" not in json.loads(again.dump() or "{}")["records"]
    (tmp_path / "usage.json").write_text('{"version": 1, "records": 3}')
    assert UsageTracker.load(tmp_path / "usage.json").get_tallies() == {}


def test_agent_read_counts_unless_file_changed() -> None:
    usage = UsageTracker()
    usage.record_shown([("m1", ("pyproject.toml",)), ("m2", ("src/a.py",)), ("m3", ("src/b.py",))], NOW)
    usage.record_open("pyproject.toml", NOW + timedelta(minutes=1), by_agent=True)
    usage.record_open("src/a.py", NOW + timedelta(minutes=1), by_agent=True)
    usage.record_save("src/a.py")
    usage.record_open("src/b.py", NOW + timedelta(minutes=1), by_agent=True)
    usage.record_open("src/b.py", NOW + timedelta(minutes=2), by_agent=True)
    usage.record_shown([], NOW + timedelta(hours=1))

    told = usage.get_tallies()
    assert {name: (tally.cited, tally.ignored) for name, tally in told.items()} == {
        "m1": (0, 1.0),
        "m2": (0, 0.0),
        "m3": (0, 0.0),
    }
    assert told["m1"].evidence < 0


def test_forget_project_drops_its_events() -> None:
    usage = UsageTracker()
    usage.record_shown([("mine", ("src/a.py",))], NOW, "p")
    usage.record_open("src/a.py", NOW)
    usage.record_shown([("mine", ())], NOW, "q")
    usage.record_query("anything", None, ["mine"], NOW)
    assert "src/a.py" in (usage.dump() or "")

    usage.forget_project("p")
    assert "src/a.py" not in (usage.dump() or "")
    assert usage.get_tallies()["mine"].cited == 1
