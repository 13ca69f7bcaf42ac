"""Tests of the planner: vectors, comparison records, and shared values."""

from __future__ import annotations

from datetime import timedelta, timezone
from pathlib import Path

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.plan import ConsolidationStep, compute_digest
from hunchd.consolidation.planner import Planner
from hunchd.daemon.planner_process import COMPARED_FILE, COMPARED_MAX_AGE_SECONDS, PlannerService
from hunchd.domain.memory import Memory
from hunchd.store.memory_codec import memory_to_plain
from tests.consolidation.made import NOW, memory

ONE = "Sessions of the shop are held in signed cookies, for the customers of the checkout asked for a faster start page"
OTHER = (
    "Sessions of the shop live inside signed cookies, for the customers of the checkout asked for a faster start page"
)
NEAR, FAR = bytes([120, 10, 3, 0]), bytes([0, 20, 120, 7])


def text_memory(name: str, text: str) -> Memory:
    return memory(name, title=text[:40], content=text)


NOISE = [text_memory(f"n{number}", f"Speed up the {name} page of the shop") for number, name in enumerate("abcdefgh")]


def merge_plan(vectors: dict[str, bytes]) -> list[str]:
    planner = Planner(None, ConsolidationSettings(), NOW)
    planner.load([text_memory("one", ONE), text_memory("other", OTHER), *NOISE], vectors)
    return [entry.counter for entry in planner.plan(ConsolidationStep.DUPLICATES)]


def test_duplicates_recognised_by_vectors() -> None:
    assert merge_plan({}) == []
    assert merge_plan({"one": NEAR, "other": NEAR}) == ["deduped"]
    assert merge_plan({"one": NEAR, "other": FAR}) == []


async def test_planner_process_receives_vectors() -> None:
    planning = PlannerService()
    await planning.handlers["open"](None, ConsolidationSettings(), NOW)
    vectors = dict.fromkeys(("one", "other"), NEAR)
    rows = [memory_to_plain(each) for each in (text_memory("one", ONE), text_memory("other", OTHER), *NOISE)]
    await planning.handlers["take"](rows, vectors)

    steps = [batch async for batch in planning.handlers["plan"](ConsolidationStep.DUPLICATES, {})]
    assert [entry.counter for batch in steps for entry in batch] == ["deduped"]


def test_compared_pairs_skipped_until_changed() -> None:
    first, again, later = text_memory("a", ONE), text_memory("b", ONE), text_memory("c", ONE)
    planner = Planner(None, ConsolidationSettings(), NOW)
    planner.load([first, again, *NOISE])
    planner.compared_keys = frozenset(planner.iter_comparison_keys())
    assert list(planner.plan(ConsolidationStep.DUPLICATES)) == []

    planner.load([later])
    [entry] = planner.plan(ConsolidationStep.DUPLICATES)
    assert "c" in entry.ids

    planner = Planner(None, ConsolidationSettings(), NOW)
    planner.load([text_memory("a", ONE), text_memory("b", OTHER), *NOISE])
    planner.compared_keys = frozenset(planner.iter_comparison_keys())
    planner.load([text_memory("b", ONE)])
    assert [entry.counter for entry in planner.plan(ConsolidationStep.DUPLICATES)] == ["deduped"]


async def test_comparison_record_persists_for_month(tmp_path: Path) -> None:
    cache, record_file = tmp_path / "code", tmp_path / COMPARED_FILE

    async def night(*memories: Memory) -> list[str]:
        planning = PlannerService()
        await planning.handlers["open"]("p", ConsolidationSettings(), NOW, root=str(tmp_path), code_cache=str(cache))
        await planning.handlers["take"]([memory_to_plain(each) for each in (*memories, *NOISE)], {})
        batches = [batch async for batch in planning.handlers["plan"](ConsolidationStep.DUPLICATES, {})]
        before = record_file.read_text() if record_file.exists() else None
        draft = await planning.handlers["compared"]()
        assert (
            record_file.read_text() if record_file.exists() else None
        ) == before  # until the run has applied the plan
        Path(draft).replace(record_file)
        return [entry.counter for batch in batches for entry in batch]

    assert await night(text_memory("a", ONE)) == []
    began, *lines = record_file.read_text().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["a", *(each.id for each in NOISE)]
    assert await night(text_memory("a", ONE), text_memory("b", ONE)) == ["deduped"]
    assert record_file.read_text().splitlines()[0] == began

    two = [text_memory("a", ONE), text_memory("b", ONE)]
    digests = Planner("p", ConsolidationSettings(), NOW)
    digests.load(two)
    record_file.write_text("\n".join([began, *digests.iter_comparison_keys()]))
    assert await night(*two) == []
    record_file.write_text("\n".join([str(float(began) - COMPARED_MAX_AGE_SECONDS), *digests.iter_comparison_keys()]))
    assert await night(*two) == ["deduped"]


def test_loaded_memories_share_equal_values() -> None:
    as_text = memory("e", source={"note": "{'type': 'session'}"})
    originals = [
        memory("a", source={"type": "session"}, importance=1.0),
        memory("b", source={"type": "session"}, importance=1),
        memory("c", source={"type": "commit", "sha": "0" * 40}, created=NOW),
        memory("d", source={"type": "commit", "sha": "1" * 40}, created=NOW.astimezone(timezone(timedelta(hours=2)))),
        as_text,
    ]
    planner = Planner("p", ConsolidationSettings(), NOW)
    planner.load(originals)
    planner.load([memory("f", source={"type": "session"})])
    loaded = planner.memories
    assert [compute_digest(loaded[one.id]) for one in originals] == [compute_digest(one) for one in originals]
    assert loaded["a"].source is loaded["f"].source
    assert loaded["c"].source["type"] is loaded["d"].source["type"]
