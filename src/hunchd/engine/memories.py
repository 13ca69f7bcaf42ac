"""What is kept on request: added, found, changed, forgotten. Accepted means durable; searchable at once."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from datetime import datetime
from typing import Any

from hunchd.domain.errors import NotFound
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Artifact, Kind, Levels, Memory, Status, Usage
from hunchd.engine.writing import Write, Writer
from hunchd.ingestion.redaction import redact, redact_values, redacted_name
from hunchd.protocol.memories import MemoryDraft, memory_json, title_of
from hunchd.protocol.requests import FeedbackItem
from hunchd.store.client import StoreClient
from hunchd.store.hot import HotTier
from hunchd.store.journal import Journal, Record

logger = logging.getLogger(__name__)

WARM = 2_000  # memories of a project that are brought into memory at the start


class Memories:
    def __init__(
        self, journal: Journal, hot: HotTier, store: StoreClient, writer: Writer, *, now: Callable[[], datetime]
    ) -> None:
        self._journal = journal
        self._hot = hot
        self._store = store
        self._writer = writer
        self._now = now
        self._changing = asyncio.Lock()  # one change of a memory at a time: read, change, write

    async def remember(self, drafts: Sequence[MemoryDraft], projects: Sequence[str | None]) -> list[Memory]:
        """Keep `drafts`, each for its project id; the same ref in a project is the same memory."""
        await self._writer.begun()
        async with self._changing:
            now = self._now()
            memories = []
            for draft, project in zip(drafts, projects, strict=True):
                memory = memory_of(draft, project, now)
                known = await self._known(memory.id, project) if draft.ref is not None else None
                memories.append(memory if known is None else _renewed(known, memory))
            await self.keep(memories)
            return memories

    async def keep(self, memories: Sequence[Memory]) -> None:
        """Make `memories` durable as they are, and searchable."""
        records = [
            Record(id=secrets.token_hex(8), type="memory", project=memory.project, data=memory_json(memory), at=0.0)
            for memory in memories
        ]

        def queue(sequences: list[int]) -> None:
            for sequence, memory in zip(sequences, memories, strict=True):
                self._hot.upsert(memory)
                self._writer.add(Write(sequence, memories=(memory,)))

        await self._writer.accept(records, queue)

    async def get(self, identifier: str, projects: Sequence[str]) -> Memory:
        """The memory of that id, wherever it is kept. Raises NotFound."""
        await self._writer.begun()
        if self._hot.is_tombstoned(identifier):
            raise NotFound(f"there is no memory '{identifier}'")
        if (memory := self._hot.get(identifier)) is not None:
            return memory
        for project in (None, *projects):
            if found := await self._store.get([identifier], project):
                return found[0]
        raise NotFound(f"there is no memory '{identifier}'")

    async def edit(self, identifier: str, patch: dict[str, Any], projects: Sequence[str]) -> Memory:
        """Change the named fields; the text is redacted like a new one."""
        async with self._changing:
            memory, now = await self.get(identifier, projects), self._now()
            earlier = _retired(memory, now)
            changed = without_secrets(replace(memory, **patch, supersedes=earlier.id, updated=now))
            await self.keep([earlier, changed])
            return changed

    async def history(self, identifier: str, projects: Sequence[str]) -> list[Memory]:
        """The memory and what it said before, newest first."""
        versions = [await self.get(identifier, projects)]
        seen = {identifier}
        while (earlier := versions[-1].supersedes) is not None and earlier not in seen:
            seen.add(earlier)
            try:
                versions.append(await self.get(earlier, projects))
            except NotFound:  # forgotten since
                break
        return versions

    async def forget(self, identifier: str, projects: Sequence[str]) -> tuple[Memory, int]:
        """Remove a memory from answers at once, and its bytes from disk as soon as the store has done so. What it was,
        and the number under which the journal knows that it is to go."""
        async with self._changing:
            versions = await self.history(identifier, projects)
            gone = [version for version in versions if version.id.startswith(identifier)]
            records = [
                Record(id=secrets.token_hex(8), type="forget", project=one.project, data={"id": one.id}, at=0.0)
                for one in gone
            ]

            last = 0

            def queue(sequences: list[int]) -> None:
                nonlocal last
                last = sequences[-1]
                for sequence, one in zip(sequences, gone, strict=True):
                    self._hot.tombstone(one.id)
                    self._writer.add(Write(sequence, deletions=((one.project, one.id),)))

            await self._writer.accept(records, queue)
            return versions[0], last

    async def erased(self, memory: Memory, sequence: int) -> None:
        """Return when no file of ours holds the memory, or what it said before, any more. One that was accepted under
        its id after `sequence` is another, and stays."""
        await self._writer.drained()
        await self._journal.rewrite(
            lambda record: record.type == "memory" and str(record.data.get("id")).startswith(memory.id), up_to=sequence
        )
        await self._store.purge(memory.project)

    async def used(self, items: Sequence[FeedbackItem], projects: Sequence[str]) -> list[str]:
        """Count what was cited or ignored; returns the ids that are not memories."""
        unknown: list[str] = []
        changed: list[Memory] = []
        async with self._changing:
            for item in items:
                try:
                    memory = await self.get(item.id, projects)
                except NotFound:
                    unknown.append(item.id)
                    continue
                changed.append(replace(memory, usage=_counted(memory.usage, item.outcome)))
            if changed:
                await self.keep(changed)
        return unknown

    async def _known(self, identifier: str, project: str | None) -> Memory | None:
        if (memory := self._hot.get(identifier)) is not None or self._hot.is_tombstoned(identifier):
            return memory
        found = await self._store.get([identifier], project)
        return found[0] if found else None

    async def warm(self, project: str | None) -> list[Memory]:
        """Bring what answers need at once (facts, errors, documents; the newest) into memory, and return it."""
        filters = Filters(project=project, kinds=(Kind.FACT, Kind.ERROR, Kind.DOCUMENT))
        page = await self._store.list(filters, WARM)
        for memory in reversed(page.items):
            if self._hot.get(memory.id) is None and not self._hot.is_tombstoned(memory.id):
                self._hot.upsert(memory)
                self._hot.committed([memory])
        return list(page.items)


def memory_of(draft: MemoryDraft, project: str | None, now: datetime) -> Memory:
    """A draft with its id and without its secrets. Pure but for the random id of a draft without a ref."""
    identifier = memory_id(project, draft.ref) if draft.ref is not None else "m" + secrets.token_hex(10)
    # A title that is the beginning of the content may end in half a secret, which nobody would recognise.
    cut_from_content = draft.title == title_of(draft.content)
    told = Memory(
        id=identifier,
        kind=draft.kind,
        title=title_of(redact(draft.content).text) if cut_from_content else draft.title,
        content=draft.content,
        at=draft.at or now,
        created=now,
        updated=now,
        project=project,
        ref=draft.ref,
        levels=draft.levels,
        category=draft.category,
        key=draft.key,
        value=draft.value,
        scope=draft.scope,
        branch=draft.branch,
        confidence=draft.confidence,
        importance=draft.importance,
        tags=draft.tags,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        supersedes=draft.supersedes,
        links=draft.links,
        artifacts=draft.artifacts,
        trust=draft.trust,
        source=dict(draft.source) or {"type": "client"},
    )
    return without_secrets(told)


def without_secrets(memory: Memory) -> Memory:
    """The memory as it may be kept. Its id stays: it is ours, or made of a ref by a way that does not lead back."""
    stated, _ = redact_values({memory.key or "": memory.value})  # a value is judged by the key it is kept under
    [(key, value)] = stated.items()
    return replace(
        memory,
        title=redact(memory.title).text,
        content=redact(memory.content).text,
        levels=Levels(*(redact(text).text for text in astuple(memory.levels))),
        key=key if memory.key is not None else None,
        value=value,
        tags=tuple(dict.fromkeys(map(redacted_name, memory.tags))),
        artifacts=tuple(Artifact(one.type, redacted_name(one.ref)) for one in memory.artifacts),
        links=tuple(redact_values(dict(link))[0] for link in memory.links),
        source=redact_values(dict(memory.source))[0],
        ref=redacted_name(memory.ref) if memory.ref is not None else None,
        category=redacted_name(memory.category) if memory.category is not None else None,
        branch=redacted_name(memory.branch) if memory.branch is not None else None,
    )


def _retired(memory: Memory, now: datetime) -> Memory:
    """What a memory said until `now`, kept under an id of its own beside the changed one."""
    number = 1 + int((memory.supersedes or ".0").rpartition(".")[2]) if _is_earlier(memory) else 1
    return replace(
        memory,
        id=f"{memory.id}.{number}",
        ref=None,
        status=Status.SUPERSEDED,
        superseded_by=memory.id,
        valid_to=now,
        updated=now,
    )


def _is_earlier(memory: Memory) -> bool:
    """Whether what `memory` supersedes is a version of itself."""
    return memory.supersedes is not None and memory.supersedes.startswith(f"{memory.id}.")


def memory_id(project: str | None, ref: str) -> str:
    """The id that a caller's own key has in a project: the same request is the same memory."""
    return "m" + hashlib.blake2b(f"{project or ''}:{ref}".encode(), digest_size=10).hexdigest()


def _renewed(known: Memory, memory: Memory) -> Memory:
    """`memory` sent again: unchanged it stays as it is, changed it keeps its past."""
    renewed = replace(memory, created=known.created, at=memory.at if memory.at != memory.created else known.at)
    renewed = replace(renewed, usage=known.usage, updated=known.updated, status=known.status)
    renewed = replace(renewed, supersedes=memory.supersedes or known.supersedes)
    return known if renewed == known else replace(renewed, updated=memory.updated)


def _counted(usage: Usage, outcome: str) -> Usage:
    match outcome:
        case "cited":
            return replace(usage, cited=usage.cited + 1)
        case "ignored" | "wrong":
            return replace(usage, ignored=usage.ignored + 1)
        case _:
            return replace(usage, retrieved=usage.retrieved + 1)
