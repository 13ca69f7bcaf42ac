"""Contradictions as API: similar statements, open, list, resolve, unresolve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from hunchd.consolidation.conflicts import conflict_json, conflict_of, is_asked_or_answered, reopened, settled
from hunchd.consolidation.contradictions.scanning import MOST_OF_ONE, in_order, states
from hunchd.domain.errors import Conflict, NotFound
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.writing import Writer
from hunchd.engine.learning.contradicting import Contradicting
from hunchd.engine.learning.projects import Projects
from hunchd.ingestion.redaction import redact, redact_values
from hunchd.protocol.answers import part_json
from hunchd.protocol.memories import memory_json
from hunchd.protocol.requests import ConflictsRequest, OpposeRequest, Resolution

TOLD: Final = 0.9  # confidence of a client's report
REASON: Final = "who knows both says that they cannot both hold"


class Contradictions:
    """Service that the contradiction routes call."""

    def __init__(
        self,
        memories: Memories,
        projects: Projects,
        writer: Writer,
        contradicting: Contradicting,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._memories = memories
        self._projects = projects
        self._writer = writer
        self._contradicting = contradicting
        self._now = now

    async def near(self, identifier: str, most: int) -> dict[str, Any]:
        """Return statements similar to a memory, nearest first.

        Only somebody who understands both can tell whether they hold together.
        """
        memory = await self._memories.get(identifier, self._projects.ids)
        near, missing = await self._contradicting.near(memory, most)
        return {"items": [memory_json(one) for one in near], "degraded": [missing] if missing else []}

    async def open(self, asked: OpposeRequest) -> tuple[dict[str, Any], bool]:
        """Store a contradiction that a client reports.

        The second value is True if it is new. One that was open or answered before stays as it is.
        """
        async with self._memories.changing:
            one = await self._side(asked.a, "a")
            other = await self._side(asked.b, "b")
            if one.id == other.id:
                raise Conflict("'a' and 'b' are the same memory", field="b")
            if one.project != other.project:
                raise Conflict("'a' and 'b' belong to different projects, so both may be true", field="b")
            reason = redact(asked.note).text or REASON
            conflict = conflict_of(*in_order(one, other), self._now(), reason=reason, confidence=TOLD)
            before = (await self._memories.known([conflict.id], conflict.project)).get(conflict.id)
            if before is not None and is_asked_or_answered(before):
                return conflict_json(before), False
            await self._refuse_more(one, other)
            await self._memories.keep([conflict])
            return conflict_json(conflict), True

    async def _refuse_more(self, *sides: Memory) -> None:
        """Reject more than MOST_OF_ONE open contradictions of one memory.

        Open ones come before everything else in bundles; nobody should fill that place with questions about one thing.
        """
        about = await self._memories.conflicts_about({side.id for side in sides}, sides[0].project)
        named = Counter(link["ref"] for one in about if one.status is Status.ACTIVE for link in one.links)
        for side in sides:
            if named[side.id] >= MOST_OF_ONE:
                raise Conflict(
                    f"'{side.id}' is in {MOST_OF_ONE} open contradictions already",
                    hint="resolve one of them first: hunch contradictions",
                )

    async def _side(self, identifier: str, field: str) -> Memory:
        try:
            memory = await self._memories.get(identifier, self._projects.ids)
        except NotFound:
            raise NotFound(f"there is no memory '{identifier}'", field=field) from None
        if not states(memory):
            raise Conflict(
                f"'{identifier}' makes no valid statement: it is a {memory.kind}, {memory.status}",
                field=field,
                hint="only facts and reported episodes can contradict each other",
            )
        return memory

    async def list(self, request: ConflictsRequest) -> dict[str, Any]:
        """Return a page of the contradictions, newest first."""
        owners = [self._projects.find(request.project)[0].id] if request.project else [None, *self._projects.ids]
        await self._writer.begun()
        statuses = {"open": (Status.ACTIVE,), "resolved": (Status.SUPERSEDED,)}.get(request.status, ())
        found: list[Memory] = []
        for owner in owners:
            filters = Filters(project=owner, kinds=(Kind.CONTRADICTION,), statuses=statuses)
            found += await self._memories.all_of(filters)
        found.sort(key=lambda one: (one.created, one.id), reverse=True)
        return part_json(found, conflict_json, offset=request.offset, limit=request.limit)

    async def resolve(self, identifier: str, asked: Resolution) -> dict[str, Any]:
        """Resolve a contradiction; the losing side ends. `unresolve` undoes it."""
        async with self._memories.changing:
            conflict = await self._conflict(identifier)
            present = await self._concerned(conflict)
            # The value is checked together with its key.
            [value] = redact_values({conflict.key or "": redact(asked.value).text})[0].values()
            asked = replace(asked, note=redact(asked.note).text, value=value)
            closed, change = settled(conflict, asked, present, self._now())
            await self._memories.commit([change])
        return conflict_json(closed)

    async def unresolve(self, identifier: str) -> dict[str, Any]:
        """Undo a resolution. Raises Conflict if the memories concerned changed since."""
        async with self._memories.changing:
            conflict = await self._conflict(identifier)
            opened, change = reopened(conflict, await self._concerned(conflict), self._now())
            await self._memories.commit([change])
        return conflict_json(opened)

    async def _conflict(self, identifier: str) -> Memory:
        conflict: Memory | None = None
        with suppress(NotFound):
            conflict = await self._memories.get(identifier, self._projects.ids)
        if conflict is None or conflict.kind is not Kind.CONTRADICTION:
            raise NotFound(f"'{identifier}' is no contradiction", field="id", hint="GET /contradictions lists them")
        return conflict

    async def _concerned(self, conflict: Memory) -> dict[str, Memory]:
        """Return the current memories that a contradiction refers to, versions included."""
        roots = {link["ref"].partition(".")[0] for link in conflict.links}
        found: dict[str, Memory] = {}
        for root in sorted(roots):
            found |= {one.id: one for one in await self._memories.family(root, conflict.project)}
        return found
