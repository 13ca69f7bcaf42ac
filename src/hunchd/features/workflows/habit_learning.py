"""Background learning of workflows from a project's command log.

A signal only appends a command in memory; this task writes the log, has the indexer process mine it, and stores the
workflows found.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hunchd.config.app_paths import expand_path
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.projects.workflow_updates import update_workflows
from hunchd.core.state.command_history import CommandHistory
from hunchd.core.state.dependencies import Dependencies, TaskSupervisor
from hunchd.core.state.feature import AppliedSignal, Feature
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.errors import HunchError
from hunchd.domain.facts import MemoryChange
from hunchd.domain.signal import CommandFinished, FileSaved, FilesChanged, Signal
from hunchd.ingestion.workflows import command_log as logs
from hunchd.ingestion.workflows.workflow_memories import HABIT_SOURCE, memory_to_workflow
from hunchd.protocol.indexing_messages import FoundHabits, IndexRequest

logger = logging.getLogger(__name__)

MINING_INTERVAL: Final = 20  # new commands
MIN_COMMANDS: Final = 12  # minimum commands for a habit of three runs
REST_SECONDS: Final = 2.0  # seconds: batches the writes
LEARN_SLICE: Final = 25  # commands learned before yielding to the event loop: about 3 ms
MINING_TIMEOUT_SECONDS: Final = 60.0  # timeout in seconds


class HabitLearner(Feature):
    """Background task that learns habits, except from commands run in private folders."""

    def __init__(
        self,
        memories: MemoryService,
        find_project: Callable[[str | None], Project | None],
        dependencies: Dependencies,
    ) -> None:
        self._memories = memories
        self._find_project = find_project
        self._indexer = dependencies.indexer
        self._now = dependencies.now
        self._private_folders = tuple(expand_path(folder) for folder in dependencies.settings.shell.private_folders)
        self._work = asyncio.Event()
        self._queue: set[str] = set()
        self._loaded_projects: set[str] = set()

    def note(self, project: Project, tree: WorkingTree, signal: Signal) -> None:
        """Record saved files and finished commands."""
        match signal:
            case FileSaved(path=path):
                project.command_history.record_save(path)
            case FilesChanged(saved=saved) if len(saved) == 1:
                project.command_history.record_save(saved[0])
            case CommandFinished() if not self._is_private(signal.project):
                self._record_command(project, tree, signal)

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("habits", self.run)

    def on_signal(self, applied_signal: AppliedSignal) -> None:
        self.note(applied_signal.project, applied_signal.tree, applied_signal.signal)

    def on_memory_changed(self, change: MemoryChange, project: Project | None) -> None:
        if project is not None and project.command_history.is_forgotten_changed:  # a workflow was deleted
            self.schedule(project)

    def on_project_restored(self, project: Project) -> None:
        self.schedule(project)

    def _record_command(self, project: Project, tree: WorkingTree, signal: CommandFinished) -> None:
        routine = project.command_history
        if not routine.record_command(signal, tree.branch if signal.source != "history" else ""):
            return
        self.schedule(project)
        prediction = routine.suggest_next(self._now(), tree.branch)
        before, routine.shown_step = routine.shown_step, prediction.step if prediction is not None else ""
        if routine.shown_step != before:
            project.bump_revision()

    def schedule(self, project: Project) -> None:
        """Schedule an update of the project's log and habits."""
        self._queue.add(project.id)
        self._work.set()

    def _is_private(self, folder: str) -> bool:
        return any(Path(folder).is_relative_to(private) for private in self._private_folders)

    async def run(self) -> None:
        """Write queued commands to the log and mine habits, forever."""
        while True:
            await self._work.wait()
            self._work.clear()
            await asyncio.sleep(REST_SECONDS)
            project_ids, self._queue = self._queue, set()
            for identifier in project_ids:
                project = self._find_project(identifier)
                if project is None or project.is_missing:
                    continue
                try:
                    await self._update(project)
                except (HunchError, OSError) as error:  # retried with the next command
                    logger.warning("%s: updating habits failed: %s", project.name, error)

    async def _update(self, project: Project) -> None:
        routine = project.command_history
        if project.id not in self._loaded_projects:
            self._loaded_projects.add(project.id)
            await self._load_log(project)
        self._set_model_habits(project)  # the store may have loaded more habits
        if routine.is_out_of_order or routine.is_forgotten_changed:
            await self._relearn(project)
        elif routine.unsaved:
            fresh, routine.unsaved = routine.unsaved, []
            await asyncio.to_thread(logs.append_commands, project.cache, fresh)
        if len(routine.log) >= MIN_COMMANDS and routine.unmined >= MINING_INTERVAL:
            await self._mine(project)

    async def _load_log(self, project: Project) -> None:
        """Load the command log that earlier processes wrote."""
        routine = project.command_history
        log = await asyncio.to_thread(logs.read_commands, project.cache)
        routine.forgotten_ids |= await asyncio.to_thread(logs.read_forgotten_ids, project.cache)
        if log:
            logged_commands = {(round(ran.at, 3), ran.command) for ran in log}
            routine.unsaved = [ran for ran in routine.unsaved if (round(ran.at, 3), ran.command) not in logged_commands]
            routine.replace_log([*log, *routine.unsaved])
            self._set_model_habits(project)
            await self._train(routine)

    async def _relearn(self, project: Project) -> None:
        """Rewrite the log in order of time, and train the model on it again."""
        routine = project.command_history
        routine.replace_log(list(routine.log))
        routine.unsaved, routine.is_forgotten_changed = [], False
        self._set_model_habits(project)
        await self._train(routine)
        await asyncio.to_thread(logs.replace_log, project.cache, list(routine.log), sorted(routine.forgotten_ids))

    async def _train(self, routine: CommandHistory) -> None:
        log = list(routine.log)
        routine.log.clear()
        for number, ran in enumerate(log):
            routine.learn(ran)
            routine.log.append(ran)
            if number % LEARN_SLICE == LEARN_SLICE - 1:
                await asyncio.sleep(0)

    async def _mine(self, project: Project) -> None:
        routine = project.command_history
        unmined_count = routine.unmined
        if len(routine.log) >= logs.MAX_COMMANDS:  # the file is append-only
            await asyncio.to_thread(logs.replace_log, project.cache, list(routine.log), sorted(routine.forgotten_ids))
        zone = self._now().astimezone().utcoffset()
        scope = IndexRequest(folder=str(project.root), project=project.id, cache_file=str(project.cache))
        seconds = zone.total_seconds() if zone is not None else 0.0
        params = {"scope": scope, "log": str(project.cache), "zone": seconds}
        found = await self._indexer.call("habits", params, FoundHabits, timeout=MINING_TIMEOUT_SECONDS)
        routine.unmined -= unmined_count
        await update_workflows(self._memories, project, found.workflows, HABIT_SOURCE, self._now(), since=found.since)
        self._set_model_habits(project)

    def _set_model_habits(self, project: Project) -> None:
        """Pass the known habits to the model that predicts the next command."""
        parsed_workflows = map(memory_to_workflow, project.workflows.values())
        habits = [one for one in parsed_workflows if one is not None and one.origin == "habit"]
        project.command_history.model.set_workflows([step.template for step in habit.steps] for habit in habits)
