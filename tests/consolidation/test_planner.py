"""The planner sees what the steps before would leave, and what memories mean where somebody has embedded them."""

from __future__ import annotations

import base64

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.plan import Step
from hunchd.consolidation.planner import Planner
from hunchd.daemon.planner_process import Planning
from hunchd.domain.memory import Memory
from hunchd.store.tables import plain
from tests.consolidation.made import NOW, memory

ONE = "Sessions of the shop are held in signed cookies, for the customers of the checkout asked for a faster start page"
OTHER = (
    "Sessions of the shop live inside signed cookies, for the customers of the checkout asked for a faster start page"
)
NEAR, FAR = bytes([120, 10, 3, 0]), bytes([0, 20, 120, 7])


def said(name: str, text: str) -> Memory:
    return memory(name, title=text[:40], content=text)


def merged(vectors: dict[str, bytes]) -> list[str]:
    planner = Planner(None, ConsolidationSettings(), NOW)
    noise = [said(f"n{number}", f"Speed up the {name} page of the shop") for number, name in enumerate("abcdefgh")]
    planner.take([said("one", ONE), said("other", OTHER), *noise], vectors)
    return [entry.counts for entry in planner.plan(Step.DUPLICATES)]


def test_wordings_that_no_table_knows_are_the_same_where_their_vectors_say_so() -> None:
    assert merged({}) == []
    assert merged({"one": NEAR, "other": NEAR}) == ["deduped"]
    assert merged({"one": NEAR, "other": FAR}) == []


async def test_the_planner_is_handed_vectors_with_the_memories() -> None:
    planning = Planning()
    await planning.handlers["open"]({"project": None, "settings": {}, "now": NOW.isoformat()})
    vectors = {name: base64.b85encode(NEAR).decode() for name in ("one", "other")}
    noise = [said(f"n{number}", f"Speed up the {name} page of the shop") for number, name in enumerate("abcdefgh")]
    rows = [plain(each) for each in (said("one", ONE), said("other", OTHER), *noise)]
    await planning.handlers["take"]({"memories": rows, "vectors": vectors})

    steps = [batch async for batch in planning.handlers["plan"]({"step": "duplicates"})]
    assert [entry["counts"] for batch in steps for entry in batch["entries"]] == ["deduped"]
