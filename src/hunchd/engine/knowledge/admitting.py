"""Validation of drafts before any is stored: references and refs. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hunchd.domain.errors import Conflict, HunchError, NotFound
from hunchd.domain.facts import place_of
from hunchd.domain.filters import Filters
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.engine.keeping.drafts import memory_id, memory_of
from hunchd.engine.keeping.filing import filed
from hunchd.engine.keeping.memories import Memories
from hunchd.engine.learning.projects import Projects
from hunchd.protocol.memories import MemoryDraft

Owned = tuple[MemoryDraft, str | None]  # (draft, project id)

_STANDING = (Status.ACTIVE, Status.SUSPECT)
# Messages and contradictions cannot be replaced.
_IRREPLACEABLE = (Kind.MESSAGE, Kind.CONTRADICTION)


class Admitting:
    """Validator of drafts."""

    def __init__(self, memories: Memories, projects: Projects) -> None:
        self._memories = memories
        self._projects = projects

    async def of(self, drafts: Sequence[Owned]) -> tuple[list[Owned], list[tuple[int, HunchError]]]:
        """Return the valid drafts, parsed by the rules, and the rejected ones by number.

        Rejected are drafts that replace a memory that does not exist, or that give a ref in use another key.
        """
        holders = await self._holders(drafts)
        admitted: list[Owned] = []
        refused: list[tuple[int, HunchError]] = []
        for place, (draft, owner) in enumerate(drafts):
            holder = holders.get((owner, draft.ref or ""))
            try:
                if draft.supersedes is not None and not (holder and holder.supersedes == draft.supersedes):
                    await self._refuse_unknown(draft, draft.supersedes, owner)
                told = filed(draft)
                if draft.ref is not None:
                    memory = memory_of(told, owner, self._memories.now())
                    told = _with_one_place(draft, told, memory, holder)
                    holders[owner, draft.ref] = memory
                admitted.append((told, owner))
            except (NotFound, Conflict) as error:
                refused.append((place if draft.number is None else draft.number, error))
        return admitted, refused

    async def _holders(self, drafts: Sequence[Owned]) -> dict[tuple[str | None, str], Memory]:
        """Return the memories that have the refs of `drafts`, by project and ref.

        They are stored under the id of the ref, or, for facts with a key, under that of their slot.
        """
        found: dict[tuple[str | None, str], Memory] = {}
        for owner in {owner for draft, owner in drafts if draft.ref is not None}:
            refs = {draft.ref for draft, of in drafts if draft.ref is not None and of == owner}
            by_id = {memory_id(owner, ref): ref for ref in refs}
            lying = await self._memories.known(list(by_id), owner)
            found |= {(owner, by_id[name]): memory for name, memory in lying.items()}
            facts = self._memories.at_hand(Filters(project=owner, kinds=(Kind.FACT,), statuses=_STANDING))
            held = {fact.ref: fact for fact in reversed(facts) if fact.ref in refs and place_of(fact) is not None}
            found |= {(owner, ref): fact for ref, fact in held.items() if ref is not None}
        return found

    async def _refuse_unknown(self, draft: MemoryDraft, named: str, owner: str | None) -> None:
        field = draft.called("supersedes")
        try:
            memory = await self._memories.get(named, self._projects.ids)
        except NotFound as error:
            raise NotFound(error.message, field=field, hint="omit it if nothing is replaced") from error
        why = ""
        if memory.project != owner:
            why = "belongs to another project than its replacement"
        elif "." in named:
            why = f"is what '{named.partition('.')[0]}' said before; history cannot be changed"
        elif memory.kind in _IRREPLACEABLE:
            why = f"is a {memory.kind}, which cannot be replaced"
        if why:
            raise Conflict(f"'{named}' {why}", field=field)


def _with_one_place(draft: MemoryDraft, told: MemoryDraft, memory: Memory, holder: Memory | None) -> MemoryDraft:
    """Resolve a ref that `holder` has already.

    Raises Conflict if the caller named another key. If only the rules read another key, the ref decides: the holder is
    superseded.
    """
    if holder is None or holder.id == memory.id or holder.status not in _STANDING:
        return told
    if draft.key is None:
        return told if told.supersedes is not None else replace(told, supersedes=holder.id)
    has = f"the fact with the key {holder.key!a}" if place_of(holder) else "another memory"
    raise Conflict(
        f"the ref {draft.ref!a} belongs to {has}, not to one with the key {draft.key!a}",
        field=draft.called("ref"),
        hint=f"PATCH /memories/{holder.id} changes the key of that one; or send this one with another ref",
    )
