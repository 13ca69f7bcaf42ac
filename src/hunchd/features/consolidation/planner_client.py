"""Client of the planner process, which plans a run for one owner.

The process has the owner's memories loaded; an owner is a project, or the user. A run plans everything first and
writes the plan to a temporary file, so that the planner's 100 MB are free by the time the store has most to do.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from pathlib import Path
from types import NoneType
from typing import Any, Final, TypeVar

from msgspec import convert
from msgspec.structs import asdict

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.plan import ChangeEntry, ConsolidationStep
from hunchd.consolidation.planner import PLANNED_STEPS
from hunchd.consolidation.usage_feedback import UsageTally
from hunchd.core.state.owners import MemoryOwner
from hunchd.domain.errors import HunchError
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.responses import to_json
from hunchd.store.port import MemoryStore, TextModels
from hunchd.store.spill_file import SpillFile

logger = logging.getLogger(__name__)

AnswerT = TypeVar("AnswerT")

TIMEOUT_SECONDS: Final = 600.0  # seconds; long, because the planner runs at low priority
# Pairs that a model judges for one owner in one run; the rest are left for later runs.
MAX_PAIRS: Final = 2_000
PAIRS_TIME_SECONDS: Final = 60.0  # seconds
PAIR_BATCH_SIZE: Final = 32  # pairs; a batch takes a third of a second


@asynccontextmanager
async def open_planner(
    planner: HelperProcess,
    store: MemoryStore,
    owner: MemoryOwner,
    settings: ConsolidationSettings,
    tallies: Mapping[str, UsageTally],
    *,
    now: datetime,
    models: TextModels | None,
    verdicts: Path | None = None,
) -> AsyncIterator[PlannerSession]:
    """Start a planning session with all memories of `owner` loaded.

    The planner drops the memories when the `with` block ends. `models`, if given, judge the statement pairs that
    the rules leave undecided. `verdicts` is the file with a language model's verdicts, if one is used:
    contradictions that it rejected are not opened.
    """
    params = {
        "project": owner.id,
        "settings": settings,
        "now": now,
        "root": owner.root,
        "code_cache": owner.cache,
        "known": owner.is_fully_indexed,
        "reads": models is not None,
        "verdicts": str(verdicts) if verdicts is not None else "",
    }
    async with aclosing(planner.stream("hold", {}, NoneType)) as hold_stream:
        await anext(hold_stream)
        await planner.call("open", params, NoneType)
        async for batch in store.stream_memories(owner.id):
            await planner.call("take", asdict(batch), NoneType, timeout=TIMEOUT_SECONDS)
        yield PlannerSession(planner, tallies, models)


class PlannerSession:
    """Session with the planner process, which has one owner's memories loaded."""

    def __init__(self, planner: HelperProcess, tallies: Mapping[str, UsageTally], models: TextModels | None) -> None:
        self._planner = planner
        self._tallies = tallies
        self._models = models

    def select_steps(self, requested_steps: Sequence[ConsolidationStep]) -> list[ConsolidationStep]:
        """Return the requested steps that need planning, in the order of execution."""
        return [step for step in PLANNED_STEPS if step in requested_steps]

    async def plan(self, step: ConsolidationStep) -> AsyncIterator[list[ChangeEntry]]:
        """Yield the changes of one step, assuming they are applied."""
        tallies = self._tallies if step is ConsolidationStep.USE else {}
        async for entries in self._planner.stream("plan", {"step": step, "tallies": tallies}, list[ChangeEntry]):
            yield entries
        if step is ConsolidationStep.CONTRADICTIONS and self._models is not None:
            async for entries in self._judge_pairs(self._models):
                yield entries

    async def get_probes(self, limit: int, seed: str) -> list[tuple[str, str]]:
        """Return at most `limit` queries, each with the memory id it should find.

        Calls with the same `seed` return the same queries.
        """
        return await self._call("probes", {"most": limit, "seed": seed}, list[tuple[str, str]])

    async def plan_all(
        self, steps: Sequence[ConsolidationStep], spill_file: SpillFile, stop_event: asyncio.Event
    ) -> SpilledPlan:
        """Plan all steps and write the plan to `spill_file`.

        If `stop_event` is set in the meantime, the plan is incomplete.
        """
        for step in steps:
            async for entries in self.plan(step):
                await asyncio.to_thread(spill_file.append, [str(step), to_json(entries)])
                if stop_event.is_set():
                    return SpilledPlan(spill_file, (), None)
        draft_file = await self._call("compared", {}, str)
        return SpilledPlan(spill_file, await self.list_erasable(), Path(draft_file) if draft_file else None)

    async def list_erasable(self) -> list[str]:
        """Return the ids of the archived memories that are due for erasure."""
        return await self._call("erasable", {}, list[str])

    async def _call(self, method: str, params: Mapping[str, Any], answer: type[AnswerT]) -> AnswerT:
        return await self._planner.call(method, params, answer, timeout=TIMEOUT_SECONDS)

    async def _judge_pairs(self, models: TextModels) -> AsyncIterator[list[ChangeEntry]]:
        """Yield the changes for statement pairs that the rules leave undecided.

        A model judges at most MAX_PAIRS of them, and stops after PAIRS_TIME_SECONDS.
        """
        pairs = await self._call("unread", {"most": MAX_PAIRS}, list[tuple[str, str, str]])
        until = time.monotonic() + PAIRS_TIME_SECONDS
        for begin in range(0, len(pairs), PAIR_BATCH_SIZE):
            some = pairs[begin : begin + PAIR_BATCH_SIZE]
            scores = await _score_pairs(models, [(a, b) for _, a, b in some])
            if scores is None:  # no model judges the remaining pairs
                some = pairs[begin:]
            batch_scores: Sequence[float | None] = scores if scores is not None else [None] * len(some)
            score_by_name = dict(zip((name for name, *_ in some), batch_scores, strict=True))
            if entries := await self._call("read", {"said": score_by_name}, list[ChangeEntry]):
                yield entries
            if scores is None:
                break
            if time.monotonic() > until:
                logger.info("%d statement pairs are left for the next run", len(pairs) - begin - len(some))
                break
        if pairs:
            await self._call("keep_read", {}, NoneType)


