"""A kept pattern goes on being itself: what was made of it since is not lost when it is mined again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hunchd.domain.context import Activity, Focus
from hunchd.domain.facts import Change
from hunchd.domain.memory import Memory, Status, Usage
from hunchd.engine.state.known_patterns import KnownPatterns
from hunchd.patterns.memories import gone, known_from, memory_of, renewed
from hunchd.patterns.pattern import Companion, Pattern, Place, Spot

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=1)
PATTERN = Pattern(
    key="k1",
    language="python",
    kind="function",
    title="function load_‹name›: @register_format",
    hint="@register_format",
    template="def load_‹name›(source): …",
    score=9.0,
    core={"@register_format": 1.0},
    spots=(Spot("formats/toml.py", 3, "load_toml"), Spot("formats/yaml.py", 3, "load_yaml")),
    count=2,
    files=2,
    place=Place("formats", "", ".py", "", 1.0),
    companions=(Companion("formats/registry.py", 4, 5), Companion("changes/*.md", 5, 5, "kind")),
)


@pytest.fixture
def kept() -> Memory:
    return memory_of(PATTERN, "p1", NOW, strength=1.0)


def test_its_line_says_nothing_that_the_language_says_already() -> None:
    anywhere = replace(
        PATTERN, files=1, place=Place("", "", ".py", "", 1.0), companions=(Companion("*.py", 4, 6, "kind"),)
    )
    told = memory_of(anywhere, "p1", NOW)
    assert told.levels.summary == "pattern: function load_‹name›: @register_format"
    assert "2 times in one file; a new one goes in *.py" in told.content
    assert memory_of(PATTERN, "p1", NOW).levels.summary == (
        "pattern: function load_‹name›: @register_format; goes in formats/*.py; "
        "changes with formats/registry.py (4 of 5), a file changes/*.md (5 of 5)"
    )


def test_mined_again_unchanged_it_stays_as_it_was_kept(kept: Memory) -> None:
    used = replace(kept, usage=Usage(cited=3), importance=0.9, links=({"type": "near", "ref": "m1"},))

    assert renewed(used, memory_of(PATTERN, "p1", LATER, strength=1.0)) == used


def test_a_further_instance_is_told_and_its_use_is_kept(kept: Memory) -> None:
    used = replace(kept, usage=Usage(cited=3))
    more = replace(PATTERN, count=3, spots=(*PATTERN.spots, Spot("formats/csv.py", 3, "load_csv")))

    again = renewed(used, memory_of(more, "p1", LATER, strength=1.0))

    assert "formats/csv.py:3" in again.content
    assert (again.usage.cited, again.created, again.updated) == (3, NOW, LATER)


def test_what_its_owner_wrote_stays(kept: Memory) -> None:
    edited = replace(kept, content="Ask Ada before you add a format.")

    again = renewed(edited, memory_of(replace(PATTERN, count=3), "p1", LATER, strength=1.0))

    assert again.content == "Ask Ada before you add a format."
    assert again.source["instances"] == 3


def test_what_the_code_had_no_more_comes_back_with_it_and_what_the_night_archived_does_not(kept: Memory) -> None:
    mined = memory_of(PATTERN, "p1", LATER, strength=1.0)

    assert renewed(gone(kept, LATER), mined).status is Status.ACTIVE
    assert renewed(gone(kept, LATER), mined).valid_to is None
    assert renewed(replace(kept, status=Status.ARCHIVED), mined).status is Status.ARCHIVED


def test_a_pattern_matters_where_its_instances_live_and_where_new_ones_go(kept: Memory) -> None:
    patterns = KnownPatterns()
    patterns.notice(Change((kept,), project="p1"))

    here, could_be, elsewhere = (patterns.at(path) for path in ("formats/toml.py", "formats/new.py", "docs/new.py"))

    assert here[0][1] > could_be[0][1] > 0
    assert elsewhere == []
    patterns.notice(Change(deletions=(kept.id,), project="p1"))
    assert patterns.at("formats/toml.py") == []


def test_only_files_are_predicted_for_a_new_file_and_none_that_are_open(kept: Memory) -> None:
    patterns = KnownPatterns()
    patterns.notice(Change((kept,), project="p1"))

    assert [file.path for file in patterns.companions("formats/new.py", ())] == ["formats/registry.py"]
    assert patterns.companions("formats/new.py", {"formats/registry.py"}) == []


def test_a_memory_of_a_later_version_is_no_pattern_and_no_failure(kept: Memory) -> None:
    strange = replace(kept, source={**kept.source, "place": {"somewhere": 1}})

    assert known_from(strange) is None


@pytest.mark.parametrize(
    ("title", "enough"),
    [
        ("type ‹name›Binding: Name, Bind, BindBody", True),
        ("method of Context Get‹name›: getTyped", True),
        ("function create: getScope → report", True),
        ("test: New → GET → PerformRequest", True),
        ("error handling: NotConfigured", True),
        ("how we write readers", True),  # in its owner's words
        ("method: (project)", False),
        ("function: (memory) → replace", False),
        ("function exec: Ok", False),
        ("method dispose", False),
        ("class: dispose, show", False),
        ("statement: info → dim", False),
    ],
)
def test_only_what_tells_what_to_write_is_told_unasked(kept: Memory, title: str, enough: bool) -> None:
    patterns = KnownPatterns()
    patterns.notice(Change(memories=(replace(kept, title=title),)))
    focus = Focus(project="p", file="formats/toml.py")
    assert [piece.id for piece in patterns.pieces(focus)] == ([kept.id] if enough else [])
    assert [one["id"] for one in patterns.predicted(focus.file)] == ([kept.id] if enough else [])
    assert [known.id for known, _ in patterns.at("formats/toml.py")] == [kept.id]


def test_what_is_before_ones_eyes_or_about_tests_only_is_not_told_unasked(kept: Memory) -> None:
    def told(path: str, *paths: str, activity: Activity = "", strength: float = 1.0) -> bool:
        patterns = KnownPatterns()
        spots = tuple(Spot(one, 1, "load") for one in paths)
        pattern = replace(PATTERN, spots=spots, place=Place("", "", ".py", "", 1.0))
        patterns.notice(Change((memory_of(pattern, "p1", NOW, strength=strength),), project="p1"))
        return bool(patterns.pieces(Focus(project="p1", file=path, activity=activity)))

    assert told("formats/toml.py", "formats/toml.py", "formats/json.py")
    assert not told("formats/toml.py", "formats/toml.py")
    assert told("formats/toml.py", "formats/toml.py", activity="new_feature")
    assert not told("formats/toml.py", "tests/test_toml.py", "tests/test_json.py", "formats/toml.py")
    assert told("tests/test_toml.py", "tests/test_toml.py", "tests/test_json.py", "formats/toml.py")
    assert not told("formats/new.py", "formats/toml.py", "formats/json.py", strength=0.25)


def test_a_line_that_several_functions_have_is_told_only_where_there_is_one() -> None:
    def told(path: str, title: str, kind: str) -> bool:
        patterns = KnownPatterns()
        spots = tuple(Spot(one, 1, "load") for one in ("formats/toml.py", "formats/json.py"))
        pattern = replace(PATTERN, spots=spots, place=Place("", "", ".py", "", 1.0), title=title, kind=kind)
        patterns.notice(Change((memory_of(pattern, "p1", NOW, strength=1.0),), project="p1"))
        return bool(patterns.pieces(Focus(project="p1", file=path)))

    assert told("formats/new.py", "function create: getScope → report", "function")
    assert told("tests/test_new.py", "test it: render → getByTestId", "block")
    assert not told("formats/new.py", "call ‹name›Wait: getScope → report", "block")
    assert not told("formats/new.py", "statement: getScope → report", "statement")
    assert told("formats/toml.py", "call ‹name›Wait: getScope → report", "block")
