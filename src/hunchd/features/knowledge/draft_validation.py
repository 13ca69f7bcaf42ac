"""Validation of drafts before any of them is stored.

The check covers the refs of the drafts and the memories that they replace. It reads memories but writes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hunchd.core.memory.drafts import draft_to_memory, memory_id
from hunchd.core.memory.fact_parsing import parse_draft
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.domain.errors import Conflict, HunchError, NotFound
from hunchd.domain.facts import slot_of
from hunchd.domain.filters import Filters
from hunchd.domain.kinds import describe
from hunchd.domain.memory import Kind, Memory, Status
from hunchd.protocol.memories import MemoryDraft

OwnedDraft = tuple[MemoryDraft, str | None]  # (draft, project id)

_VALID_STATUSES = (Status.ACTIVE, Status.SUSPECT)


class DraftValidator:
    """Validator for drafts of memories."""

    def __init__(self, memories: MemoryService, projects: OpenProjects) -> None:
        self._memories = memories
        self._projects = projects

    async def validate(self, drafts: Sequence[OwnedDraft]) -> tuple[list[OwnedDraft], list[tuple[int, HunchError]]]:
        """Return the valid drafts, and the errors in the others.

        The valid drafts are completed by the parser. Each error comes with the number of its draft. A draft is
        rejected if it replaces a memory that does not exist or cannot be replaced, or if it has a ref that belongs
        to a memory with a different key.
        """
        holders = await self._find_ref_holders(drafts)
        valid_drafts: list[OwnedDraft] = []
        rejections: list[tuple[int, HunchError]] = []
        for place, (draft, owner) in enumerate(drafts):
            holder = holders.get((owner, draft.ref or ""))
            try:
                if draft.supersedes is not None and not (holder and holder.supersedes == draft.supersedes):
                    await self._check_replaceable(draft, draft.supersedes, owner)
                parsed_draft = parse_draft(draft)
                if draft.ref is not None:
                    memory = draft_to_memory(parsed_draft, owner, self._memories.now())
                    parsed_draft = _resolve_ref_holder(draft, parsed_draft, memory, holder)
                    holders[owner, draft.ref] = memory
                valid_drafts.append((parsed_draft, owner))
            except (NotFound, Conflict) as error:
                rejections.append((place if draft.number is None else draft.number, error))
        return valid_drafts, rejections

    async def _find_ref_holders(self, drafts: Sequence[OwnedDraft]) -> dict[tuple[str | None, str], Memory]:
        """Return the memories that have the refs of `drafts`.

        They are keyed by project and ref. Such a memory is stored under an id derived from its ref or, if it is a
        fact with a key, under an id derived from that key.
        """
        holders: dict[tuple[str | None, str], Memory] = {}
        for owner in {owner for draft, owner in drafts if draft.ref is not None}:
            refs = {draft.ref for draft, of in drafts if draft.ref is not None and of == owner}
            by_id = {memory_id(owner, ref): ref for ref in refs}
            by_ref_id = await self._memories.find(list(by_id), owner)
            holders |= {(owner, by_id[name]): memory for name, memory in by_ref_id.items()}
            facts = self._memories.list_cached(Filters(project=owner, kinds=(Kind.FACT,), statuses=_VALID_STATUSES))
            facts_by_ref = {
                fact.ref: fact for fact in reversed(facts) if fact.ref in refs and slot_of(fact) is not None
            }
            holders |= {(owner, ref): fact for ref, fact in facts_by_ref.items() if ref is not None}
        return holders

    async def _check_replaceable(self, draft: MemoryDraft, replaced_id: str, owner: str | None) -> None:
        field = draft.qualified_name("supersedes")
        try:
            memory = await self._memories.get(replaced_id, self._projects.ids)
        except NotFound as error:
            raise NotFound(
                error.message, field=field, hint="omit this field if the draft does not replace a memory"
            ) from error
        why = ""
        if memory.project != owner:
            why = "belongs to a different project than the memory that would replace it"
        elif "." in replaced_id:
            why = f"is an earlier version of '{replaced_id.partition('.')[0]}'; history cannot be changed"
        elif not describe(memory.kind).can_be_superseded:
            why = f"is a {memory.kind}, which cannot be replaced"
        if why:
            raise Conflict(f"'{replaced_id}' {why}", field=field)


def _resolve_ref_holder(
    draft: MemoryDraft, parsed_draft: MemoryDraft, memory: Memory, holder: Memory | None
) -> MemoryDraft:
    """Return the draft to store if its ref may be used for it.

    `holder` is the memory that already has the ref, if there is one. Raises Conflict if `holder` is a different
    memory and the caller gave a key. If only the parser found a different key in the text, the ref decides: the
    draft supersedes `holder`.
    """
    if holder is None or holder.id == memory.id or holder.status not in _VALID_STATUSES:
        return parsed_draft
    if draft.key is None:
        return parsed_draft if parsed_draft.supersedes is not None else replace(parsed_draft, supersedes=holder.id)
    has = f"the fact with the key {holder.key!a}" if slot_of(holder) else "another memory"
    raise Conflict(
        f"the ref {draft.ref!a} belongs to {has}, not to a fact with the key {draft.key!a}",
        field=draft.qualified_name("ref"),
        hint=f"change the key of that memory with PATCH /memories/{holder.id}, or use a different ref",
    )
