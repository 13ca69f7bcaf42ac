"""Tests of the entailment model: thresholds, reading order, and the cache of results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.contradictions.candidate_search import (
    MAX_PER_MEMORY,
    MAX_READ_PAIRS,
    compare_with_candidates,
    judge_pair,
    plan_contradictions,
    plan_newly_read,
)
from hunchd.consolidation.contradictions.entailment_cache import EntailmentCache, describe_difference, make_pair_key
from hunchd.consolidation.contradictions.statements import is_statement
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


def test_entries_of_two_keys_contradict_for_user() -> None:
    def entry(identifier: str, key: str, value: str, trust: Trust = Trust.PROJECT) -> Memory:
        return replace(claim(identifier, f"{key}: {value}", trust=trust), key=key, value=value)

    source, tested = entry("m1", "java", "8"), entry("m2", "ci java", "17, 21")
    assert compare_with_candidates(source, [tested]).unread == ()
    assert compare_with_candidates(source, [replace(tested, trust=Trust.USER)]).unread


def test_file_pairs_need_higher_probability() -> None:
    a, b = claim("m1", "Audio is mixed in stereo"), claim("m2", "The audio mixer output is mono")
    of_files = [replace(one, trust=Trust.UNTRUSTED) for one in (a, b)]
    low, high = 0.7, 0.99
    assert judge_pair(a, b, low)
    assert judge_pair(*of_files, low) is None
    assert judge_pair(a, of_files[1], low) is None
    assert judge_pair(a, of_files[1], 0.9)
    assert judge_pair(*of_files, high)
    hooks = replace(claim("m3", "before a commit: pre-commit: flake8", trust=Trust.PROJECT), key="before a commit")
    assert not is_statement(hooks)
    assert is_statement(replace(hooks, trust=Trust.USER))


def test_model_reason_quotes_differing_words() -> None:
    pair = judge_pair(MONO, STEREO, SURE)
    assert pair is not None
    assert pair.make_record(NOW).source["reason"] == "they disagree: 'mixer output mono' against 'mixed stereo'"
    assert describe_difference("Audio is mixed", "Audio is not mixed") == "according to a model, they cannot both hold"


def test_reading_order_most_similar_first() -> None:
    near = claim("near", "Audio is mixed in two channels", days=-1)
    far = claim("far", "The kiosk app is written in Kotlin", days=-1)
    look = compare_with_candidates(STEREO, [far, near, replace(near, id="else", branch="topic")])
    assert [(a.id, b.id) for a, b in look.unread] == [("near", "m1"), ("far", "m1")]


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
    assert opened.after[0].confidence == SURE
    assert later.list_unread(10) == []


def test_plan_unreadable_pair_stays_closed() -> None:
    memories_by_id = {one.id: one for one in (STEREO, MONO)}
    readings = EntailmentCache()
    assert list(plan_contradictions(memories_by_id, NOW, cache=readings)) == []
    [(name, *_)] = readings.list_unread(10)
    assert list(plan_newly_read(readings, {name: None}, memories_by_id, NOW)) == []
    assert list(readings.dump_lines()) == []


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
        cache = str(tmp_path / "own" / "code")
        await planning.handlers["open"]("p1", ConsolidationSettings(), NOW, code_cache=cache, reads=True)
        await planning.handlers["take"]([memory_to_plain(one) for one in (STEREO, MONO)], {})
        batches = [batch async for batch in planning.handlers["plan"](ConsolidationStep.CONTRADICTIONS, {})]
        pairs = await planning.handlers["unread"](10)
        assert pairs == [] or pairs[0][1:] == (STEREO.content, MONO.content)
        entries = await planning.handlers["read"]({name: SURE for name, *_ in pairs})
        await planning.handlers["keep_read"]()
        return len(entries) + sum(len(batch) for batch in batches), len(pairs)

    assert await night() == (1, 1)
    assert await night() == (1, 0)
    (tmp_path / "own" / JUDGEMENTS_FILE).write_bytes(b"\xff\xfe")
    assert await night() == (1, 1)


async def test_planner_skips_pair_denied_by_language_model(tmp_path: Path) -> None:
    async def unread(**more: str) -> int:
        planning = PlannerService()
        cache = str(tmp_path / "own" / "code")
        await planning.handlers["open"]("p1", ConsolidationSettings(), NOW, code_cache=cache, reads=True, **more)
        await planning.handlers["take"]([memory_to_plain(one) for one in (STEREO, MONO)], {})
        [_ async for _ in planning.handlers["plan"](ConsolidationStep.CONTRADICTIONS, {})]
        return len(await planning.handlers["unread"](10))

    verdicts = tmp_path / "verdicts.json"
    assert await unread(verdicts=str(verdicts)) == 1
    VerdictCache(verdicts).store(MONO, [(STEREO, False)])
    assert await unread(verdicts=str(verdicts)) == 0
    assert await unread(verdicts="") == 1
