"""The planner sees what the steps before would leave, and what memories mean where somebody has embedded them."""

from __future__ import annotations

import base64
from datetime import timedelta, timezone
from pathlib import Path

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.plan import Step, digest
from hunchd.consolidation.planner import Planner
from hunchd.daemon.planner_process import COMPARED, COMPARED_FOR, Planning
from hunchd.domain.memory import Memory
from hunchd.store.database.tables import plain
from tests.consolidation.made import NOW, memory

ONE = "Sessions of the shop are held in signed cookies, for the customers of the checkout asked for a faster start page"
OTHER = (
    "Sessions of the shop live inside signed cookies, for the customers of the checkout asked for a faster start page"
)
NEAR, FAR = bytes([120, 10, 3, 0]), bytes([0, 20, 120, 7])


def said(name: str, text: str) -> Memory:
    return memory(name, title=text[:40], content=text)


NOISE = [said(f"n{number}", f"Speed up the {name} page of the shop") for number, name in enumerate("abcdefgh")]


def merged(vectors: dict[str, bytes]) -> list[str]:
    planner = Planner(None, ConsolidationSettings(), NOW)
    planner.take([said("one", ONE), said("other", OTHER), *NOISE], vectors)
    return [entry.counts for entry in planner.plan(Step.DUPLICATES)]


def test_wordings_that_no_table_knows_are_the_same_where_their_vectors_say_so() -> None:
    assert merged({}) == []
    assert merged({"one": NEAR, "other": NEAR}) == ["deduped"]
    assert merged({"one": NEAR, "other": FAR}) == []


async def test_the_planner_is_handed_vectors_with_the_memories() -> None:
    planning = Planning()
    await planning.handlers["open"]({"project": None, "settings": {}, "now": NOW.isoformat()})
    vectors = {name: base64.b85encode(NEAR).decode() for name in ("one", "other")}
    rows = [plain(each) for each in (said("one", ONE), said("other", OTHER), *NOISE)]
    await planning.handlers["take"]({"memories": rows, "vectors": vectors})

    steps = [batch async for batch in planning.handlers["plan"]({"step": "duplicates"})]
    assert [entry["counts"] for batch in steps for entry in batch["entries"]] == ["deduped"]


def test_what_a_night_has_compared_is_not_compared_again_unless_it_says_something_else() -> None:
    first, again, later = said("a", ONE), said("b", ONE), said("c", ONE)
    planner = Planner(None, ConsolidationSettings(), NOW)
    planner.take([first, again, *NOISE])
    planner.compared = frozenset(planner.comparable())
    assert list(planner.plan(Step.DUPLICATES)) == []

    planner.take([later])
    [entry] = planner.plan(Step.DUPLICATES)
    assert "c" in entry.ids

    planner = Planner(None, ConsolidationSettings(), NOW)
    planner.take([said("a", ONE), said("b", OTHER), *NOISE])
    planner.compared = frozenset(planner.comparable())
    planner.take([said("b", ONE)])
    assert [entry.counts for entry in planner.plan(Step.DUPLICATES)] == ["deduped"]


async def test_the_next_night_knows_what_was_compared_for_a_month(tmp_path: Path) -> None:
    cache, kept = tmp_path / "code", tmp_path / COMPARED

    async def night(*memories: Memory) -> list[str]:
        planning = Planning()
        asked = {"project": "p", "settings": {}, "now": NOW.isoformat(), "root": str(tmp_path), "known": False}
        await planning.handlers["open"]({**asked, "code_cache": str(cache)})
        await planning.handlers["take"]({"memories": [plain(each) for each in (*memories, *NOISE)]})
        batches = [batch async for batch in planning.handlers["plan"]({"step": "duplicates"})]
        before = kept.read_text() if kept.exists() else None
        told = await planning.handlers["compared"]({})
        assert (kept.read_text() if kept.exists() else None) == before  # until the run has done what was planned
        Path(told["draft"]).replace(kept)
        return [entry["counts"] for batch in batches for entry in batch["entries"]]

    assert await night(said("a", ONE)) == []
    began, *lines = kept.read_text().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["a", *(each.id for each in NOISE)]
    assert await night(said("a", ONE), said("b", ONE)) == ["deduped"]
    assert kept.read_text().splitlines()[0] == began

    two = [said("a", ONE), said("b", ONE)]
    digests = Planner("p", ConsolidationSettings(), NOW)
    digests.take(two)
    kept.write_text("\n".join([began, *digests.comparable()]))
    assert await night(*two) == []
    kept.write_text("\n".join([str(float(began) - COMPARED_FOR), *digests.comparable()]))
    assert await night(*two) == ["deduped"]


def test_what_memories_have_in_common_is_held_once_and_each_is_as_it_was() -> None:
    as_text = memory("e", source={"note": "{'type': 'session'}"})
    given = [
        memory("a", source={"type": "session"}, importance=1.0),
        memory("b", source={"type": "session"}, importance=1),
        memory("c", source={"type": "commit", "sha": "0" * 40}, created=NOW),
        memory("d", source={"type": "commit", "sha": "1" * 40}, created=NOW.astimezone(timezone(timedelta(hours=2)))),
        as_text,
    ]
    planner = Planner("p", ConsolidationSettings(), NOW)
    planner.take(given)
    planner.take([memory("f", source={"type": "session"})])
    held = planner.memories
    assert [digest(held[one.id]) for one in given] == [digest(one) for one in given]
    assert held["a"].source is held["f"].source
    assert held["c"].source["type"] is held["d"].source["type"]
