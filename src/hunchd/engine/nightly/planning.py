"""Client of the planner process, which plans with the memories of one owner loaded.

A run plans everything first and spills the plan to disk, so that the planner's 100 MB are free when the store has most
to do.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hunchd.config.settings import ConsolidationSettings
from hunchd.consolidation.plan import Entry, Step
from hunchd.consolidation.planner import PLANNED
from hunchd.consolidation.usefulness import Tally
from hunchd.domain.errors import HunchError
from hunchd.engine.state.owners import Owner
from hunchd.protocol.child import Child
from hunchd.store.aside import Aside
from hunchd.store.client import StoreClient

logger = logging.getLogger(__name__)

PATIENCE: Final = 600.0  # seconds: it runs at low priority
# Pairs judged by a model in one run for one owner; the rest is left for later runs.
MOST_READ: Final = 2_000
READ_FOR: Final = 60.0  # seconds
READ_AT_ONCE: Final = 32  # pairs: a third of a second


@asynccontextmanager
async def opened(
    planner: Child,
    store: StoreClient,
    owner: Owner,
    settings: ConsolidationSettings,
    tallies: Mapping[str, Tally],
    *,
    now: datetime,
    reads: bool,
    verdicts: Path | None = None,
) -> AsyncIterator[Planning]:
    """Open the planner with all memories of `owner`; it drops them afterwards.

    Contradictions that the language model denied in `verdicts` are not opened.
    """
    asked = {
        "project": owner.id,
        "settings": asdict(settings),
        "now": now.isoformat(),
        "root": owner.root,
        "code_cache": owner.cache,
        "known": owner.settled,
        "reads": reads,
        "verdicts": str(verdicts) if verdicts is not None else "",
    }
    async with aclosing(planner.stream("hold")) as held:
        await anext(held)
        await planner.call("open", asked)
        async for batch in store.scan(owner.id):
            await planner.call("take", batch, timeout=PATIENCE)
        yield Planning(planner, store, tallies, reads=reads)


class Planning:
    """Open planner."""

    def __init__(self, planner: Child, store: StoreClient, tallies: Mapping[str, Tally], *, reads: bool) -> None:
        self._planner = planner
        self._store = store
        self._tallies = tallies
        self._reads = reads

    def steps(self, wanted: Sequence[Step]) -> list[Step]:
        """Return the wanted steps that need planning, in order."""
        return [step for step in PLANNED if step in wanted]

    async def plan(self, step: Step) -> AsyncIterator[list[Entry]]:
        """Yield the changes of one step in batches.

        The planner assumes they are applied.
        """
        async for entries in self._told(step):
            yield [Entry.of_json(entry) for entry in entries]

    async def _told(self, step: Step) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the same changes as JSON."""
        told = {name: tally_json(tally) for name, tally in self._tallies.items()} if step is Step.USE else {}
        async for batch in self._planner.stream("plan", {"step": str(step), "tallies": told}):
            yield batch["entries"]
        if step is Step.CONTRADICTIONS and self._reads:
            async for entries in self._read():
                yield entries

    async def probes(self, most: int, seed: str) -> list[tuple[str, str]]:
        """Return up to `limit` queries with the memory each should find."""
        answer = await self._planner.call("probes", {"most": most, "seed": seed}, timeout=PATIENCE)
        return [(query, identifier) for query, identifier in answer["probes"]]

    async def whole(self, steps: Sequence[Step], kept: Aside, stopping: asyncio.Event) -> Plan:
        """Plan all steps and spill the plan to `spill_file`; incomplete if stopped."""
        for step in steps:
            async for entries in self._told(step):
                await asyncio.to_thread(kept.append, [str(step), entries])
                if stopping.is_set():
                    return Plan(kept, (), None)
        compared = (await self._planner.call("compared", timeout=PATIENCE)).get("draft")
        return Plan(kept, await self.erasable(), Path(compared) if compared else None)

    async def erasable(self) -> list[str]:
        """Return the ids of memories that may be erased."""
        return list((await self._planner.call("erasable", timeout=PATIENCE))["ids"])

    async def _read(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield changes from statement pairs that the rules leave open and a model judges."""
        pairs = (await self._planner.call("unread", {"most": MOST_READ}, timeout=PATIENCE))["pairs"]
        until = time.monotonic() + READ_FOR
        for begin in range(0, len(pairs), READ_AT_ONCE):
            some = pairs[begin : begin + READ_AT_ONCE]
            said = await self._said([(a, b) for _, a, b in some])
            if said is None:  # the rules decide alone
                some = pairs[begin:]
            read: Sequence[float | None] = said if said is not None else [None] * len(some)
            told = dict(zip((name for name, *_ in some), read, strict=True))
            if entries := (await self._planner.call("read", {"said": told}, timeout=PATIENCE))["entries"]:
                yield entries
            if said is None:
                break
            if time.monotonic() > until:
                logger.info("%d pairs of statements are left for the next run", len(pairs) - begin - len(some))
                break
        if pairs:
            await self._planner.call("keep_read", timeout=PATIENCE)

    async def _said(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float] | None:
        try:
            return await self._store.contradict(pairs)
        except HunchError as error:  # rules have decided some; the next run judges the others
            logger.warning("statement pairs could not be judged: %s", error.message)
            return None


class Plan:
    """Complete plan, read from disk in the order of the steps."""

    def __init__(self, kept: Aside, erasable: Sequence[str], compared: Path | None) -> None:
        self._lines: Iterator[Any] = kept.lines()
        self._next: Any = None
        self._compared = compared
        self.erasable = erasable

    async def of(self, step: Step) -> AsyncIterator[list[Entry]]:
        """Yield the changes of a step in batches.

        Steps must be requested in planned order.
        """
        while True:
            if self._next is None:
                self._next = await asyncio.to_thread(next, self._lines, None)
            if self._next is None or self._next[0] != str(step):
                return
            entries, self._next = self._next[1], None
            yield [Entry.of_json(entry) for entry in entries]

    async def compared(self) -> None:
        """Save the record of compared pairs, so that they are not compared again."""
        if self._compared is not None:
            await asyncio.to_thread(_stays, self._compared)


def _stays(draft: Path) -> None:
    try:
        draft.replace(draft.with_suffix(""))
    except OSError as error:  # all pairs are compared again
        logger.warning("record of compared pairs could not be saved: %s", error)


def tally_json(tally: Tally) -> dict[str, Any]:
    return asdict(tally) | {"last": tally.last.isoformat() if tally.last is not None else None}


def tally_of(told: Mapping[str, Any]) -> Tally:
    last = told.get("last")
    return Tally(**{**told, "last": datetime.fromisoformat(last) if last else None})
