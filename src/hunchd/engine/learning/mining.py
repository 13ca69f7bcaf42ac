"""Mining of code patterns in the background, when nobody works.

The mining process does the work: it starts when a project has been quiet for a while and ends when it is done. This
module decides when, and which findings are new.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, Final

from hunchd.domain.errors import HunchError
from hunchd.domain.facts import Change
from hunchd.domain.memory import Memory
from hunchd.engine.keeping.forgotten import Forgotten
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.state.absorbing import Effect
from hunchd.engine.state.events import Events
from hunchd.engine.state.feature import AppliedSignal, Feature
from hunchd.engine.state.parts import Parts, Tasks
from hunchd.engine.state.project import Project
from hunchd.patterns.memories import gone, memory_of, pattern_id, renewed
from hunchd.patterns.pattern import Pattern, pattern_from

logger = logging.getLogger(__name__)

CACHE: Final = "patterns.sqlite"  # in a project's cache folder
LOOK: Final = 2.0  # seconds between two idle checks
MOST_PATHS: Final = 200  # changed files listed; above that the whole tree is scanned
RETRY: Final = 300.0  # seconds until failed mining is retried
# Strength of a pattern by its rank in the project; in steps, so that it rarely changes.
STRENGTHS: Final = ((5, 1.0), (15, 0.75), (30, 0.5))
WEAKEST: Final = 0.25


class Mining(Feature):
    """Background task that mines code patterns."""

    def __init__(
        self,
        memories: Memories,
        find: Callable[[str | None], Project | None],
        parts: Parts,
        events: Events,
    ) -> None:
        self._memories = memories
        self._find = find
        self._miner = parts.miner
        self._settings = parts.settings.index
        self._events = events
        self._now = parts.now
        self._forgotten = Forgotten(parts.places.data / "forgotten-patterns")
        self._waiting: dict[str, set[str] | None] = {}  # project → changed files; None: all
        self._not_before: dict[str, float] = {}  # project → monotonic time
        self._work = asyncio.Event()

    def start(self, tasks: Tasks) -> None:
        tasks.start("patterns", self.run)

    def on_signal(self, applied: AppliedSignal) -> None:
        self.note(applied.project, applied.effect)

    def on_model_loaded(self, project: Project) -> None:
        self.note(project)

    def on_memory_changed(self, change: Change, project: Project | None) -> None:
        """Remember for good which patterns their owner deleted; called before the project drops them."""
        if project is None:
            return
        deleted = [identifier for identifier in change.deletions if identifier in project.patterns]
        if deleted:
            self._forgotten.add(project.id, deleted)

    async def forget_project(self, project_id: str) -> None:
        self._waiting.pop(project_id, None)
        self._forgotten.drop(project_id)

    def note(self, project: Project, effect: Effect | None = None) -> None:
        """Queue changed code of a project (`effect`), or all of it."""
        if not self._settings.patterns:
            return
        if effect is None or effect.refresh:
            self._waiting[project.id] = None
        elif effect.parse:
            known = self._waiting.setdefault(project.id, set())
            if known is not None:
                known.update(effect.parse)
                if len(known) > MOST_PATHS:
                    self._waiting[project.id] = None
        if project.id in self._waiting:
            self._work.set()

    async def run(self) -> None:
        """Mine queued projects one at a time, each when it is quiet, forever."""
        while True:
            await self._work.wait()
            while self._waiting:
                ready = next((name for name in list(self._waiting) if self._is_quiet(name)), None)
                if ready is None:
                    await asyncio.sleep(LOOK)
                    continue
                paths = self._waiting.pop(ready)
                project = self._find(ready)
                if project is not None and not project.missing:
                    await self._mine(project, paths)
            self._work.clear()

    def _is_quiet(self, identifier: str) -> bool:
        """Return True if nobody works in the project, or it was removed."""
        project = self._find(identifier)
        if project is None:
            return True
        if project.indexing or time.monotonic() < self._not_before.get(identifier, 0.0):
            return False
        last = project.last_signal
        return last is None or abs((self._now() - last).total_seconds()) >= self._settings.patterns_idle_seconds

    async def _mine(self, project: Project, paths: set[str] | None) -> None:
        progress = project.mining
        progress.done, progress.total, project.is_mining = 0, 0, True
        began = time.monotonic()
        try:
            patterns = await self._found(project, paths)
            if not self._is_known(project):
                return
            changed = await self._keep_patterns(project, patterns)
        except HunchError as error:
            logger.warning("%s: mining of patterns failed: %s", project.name, error.message)
            self._not_before[project.id] = time.monotonic() + RETRY
            self._waiting[project.id] = None
            return
        finally:
            project.is_mining = False
            if self._find(project.id) is None:  # remove what the miner wrote after the project was removed
                await asyncio.to_thread(shutil.rmtree, project.cache, ignore_errors=True)
        took = time.monotonic() - began
        logger.info("%s: %d patterns, %d of them new or changed, in %.1f s", project.name, len(patterns), changed, took)
        self._events.tell("patterns", project=project.id, known=len(patterns), changed=changed)

    def _is_known(self, project: Project) -> bool:
        """Return True if the project was neither removed nor added again meanwhile."""
        return self._find(project.id) is project

    async def _found(self, project: Project, paths: set[str] | None) -> list[Pattern]:
        params: dict[str, Any] = {
            "root": str(project.root),
            "cache": str(project.cache / CACHE),
            "extra_ignore": list(self._settings.ignore),
            "paths": sorted(paths) if paths is not None else None,
        }
        patterns: list[Pattern] = []
        async with aclosing(self._miner.stream("patterns", params)) as steps:
            async for step in steps:
                if not self._is_known(project):
                    break
                if "patterns" in step:
                    patterns = [pattern_from(told) for told in step["patterns"]]
                else:
                    project.mining.done, project.mining.total = step["done"], step["total"]
        return patterns

    async def _keep_patterns(self, project: Project, patterns: Sequence[Pattern]) -> int:
        """Store new and changed patterns, archive lost ones.

        Returns the number of changes.
        """
        forgotten = self._forgotten.of(project.id)
        async with self._memories.changing:
            now = self._now()
            mined = [
                memory_of(pattern, project.id, now, strength=_strength(rank))
                for rank, pattern in enumerate(patterns)
                if pattern_id(project.id, pattern.key) not in forgotten
            ]
            ids = [memory.id for memory in mined]
            lost = [pattern.id for pattern in project.patterns if pattern.id not in set(ids)]
            known = await self._memories.known([*ids, *lost], project.id)
            fresh = [_again(known.get(memory.id), memory) for memory in mined]
            changed = [memory for memory in fresh if known.get(memory.id) != memory]
            archived = [gone(known[name], now) for name in lost if name in known]
            await self._memories.keep([*changed, *archived])
        return len(changed) + len(archived)


def _again(known: Memory | None, memory: Memory) -> Memory:
    return memory if known is None else renewed(known, memory)


def _strength(rank: int) -> float:
    return next((strength for below, strength in STRENGTHS if rank < below), WEAKEST)
