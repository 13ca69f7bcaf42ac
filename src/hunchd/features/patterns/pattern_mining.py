"""Mining of code patterns in the background, while nobody is working.

The mining process does the work: it is started when a project has been quiet for a while, and exits when it is
done. This module decides when to start that process, and which of the patterns found are new.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Final

from hunchd.core.memory.hidden_work import HiddenWork
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.state.dependencies import Dependencies, TaskSupervisor
from hunchd.core.state.events import EventBus
from hunchd.core.state.feature import AppliedSignal, Feature
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError
from hunchd.domain.memory import Memory
from hunchd.patterns.pattern import CodePattern, MiningStep
from hunchd.patterns.pattern_memories import archive, make_pattern_id, merge_mined, pattern_to_memory
from hunchd.protocol.indexing_messages import ProjectRequest

logger = logging.getLogger(__name__)

CACHE_FILE: Final = "patterns.json"  # in a project's cache folder
POLL_SECONDS: Final = 2.0  # seconds between two idle checks
MIN_INTERVAL_SECONDS: Final = 6 * 3600.0  # seconds between two minings of a project, each of which parses all files
RETRY_SECONDS: Final = 300.0  # seconds until failed mining is retried
# Strength of a pattern by its rank in the project; in steps, so that it rarely changes.
STRENGTH_STEPS: Final = ((5, 1.0), (15, 0.75), (30, 0.5))
MIN_STRENGTH: Final = 0.25


class PatternMiner(Feature):
    """Feature that mines code patterns in the background and stores them."""

    def __init__(
        self,
        memories: MemoryService,
        find_project: Callable[[str | None], Project | None],
        dependencies: Dependencies,
        events: EventBus,
        hidden_work: HiddenWork,
    ) -> None:
        self._memories = memories
        self._find_project = find_project
        self._miner = dependencies.miner
        self._settings = dependencies.settings.index
        self._events = events
        self._now = dependencies.now
        self._hidden_work = hidden_work
        self._queue: set[str] = set()  # ids of projects
        self._not_before: dict[str, float] = {}  # project → monotonic time
        self._work = asyncio.Event()

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("patterns", self.run)

    def on_signal(self, applied_signal: AppliedSignal) -> None:
        if applied_signal.effect.refresh or applied_signal.effect.catch_up:  # another commit may be checked out
            self.enqueue(applied_signal.project)

    def on_model_loaded(self, project: Project) -> None:
        self.enqueue(project)

    def enqueue(self, project: Project) -> None:
        """Queue a project for mining, unless it was mined a short time ago."""
        if self._settings.patterns and time.monotonic() >= self._not_before.get(project.id, 0.0):
            self._queue.add(project.id)
            self._work.set()

    async def forget_project(self, project_id: str) -> None:
        self._queue.discard(project_id)

    async def run(self) -> None:
        """Mine the queued projects, one at a time, until cancelled.

        Mining of a project starts once nobody is working in it.
        """
        while True:
            await self._work.wait()
            while self._queue:
                ready = next((name for name in list(self._queue) if self._is_quiet(name)), None)
                if ready is None:
                    await asyncio.sleep(POLL_SECONDS)
                    continue
                self._queue.remove(ready)
                project = self._find_project(ready)
                if project is not None and not project.is_missing:
                    await self._mine(project)
            self._work.clear()

    def _is_quiet(self, identifier: str) -> bool:
        """Return True if nobody is working in the project.

        A project that has been removed counts as quiet.
        """
        project = self._find_project(identifier)
        if project is None:
            return True
        if project.indexing or time.monotonic() < self._not_before.get(identifier, 0.0):
            return False
        last = project.last_signal
        return last is None or abs((self._now() - last).total_seconds()) >= self._settings.patterns_idle_seconds

    async def _mine(self, project: Project) -> None:
        progress = project.mining
        progress.done, progress.total, project.is_mining = 0, 0, True
        began = time.monotonic()
        try:
            patterns = await self._mine_patterns(project)
            if not self._is_still_open(project):
                return
            change_count = await self._store_patterns(project, patterns)
        except HunchError as error:
            logger.warning("%s: pattern mining failed and will be retried: %s", project.name, error.message)
            self._not_before[project.id] = time.monotonic() + RETRY_SECONDS
            self._queue.add(project.id)
            return
        finally:
            project.is_mining = False
            if self._find_project(project.id) is None:  # remove what the miner wrote after the project was removed
                await asyncio.to_thread(shutil.rmtree, project.cache, ignore_errors=True)
        took = time.monotonic() - began
        self._not_before[project.id] = time.monotonic() + MIN_INTERVAL_SECONDS
        logger.info(
            "%s: %d patterns, %d of them new or changed, in %.1f s", project.name, len(patterns), change_count, took
        )
        self._events.publish("patterns", project=project.id, known=len(patterns), changed=change_count)

    def _is_still_open(self, project: Project) -> bool:
        """Return True if the project has not been removed in the meantime.

        A project that was removed and then added again counts as removed.
        """
        return self._find_project(project.id) is project

    async def _mine_patterns(self, project: Project) -> list[CodePattern]:
        request = ProjectRequest(
            folder=str(project.root),
            cache_file=str(project.cache / CACHE_FILE),
            extra_ignore=self._settings.ignore,
        )
        patterns: list[CodePattern] = []
        async with aclosing(self._miner.stream("patterns", {"request": request}, MiningStep)) as steps:
            async for step in steps:
                if not self._is_still_open(project):
                    break
                if step.patterns is not None:
                    patterns = step.patterns
                else:
                    project.mining.done, project.mining.total = step.done, step.total
        return patterns

    async def _store_patterns(self, project: Project, patterns: Sequence[CodePattern]) -> int:
        """Store new and changed patterns, and archive those that were not found again.

        Patterns that the user has deleted are not stored. Returns the number of memories changed.
        """
        forgotten_ids = await asyncio.to_thread(self._hidden_work.list_forgotten, project.id)
        now = self._now()
        mined_memories = [
            pattern_to_memory(pattern, project.id, now, strength=_get_strength(rank))
            for rank, pattern in enumerate(patterns)
            if make_pattern_id(project.id, pattern.key) not in forgotten_ids
        ]
        ids = [memory.id for memory in mined_memories]
        lost_ids = [pattern.id for pattern in project.patterns if pattern.id not in set(ids)]
        async with self._memories.lock_changes([*ids, *lost_ids], project.id) as memories:
            fresh = [_merge_known(memories.get(memory.id), memory) for memory in mined_memories]
            changed_memories = [memory for memory in fresh if memories.get(memory.id) != memory]
            archived_memories = [archive(memories[name], now) for name in lost_ids if name in memories]
            await self._memories.store([*changed_memories, *archived_memories])
        return len(changed_memories) + len(archived_memories)


def _merge_known(stored_memory: Memory | None, memory: Memory) -> Memory:
    return memory if stored_memory is None else merge_mined(stored_memory, memory)


def _get_strength(rank: int) -> float:
    return next((strength for below, strength in STRENGTH_STEPS if rank < below), MIN_STRENGTH)
