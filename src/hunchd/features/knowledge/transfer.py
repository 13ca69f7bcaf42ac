"""Export and import of everything that is stored, as JSON lines."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from hunchd import __version__
from hunchd.core.memory.drafts import memory_id, redact_memory
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.core.state.apply_signal import load_errors
from hunchd.core.state.project import Project
from hunchd.domain.errors import Conflict, HunchError, InvalidInput, NotFound, StoreClosed
from hunchd.domain.facts import MemoryChange, get_valid_from, is_same_value, retire_version, slot_of
from hunchd.domain.filters import is_in_family
from hunchd.domain.json_values import JsonObject
from hunchd.domain.memory import CHUNK, Kind, Memory, Status
from hunchd.ingestion.redaction import redact, redact_values
from hunchd.protocol.export_integrity import build_closing_line, build_opening_line
from hunchd.protocol.exports import (
    MAX_LISTED_REJECTIONS,
    MEMORY_TYPES,
    ExportLine,
    ImportCounts,
    ImportLine,
    build_export_line,
    build_memory_line,
)
from hunchd.protocol.memories import memory_from_json
from hunchd.protocol.responses import Rejection, format_iso, make_rejection
from hunchd.store.memory_codec import memory_from_plain
from hunchd.store.port import MemoryStore

logger = logging.getLogger(__name__)

BATCH_SIZE = 256  # memories stored with one sync of the journal


@dataclass(slots=True)
class _ImportState:
    """State of an import in progress."""

    owners: dict[str, str] = field(default_factory=dict)  # project id in the export → local project id
    memories: list[tuple[int, Memory]] = field(default_factory=list)  # with their line numbers
    signals: list[JsonObject] = field(default_factory=list)
    projects: int = 0
    memory_count: int = 0
    signal_count: int = 0
    known: int = 0
    skipped: int = 0
    rejected: list[Rejection] = field(default_factory=list)

    def skip_line(self, line: int, error: HunchError) -> None:
        logger.warning("skipped line %d of an import: %s", line + 1, redact(error.message).text)
        self.skipped += 1
        if len(self.rejected) < MAX_LISTED_REJECTIONS:
            self.rejected.append(make_rejection(line, error))


class MemoryTransfer:
    """Service that exports and imports memories, projects and signals."""

    def __init__(
        self,
        projects: OpenProjects,
        memories: MemoryService,
        store: MemoryStore,
        writer: StoreWriter,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._projects = projects
        self._memories = memories
        self._store = store
        self._writer = writer
        self._now = now

    async def export(self, project: str | None) -> AsyncIterator[ExportLine]:
        """Yield the export lines of one project, or of everything.

        Everything is exported if `project` is None. The last line contains the number of lines.
        """
        await self._writer.drain()
        project_id = self._projects.find(project)[0].id if project else None
        count = 1
        yield build_opening_line({"product": "hunchd", "version": __version__, "at": format_iso(self._now())})
        for open_project in self._projects:
            if project_id in (None, open_project.id):
                count += 1
                yield build_export_line(
                    "project", {"id": open_project.id, "path": str(open_project.root), "name": open_project.name}
                )
        for owner in [project_id] if project_id else await self._store.list_owners():
            async for line in self._export_owner(owner):
                count += 1
                yield line
        yield build_closing_line(count)

    async def _export_owner(self, owner: str | None) -> AsyncIterator[ExportLine]:
        with suppress(StoreClosed):  # the project was erased in the meantime
            async for batch in self._store.stream_memories(owner):
                for memory in batch.memories:
                    yield build_memory_line(memory_from_plain(memory))
            async for signal in self._store.stream_signals(owner):
                yield build_export_line("signal", dict(signal))

    async def import_lines(self, lines: AsyncIterator[ImportLine]) -> ImportCounts:
        """Import exported lines and return counts.

        A line whose content is already stored changes nothing. If the local version of a memory is newer, the local
        version is kept.
        """
        state = _ImportState()
        async for line in lines:
            try:
                self._sort_line(line, state)
            except (InvalidInput, NotFound) as error:  # invalid folder, or unknown project
                state.skip_line(line.number, error)
            if len(state.memories) + len(state.signals) >= BATCH_SIZE:
                await self._store_batch(state)
        await self._store_batch(state)
        return ImportCounts(
            projects=state.projects,
            memories=state.memory_count,
            signals=state.signal_count,
            known=state.known,
            skipped=state.skipped,
            rejected=state.rejected,
        )

    def _sort_line(self, line: ImportLine, state: _ImportState) -> None:
        match line.type:
            case "project":
                there = line.data["id"]
                identifier = None if self._writer.is_removed(there) else there
                project = self._projects.add(line.data["path"], must_exist=False, identifier=identifier)
                state.owners[there] = project.id
                state.projects += 1
            case type_ if type_ in MEMORY_TYPES:
                memory = redact_memory(memory_from_json(line.data))
                state.memories.append((line.number, _move_to_owner(memory, self._resolve_owner(memory.project, state))))
            case "signal":
                signal, _ = redact_values(line.data)
                state.signals.append(signal | {"project": self._resolve_owner(signal["project"], state)})
            case "meta":
                pass
            case _:
                state.skipped += 1

    def _resolve_owner(self, name: str | None, state: _ImportState) -> str | None:
        """Return the local id of the project that a line names.

        Returns None for the user. Raises NotFound for an unknown project: its records could not be stored, and
        would block all later records.
        """
        if name is None:
            return None
        return state.owners.get(name) or self._projects.find(name)[0].id

    async def _store_batch(self, state: _ImportState) -> None:
        async with self._memories.change_lock:
            memories_by_owner = await self._group_by_owner(state)
            news = [
                change
                for owner in memories_by_owner
                for change in await self._find_changes(memories_by_owner[owner], owner)
            ]
            changes = [change for change in news if not self._is_removed(change.project)]
            await self._memories.commit(changes)
        self._load_errors(changes)
        signals = [signal for signal in state.signals if not self._is_removed(signal["project"])]
        added_count = await self._store.put_signals(signals) if signals else 0
        state.memory_count += len(changes)
        state.known += sum(map(len, memories_by_owner.values())) - len(news) + len(signals) - added_count
        state.signal_count += added_count
        state.skipped += len(news) - len(changes) + len(state.signals) - len(signals)
        state.memories, state.signals = [], []

    def _load_errors(self, changes: Sequence[MemoryChange]) -> None:
        """Load imported errors into their projects, as is done after a restart."""
        for change in changes:
            if (project := self._projects.find_by_id(change.project)) is not None:
                load_errors(project, change.memories)
                project.bump_revision()

    def _is_removed(self, project: str | None) -> bool:
        """Return True if the project was removed in the meantime.

        Lines that belong to other projects are still imported.
        """
        return project is not None and self._writer.is_removed(project)

    async def _group_by_owner(self, state: _ImportState) -> dict[str | None, list[Memory]]:
        """Return the memories to import, keyed by the id of their project.

        A memory is rejected if its id belongs to a different project on this machine, because ids are unique.
        """
        owner_of: dict[str, str | None] = {}
        ids = list(dict.fromkeys(memory.id for _, memory in state.memories))
        for owner in (None, *self._projects.ids):
            owner_of |= {name: one.project for name, one in (await self._memories.find(ids, owner)).items()}
        memories_by_owner: dict[str | None, list[Memory]] = {}
        for line, memory in state.memories:
            owner = owner_of.setdefault(memory.id, memory.project)
            if owner == memory.project:
                memories_by_owner.setdefault(owner, []).append(memory)
            else:
                state.skip_line(line, _build_id_conflict(memory, self._projects.find_by_id(owner)))
        return memories_by_owner

    async def _find_changes(self, imported_memories: Sequence[Memory], owner: str | None) -> list[MemoryChange]:
        """Return the changes that importing the memories of one owner requires.

        A memory whose local version is as new or newer requires no change. A value that is replaced is kept as a
        version.
        """
        ids = [name for memory in imported_memories for name in (memory.id, memory.id.partition(".")[0])]
        existing = await self._memories.find(list(dict.fromkeys(ids)), owner)
        here = {name: one for name, one in existing.items() if one.project == owner}
        changes: dict[str, MemoryChange] = {}
        for memory in sorted(imported_memories, key=lambda one: one.updated):
            local_memory = here.get(memory.id)
            page = here.get(memory.id.partition(".")[0]) if memory.category == CHUNK else None
            if (page is not None and page.updated > memory.updated) or memory == local_memory:
                continue
            if local_memory is None or local_memory.updated < memory.updated:
                outdated_ids = await self._list_outdated_chunks(memory) if local_memory is not None else ()
                old_versions = _retire_older(local_memory, memory, self._now()) if local_memory is not None else ()
                changes[memory.id] = MemoryChange((*old_versions, memory), outdated_ids, owner)
                here[memory.id] = memory
                continue
            for old_version in _retire_older(memory, local_memory, self._now()):
                if not await self._memories.find([old_version.id], owner):
                    changes[old_version.id] = MemoryChange((old_version,), project=owner)
        return list(changes.values())

    async def _list_outdated_chunks(self, page: Memory) -> tuple[str, ...]:
        """Return the ids of chunks from an older text of a document.

        Returns an empty tuple if the memory is not a document.
        """
        if page.kind is not Kind.DOCUMENT or "." in page.id:
            return ()
        family = await self._memories.list_family(page.id, page.project)
        return tuple(one.id for one in family if one.category == CHUNK and one.updated < page.updated)


def _build_id_conflict(memory: Memory, owner: Project | None) -> Conflict:
    whose = f"in {owner.root}" if owner is not None else "that belongs to the user"
    return Conflict(
        f"'{memory.id}' is already the id of a memory {whose}",
        field="data.id",
        hint="ids are unique: assign a different id, or omit this memory",
    )


def _move_to_owner(memory: Memory, owner: str | None) -> Memory:
    """Return the memory with the id that it has in this installation.

    If the same fact has been read here as well, the two then have the same id. References to the memory's versions
    are changed accordingly.
    """
    there, dot, version = memory.id.partition(".")
    moved_memory = replace(memory, project=owner)
    here = slot_of(moved_memory)
    if here is None:
        here = memory_id(owner, memory.ref) if memory.ref is not None and owner != memory.project else there

    def replace_id(identifier: str | None) -> str | None:
        if identifier is None or not is_in_family(identifier, there):
            return identifier
        return here + identifier[len(there) :]

    return replace(
        moved_memory,
        id=f"{here}{dot}{version}",
        supersedes=replace_id(memory.supersedes),
        superseded_by=replace_id(memory.superseded_by),
    )


def _retire_older(older: Memory, newer: Memory, now: datetime) -> tuple[Memory, ...]:
    """Return the older of two values as a version.

    Returns an empty tuple if the values are the same, or if the older memory is not the current value of a key.
    """
    if slot_of(older) is None or "." in older.id or older.status is not Status.ACTIVE or is_same_value(older, newer):
        return ()
    return (retire_version(older, max(get_valid_from(older), get_valid_from(newer)), now),)
