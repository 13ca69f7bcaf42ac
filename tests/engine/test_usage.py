"""Tests of usage tracking: bounded effects, each evidence once a day."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.usefulness import SHOWN_UNASKED, counted, examined
from hunchd.domain.memory import Memory, Trust
from hunchd.engine.nightly.usage import AGAIN_WITHIN, Usage, keep
from hunchd.retrieval.ranking import USAGE, ranking
from hunchd.store.database.hits import Hit
from tests.consolidation.made import NOW, by_id, memory

SETTINGS = ConsolidationSettings()


def apply_usage(usage: Usage, memories: dict[str, Memory]) -> dict[str, Memory]:
    """Apply the usage as a nightly run does."""
    tallies = usage.tallies()
    changed = {one.id: one for change in counted(memories, tallies, SETTINGS) for one in change.after}
    usage.counted(tallies)
    return memories | changed


def test_shown_memory_counts_once_a_day() -> None:
    usage = Usage()
    for minute in range(300):
        usage.shown([("m1", ())], NOW + timedelta(minutes=minute))

    told = apply_usage(usage, by_id(memory("m1")))["m1"]
    assert (told.usage.retrieved, told.usage.last) == (1, NOW + timedelta(minutes=299))
    assert usage.tallies() == {}


def test_repeated_query_counts_first_results_ignored() -> None:
    usage = Usage()
    found = [f"m{number}" for number in range(1, 13)]
    for day in range(12):
        at = NOW + timedelta(days=day)
        usage.asked("why is it slow", "p", found, at)
        usage.used("m2", at + timedelta(seconds=30))
        usage.asked("Why is it  slow", "p", found, at + AGAIN_WITHIN / 2)
        usage.asked("something else", "p", [], at + AGAIN_WITHIN / 2)

    told = usage.tallies()
    assert told["m1"].ignored > told["m3"].ignored > told["m9"].ignored
    assert told["m12"].ignored == 0
    assert told["m2"].ignored == 0
    assert told["m2"].cited == 12


def test_open_after_shown_counts_as_cited() -> None:
    usage = Usage()
    usage.shown([("m1", ("src/a.py",)), ("m2", ("src/b.py",))], NOW)
    usage.opened("src/a.py", NOW + timedelta(minutes=3))
    usage.opened("src/b.py", NOW + timedelta(hours=3))

    assert {name: tally.cited for name, tally in usage.tallies().items()} == {"m1": 1, "m2": 0}
    assert [event["what"] for event in usage.events("m1")] == ["src/a.py was opened after it was shown"]


def test_simulated_users_raise_useful_items() -> None:
    """Ten similar answers, three of them useful, shown by rank; a reader uses what helps, if seen."""
    chance = random.Random(5)
    useful = {"m3", "m6", "m9"}
    memories = by_id(*(memory(f"m{number}", content="the cache is slow", title=f"t{number}") for number in range(10)))
    usage = Usage()

    def order() -> list[str]:
        hits = [Hit(memory=one, lexical=5.0, similarity=0.6) for one in memories.values()]
        return [one.memory.id for one in ranking("cache slow", hits, depth="deep", k=10, now=NOW)]

    first = order()
    for day in range(30):
        for asked in range(4):
            at = NOW + timedelta(days=day, hours=asked)
            found = order()
            usage.asked(f"question {asked}", "p", found, at)
            seen = [name for place, name in enumerate(found, start=1) if chance.random() < examined(place)]
            for name in seen:
                if name in useful:
                    usage.used(name, at + timedelta(minutes=1))
            if not useful & set(seen):
                usage.asked(f"question {asked}", "p", found, at + timedelta(minutes=2))
        memories = apply_usage(usage, memories)

    last = order()
    assert sum(map(first.index, useful)) > sum(map(last.index, useful))
    assert set(last[:3]) == useful
    assert all(memories[name].importance > 0.4 for name in useful)
    assert all(memories[name].importance < 0.4 for name in set(memories) - useful if memories[name].usage.ignored > 8)


def test_adversarial_feedback_stays_within_bounds() -> None:
    usage = Usage()
    memories = by_id(
        memory("strange", importance=0.4),
        memory("mine", importance=0.45, trust=Trust.USER),
        memory("good", importance=0.6, trust=Trust.USER),
    )
    for day in range(400):
        at = NOW + timedelta(days=day)
        for _ in range(50):
            usage.told("strange", "cited", at)
            usage.used("strange", at)
            usage.used("mine", at)
            usage.told("good", "wrong", at)
        told = memories["strange"]
        memories["strange"] = replace(told, usage=replace(told.usage, cited=told.usage.cited + 50))
        told = memories["good"]
        memories["good"] = replace(told, usage=replace(told.usage, wrong=told.usage.wrong + 50))
        memories = apply_usage(usage, memories)

    assert memories["strange"].importance < SHOWN_UNASKED
    assert memories["mine"].importance < SHOWN_UNASKED
    assert memories["good"].importance >= 0.6 - SETTINGS.importance_range
    assert memories["strange"].trust is Trust.UNTRUSTED
    hits = [Hit(memory=one, lexical=5.0, similarity=0.6) for one in (memories["strange"], memory("fresh"))]
    scores = {one.memory.id: one.score for one in ranking("work", hits, depth="deep", k=5, now=NOW)}
    assert scores["strange"] <= scores["fresh"] * (1 + USAGE) * 1.05


def test_load_restores_saved_usage_only(tmp_path: Path) -> None:
    usage = Usage()
    usage.asked("where is AKIAIOSFODNN7EXAMPLE used", "p", ["m1", "m2"], NOW)
    usage.used("m1", NOW)
    told = usage.json()
    assert told is not None
    assert "AKIAIOSFODNN7EXAMPLE" not in told
    assert usage.json() is None
    keep(tmp_path / "usage.json", told)

    again = Usage.load(tmp_path / "usage.json")
    assert again.tallies() == usage.tallies()
    assert again.queries("p", 5) == usage.queries("p", 5) != []

    again.forget(["m1"])
    assert again.queries("p", 5) == []
    assert "m1" not in json.loads(again.json() or "{}")["records"]
    (tmp_path / "usage.json").write_text('{"version": 1, "records": 3}')
    assert Usage.load(tmp_path / "usage.json").tallies() == {}


def test_agent_read_counts_unless_file_changed() -> None:
    usage = Usage()
    usage.shown([("m1", ("pyproject.toml",)), ("m2", ("src/a.py",)), ("m3", ("src/b.py",))], NOW)
    usage.opened("pyproject.toml", NOW + timedelta(minutes=1), by_agent=True)
    usage.opened("src/a.py", NOW + timedelta(minutes=1), by_agent=True)
    usage.saved("src/a.py")
    usage.opened("src/b.py", NOW + timedelta(minutes=1), by_agent=True)
    usage.opened("src/b.py", NOW + timedelta(minutes=2), by_agent=True)
    usage.shown([], NOW + timedelta(hours=1))

    told = usage.tallies()
    assert {name: (tally.cited, tally.ignored) for name, tally in told.items()} == {
        "m1": (0, 1.0),
        "m2": (0, 0.0),
        "m3": (0, 0.0),
    }
    assert told["m1"].evidence < 0


def test_reverted_commit_removes_gained_evidence() -> None:
    usage = Usage()
    usage.used("m1", NOW)
    usage.committed("a1b2c3d4e5f6", NOW + timedelta(hours=1))
    usage.used("m2", NOW + timedelta(hours=2))
    usage.committed("0123456789ab", NOW + timedelta(hours=3))
    usage.reverted("a1b2c3d", NOW + timedelta(days=3))

    told = usage.tallies()
    assert (told["m1"].evidence, told["m2"].evidence) == (0.0, 1.0)
    assert usage.events("m1")[0]["what"] == "a1b2c3d4e5, in which it was acted on, was reverted"


def test_commit_usage_survives_restart(tmp_path: Path) -> None:
    usage = Usage()
    usage.used("m1", NOW)
    usage.committed("a1b2c3d4e5f6", NOW)
    keep(tmp_path / "usage.json", usage.json() or "")

    usage = Usage.load(tmp_path / "usage.json")
    usage.reverted("a1b2c3d4e5f6", NOW + timedelta(days=1))
    assert usage.tallies()["m1"].ignored == 1.0

    usage.used("m2", NOW)
    usage.committed("ffffffffffff", NOW)
    usage.forget(["m2"])
    usage.reverted("ffffffffffff", NOW)
    assert "m2" not in usage.tallies()


def test_discarded_changes_count_against_used_memories() -> None:
    usage = Usage()
    for name, about in (("m1", "src/shop/cart.py"), ("m2", "src/shop/prices.py"), ("m3", "src/bicart.py")):
        usage.used(name, NOW, (about,))
    usage.thrown_away(("shop/cart.py",), NOW + timedelta(minutes=20))
    assert {name: tally.ignored for name, tally in usage.tallies().items()} == {"m1": 1.0, "m2": 0.0, "m3": 0.0}

    usage.thrown_away((".",), NOW + timedelta(days=1))
    assert usage.tallies()["m2"].ignored == 0.0


def test_forget_project_drops_its_events() -> None:
    usage = Usage()
    usage.shown([("mine", ("src/a.py",))], NOW, "p")
    usage.opened("src/a.py", NOW)
    usage.shown([("mine", ())], NOW, "q")
    usage.asked("anything", None, ["mine"], NOW)
    assert "src/a.py" in (usage.json() or "")

    usage.forget_project("p")
    assert "src/a.py" not in (usage.json() or "")
    assert usage.tallies()["mine"].cited == 1
