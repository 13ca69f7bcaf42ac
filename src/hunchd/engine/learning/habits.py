"""Learning of workflows from a project's command log, mined by the indexer process.

A background task. Signals only append a command in memory; writing, mining and storing happen here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hunchd.config.places import expanded
from hunchd.domain.errors import HunchError
from hunchd.domain.facts import Change
from hunchd.domain.signal import CommandFinished, FileSaved, FilesChanged, Signal
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.learning.workflow_updates import update_workflows
from hunchd.engine.state.feature import AppliedSignal, Feature
from hunchd.engine.state.parts import Parts, Tasks
from hunchd.engine.state.project import Project, Tree
from hunchd.engine.state.routine import Routine
from hunchd.ingestion.workflows import log as logs
from hunchd.ingestion.workflows.memories import BY_HABIT, workflow_from
from hunchd.protocol.memories import memory_from_json

logger = logging.getLogger(__name__)

MINED_EVERY: Final = 20  # new commands
FEWEST: Final = 12  # minimum commands for a habit of three runs
REST: Final = 2.0  # seconds: batches the writes
SLICE: Final = 25  # commands learned before yielding to the event loop: about 3 ms
MINING: Final = 60.0  # timeout in seconds


class Habits(Feature):
    """Background task that learns habits; commands in `private` folders are ignored."""

    def __init__(
        self,
        memories: Memories,
        find: Callable[[str | None], Project | None],
        parts: Parts,
    ) -> None:
        self._memories = memories
        self._find = find
        self._indexer = parts.indexer
        self._now = parts.now
        self._private = tuple(expanded(folder) for folder in parts.settings.shell.private_folders)
        self._work = asyncio.Event()
        self._waiting: set[str] = set()
        self._loaded: set[str] = set()

    def note(self, project: Project, tree: Tree, signal: Signal) -> None:
        """Record saved files and finished commands."""
        match signal:
            case FileSaved(path=path):
                project.routine.saved(path)
            case FilesChanged(saved=saved) if len(saved) == 1:
                project.routine.saved(saved[0])
            case CommandFinished() if not self._is_private(signal.project):
                self._ran(project, tree, signal)

    def start(self, tasks: Tasks) -> None:
        tasks.start("habits", self.run)

    def on_signal(self, applied: AppliedSignal) -> None:
        self.note(applied.project, applied.tree, applied.signal)

    def on_memory_changed(self, change: Change, project: Project | None) -> None:
        if project is not None and project.routine.changed:  # a workflow was deleted
            self.look_at(project)

    def on_project_restored(self, project: Project) -> None:
        self.look_at(project)

    def _ran(self, project: Project, tree: Tree, signal: CommandFinished) -> None:
        routine = project.routine
        if not routine.ran(signal, tree.branch if signal.source != "history" else ""):
            return
        self.look_at(project)
        expected = routine.to_show(self._now(), tree.branch)
        before, routine.shown = routine.shown, expected.step if expected is not None else ""
        if routine.shown != before:
            project.touch()

    def look_at(self, project: Project) -> None:
        """Schedule an update of the project's log and habits."""
        self._waiting.add(project.id)
        self._work.set()

    def _is_private(self, folder: str) -> bool:
        return any(Path(folder).is_relative_to(private) for private in self._private)

    async def run(self) -> None:
        """Write queued commands and mine habits, forever."""
        while True:
            await self._work.wait()
            self._work.clear()
            await asyncio.sleep(REST)
            waiting, self._waiting = self._waiting, set()
            for identifier in waiting:
                project = self._find(identifier)
                if project is None or project.missing:
                    continue
                try:
                    await self._keep_up(project)
                except (HunchError, OSError) as error:  # retried with the next command
                    logger.warning("%s: updating habits failed: %s", project.name, error)

    async def _keep_up(self, project: Project) -> None:
        routine = project.routine
        if project.id not in self._loaded:
            self._loaded.add(project.id)
            await self._load(project)
        self._tell_model(project)  # the store may have loaded more habits
        if routine.is_out_of_order or routine.changed:
            await self._again(project)
        elif routine.fresh:
            fresh, routine.fresh = routine.fresh, []
            await asyncio.to_thread(logs.append, project.cache, fresh)
        if len(routine.log) >= FEWEST and routine.unmined >= MINED_EVERY:
            await self._mine(project)

    async def _load(self, project: Project) -> None:
        """Load the log of earlier processes."""
        routine = project.routine
        log = await asyncio.to_thread(logs.read, project.cache)
        routine.forgotten |= await asyncio.to_thread(logs.forgotten, project.cache)
        if log:
            known = {(round(ran.at, 3), ran.command) for ran in log}
            routine.fresh = [ran for ran in routine.fresh if (round(ran.at, 3), ran.command) not in known]
            routine.take([*log, *routine.fresh])
            self._tell_model(project)
            await self._teach(routine)

    async def _again(self, project: Project) -> None:
        """Rewrite the log and train the model on it in order."""
        routine = project.routine
        routine.take(list(routine.log))
        routine.fresh, routine.changed = [], False
        self._tell_model(project)
        await self._teach(routine)
        await asyncio.to_thread(logs.rewrite, project.cache, list(routine.log), sorted(routine.forgotten))

    async def _teach(self, routine: Routine) -> None:
        log = list(routine.log)
        routine.log.clear()
        for number, ran in enumerate(log):
            routine.learn(ran)
            routine.log.append(ran)
            if number % SLICE == SLICE - 1:
                await asyncio.sleep(0)

    async def _mine(self, project: Project) -> None:
        routine = project.routine
        unmined = routine.unmined
        if len(routine.log) >= logs.MOST:  # the file is append-only
            await asyncio.to_thread(logs.rewrite, project.cache, list(routine.log), sorted(routine.forgotten))
        zone = self._now().astimezone().utcoffset()
        params = {
            "root": str(project.root),
            "project": project.id,
            "code_cache": str(project.cache),
            "log": str(project.cache),
            "zone": zone.total_seconds() if zone is not None else 0.0,
        }
        answer = await self._indexer.call("habits", params, timeout=MINING)
        routine.unmined -= unmined
        found = [memory_from_json(memory) for memory in answer["workflows"]]
        await update_workflows(self._memories, project, found, BY_HABIT, self._now(), since=float(answer["since"]))
        self._tell_model(project)

    def _tell_model(self, project: Project) -> None:
        """Pass the known habits to the model of next steps."""
        told = map(workflow_from, project.workflows.values())
        habits = [one for one in told if one is not None and one.origin == "habit"]
        project.routine.model.knows([step.template for step in habit.steps] for habit in habits)
