"""Tests of the entailment model: thresholds, reading order, and the cache of results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.contradictions.candidate_search import (
    MAX_PER_MEMORY,
    MAX_READ_PAIRS,
    compare_with_candidates,
    extract_statement,
    is_statement,
    judge_with_model,
    plan_contradictions,
    plan_newly_read,
)
from hunchd.consolidation.contradictions.classification import combine_with_model, judge_statements
from hunchd.consolidation.contradictions.entailment_cache import EntailmentCache, describe_difference, make_pair_key
from hunchd.consolidation.plan import ConsolidationStep
from hunchd.consolidation.planner import Planner
from hunchd.daemon.planner_process import JUDGEMENTS_FILE, PlannerService
from hunchd.domain.memory import Memory, Trust
from hunchd.features.contradictions.verdict_cache import VerdictCache
from hunchd.store.memory_codec import memory_to_plain
from tests.consolidation.made import NOW
from tests.consolidation.test_contradictions import claim

STEREO = claim("m1", "Audio is mixed in stereo")
MONO = claim("m2", "The audio mixer output is mono", days=3)
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
def test_model_cannot_overrule_scopes_or_manifests(a: str, b: str) -> None:
    rules = judge_statements(a, b)
    assert not rules.is_open
    assert not combine_with_model(rules, SURE).contradicts


@pytest.mark.parametrize(("a", "b"), LIKELY_BOTH)
def test_likely_compatible_pair_needs_higher_probability(a: str, b: str) -> None:
    rules, worded_freely = judge_statements(a, b), judge_statements(STEREO.content, MONO.content)
    assert rules.is_open
    assert not rules.contradicts
    just_enough = next(p / 1000 for p in range(1000) if combine_with_model(worded_freely, p / 1000).contradicts)
    assert not combine_with_model(rules, just_enough).contradicts


def test_manifest_entry_not_read_as_sentence() -> None:
    tests = replace(claim("m1", "tests: pytest"), key="tests", value="pytest")
    asked = "Always add tests and docs for your code."
    rule = replace(claim("m2", asked, days=3), key="instruction/6f3d7a6f9a", value=asked, category="instruction")
    assert extract_statement(rule) == asked
    assert compare_with_candidates(rule, [tests]).unsettled_pairs == ()
    assert compare_with_candidates(
        rule, [replace(tests, key=None, value=None, content="Tests are written with pytest")]
    ).unsettled_pairs


def test_entries_of_two_keys_contradict_for_user() -> None:
    def entry(identifier: str, key: str, value: str, trust: Trust = Trust.PROJECT) -> Memory:
        return replace(claim(identifier, f"{key}: {value}", trust=trust), key=key, value=value)

    source, tested = entry("m1", "java", "8"), entry("m2", "ci java", "17, 21")
    assert compare_with_candidates(source, [tested]).contradicting == ()
    assert compare_with_candidates(source, [replace(tested, trust=Trust.USER)]).contradicting


def test_file_pairs_need_higher_probability() -> None:
    a, b = claim("m1", "Audio is mixed in stereo"), claim("m2", "The audio mixer output is mono")
    of_files = [replace(one, trust=Trust.UNTRUSTED) for one in (a, b)]
    low, high = 0.9, 0.9999
    assert judge_with_model(a, b, low)
    assert judge_with_model(*of_files, low) is None
    assert judge_with_model(*of_files, high)
    hooks = replace(claim("m3", "before a commit: pre-commit: flake8", trust=Trust.PROJECT), key="before a commit")
    assert not is_statement(hooks)
    assert is_statement(replace(hooks, trust=Trust.USER))
    assert not judge_statements("lint: flake8", "Use standard GitHub Markdown in comments").contradicts


def test_denial_of_something_else_no_contradiction() -> None:
    lint = replace(claim("m1", "lint: ruff (E, F, I, B, PIE)", trust=Trust.PROJECT), key="lint", value="ruff")
    asked = claim("m2", "Make sure these are not in use, so the tests can run properly.", trust=Trust.UNTRUSTED)
    assert compare_with_candidates(asked, [lint]) == compare_with_candidates(asked, [])
    assert compare_with_candidates(
        claim("m3", "The linter is not run on tests"), [claim("m4", "The linter is run on tests")]
    ).contradicting


def test_model_overrules_free_wording_but_not_manifests() -> None:
    rules = judge_statements("Query logging is enabled", "Query logging is off")
    assert rules.contradicts
    assert rules.is_open
    assert not combine_with_model(rules, 1 - SURE).contradicts
    assert combine_with_model(rules, SURE).contradicts
    assert combine_with_model(rules, None) == rules
    pins = judge_statements("birch depends on click ^8.1.0", "birch depends on click ^7.0.0")
    assert pins.contradicts
    assert combine_with_model(pins, 0.0) == pins


def test_unsettled_pair_decided_by_model() -> None:
    rules = judge_statements(STEREO.content, MONO.content)
    assert rules.is_open
    assert not rules.contradicts
    assert combine_with_model(rules, SURE).contradicts
    assert not combine_with_model(rules, 1 - SURE).contradicts


def test_model_reason_quotes_differing_words() -> None:
    pair = judge_with_model(MONO, STEREO, SURE)
    assert pair is not None
    assert pair.make_record(NOW).source["reason"] == "one says otherwise: 'mixer output mono' against 'mixed stereo'"
    assert describe_difference("Audio is mixed", "Audio is not mixed") == "they cannot both hold, as a model reads them"


def test_reading_order_most_similar_first() -> None:
    near = claim("near", "Audio is mixed in two channels", days=-1)
    far = claim("far", "The kiosk app is written in Kotlin", days=-1)
    look = compare_with_candidates(STEREO, [far, near, replace(near, id="else", branch="topic")])
    assert [(a.id, b.id) for a, b in look.unsettled_pairs] == [("near", "m1"), ("far", "m1")]


def test_reading_order_likely_compatible_last() -> None:
    new = claim("new", "The request timeout of the gateway is 60 seconds")
    same = claim("same", "The gateway has a request timeout of one minute", days=-1)
    other = claim("other", "The request timeout of the gateway is endless", days=-1)
    assert [a.id for a, _ in compare_with_candidates(new, [same, other]).unsettled_pairs] == ["other", "same"]


def test_reading_order_rule_contradictions_first() -> None:
    old = claim("old", "Query logging is enabled", days=-1)
    new = claim("new", "Query logging is off")
    look = compare_with_candidates(new, [claim("near", "Query logging is written to disk", days=-1), old])
    assert [a.id for a, _ in look.unsettled_pairs] == ["old", "near"]
    assert [one.a.id for one in look.select_contradictions({})] == ["old"]
    assert look.select_contradictions({("old", "new"): 0.01}) == []


def test_plan_queues_unread_and_opens_read_pairs() -> None:
    memories_by_id = {one.id: one for one in (STEREO, MONO)}
    readings = EntailmentCache()
    assert list(plan_contradictions(memories_by_id, NOW, cache=readings)) == []
    [(name, a, b)] = readings.list_unread(10)
    assert (a.id, b.id) == ("m1", "m2")
    assert readings.record(name, SURE) == (a, b)
    assert readings.list_unread(10) == []

    later = EntailmentCache(readings.dump_lines())
    [opened] = plan_contradictions(memories_by_id, NOW, cache=later)
    both = combine_with_model(judge_statements(STEREO.content, MONO.content), SURE)
    assert opened.after[0].confidence == pytest.approx(both.probability, abs=0.001)
    assert later.list_unread(10) == []


def test_plan_unreadable_pair_opened_by_rules() -> None:
    old, new = claim("old", "Query logging is enabled"), claim("new", "Query logging is off", days=1)
    memories_by_id = {one.id: one for one in (old, new)}
    readings = EntailmentCache()
    assert list(plan_contradictions(memories_by_id, NOW, cache=readings)) == []
    [(name, *_)] = readings.list_unread(10)
    [opened] = plan_newly_read(readings, {name: None}, memories_by_id, NOW)
    assert {link["ref"] for link in opened.after[0].links} == {"old", "new"}
    assert list(readings.dump_lines()) == []
    assert len(list(plan_contradictions(memories_by_id, NOW))) == 1


def test_pair_key_symmetric_and_text_dependent() -> None:
    assert make_pair_key("a", "b") == make_pair_key("b", "a")
    assert make_pair_key("a", "b") != make_pair_key("a", "c")


def test_cache_drops_unused_and_damaged_lines() -> None:
    name = make_pair_key("a", "b")
    readings = EntailmentCache([f"{name} 0.250", "of another time 0.9", "damaged"])
    assert readings.get(STEREO, MONO, "b", "a") == 0.25
    assert list(readings.dump_lines()) == [f"{name} 0.250"]


def make_planner(*memories: Memory, lines: Iterable[str] = ()) -> Planner:
    planner = Planner("p1", ConsolidationSettings(), NOW)
    planner.entailment_cache = EntailmentCache(lines)
    planner.load(memories)
    return planner


def test_pairs_and_contradictions_limited_per_memory() -> None:
    others = [claim(f"o{number}", f"Audio is mixed by team {name}") for number, name in enumerate("abcdefgh")]
    planner = make_planner(STEREO, *others)
    assert list(planner.plan(ConsolidationStep.CONTRADICTIONS)) == []
    pairs = planner.list_unread_pairs(1_000)
    assert len(pairs) <= MAX_READ_PAIRS * 9
    assert len(planner.list_unread_pairs(2)) == 2
    entries = list(planner.plan_read_pairs({name: SURE for name, *_ in pairs}))
    assert 0 < len(entries) < len(pairs)
    sides = [link["ref"] for one in planner.memories.values() if one.id.startswith("x") for link in one.links]
    assert max(sides.count(side) for side in sides) <= MAX_PER_MEMORY


async def test_cache_persists_between_runs(tmp_path: Path) -> None:
    async def night() -> tuple[int, int]:
        """Return the number of opened contradictions and of pairs to read."""
        planning = PlannerService()
        asked = {"project": "p1", "settings": {}, "now": NOW.isoformat(), "root": "", "known": False, "reads": True}
        await planning.handlers["open"]({**asked, "code_cache": str(tmp_path / "own" / "code")})
        await planning.handlers["take"]({"memories": [memory_to_plain(one) for one in (STEREO, MONO)]})
        batches = [batch async for batch in planning.handlers["plan"]({"step": "contradictions"})]
        pairs = (await planning.handlers["unread"]({"most": 10}))["pairs"]
        assert pairs == [] or pairs[0][1:] == (STEREO.content, MONO.content)
        entries = (await planning.handlers["read"]({"said": {name: SURE for name, *_ in pairs}}))["entries"]
        await planning.handlers["keep_read"]({})
        return len(entries) + sum(len(batch["entries"]) for batch in batches), len(pairs)

    assert await night() == (1, 1)
    assert await night() == (1, 0)
    (tmp_path / "own" / JUDGEMENTS_FILE).write_bytes(b"\xff\xfe")
    assert await night() == (1, 1)


async def test_planner_skips_pair_denied_by_language_model(tmp_path: Path) -> None:
    on, off = claim("m1", "Query logging is enabled"), claim("m2", "Query logging is off", days=3)

    async def opened(**more: str) -> int:
        planning = PlannerService()
        await planning.handlers["open"](
            {"project": "p1", "settings": {}, "now": NOW.isoformat(), "root": "", "known": False, **more}
        )
        await planning.handlers["take"]({"memories": [memory_to_plain(one) for one in (on, off)]})
        batches = [batch async for batch in planning.handlers["plan"]({"step": "contradictions"})]
        return sum(len(batch["entries"]) for batch in batches)

    verdicts = tmp_path / "verdicts.json"
    assert await opened(verdicts=str(verdicts)) == 1
    VerdictCache(verdicts).store(off, [(on, False)])
    assert await opened(verdicts=str(verdicts)) == 0
    assert await opened(verdicts="") == 1
