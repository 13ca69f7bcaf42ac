"""Dependencies of the engine, opened by the code that starts the daemon."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from hunchd.config.app_paths import AppPaths
from hunchd.config.settings import Settings
from hunchd.language.client import LanguageClient
from hunchd.protocol.child import HelperProcess
from hunchd.protocol.status_answers import TaskAnswer
from hunchd.store.journal.journal import Journal
from hunchd.store.memory_cache import MemoryCache
from hunchd.store.port import MemoryStore, TextModels
from hunchd.store.registry import ProjectRegistry


class TaskSupervisor(Protocol):
    """Supervisor that runs background tasks and restarts them when they fail."""

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None: ...

    def end(self, name: str) -> None: ...

    def status(self) -> list[TaskAnswer]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """Objects that the engine needs and receives when it is constructed."""

    paths: AppPaths
    settings: Settings
    journal: Journal
    memory_cache: MemoryCache
    registry: ProjectRegistry
    store: MemoryStore
    models: TextModels
    store_process: HelperProcess
    indexer: HelperProcess
    miner: HelperProcess
    planner: HelperProcess
    team_process: HelperProcess
    language: LanguageClient | None  # None: switched off
    tasks: TaskSupervisor
    secret: bytes  # random key of this installation; makes the fences of quotations unforgeable
    now: Callable[[], datetime]  # aware, UTC

    @property
    def verdicts_file(self) -> Path | None:
        """File with the language model's verdicts on contradictions.

        None if the language model does not judge contradictions.
        """
        judges = self.language is not None and self.settings.language.contradictions
        return self.paths.state / "verdicts.json" if judges else None

    @property
    def helpers(self) -> tuple[HelperProcess, ...]:
        """Helper processes whose memory use and lifetime the daemon manages."""
        return (self.store_process, self.indexer, self.planner, self.miner, self.team_process)
