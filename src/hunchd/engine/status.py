"""Status of the daemon: figures for `hunch status` and for Prometheus.

Reads in-memory state and hardly calls other processes.
"""

from __future__ import annotations

import asyncio
import os
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from hunchd.domain.errors import HunchError
from hunchd.engine.keeping.health import Health, list_project_problems
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.learning.projects import Projects
from hunchd.engine.state.feature import Features
from hunchd.engine.state.parts import Parts
from hunchd.engine.state.project import Project
from hunchd.store.files import Files

PATIENCE = 0.1  # seconds that a status waits for the store's figures
STANDSTILL = 5.0  # seconds that a disk may take for one write before somebody is told
SIZE_HOLDS = 10.0  # seconds: hundreds of files are looked at to measure it


class StatusReporter:
    """Collector of status and metrics."""

    def __init__(
        self,
        parts: Parts,
        projects: Projects,
        writer: Writer,
        health: Health,
        features: Features,
    ) -> None:
        self._parts = parts
        self._projects = projects
        self._writer = writer
        self._health = health
        self._features = features
        self._started = time.monotonic()
        self._on_disk = (-SIZE_HOLDS, 0)  # (when it was measured, bytes)

    async def status(self) -> dict[str, Any]:
        """Return the answer to GET /status."""
        projects = await self.projects()
        store = self._parts.store.last_stats
        trouble = [*self.degraded(), *store.get("degraded", ())]
        return {
            "status": "degraded" if trouble else "ok",
            "degraded": trouble,
            "projects": [shown | self._features.project_status(project) for project, shown in projects],
            "queues": self.queues(),
            "store": {
                "bytes": await self._bytes_on_disk(),
                "running": self._parts.store_process.pid is not None,
                **{name: store[name] for name in ("rows", "embedded", "versions") if name in store},
            },
            "language": None,
            **self._features.status(),
            "resources": await self.resources(),
            "tasks": self._parts.tasks.status(),
            "uptime_seconds": round(time.monotonic() - self._started),
        }

    async def projects(self) -> list[tuple[Project, dict[str, Any]]]:
        """Return each project with its serialized form."""
        await self._ask_the_store()
        return [(project, self.shown(project)) for project in self._projects]

    def shown(self, project: Project) -> dict[str, Any]:
        """Serialize a project with the latest embedding counts of the store."""
        return project.json(self._parts.store.last_stats.get("projects", {}).get(project.id))

    async def _ask_the_store(self) -> None:
        """Refresh the store's figures if they may be outdated.

        Waits at most STATS_TIMEOUT_SECONDS. They change only while embeddings are pending, or after something was
        stored.
        """
        if (self._parts.store.to_embed or self._parts.store.to_count) and self._parts.store_process.pid is not None:
            with suppress(TimeoutError, HunchError):
                async with asyncio.timeout(PATIENCE):
                    await self._parts.store.stats()

    def degraded(self) -> tuple[str, ...]:
        """Return what is broken or still loading anywhere."""
        return (*self._health.list_problems(()), *self.trouble(), *list_project_problems(self._projects))

    def trouble(self) -> list[str]:
        """Describe the problems of the components."""
        told = [f"{name} failed and is being restarted" for name in self._failing()]
        journal = self._parts.journal
        if journal.failure is not None:
            told.append(journal.failure)
        if journal.standstill >= STANDSTILL:
            told.append(f"a disk write has taken {journal.standstill:.0f} s so far; new records wait for it")
        if journal.set_aside:
            told.append(f"{journal.set_aside} damaged parts of the journal were quarantined")
        if self._parts.registry.warning:
            told.append(self._parts.registry.warning)
        if (full := self._little_room()) is not None:
            told.append(full)
        return told

    def _little_room(self) -> str | None:
        """Return a warning if disk space is low, before the store refuses writes."""
        data, least = self._parts.places.data, self._parts.settings.store.min_free_mib
        free = Files().free_bytes(data) // (1024 * 1024)
        return None if free >= least else f"{free} MiB are free for {data}, less than {least}: free some disk space"

    def queues(self) -> dict[str, int]:
        """Return the counts of accepted records that are not yet searchable in the store."""
        return {
            "journal": self._parts.journal.pending + self._features.pending_signals(),
            "writer": self._writer.pending,
            "embedding": self._parts.store.to_embed,
        }

    async def resources(self) -> dict[str, Any]:
        """Return memory in bytes (proportional set size where available), CPU seconds, threads, processes."""
        own = os.getpid()
        children = [pid for pid in (child.pid for child in self._parts.helpers) if pid is not None]
        usage = resource.getrusage(resource.RUSAGE_SELF)
        # In a thread: the kernel walks every page of a process to compute its size, 10 to 30 ms each.
        front, *others = await asyncio.to_thread(lambda: [memory_of(pid) for pid in (own, *children)])
        return {
            "pid": own,
            "memory_bytes": front + sum(others),
            "front_memory_bytes": front,
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
            "threads": threading.active_count(),
            "processes": 1 + len(children),
        }

    async def metrics(self) -> str:
        """Return the metrics as Prometheus text."""
        resources = await self.resources()
        figures: list[tuple[str, str, str, float]] = [
            ("hunchd_memory_bytes", "gauge", "Memory of all processes", resources["memory_bytes"]),
            ("hunchd_cpu_seconds_total", "counter", "CPU time of the front process", resources["cpu_seconds"]),
            ("hunchd_processes", "gauge", "Processes", resources["processes"]),
            ("hunchd_projects", "gauge", "Projects known", len(self._projects)),
            *(
                (f"hunchd_queue_{name}", "gauge", f"Entries waiting: {name}", value)
                for name, value in self.queues().items()
            ),
        ]
        own = (f"# HELP {name} {text}\n# TYPE {name} {kind}\n{name} {value:g}\n" for name, kind, text, value in figures)
        return "".join(own) + self._features.metrics()

    async def _bytes_on_disk(self) -> int:
        measured, size = self._on_disk
        if time.monotonic() - measured >= SIZE_HOLDS:
            size = await asyncio.to_thread(folder_bytes, self._parts.places.data)
            self._on_disk = (time.monotonic(), size)
        return size

    def _failing(self) -> list[str]:
        """Return the tasks that wait after a failure.

        Without indexing tasks, which their projects report.
        """
        told = {f"index:{project.id}" for project in self._projects if project.index_error}
        resting = (str(task["name"]) for task in self._parts.tasks.status() if task["state"] == "restarting")
        return [name for name in resting if name not in told]


def folder_bytes(folder: Path) -> int:
    """Return the disk usage below a folder, hard links counted once."""
    seen: dict[tuple[int, int], int] = {}
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(path, name))  # noqa: PTH118 - thousands of files, twice as quick
            except OSError:
                continue
            seen[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(seen.values())


def memory_of(pid: int) -> int:
    """Return the proportional set size of a process in bytes, 0 if unavailable."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return 0
    return 0