async def _score_pairs(models: TextModels, pairs: Sequence[tuple[str, str]]) -> Sequence[float] | None:
    try:
        return await models.rate_pairs(pairs)
    except HunchError as error:  # the rules have decided some pairs; the next run judges the others
        logger.warning("could not judge statement pairs: %s", error.message)
        return None


class SpilledPlan:
    """Plan read back from a temporary file, in the order of its steps."""

    def __init__(self, spill_file: SpillFile, erasable: Sequence[str], draft_file: Path | None) -> None:
        self._lines: Iterator[Any] = spill_file.read_lines()
        self._next_line: Any = None
        self._compared_file = draft_file
        self.erasable = erasable

    async def iter_step(self, step: ConsolidationStep) -> AsyncIterator[list[ChangeEntry]]:
        """Yield the changes of a step; steps come as planned."""
        while True:
            if self._next_line is None:
                self._next_line = await asyncio.to_thread(next, self._lines, None)
            if self._next_line is None or self._next_line[0] != str(step):
                return
            entries, self._next_line = self._next_line[1], None
            yield convert(entries, list[ChangeEntry])

    async def save_compared(self) -> None:
        """Save which pairs of memories were compared, so that later runs skip them."""
        if self._compared_file is not None:
            await asyncio.to_thread(_keep_file, self._compared_file)


def _keep_file(draft: Path) -> None:
    try:
        draft.replace(draft.with_suffix(""))
    except OSError as error:  # all pairs are compared again
        logger.warning("could not save which pairs were compared: %s; all will be compared again", error)
