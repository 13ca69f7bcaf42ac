"""Knowledge API: store, look up, edit, undo and erase memories.

Facts over time.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from hunchd.consolidation.aging import restored
from hunchd.domain.errors import Conflict, NotFound
from hunchd.domain.facts import CATEGORIES, Ruling, Verdict, chain, holding, place_id, same_value, since
from hunchd.domain.memory import Kind, Memory, Scope, Status
from hunchd.engine.keeping.filing import reread
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.keeping.session_log import head_of_memory, message_of_memory
from hunchd.engine.knowledge.admitting import Admitting
from hunchd.engine.knowledge.documents import Documents
from hunchd.engine.knowledge.sharing import Sharing
from hunchd.engine.learning.projects import Projects
from hunchd.ingestion.redaction import taken_out
from hunchd.protocol.answers import iso, rejection_json
from hunchd.protocol.memories import MemoryDraft, memory_json
from hunchd.protocol.requests import FactRequest, SearchRequest, ShareRequest
from hunchd.text.words import terms

MOST_MEANT: Final = 3  # facts whose history answers a question about a change
_WHEN: Final = re.compile(
    r"\bwhen\b.*\b(?:chang|switch|mov|replac|renam|start|stop|beg[ai]n|adopt|drop|migrat|becom|us(?:e|ing))"
    r"|\bwhat (?:was|were|did)\b.*\b(?:before|previously|earlier|used to)\b|\bsince when\b",
    re.IGNORECASE,
)


class Knowledge:
    """Service that the memory and fact routes call."""

    def __init__(
        self,
        memories: Memories,
        projects: Projects,
        unresolve: Callable[[str], Awaitable[object]],
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._memories = memories
        self._projects = projects
        self._now = now
        self.documents = Documents(memories, projects, now=now)
        self._unresolve = unresolve  # takes back the resolution of a contradiction
        self._sharing = Sharing(memories, projects)
        self._admitting = Admitting(memories, projects)

    # Memories

    async def file(self, drafts: Sequence[MemoryDraft], owners: Sequence[str | None]) -> dict[str, Any]:
        """Store `drafts`; return their ids and how each was understood.

        Rejected drafts are reported with their number in the batch. If all are rejected, the first error is raised.
        """
        admitted, refused = await self._admitting.of(list(zip(drafts, owners, strict=True)))
        if refused and not admitted:
            raise refused[0][1]
        told = [draft for draft, _ in admitted]
        rulings = await self._memories.file(told, [owner for _, owner in admitted])
        rejected = [rejection_json(number, error) for number, error in refused]
        return {
            "ids": [one.memory.id for one in rulings],
            "understood": [_understood(one, draft) for one, draft in zip(rulings, told, strict=True)],
            **({"rejected": rejected} if rejected else {}),
        }

    async def edit(self, identifier: str, patch: dict[str, Any]) -> Memory:
        """Change some fields; a changed text is parsed again.

        Raises Conflict for parts of a session's log.
        """
        memory = await self._memories.get(identifier, self._projects.ids)
        if message_of_memory(memory) is not None or head_of_memory(memory) is not None:
            raise Conflict(
                f"'{identifier}' is part of a session's log, which cannot be changed",
                hint=f"hunch forget {identifier}, or hunch sessions delete {memory.source['session']}",
            )
        if memory.kind is Kind.DOCUMENT and memory.category == "document" and "content" in patch:
            return await self.documents.rewrite(memory, patch)
        return await self._memories.edit(identifier, reread(memory, patch), self._projects.ids)

    async def undo(self, identifier: str) -> Memory:
        """Undo the last change of a memory or document.

        For a contradiction, undoes its resolution.
        """
        memory = await self._memories.get(identifier, self._projects.ids)
        if restored(memory) is not None:  # archived because it was not used
            return await self._bring_back(identifier)
        if memory.kind is Kind.CONTRADICTION:
            await self._unresolve(identifier)
            return await self._memories.get(identifier, self._projects.ids)
        if memory.kind is Kind.DOCUMENT and memory.category == "document":
            return await self.documents.undo(memory)
        return await self._memories.undo(identifier, self._projects.ids)

    async def _bring_back(self, identifier: str) -> Memory:
        async with self._memories.changing:
            memory = await self._memories.get(identifier, self._projects.ids)
            if (back := restored(memory)) is None:
                return memory  # restored meanwhile
            used = replace(back, usage=replace(back.usage, last=self._now()))
            await self._memories.keep([used])
            return used

    async def forget(self, identifier: str) -> None:
        """Erase a memory with its versions and what quotes it, from disk too.

        Callers must have recorded the erasure with `PendingErasures.record`.
        """
        await self._memories.erase(identifier, self._projects.ids)

    async def as_of(self, identifier: str, moment: datetime) -> Memory:
        """Return a memory as of `moment`.

        Raises NotFound when it said nothing then.
        """
        memory = await self._memories.get(identifier, self._projects.ids)
        held = holding(await self._memories.history(memory.id, self._projects.ids), moment)
        if held is None:
            raise NotFound(f"'{identifier}' has no value on {moment:%Y-%m-%d}", field="as_of")
        return held

    # Facts

    async def fact(self, request: FactRequest) -> dict[str, Any]:
        """Return the value of a key, its history, and the rejected claims."""
        project, branch = None, request.branch
        if request.project is not None:
            known, tree = self._projects.find(request.project)
            project, branch = known.id, request.branch if request.branch is not None else tree.branch or None
        scope = request.scope or (Scope.PROJECT if project else Scope.USER)
        categories = (request.category,) if request.category else (*CATEGORIES, None)
        places = [
            place_id(project=project, scope=scope, category=category, key=request.key, branch=on)
            for on in dict.fromkeys((branch, None))
            for category in categories
        ]
        heads = await self._memories.known(places, project)
        for place in places:
            if (head := heads.get(place)) is None:
                continue
            family = await self._memories.family(place, project)
            held = holding(family, request.as_of or self._now())
            if held is not None or request.as_of is not None or len(heads) == 1:
                return {
                    "fact": memory_json(held) if held else None,
                    "changes": changes(head, family),
                    "rejected": [memory_json(one) for one in family if _was_rejected(one)],
                }
        raise NotFound(f"nothing is known about {request.key!r}", field="key")

    async def with_moments(
        self, request: SearchRequest, found: dict[str, Any], facts: Iterable[Memory]
    ) -> dict[str, Any]:
        """Prepend fact histories to search results for questions like "when did X change"."""
        if not asks_when(request.query):
            return found
        told = []
        for fact in meant(request.query, facts):
            changed = changes(fact, await self._memories.family(fact.id, fact.project))
            if len(changed) > 1:
                told.append(_moments(fact, changed))
        shown = {result["id"] for result in told}
        others = [result for result in found["results"] if result["id"] not in shown]
        results = [*told, *others][: request.k]
        status = "ok" if results and found["status"] == "empty" else found["status"]
        return {**found, "results": results, "status": status}

    async def share(self, request: ShareRequest) -> dict[str, Any]:
        """Return the shareable memories of a project as repository files.

        Nothing is written.
        """
        return await self._sharing.files(request)


def asks_when(query: str) -> bool:
    """Return True if a query asks when something changed."""
    return _WHEN.search(query) is not None


def meant(query: str, facts: Iterable[Memory]) -> list[Memory]:
    """Return the facts that a query may be about, best first.

    Compares the words of key and value.
    """
    asked = set(terms(query))
    scored = []
    for fact in facts:
        told = set(terms(f"{fact.key} {fact.value} {fact.source.get('instead_of', '')}"))
        if fact.key and (shared := len(asked & told)):
            scored.append((-shared / len(told) ** 0.5, fact.id, fact))
    return [fact for *_, fact in sorted(scored, key=lambda one: one[:2])[:MOST_MEANT]]


def _moments(fact: Memory, changed: Sequence[dict[str, Any]]) -> dict[str, Any]:
    steps = "; ".join(f"{one['at'][:10]}: {one['from'] or '–'} → {one['to'] or '–'}" for one in changed)
    return {
        "id": fact.id,
        "ref": fact.ref,
        "kind": str(fact.kind),
        "title": fact.title,
        "snippet": f"{fact.key}: {steps}",
        "score": 1.0,
        "reasons": [f"changed {len(changed) - 1} times"],
        "source": {**fact.source, "changes": list(changed)},
    }


def changes(head: Memory, family: Sequence[Memory]) -> list[dict[str, Any]]:
    """Return the changes of a key's value, with time, values and source, oldest first."""
    told: list[dict[str, Any]] = []
    before: Memory | None = None
    for version in reversed(chain(head, {one.id: one for one in family})):
        if version.status is Status.ARCHIVED:
            continue
        if before is None or not same_value(before, version):
            told.append(
                {
                    "at": iso(since(version)),
                    "from": before.value if before is not None else None,
                    "to": version.value,
                    "source": dict(version.source),
                    "id": version.id,
                }
            )
        before = version
    if before is not None and before.valid_to is not None:
        told.append({"at": iso(before.valid_to), "from": before.value, "to": None, "source": {}, "id": before.id})
    return told


