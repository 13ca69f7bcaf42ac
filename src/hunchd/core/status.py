"""Status of the daemon: statistics for `hunch status` and for Prometheus.

The module mainly reads in-memory state and rarely calls other processes.
"""

from __future__ import annotations

import asyncio
import os
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path

from msgspec.structs import asdict

from hunchd.core.memory.health import Health, list_project_problems
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.state.dependencies import Dependencies
from hunchd.core.state.feature import Features
from hunchd.core.state.project import Project
from hunchd.domain.errors import HunchError
from hunchd.protocol.responses import ProjectAnswer
from hunchd.protocol.status_answers import ProjectStatusAnswer, QueuesAnswer, ResourcesAnswer, StatusAnswer, StoreAnswer
from hunchd.store.files import FileOperations

STATS_TIMEOUT_SECONDS = 0.1  # seconds that a status request waits for the store's statistics
STANDSTILL_SECONDS = 5.0  # seconds that one disk write may take before it is reported
DISK_SIZE_MAX_AGE_SECONDS = 10.0  # seconds: measuring it means checking hundreds of files


class StatusReporter:
    """Collector of the daemon's status and metrics."""

    def __init__(
        self,
        dependencies: Dependencies,
        projects: OpenProjects,
        writer: StoreWriter,
        health: Health,
        features: Features,
    ) -> None:
        self._dependencies = dependencies
        self._projects = projects
        self._writer = writer
        self._health = health
        self._features = features
        self._started_at = time.monotonic()
        self._on_disk = (-DISK_SIZE_MAX_AGE_SECONDS, 0)  # (when it was measured, bytes)

    async def status(self) -> StatusAnswer:
        """Return the answer to GET /status."""
        projects = await self.list_projects()
        store = self._dependencies.store.last_stats
        trouble = [*self.list_degradations(), *store.degraded]
        return StatusAnswer(
            status="degraded" if trouble else "ok",
            degraded=trouble,
            projects=[
                ProjectStatusAnswer(**asdict(answer), **self._features.project_status(project))
                for project, answer in projects
            ],
            queues=self.get_queue_lengths(),
            store=StoreAnswer(
                bytes=await self._measure_disk_size(),
                running=self._dependencies.store_process.pid is not None,
                rows=store.rows,
                embedded=store.embedded,
                versions=store.versions,
            ),
            **self._features.status(),
            resources=await self.measure_resources(),
            tasks=self._dependencies.tasks.status(),
            uptime_seconds=round(time.monotonic() - self._started_at),
        )

    async def list_projects(self) -> list[tuple[Project, ProjectAnswer]]:
        """Return each project with its description for the API."""
        await self._refresh_store_stats()
        return [(project, self.describe_project(project)) for project in self._projects]

    def describe_project(self, project: Project) -> ProjectAnswer:
        """Describe a project, with the store's latest counts of embeddings."""
        return project.to_answer(self._dependencies.store.last_stats.projects.get(project.id))

    async def _refresh_store_stats(self) -> None:
        """Refresh the store's statistics if they may be outdated.

        This waits at most STATS_TIMEOUT_SECONDS. The statistics change only while embeddings are pending or after
        something was stored.
        """
        if (
            self._dependencies.store.pending_embeddings or self._dependencies.store.is_stats_outdated
        ) and self._dependencies.store_process.pid is not None:
            with suppress(TimeoutError, HunchError):
                async with asyncio.timeout(STATS_TIMEOUT_SECONDS):
                    await self._dependencies.store.fetch_stats()

    def list_degradations(self) -> tuple[str, ...]:
        """List everything that is broken or still loading."""
        return (*self._health.list_problems(()), *self.list_problems(), *list_project_problems(self._projects))

    def list_problems(self) -> list[str]:
        """Describe the problems of the daemon's components.

        These are the background tasks, the journal, the registry and the disk.
        """
        problems = [f"{name} failed and is being restarted" for name in self._list_failing_tasks()]
        journal = self._dependencies.journal
        if journal.failure is not None:
            problems.append(journal.failure)
        if journal.stalled_seconds >= STANDSTILL_SECONDS:
            problems.append(
                f"a disk write has taken {journal.stalled_seconds:.0f} s so far; new records are waiting for it"
            )
        if journal.damage_count:
            problems.append(f"{journal.damage_count} damaged parts of the journal were quarantined")
        if self._dependencies.registry.warning:
            problems.append(self._dependencies.registry.warning)
        if (full := self._check_disk_space()) is not None:
            problems.append(full)
        return problems

    def _check_disk_space(self) -> str | None:
        """Return a warning if disk space is low.

        The warning appears before the store has to refuse writes.
        """
        data, least = self._dependencies.paths.data, self._dependencies.settings.store.min_free_mib
        free = FileOperations().count_free_bytes(data) // (1024 * 1024)
        return (
            None
            if free >= least
            else f"only {free} MiB are free for {data}, less than {least} MiB; free some disk space"
        )

    def get_queue_lengths(self) -> QueuesAnswer:
        """Return the number of accepted records waiting in each queue.

        The queues are those for the journal, the store writer and the embedding model.
        """
        return QueuesAnswer(
            journal=self._dependencies.journal.pending_count + self._features.pending_signals(),
            writer=self._writer.pending,
            embedding=self._dependencies.store.pending_embeddings,
        )

    async def measure_resources(self) -> ResourcesAnswer:
        """Return the daemon's memory use, CPU seconds, threads and processes.

        Memory use is the proportional set size in bytes, or 0 where the system does not report it.
        """
        own = os.getpid()
        children = [pid for pid in (child.pid for child in self._dependencies.helpers) if pid is not None]
        usage = resource.getrusage(resource.RUSAGE_SELF)
        # In a thread: the kernel walks every page of a process to compute its size, 10 to 30 ms each.
        front, *others = await asyncio.to_thread(lambda: [measure_process_memory(pid) for pid in (own, *children)])
        return ResourcesAnswer(
            pid=own,
            memory_bytes=front + sum(others),
            front_memory_bytes=front,
            cpu_seconds=round(usage.ru_utime + usage.ru_stime, 2),
            threads=threading.active_count(),
            processes=1 + len(children),
        )

    async def render_metrics(self) -> str:
        """Return the metrics as Prometheus text."""
        resources = await self.measure_resources()
        figures: list[tuple[str, str, str, float]] = [
            ("hunchd_memory_bytes", "gauge", "Memory of all processes", resources.memory_bytes),
            ("hunchd_cpu_seconds_total", "counter", "CPU time of the front process", resources.cpu_seconds),
            ("hunchd_processes", "gauge", "Processes", resources.processes),
            ("hunchd_projects", "gauge", "Projects known", len(self._projects)),
            *(
                (f"hunchd_queue_{name}", "gauge", f"Entries waiting: {name}", value)
                for name, value in asdict(self.get_queue_lengths()).items()
            ),
        ]
        own = (f"# HELP {name} {text}\n# TYPE {name} {kind}\n{name} {value:g}\n" for name, kind, text, value in figures)
        return "".join(own) + self._features.metrics()

    async def _measure_disk_size(self) -> int:
        measured_at, size = self._on_disk
        if time.monotonic() - measured_at >= DISK_SIZE_MAX_AGE_SECONDS:
            size = await asyncio.to_thread(measure_folder_bytes, self._dependencies.paths.data)
            self._on_disk = (time.monotonic(), size)
        return size

    def _list_failing_tasks(self) -> list[str]:
        """Return the names of failed tasks awaiting a restart.

        Indexing tasks whose projects report the failure themselves are left out.
        """
        reported_tasks = {f"index:{project.id}" for project in self._projects if project.index_error}
        failing_tasks = (task.name for task in self._dependencies.tasks.status() if task.state == "restarting")
        return [name for name in failing_tasks if name not in reported_tasks]


def measure_folder_bytes(folder: Path) -> int:
    """Return the disk usage of a folder in bytes.

    Hard links are counted once.
    """
    size_by_inode: dict[tuple[int, int], int] = {}
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                file_stat = os.lstat(os.path.join(path, name))  # noqa: PTH118 - thousands of files, twice as quick
            except OSError:
                continue
            size_by_inode[file_stat.st_dev, file_stat.st_ino] = file_stat.st_blocks * 512
    return sum(size_by_inode.values())


def measure_process_memory(pid: int) -> int:
    """Return the proportional set size of a process in bytes.

    Returns 0 if it is unavailable.
    """
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return 0
    return 0
