"""A model that reads is heard where the rules have nothing to say, of each pair once, and the likest pairs first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.contradictions.judging import judged, with_reading
from hunchd.consolidation.contradictions.readings import Readings, differing, pair_name
from hunchd.consolidation.contradictions.scanning import (
    MOST_OF_ONE,
    MOST_READ,
    contradictions,
    held_against,
    newly_read,
    read,
    statement,
    states,
)
from hunchd.consolidation.plan import Step
from hunchd.consolidation.planner import Planner
from hunchd.daemon.planner_process import READ, Planning
from hunchd.domain.memory import Memory, Trust
from hunchd.engine.learning.verdicts import Verdicts
from hunchd.store.database.tables import plain
from tests.consolidation.made import NOW
from tests.consolidation.test_contradictions import said

STEREO = said("m1", "Audio is mixed in stereo")
MONO = said("m2", "The audio mixer output is mono", days=3)
SURE = 0.97
SETTLED = [
    ("Query logging is enabled in production", "Query logging is disabled in staging"),
    ("birch depends on click ^8.1.0", "birch depends on rich ^13.1.0"),
    ("The gateway terminates TLS", "The gateway terminates TLS"),
]
LIKELY_BOTH = [
    ("The request timeout is 60 seconds", "Requests time out after one minute"),
    ("Until 2.0 the database was MySQL", "The database is PostgreSQL"),
    ("The gateway terminates TLS", "TLS is terminated by the gateway"),
    ("Python 3.11 is the oldest that is tested", "CI starts with Python 3.11"),
]


@pytest.mark.parametrize(("a", "b"), SETTLED)
def test_other_places_manifests_and_the_same_sentence_are_not_overruled(a: str, b: str) -> None:
    rules = judged(a, b)
    assert not rules.is_open
    assert not with_reading(rules, SURE).contradicts


@pytest.mark.parametrize(("a", "b"), LIKELY_BOTH)
def test_of_equal_words_or_numbers_and_of_other_times_a_model_must_be_surer(a: str, b: str) -> None:
    rules, worded_freely = judged(a, b), judged(STEREO.content, MONO.content)
    assert rules.is_open
    assert not rules.contradicts
    just_enough = next(p / 1000 for p in range(1000) if with_reading(worded_freely, p / 1000).contradicts)
    assert not with_reading(rules, just_enough).contradicts


def test_what_stands_in_a_manifest_or_under_a_key_that_was_made_up_is_not_read_as_a_sentence() -> None:
    tests = replace(said("m1", "tests: pytest"), key="tests", value="pytest")
    asked = "Always add tests and docs for your code."
    rule = replace(said("m2", asked, days=3), key="instruction/6f3d7a6f9a", value=asked, category="instruction")
    assert statement(rule) == asked
    assert held_against(rule, [tests]).open == ()
    assert held_against(rule, [replace(tests, key=None, value=None, content="Tests are written with pytest")]).open


def test_entries_of_two_keys_that_files_have_say_two_things_and_those_of_a_person_may_oppose_each_other() -> None:
    def entry(identifier: str, key: str, value: str, trust: Trust = Trust.PROJECT) -> Memory:
        return replace(said(identifier, f"{key}: {value}", trust=trust), key=key, value=value)

    source, tested = entry("m1", "java", "8"), entry("m2", "ci java", "17, 21")
    assert held_against(source, [tested]).opposed == ()
    assert held_against(source, [replace(tested, trust=Trust.USER)]).opposed


def test_what_two_files_say_must_be_surer_than_what_a_person_says_and_lists_of_what_there_is_state_nothing() -> None:
    a, b = said("m1", "Audio is mixed in stereo"), said("m2", "The audio mixer output is mono")
    of_files = [replace(one, trust=Trust.UNTRUSTED) for one in (a, b)]
    low, high = 0.9, 0.9999
    assert read(a, b, low)
    assert read(*of_files, low) is None
    assert read(*of_files, high)
    hooks = replace(said("m3", "before a commit: pre-commit: flake8", trust=Trust.PROJECT), key="before a commit")
    assert not states(hooks)
    assert states(replace(hooks, trust=Trust.USER))
    assert not judged("lint: flake8", "Use standard GitHub Markdown in comments").contradicts


def test_what_denies_something_else_denies_nothing() -> None:
    lint = replace(said("m1", "lint: ruff (E, F, I, B, PIE)", trust=Trust.PROJECT), key="lint", value="ruff")
    asked = said("m2", "Make sure these are not in use, so the tests can run properly.", trust=Trust.UNTRUSTED)
    assert held_against(asked, [lint]) == held_against(asked, [])
    assert held_against(
        said("m3", "The linter is not run on tests"), [said("m4", "The linter is run on tests")]
    ).opposed


def test_what_the_rules_see_in_free_wording_a_model_may_take_back_and_nobody_what_manifests_say() -> None:
    rules = judged("Query logging is enabled", "Query logging is off")
    assert rules.contradicts
    assert rules.is_open
    assert not with_reading(rules, 1 - SURE).contradicts
    assert with_reading(rules, SURE).contradicts
    assert with_reading(rules, None) == rules
    pins = judged("birch depends on click ^8.1.0", "birch depends on click ^7.0.0")
    assert pins.contradicts
    assert with_reading(pins, 0.0) == pins


def test_what_the_rules_leave_open_is_what_was_read() -> None:
    rules = judged(STEREO.content, MONO.content)
    assert rules.is_open
    assert not rules.contradicts
    assert with_reading(rules, SURE).contradicts
    assert not with_reading(rules, 1 - SURE).contradicts


def test_the_reason_names_the_words_of_both_sides_that_differ() -> None:
    found = read(MONO, STEREO, SURE)
    assert found is not None
    assert found.record(NOW).source["reason"] == "one says otherwise: 'mixer output mono' against 'mixed stereo'"
    assert differing("Audio is mixed", "Audio is not mixed") == "they cannot both hold, as a model reads them"


def test_the_likest_pairs_are_read_first_and_none_of_another_branch() -> None:
    near = said("near", "Audio is mixed in two channels", days=-1)
    far = said("far", "The kiosk app is written in Kotlin", days=-1)
    look = held_against(STEREO, [far, near, replace(near, id="else", branch="topic")])
    assert [(a.id, b.id) for a, b in look.open] == [("near", "m1"), ("far", "m1")]


def test_what_says_the_same_number_is_read_after_what_is_nearly_as_alike() -> None:
    new = said("new", "The request timeout of the gateway is 60 seconds")
    same = said("same", "The gateway has a request timeout of one minute", days=-1)
    other = said("other", "The request timeout of the gateway is endless", days=-1)
    assert [a.id for a, _ in held_against(new, [same, other]).open] == ["other", "same"]


def test_what_the_rules_oppose_is_read_first_and_stands_until_it_was_read() -> None:
    old = said("old", "Query logging is enabled", days=-1)
    new = said("new", "Query logging is off")
    look = held_against(new, [said("near", "Query logging is written to disk", days=-1), old])
    assert [a.id for a, _ in look.open] == ["old", "near"]
    assert [one.a.id for one in look.as_read({})] == ["old"]
    assert look.as_read({("old", "new"): 0.01}) == []


def test_a_night_notes_what_is_to_be_read_and_opens_what_was_read_before() -> None:
    known = {one.id: one for one in (STEREO, MONO)}
    readings = Readings()
    assert list(contradictions(known, NOW, readings=readings)) == []
    [(name, a, b)] = readings.unread(10)
    assert (a.id, b.id) == ("m1", "m2")
    assert readings.take(name, SURE) == (a, b)
    assert readings.unread(10) == []

    later = Readings(readings.lines())
    [opened] = contradictions(known, NOW, readings=later)
    both = with_reading(judged(STEREO.content, MONO.content), SURE)
    assert opened.after[0].confidence == pytest.approx(both.probability, abs=0.001)
    assert later.unread(10) == []


def test_at_night_what_the_rules_oppose_waits_to_be_read_and_is_opened_if_nothing_can_read_it() -> None:
    old, new = said("old", "Query logging is enabled"), said("new", "Query logging is off", days=1)
    known = {one.id: one for one in (old, new)}
    readings = Readings()
    assert list(contradictions(known, NOW, readings=readings)) == []
    [(name, *_)] = readings.unread(10)
    [opened] = newly_read(readings, {name: None}, known, NOW)
    assert {link["ref"] for link in opened.after[0].links} == {"old", "new"}
    assert list(readings.lines()) == []
    assert len(list(contradictions(known, NOW))) == 1


def test_a_pair_has_one_name_in_either_order_and_another_when_one_side_says_something_else() -> None:
    assert pair_name("a", "b") == pair_name("b", "a")
    assert pair_name("a", "b") != pair_name("a", "c")


def test_what_nobody_asks_about_any_more_is_forgotten_and_damaged_lines_are_passed_over() -> None:
    name = pair_name("a", "b")
    readings = Readings([f"{name} 0.250", "of another time 0.9", "damaged"])
    assert readings.of(STEREO, MONO, "b", "a") == 0.25
    assert list(readings.lines()) == [f"{name} 0.250"]


def planner(*memories: Memory, lines: Iterable[str] = ()) -> Planner:
    made = Planner("p1", ConsolidationSettings(), NOW)
    made.readings = Readings(lines)
    made.take(memories)
    return made


def test_one_memory_gets_no_more_pairs_to_be_read_than_may_be_and_no_more_contradictions() -> None:
    others = [said(f"o{number}", f"Audio is mixed by team {name}") for number, name in enumerate("abcdefgh")]
    made = planner(STEREO, *others)
    assert list(made.plan(Step.CONTRADICTIONS)) == []
    pairs = made.unread(1_000)
    assert len(pairs) <= MOST_READ * 9
    assert len(made.unread(2)) == 2
    entries = list(made.read({name: SURE for name, *_ in pairs}))
    assert 0 < len(entries) < len(pairs)
    sides = [link["ref"] for one in made.memories.values() if one.id.startswith("x") for link in one.links]
    assert max(sides.count(side) for side in sides) <= MOST_OF_ONE


async def test_the_next_night_knows_what_was_read(tmp_path: Path) -> None:
    async def night() -> tuple[int, int]:
        """How many contradictions are opened, and how many pairs were to be read."""
        planning = Planning()
        asked = {"project": "p1", "settings": {}, "now": NOW.isoformat(), "root": "", "known": False, "reads": True}
        await planning.handlers["open"]({**asked, "code_cache": str(tmp_path / "own" / "code")})
        await planning.handlers["take"]({"memories": [plain(one) for one in (STEREO, MONO)]})
        batches = [batch async for batch in planning.handlers["plan"]({"step": "contradictions"})]
        pairs = (await planning.handlers["unread"]({"most": 10}))["pairs"]
        assert pairs == [] or pairs[0][1:] == (STEREO.content, MONO.content)
        entries = (await planning.handlers["read"]({"said": {name: SURE for name, *_ in pairs}}))["entries"]
        await planning.handlers["keep_read"]({})
        return len(entries) + sum(len(batch["entries"]) for batch in batches), len(pairs)

    assert await night() == (1, 1)
    assert await night() == (1, 0)
    (tmp_path / "own" / READ).write_bytes(b"\xff\xfe")
    assert await night() == (1, 1)


async def test_what_a_language_model_has_denied_by_day_the_planner_does_not_open(tmp_path: Path) -> None:
    on, off = said("m1", "Query logging is enabled"), said("m2", "Query logging is off", days=3)

    async def opened(**more: str) -> int:
        planning = Planning()
        await planning.handlers["open"](
            {"project": "p1", "settings": {}, "now": NOW.isoformat(), "root": "", "known": False, **more}
        )
        await planning.handlers["take"]({"memories": [plain(one) for one in (on, off)]})
        batches = [batch async for batch in planning.handlers["plan"]({"step": "contradictions"})]
        return sum(len(batch["entries"]) for batch in batches)

    verdicts = tmp_path / "verdicts.json"
    assert await opened(verdicts=str(verdicts)) == 1
    Verdicts(verdicts).keep(off, [(on, False)])
    assert await opened(verdicts=str(verdicts)) == 0
    assert await opened(verdicts="") == 1