def _was_rejected(memory: Memory) -> bool:
    return memory.status is Status.ARCHIVED and any(link.get("type") == "rejected_for" for link in memory.links)


def _understood(ruling: Ruling, draft: MemoryDraft) -> dict[str, Any]:
    memory = ruling.memory
    told: dict[str, Any] = {"id": memory.id, "verdict": str(ruling.verdict)}
    for name, value in (
        ("category", memory.category),
        ("key", memory.key),
        ("value", memory.value),
        ("branch", memory.branch),
        ("instead_of", memory.source.get("instead_of")),
        ("reason", memory.source.get("reason")),
    ):
        if value:
            told[name] = value
    against = ruling.against
    if against is not None and ruling.verdict in (Verdict.REPLACED, Verdict.REJECTED):
        name = "replaced" if ruling.verdict is Verdict.REPLACED else "rejected_for"
        told[name] = {"id": against.id, "value": against.value or against.title, "since": iso(since(against))}
    if ruling.conflicting:
        conflicts = (one for one in ruling.change.memories if one.kind is Kind.CONTRADICTION)
        told["contradiction"] = next(one.id for one in conflicts if one.status is Status.ACTIVE)
    sent, kept = (f"{one.title}\n{one.content}\n{one.value or ''}" for one in (draft, memory))
    if secrets := taken_out(sent, kept):
        told["redacted"] = list(secrets)
    return told
