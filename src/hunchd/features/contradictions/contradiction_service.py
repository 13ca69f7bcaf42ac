"""Service for reporting, listing and resolving contradictions.

It also finds statements similar to a memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from hunchd.consolidation.contradiction_records import (
    SETTLED_WITH,
    contradiction_answer,
    create_contradiction,
    needs_no_question,
    reopen_contradiction,
    resolve_group,
)
from hunchd.consolidation.contradictions.candidate_search import MAX_PER_MEMORY
from hunchd.consolidation.contradictions.statements import is_statement, sort_by_age
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.store_writer import StoreWriter
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.domain.errors import Conflict, NotFound
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.features.contradictions.contradiction_search import ContradictionSearch
from hunchd.ingestion.redaction import redact, redact_values
from hunchd.protocol.knowledge_answers import ContradictionAnswer, NearMemoriesAnswer
from hunchd.protocol.memories import memory_to_record
from hunchd.protocol.requests import ContradictionReport, ContradictionsRequest, ResolutionRequest
from hunchd.protocol.responses import PageAnswer, slice_page

REPORT_CONFIDENCE: Final = 0.9  # confidence of a client's report
DEFAULT_REASON: Final = "a client that knows both reports that they cannot both hold"


class ContradictionService:
    """Service that the HTTP routes for contradictions call."""

    def __init__(
        self,
        memories: MemoryService,
        projects: OpenProjects,
        writer: StoreWriter,
        contradiction_search: ContradictionSearch,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._memories = memories
        self._projects = projects
        self._writer = writer
        self._search = contradiction_search
        self._now = now

    async def find_similar(self, identifier: str, limit: int) -> NearMemoriesAnswer:
        """Return statements similar to a memory, nearest first.

        Only someone who understands both statements can judge whether they contradict each other.
        """
        memory = await self._memories.get(identifier, self._projects.ids)
        near, missing = await self._search.find_similar(memory, limit)
        return NearMemoriesAnswer(items=[memory_to_record(one) for one in near], degraded=[missing] if missing else [])

    async def open(self, request: ContradictionReport) -> tuple[ContradictionAnswer, bool]:
        """Store a contradiction that a client reports.

        The second value is True if the contradiction is new. A contradiction that is already open or was resolved
        before is returned unchanged. Raises Conflict or NotFound if the two memories cannot contradict each other.
        """
        async with self._memories.change_lock:
            one = await self._load_side(request.a, "a")
            other = await self._load_side(request.b, "b")
            if one.id == other.id:
                raise Conflict("'a' and 'b' are the same memory", field="b")
            if one.project != other.project:
                raise Conflict("'a' and 'b' belong to different projects, so both may be true", field="b")
            reason = redact(request.note).text or DEFAULT_REASON
            conflict = create_contradiction(
                *sort_by_age(one, other), self._now(), reason=reason, confidence=REPORT_CONFIDENCE
            )
            before = (await self._memories.find([conflict.id], conflict.project)).get(conflict.id)
            if before is not None and needs_no_question(before):
                return contradiction_answer(before), False
            await self._check_open_limit(one, other)
            await self._memories.store([conflict])
            return contradiction_answer(conflict), True

    async def _check_open_limit(self, *sides: Memory) -> None:
        """Raise Conflict if a memory already has MAX_PER_MEMORY open contradictions.

        Context bundles show open contradictions before everything else, and questions about one memory should not
        take up all that space.
        """
        about = await self._memories.list_conflicts_about({side.id for side in sides}, sides[0].project)
        open_counts = Counter(link["ref"] for one in about if one.status is Status.ACTIVE for link in one.links)
        for side in sides:
            if open_counts[side.id] >= MAX_PER_MEMORY:
                raise Conflict(
                    f"'{side.id}' already has {MAX_PER_MEMORY} open contradictions",
                    hint="resolve one of them first; `hunch contradictions` lists them",
                )

    async def _load_side(self, identifier: str, field: str) -> Memory:
        try:
            memory = await self._memories.get(identifier, self._projects.ids)
        except NotFound:
            raise NotFound(f"there is no memory '{identifier}'", field=field) from None
        if not is_statement(memory):
            raise Conflict(
                f"'{identifier}' is not a valid statement: its kind is {memory.kind}, its status {memory.status}",
                field=field,
                hint="only facts and reported episodes can contradict each other",
            )
        return memory

    async def list(self, request: ContradictionsRequest) -> PageAnswer[ContradictionAnswer]:
        """Return one page of the contradictions, newest first."""
        owners = [self._projects.find(request.project)[0].id] if request.project else [None, *self._projects.ids]
        await self._writer.wait_until_started()
        statuses = {"open": (Status.ACTIVE,), "resolved": (Status.SUPERSEDED,)}.get(request.status, ())
        conflicts: list[Memory] = []
        for owner in owners:
            conflicts += await self._list_conflicts(owner, *statuses)
        conflicts.sort(key=lambda one: (one.created, one.id), reverse=True)
        return slice_page(conflicts, contradiction_answer, offset=request.offset, limit=request.limit)

    async def resolve(self, identifier: str, request: ResolutionRequest) -> ContradictionAnswer:
        """Resolve a contradiction, superseding the memory that loses; `unresolve` undoes this."""
        async with self._memories.change_lock:
            conflict = await self._load_conflict(identifier)
            others = await self._list_conflicts(conflict.project, Status.ACTIVE) if request.group else []
            present = await self._load_concerned(conflict, *others)
            # The value is checked together with its key.
            [value] = redact_values({conflict.key or "": redact(request.value).text})[0].values()
            request = replace(request, note=redact(request.note).text, value=value)
            resolved_conflict, change = resolve_group(conflict, others, request, present, self._now())
            await self._memories.commit([change])
        return contradiction_answer(resolved_conflict)

    async def unresolve(self, identifier: str) -> ContradictionAnswer:
        """Undo the resolution of a contradiction, and of those that were settled with it.

        Raises Conflict if one of the memories has changed since the resolution.
        """
        async with self._memories.change_lock:
            conflict = await self._load_conflict(identifier)
            closed_conflicts = await self._list_conflicts(conflict.project, Status.SUPERSEDED)
            group = [conflict, *(one for one in closed_conflicts if one.source.get(SETTLED_WITH) == conflict.id)]
            present = await self._load_concerned(*group)
            reopenings = [reopen_contradiction(one, present, self._now()) for one in group]
            await self._memories.commit([change for _, change in reopenings])
        return contradiction_answer(reopenings[0][0])

    async def _list_conflicts(self, project: str | None, *statuses: Status) -> Sequence[Memory]:
        filters = Filters(project=project, kinds=(Kind.CONTRADICTION,), statuses=statuses)
        return await self._memories.list_all(filters)

    async def _load_conflict(self, identifier: str) -> Memory:
        conflict: Memory | None = None
        with suppress(NotFound):
            conflict = await self._memories.get(identifier, self._projects.ids)
        if conflict is None or conflict.kind is not Kind.CONTRADICTION:
            raise NotFound(f"'{identifier}' is not a contradiction", field="id", hint="GET /contradictions lists them")
        return conflict

    async def _load_concerned(self, *conflicts: Memory) -> dict[str, Memory]:
        """Return all versions of the memories that contradictions refer to, by id."""
        roots = {link["ref"].partition(".")[0] for conflict in conflicts for link in conflict.links}
        memories: dict[str, Memory] = {}
        for root in sorted(roots):
            memories |= {one.id: one for one in await self._memories.list_family(root, conflicts[0].project)}
        return memories
