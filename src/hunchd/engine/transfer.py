"""Everything kept, as lines that another installation takes over and gives the same answers from."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hunchd import __version__
from hunchd.domain.errors import InvalidInput, NotFound
from hunchd.domain.memory import Memory
from hunchd.engine.colleagues import Colleagues
from hunchd.engine.memories import Memories, memory_id, without_secrets
from hunchd.engine.projects import Projects
from hunchd.engine.writing import Writer
from hunchd.ingestion.redaction import redact, redact_values
from hunchd.protocol.answers import export_line, iso
from hunchd.protocol.memories import memory_from_json
from hunchd.store.client import StoreClient

logger = logging.getLogger(__name__)

BATCH = 256  # memories that share one sync of the journal


@dataclass(slots=True)
class _Taken:
    """An import under way."""

    owners: dict[str, str] = field(default_factory=dict)  # project id there → project id here
    memories: list[Memory] = field(default_factory=list)
    signals: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"projects": 0, "memories": 0, "signals": 0, "skipped": 0})


class Transfer:
    def __init__(
        self,
        projects: Projects,
        memories: Memories,
        store: StoreClient,
        writer: Writer,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._projects = projects
        self._memories = memories
        self._colleagues = Colleagues(memories)
        self._store = store
        self._writer = writer
        self._now = now

    async def export(self, project: str | None) -> AsyncIterator[dict[str, Any]]:
        """The lines of one project, or of all and of what belongs to none."""
        await self._writer.drained()
        wanted = self._projects.find(project)[0].id if project else None
        yield export_line("meta", {"product": "hunchd", "version": __version__, "at": iso(self._now())})
        for known in self._projects:
            if wanted in (None, known.id):
                yield export_line("project", {"id": known.id, "path": str(known.root), "name": known.name})
        async for line in self._store.export(wanted):
            yield line

    async def take(self, lines: AsyncIterator[dict[str, Any]]) -> dict[str, Any]:
        """Take over exported lines; a line that was imported before changes nothing."""
        taken = _Taken()
        async for line in lines:
            try:
                self._sort(line, taken)
            except NotFound as error:
                logger.warning("an imported line is passed over: %s", redact(error.message).text)
                taken.counts["skipped"] += 1
            if len(taken.memories) + len(taken.signals) >= BATCH:
                await self._keep(taken)
        await self._keep(taken)
        return taken.counts

    async def merge(self, lines: AsyncIterator[dict[str, Any]], *, name: str, project: str) -> dict[str, Any]:
        """Take over what a colleague exported of a project as the colleague's word. Raises InvalidInput for an export
        of several projects: one cannot tell which is meant."""
        owner = self._projects.find(project)[0].id
        said: list[Memory] = []
        async for line in lines:
            if line["type"] == "memory":
                said.append(without_secrets(memory_from_json(line["data"])))
        theirs = {memory.project for memory in said if memory.project is not None}
        if len(theirs) > 1:
            raise InvalidInput("the export is of several projects", hint="hunch export --project . writes one")
        told = [replace(memory, project=owner) if memory.project is not None else memory for memory in said]
        return {**await self._colleagues.take(told, name)}

    def _sort(self, line: dict[str, Any], taken: _Taken) -> None:
        match line["type"]:
            case "project":
                project = self._projects.add(line["data"]["path"], must_exist=False)
                taken.owners[line["data"]["id"]] = project.id
                taken.counts["projects"] += 1
            case "memory":
                memory = without_secrets(memory_from_json(line["data"]))
                taken.memories.append(_moved(memory, self._owner(memory.project, taken)))
            case "signal":
                signal, _ = redact_values(line["data"])
                taken.signals.append(signal | {"project": self._owner(signal["project"], taken)})
            case "meta":
                pass
            case _:
                taken.counts["skipped"] += 1

    def _owner(self, named: str | None, taken: _Taken) -> str | None:
        """The id here of the project that a line names. Raises NotFound: what belongs to nobody could not be stored,
        and what waits for the store for ever would keep everything behind it from being stored."""
        if named is None:
            return None
        return taken.owners.get(named) or self._projects.find(named)[0].id

    async def _keep(self, taken: _Taken) -> None:
        if taken.memories:
            await self._memories.keep(taken.memories)
        if taken.signals:
            await self._store.put_signals(taken.signals)
        taken.counts["memories"] += len(taken.memories)
        taken.counts["signals"] += len(taken.signals)
        taken.memories, taken.signals = [], []


def _moved(memory: Memory, owner: str | None) -> Memory:
    """The memory under the id that its project and its ref have here, so that it meets what is read again here."""
    if owner == memory.project:
        return memory
    identifier = memory_id(owner, memory.ref) if memory.ref is not None else memory.id
    return replace(memory, project=owner, id=identifier)
