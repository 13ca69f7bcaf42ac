"""Export and import of everything stored, as JSON lines."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hunchd import __version__
from hunchd.domain.errors import Conflict, HunchError, InvalidInput, NotFound
from hunchd.domain.facts import Change, place_of, retired, same_value, since
from hunchd.domain.filters import of_family
from hunchd.domain.memory import CHUNK, Kind, Memory, Status
from hunchd.engine.keeping.drafts import memory_id, without_secrets
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.knowledge.colleagues import Colleagues
from hunchd.engine.learning.projects import Projects
from hunchd.engine.state.absorbing import recall_errors
from hunchd.engine.state.project import Project
from hunchd.ingestion.redaction import redact, redact_values
from hunchd.protocol.answers import MEMORY_TYPES, NAMED_REJECTIONS, export_line, iso, rejection_json
from hunchd.protocol.memories import memory_from_json
from hunchd.protocol.wholeness import closing_line, opening_line
from hunchd.store.client import StoreClient

logger = logging.getLogger(__name__)

BATCH = 256  # memories for one journal sync
_COUNTED = ("projects", "memories", "signals", "known", "skipped")


@dataclass(slots=True)
class _Taken:
    """State of an import in progress."""

    owners: dict[str, str] = field(default_factory=dict)  # project id in the export → local project id
    memories: list[tuple[int, Memory]] = field(default_factory=list)  # with their line numbers
    signals: list[dict[str, Any]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    rejected: list[dict[str, Any]] = field(default_factory=list)

    def pass_over(self, line: int, error: HunchError) -> None:
        logger.warning("line %d of an import is skipped: %s", line + 1, redact(error.message).text)
        self.counts["skipped"] += 1
        if len(self.rejected) < NAMED_REJECTIONS:
            self.rejected.append(rejection_json(line, error))


class Transfer:
    """Service that exports and imports memories."""

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
        """Yield the lines of one project, or of everything.

        The last line holds their count.
        """
        await self._writer.drained()
        wanted = self._projects.find(project)[0].id if project else None
        count = 1
        yield opening_line({"product": "hunchd", "version": __version__, "at": iso(self._now())})
        for known in self._projects:
            if wanted in (None, known.id):
                count += 1
                yield export_line("project", {"id": known.id, "path": str(known.root), "name": known.name})
        async for line in self._store.export(wanted):
            count += 1
            yield line
        yield closing_line(count)

    async def take(self, lines: AsyncIterator[dict[str, Any]]) -> dict[str, Any]:
        """Import exported lines; known ones change nothing, and newer ones here stay."""
        taken = _Taken()
        async for line in lines:
            try:
                self._sort(line, taken)
            except (InvalidInput, NotFound) as error:  # invalid folder, or unknown project
                taken.pass_over(line["line"], error)
            if len(taken.memories) + len(taken.signals) >= BATCH:
                await self._keep(taken)
        await self._keep(taken)
        return {**taken.counts, "rejected": taken.rejected}

    async def merge(self, lines: AsyncIterator[dict[str, Any]], *, name: str, project: str) -> dict[str, Any]:
        """Import a colleague's export of a project as the colleague's word.

        Raises InvalidInput for an export of several projects, as it is unclear which one is meant.
        """
        owner = self._projects.find(project)[0].id
        said: list[Memory] = []
        async for line in lines:
            if line["type"] in MEMORY_TYPES:
                said.append(without_secrets(memory_from_json(line["data"])))
        theirs = {memory.project for memory in said if memory.project is not None}
        if len(theirs) > 1:
            raise InvalidInput("the export contains several projects", hint="hunch export --project . writes one")
        told = [replace(memory, project=owner) if memory.project is not None else memory for memory in said]
        return {**await self._colleagues.take(told, name)}

    def _sort(self, line: dict[str, Any], taken: _Taken) -> None:
        match line["type"]:
            case "project":
                there = line["data"]["id"]
                identifier = None if self._writer.has_left(there) else there
                project = self._projects.add(line["data"]["path"], must_exist=False, identifier=identifier)
                taken.owners[there] = project.id
                taken.counts["projects"] += 1
            case type_ if type_ in MEMORY_TYPES:
                memory = without_secrets(memory_from_json(line["data"]))
                taken.memories.append((line["line"], _moved(memory, self._owner(memory.project, taken))))
            case "signal":
                signal, _ = redact_values(line["data"])
                taken.signals.append(signal | {"project": self._owner(signal["project"], taken)})
            case "meta":
                pass
            case _:
                taken.counts["skipped"] += 1

    def _owner(self, named: str | None, taken: _Taken) -> str | None:
        """Return the local id of the project that a line names.

        Raises NotFound: a record of an unknown project could not be stored, and would block all records behind it.
        """
        if named is None:
            return None
        return taken.owners.get(named) or self._projects.find(named)[0].id

    async def _keep(self, taken: _Taken) -> None:
        async with self._memories.changing:
            told = await self._own(taken)
            news = [change for owner in told for change in await self._news(told[owner], owner)]
            changes = [change for change in news if not self._has_left(change.project)]
            await self._memories.commit(changes)
        self._recall(changes)
        signals = [signal for signal in taken.signals if not self._has_left(signal["project"])]
        added = await self._store.put_signals(signals) if signals else 0
        taken.counts["memories"] += len(changes)
        taken.counts["known"] += sum(map(len, told.values())) - len(news) + len(signals) - added
        taken.counts["signals"] += added
        taken.counts["skipped"] += len(news) - len(changes) + len(taken.signals) - len(signals)
        taken.memories, taken.signals = [], []

    def _recall(self, changes: Sequence[Change]) -> None:
        """Load imported errors into their projects, as after a restart."""
        for change in changes:
            if (project := self._projects.known(change.project)) is not None:
                recall_errors(project, change.memories)
                project.touch()

    def _has_left(self, project: str | None) -> bool:
        """Return True if the project was removed meanwhile.

        Lines of others are imported all the same.
        """
        return project is not None and self._writer.has_left(project)

    async def _own(self, taken: _Taken) -> dict[str | None, list[Memory]]:
        """Return the memories to import, by project.

        Those whose id belongs to another project here are rejected, as an id stands for one memory.
        """
        owner_of: dict[str, str | None] = {}
        ids = list(dict.fromkeys(memory.id for _, memory in taken.memories))
        for owner in (None, *self._projects.ids):
            owner_of |= {name: one.project for name, one in (await self._memories.known(ids, owner)).items()}
        told: dict[str | None, list[Memory]] = {}
        for line, memory in taken.memories:
            owner = owner_of.setdefault(memory.id, memory.project)
            if owner == memory.project:
                told.setdefault(owner, []).append(memory)
            else:
                taken.pass_over(line, _elsewhere(memory, self._projects.known(owner)))
        return told

    async def _news(self, told: Sequence[Memory], owner: str | None) -> list[Change]:
        """Return the changes that imported memories of one project cause.

        Nothing where the local memory is as new. A value that is replaced is kept as a version.
        """
        ids = [name for memory in told for name in (memory.id, memory.id.partition(".")[0])]
        found = await self._memories.known(list(dict.fromkeys(ids)), owner)
        here = {name: one for name, one in found.items() if one.project == owner}
        changes: dict[str, Change] = {}
        for memory in sorted(told, key=lambda one: one.updated):
            known = here.get(memory.id)
            page = here.get(memory.id.partition(".")[0]) if memory.category == CHUNK else None
            if (page is not None and page.updated > memory.updated) or memory == known:
                continue
            if known is None or known.updated < memory.updated:
                gone = await self._outdated(memory) if known is not None else ()
                aside = _aside(known, memory, self._now()) if known is not None else ()
                changes[memory.id] = Change((*aside, memory), gone, owner)
                here[memory.id] = memory
                continue
            for lost in _aside(memory, known, self._now()):
                if not await self._memories.known([lost.id], owner):
                    changes[lost.id] = Change((lost,), project=owner)
        return list(changes.values())

    async def _outdated(self, page: Memory) -> tuple[str, ...]:
        """Return the ids of the chunks of an older text of a document."""
        if page.kind is not Kind.DOCUMENT or "." in page.id:
            return ()
        family = await self._memories.family(page.id, page.project)
        return tuple(one.id for one in family if one.category == CHUNK and one.updated < page.updated)


def _elsewhere(memory: Memory, owner: Project | None) -> Conflict:
    whose = f"of {owner.root}" if owner is not None else "of the user's own"
    return Conflict(
        f"'{memory.id}' is the id of a memory {whose} already",
        field="data.id",
        hint="an id belongs to one memory: assign another one, or omit this memory",
    )


def _moved(memory: Memory, owner: str | None) -> Memory:
    """Return the memory under its local id.

    So that it meets what is read again here. Its versions move with it.
    """
    there, dot, version = memory.id.partition(".")
    moved = replace(memory, project=owner)
    here = place_of(moved)
    if here is None:
        here = memory_id(owner, memory.ref) if memory.ref is not None and owner != memory.project else there

    def named(identifier: str | None) -> str | None:
        if identifier is None or not of_family(identifier, there):
            return identifier
        return here + identifier[len(there) :]

    return replace(
        moved,
        id=f"{here}{dot}{version}",
        supersedes=named(memory.supersedes),
        superseded_by=named(memory.superseded_by),
    )


def _aside(older: Memory, newer: Memory, now: datetime) -> tuple[Memory, ...]:
    """Return the older value as a version.

    Empty if it is the same or has no slot.
    """
    if place_of(older) is None or "." in older.id or older.status is not Status.ACTIVE or same_value(older, newer):
        return ()
    return (retired(older, max(since(older), since(newer)), now),)
