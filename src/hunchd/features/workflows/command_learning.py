"""Learning from a project's command log, to predict the next command.

A signal only adds its command to the history in memory. A background task reads the log once after the daemon has
started, and writes it afterwards.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hunchd.config.app_paths import expand_path
from hunchd.core.state.command_history import CommandHistory
from hunchd.core.state.dependencies import Dependencies, TaskSupervisor
from hunchd.core.state.feature import AppliedSignal, Feature
from hunchd.core.state.project import Project, WorkingTree
from hunchd.domain.errors import HunchError
from hunchd.domain.signal import CommandFinished, FileSaved, FilesChanged, Signal
from hunchd.ingestion.workflows import command_log as logs

logger = logging.getLogger(__name__)

REST_SECONDS: Final = 2.0  # seconds to wait for more commands, so that they are written together
LEARN_SLICE: Final = 25  # commands learned before yielding to the event loop: about 3 ms


class CommandLearner(Feature):
    """Feature that learns which command usually follows which.

    Commands that are run in private folders are ignored.
    """

    def __init__(
        self,
        find_project: Callable[[str | None], Project | None],
        dependencies: Dependencies,
    ) -> None:
        self._find_project = find_project
        self._now = dependencies.now
        self._private_folders = tuple(expand_path(folder) for folder in dependencies.settings.shell.private_folders)
        self._work = asyncio.Event()
        self._queue: set[str] = set()
        self._loaded_projects: set[str] = set()

    def note(self, project: Project, tree: WorkingTree, signal: Signal) -> None:
        """Record the file save or finished command that a signal reports.

        Other signals are ignored.
        """
        match signal:
            case FileSaved(path=path):
                project.command_history.record_save(path)
            case FilesChanged(saved=saved) if len(saved) == 1:
                project.command_history.record_save(saved[0])
            case CommandFinished() if not self._is_private(signal.project):
                self._record_command(project, tree, signal)

    def start(self, tasks: TaskSupervisor) -> None:
        tasks.start("commands", self.run)

    def on_signal(self, applied_signal: AppliedSignal) -> None:
        self.note(applied_signal.project, applied_signal.tree, applied_signal.signal)

    def on_project_restored(self, project: Project) -> None:
        self.schedule(project)

    def _record_command(self, project: Project, tree: WorkingTree, signal: CommandFinished) -> None:
        history = project.command_history
        if not history.record_command(signal, tree.branch if signal.source != "history" else ""):
            return
        self.schedule(project)
        prediction = history.suggest_next(self._now(), tree.branch)
        before, history.shown_step = history.shown_step, prediction.step if prediction is not None else ""
        if history.shown_step != before:
            project.bump_revision()

    def schedule(self, project: Project) -> None:
        """Schedule an update of the project's command log."""
        self._queue.add(project.id)
        self._work.set()

    def _is_private(self, folder: str) -> bool:
        return any(Path(folder).is_relative_to(private) for private in self._private_folders)

    async def run(self) -> None:
        """Update the command logs of scheduled projects, until cancelled."""
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
                    logger.warning("%s: updating the command log failed: %s", project.name, error)

    async def _update(self, project: Project) -> None:
        history = project.command_history
        if project.id not in self._loaded_projects:
            self._loaded_projects.add(project.id)
            await self._load_log(project)
        if history.is_out_of_order:
            await self._relearn(project)
        elif history.unsaved:
            fresh, history.unsaved = history.unsaved, []
            history.appended += len(fresh)
            if history.appended < logs.MAX_COMMANDS:
                await asyncio.to_thread(logs.append_commands, project.cache, fresh)
            else:  # the file is append-only
                history.appended = 0
                await asyncio.to_thread(logs.replace_log, project.cache, list(history.log))

    async def _load_log(self, project: Project) -> None:
        """Load the command log of earlier processes, and train the model on it."""
        history = project.command_history
        log = await asyncio.to_thread(logs.read_commands, project.cache)
        history.appended = len(log)
        if log:
            logged_commands = {(round(ran.at, 3), ran.command) for ran in log}
            history.unsaved = [ran for ran in history.unsaved if (round(ran.at, 3), ran.command) not in logged_commands]
            history.replace_log([*log, *history.unsaved])
            await self._train(history)

    async def _relearn(self, project: Project) -> None:
        """Rewrite the log in chronological order, and train the model on it again."""
        history = project.command_history
        history.replace_log(list(history.log))
        history.unsaved = []
        await self._train(history)
        await asyncio.to_thread(logs.replace_log, project.cache, list(history.log))

    async def _train(self, history: CommandHistory) -> None:
        log = list(history.log)
        history.log.clear()
        for number, ran in enumerate(log):
            history.learn(ran)
            history.log.append(ran)
            if number % LEARN_SLICE == LEARN_SLICE - 1:
                await asyncio.sleep(0)
