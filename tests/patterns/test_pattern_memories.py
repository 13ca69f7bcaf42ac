"""Stored patterns keep their history when they are mined again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hunchd.core.state.known_patterns import KnownPatterns
from hunchd.domain.context import Activity, Focus
from hunchd.domain.facts import MemoryChange
from hunchd.domain.memory import Memory, Status, Usage
from hunchd.patterns.pattern import CodePattern, Companion, InstanceLocation, UsualLocation
from hunchd.patterns.pattern_memories import archive, has_sentence, memory_to_summary, merge_mined, pattern_to_memory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=1)
PATTERN = CodePattern(
    key="k1",
    language="python",
    kind="function",
    title="functions with @register_format named load_…",
    score=9.0,
    core={"@register_format": 1.0},
    spots=(InstanceLocation("formats/toml.py", 3, "load_toml"), InstanceLocation("formats/yaml.py", 3, "load_yaml")),
    count=2,
    files=2,
    place=UsualLocation("formats", "", ".py", "", 1.0),
    companions=(Companion("formats/registry.py", 4, 5), Companion("changes/*.md", 5, 5, "kind")),
)


@pytest.fixture
def stored_memory() -> Memory:
    return pattern_to_memory(PATTERN, "p1", NOW, strength=1.0)


def test_hint_tells_what_else_changes() -> None:
    memory = pattern_to_memory(PATTERN, "p1", NOW)

    assert memory.levels.summary == (
        "new functions with @register_format named load_… also change formats/registry.py and a file in changes/*.md "
        "(4 of 5); like load_toml (formats/toml.py:3)"
    )
    assert "changes with: formats/registry.py (4 of 5), a file in changes/*.md (5 of 5)" in memory.content


@pytest.mark.parametrize(
    ("title", "companions", "told"),
    [
        ("functions with @register_format", (), "go in formats/*.py"),
        ("subclasses of Format", (Companion("formats/registry.py", 2, 5),), "go in formats/*.py"),
        ("functions named load_…", (), ""),
        ("functions named load_…", (Companion("formats/registry.py", 2, 2),), ""),
        ("functions", PATTERN.companions, ""),
        ("methods named open_resource", PATTERN.companions, ""),
        ("tests named test_…", PATTERN.companions, ""),
    ],
)
def test_only_sayable_patterns_have_sentence(title: str, companions: tuple[Companion, ...], told: str) -> None:
    pattern = replace(PATTERN, title=title, companions=companions)

    assert has_sentence(pattern) is bool(told)
    assert told in pattern_to_memory(pattern, "p1", NOW).levels.summary


def test_unchanged_pattern_keeps_its_memory(stored_memory: Memory) -> None:
    used = replace(stored_memory, usage=Usage(cited=3), importance=0.9, links=({"type": "near", "ref": "m1"},))

    assert merge_mined(used, pattern_to_memory(PATTERN, "p1", LATER, strength=1.0)) == used


def test_new_instance_updates_memory_and_keeps_usage(stored_memory: Memory) -> None:
    used = replace(stored_memory, usage=Usage(cited=3))
    more = replace(PATTERN, count=3, spots=(*PATTERN.spots, InstanceLocation("formats/csv.py", 3, "load_csv")))

    again = merge_mined(used, pattern_to_memory(more, "p1", LATER, strength=1.0))

    assert "formats/csv.py:3" in again.content
    assert (again.usage.cited, again.created, again.updated) == (3, NOW, LATER)


def test_owner_edit_is_kept(stored_memory: Memory) -> None:
    edited = replace(stored_memory, content="Ask Ada before you add a format.")

    again = merge_mined(edited, pattern_to_memory(replace(PATTERN, count=3), "p1", LATER, strength=1.0))

    assert again.content == "Ask Ada before you add a format."
    assert again.source["instances"] == 3


def test_removed_pattern_is_restored_archived_is_not(stored_memory: Memory) -> None:
    mined = pattern_to_memory(PATTERN, "p1", LATER, strength=1.0)

    assert merge_mined(archive(stored_memory, LATER), mined).status is Status.ACTIVE
    assert merge_mined(archive(stored_memory, LATER), mined).valid_to is None
    assert merge_mined(replace(stored_memory, status=Status.ARCHIVED), mined).status is Status.ARCHIVED


def test_pattern_is_relevant_at_its_places(stored_memory: Memory) -> None:
    patterns = KnownPatterns()
    patterns.apply_change(MemoryChange((stored_memory,), project="p1"))

    here, could_be, elsewhere = (
        patterns.find_for_path(path) for path in ("formats/toml.py", "formats/new.py", "docs/new.py")
    )

    assert here[0][1] > could_be[0][1] > 0
    assert elsewhere == []
    patterns.apply_change(MemoryChange(deletions=(stored_memory.id,), project="p1"))
    assert patterns.find_for_path("formats/toml.py") == []


def test_prediction_for_new_file_excludes_open_files(stored_memory: Memory) -> None:
    patterns = KnownPatterns()
    patterns.apply_change(MemoryChange((stored_memory,), project="p1"))

    assert [file.path for file in patterns.predict_companions("formats/new.py", ())] == ["formats/registry.py"]
    assert patterns.predict_companions("formats/new.py", {"formats/registry.py"}) == []


def test_memory_of_later_version_is_ignored(stored_memory: Memory) -> None:
    strange = replace(stored_memory, source={**stored_memory.source, "place": {"somewhere": 1}})

    assert memory_to_summary(strange) is None


def test_visible_or_test_patterns_are_not_suggested(stored_memory: Memory) -> None:
    def is_suggested(path: str, *paths: str, activity: Activity = "", strength: float = 1.0) -> bool:
        patterns = KnownPatterns()
        spots = tuple(InstanceLocation(one, 1, "load") for one in paths)
        pattern = replace(PATTERN, spots=spots, place=UsualLocation("", "", ".py", "", 1.0))
        patterns.apply_change(MemoryChange((pattern_to_memory(pattern, "p1", NOW, strength=strength),), project="p1"))
        return bool(patterns.build_candidates(Focus(project="p1", file=path, activity=activity)))

    assert is_suggested("formats/toml.py", "formats/toml.py", "formats/json.py")
    assert not is_suggested("formats/toml.py", "formats/toml.py")
    assert is_suggested("formats/toml.py", "formats/toml.py", activity="new_feature")
    assert not is_suggested("formats/toml.py", "tests/test_toml.py", "tests/test_json.py", "formats/toml.py")
    assert is_suggested("tests/test_toml.py", "tests/test_toml.py", "tests/test_json.py", "formats/toml.py")
    assert not is_suggested("formats/new.py", "formats/toml.py", "formats/json.py", strength=0.25)


def test_common_names_are_suggested_while_building() -> None:
    def is_suggested(title: str, activity: Activity) -> bool:
        patterns = KnownPatterns()
        memory = pattern_to_memory(replace(PATTERN, title=title), "p1", NOW, strength=1.0)
        patterns.apply_change(MemoryChange((memory,), project="p1"))
        return bool(patterns.build_candidates(Focus(project="p1", file="formats/toml.py", activity=activity)))

    assert not is_suggested("functions named …_counts", "")
    assert is_suggested("functions named …_counts", "new_feature")
    assert is_suggested("implementations of Format", "")
    assert not is_suggested("tests", "new_feature")
