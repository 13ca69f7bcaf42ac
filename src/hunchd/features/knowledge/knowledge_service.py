"""Service that stores, finds, edits and erases memories, and shows how facts changed."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from hunchd.consolidation.aging import restore
from hunchd.core.memory.fact_parsing import complete_patch
from hunchd.core.memory.memory_service import MemoryService
from hunchd.core.memory.session_log import head_from_memory, message_from_memory
from hunchd.core.projects.open_projects import OpenProjects
from hunchd.domain.errors import Conflict, NotFound
from hunchd.domain.facts import (
    CATEGORIES,
    ClaimOutcome,
    ClaimResolution,
    find_valid_version,
    get_valid_from,
    is_same_value,
    list_versions,
    slot_id,
)
from hunchd.domain.memory import Kind, Memory, Scope, Status, Trust
from hunchd.features.knowledge.documents import DocumentService
from hunchd.features.knowledge.draft_validation import DraftValidator
from hunchd.features.knowledge.shared_files import SharedFileBuilder
from hunchd.features.knowledge.standing import describe_standing
from hunchd.ingestion.redaction import find_new_redactions
from hunchd.protocol.knowledge_answers import (
    EarlierValue,
    FactAnswer,
    IdsAnswer,
    SharedFilesAnswer,
    UnderstoodAnswer,
    ValueChange,
)
from hunchd.protocol.memories import MemoryDraft, MemoryFields, memory_to_record
from hunchd.protocol.requests import FactRequest, SearchRequest, ShareRequest
from hunchd.protocol.responses import format_iso, make_rejection, to_json
from hunchd.protocol.search_results import SearchAnswer, SearchResult
from hunchd.text.words import extract_terms

MAX_MATCHING_FACTS: Final = 3  # maximum number of facts whose history is added to an answer
_WHEN_PATTERN: Final = re.compile(
    r"\bwhen\b.*\b(?:chang|switch|mov|replac|renam|start|stop|beg[ai]n|adopt|drop|migrat|becom|us(?:e|ing))"
    r"|\bwhat (?:was|were|did)\b.*\b(?:before|previously|earlier|used to)\b|\bsince when\b",
    re.IGNORECASE,
)


class KnowledgeService:
    """Service behind the routes for memories and facts."""

    def __init__(
        self,
        memories: MemoryService,
        projects: OpenProjects,
        unresolve: Callable[[str], Awaitable[object]],
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._memories = memories
        self._projects = projects
        self._now = now
        self.documents = DocumentService(memories, projects, now=now)
        self._unresolve = unresolve  # takes back the resolution of a contradiction
        self._shared_file_builder = SharedFileBuilder(memories, projects)
        self._draft_validator = DraftValidator(memories, projects)

    # Memories

    async def store_drafts(self, drafts: Sequence[MemoryDraft], owners: Sequence[str | None]) -> IdsAnswer:
        """Store `drafts`; return the ids and how each draft was understood.

        Rejected drafts are reported with their numbers in the batch. If all drafts are rejected, the first error is
        raised.
        """
        valid_drafts, rejections = await self._draft_validator.validate(list(zip(drafts, owners, strict=True)))
        if rejections and not valid_drafts:
            raise rejections[0][1]
        parsed_drafts = [draft for draft, _ in valid_drafts]
        rulings = await self._memories.store_drafts(parsed_drafts, [owner for _, owner in valid_drafts])
        return IdsAnswer(
            ids=[one.memory.id for one in rulings],
            understood=[_describe_ruling(one, draft) for one, draft in zip(rulings, parsed_drafts, strict=True)],
            rejected=[make_rejection(number, error) for number, error in rejections],
        )

    async def edit(self, identifier: str, patch: MemoryFields) -> Memory:
        """Change some fields of a memory.

        If the text changes, it is parsed again. Raises Conflict if the memory is the statement of another member of
        the team, or a message or the metadata of a session.
        """
        memory = await self._memories.get(identifier, self._projects.ids)
        if memory.trust is Trust.TEAM:
            place = f" --key '{memory.key}'" if memory.kind is Kind.FACT and memory.key else ""
            raise Conflict(
                f"{memory.source['by']} said this, and only {memory.source['by']} can change it",
                hint=f"state your own with `hunch remember{place} …`, then decide with `hunch contradictions`",
            )
        if message_from_memory(memory) is not None or head_from_memory(memory) is not None:
            raise Conflict(
                f"'{identifier}' is part of a session's log, which cannot be changed",
                hint=f"run `hunch forget {identifier}` or `hunch sessions delete {memory.source['session']}`",
            )
        if memory.kind is Kind.DOCUMENT and memory.category == "document" and "content" in patch:
            return await self.documents.edit(memory, patch)
        return await self._memories.edit(identifier, complete_patch(memory, patch), self._projects.ids)

    async def undo(self, identifier: str) -> Memory:
        """Undo the last change to a memory or document.

        If the memory is a contradiction, its resolution is undone. If it was archived because it was not used, it
        is restored.
        """
        memory = await self._memories.get(identifier, self._projects.ids)
        if restore(memory) is not None:  # archived because it was not used
            return await self._restore_archived(identifier)
        if memory.kind is Kind.CONTRADICTION:
            await self._unresolve(identifier)
            return await self._memories.get(identifier, self._projects.ids)
        if memory.kind is Kind.DOCUMENT and memory.category == "document":
            return await self.documents.undo(memory)
        return await self._memories.undo(identifier, self._projects.ids)

    async def _restore_archived(self, identifier: str) -> Memory:
        async with self._memories.change_lock:
            memory = await self._memories.get(identifier, self._projects.ids)
            if (back := restore(memory)) is None:
                return memory  # restored meanwhile
            restored_memory = replace(back, usage=replace(back.usage, last=self._now()))
            await self._memories.store([restored_memory])
            return restored_memory

    async def get_memory_as_of(self, identifier: str, moment: datetime) -> Memory:
        """Return the version of a memory that was valid at `moment`.

        Raises NotFound if no version was valid then.
        """
        memory = await self._memories.get(identifier, self._projects.ids)
        version = find_valid_version(await self._memories.list_history(memory.id, self._projects.ids), moment)
        if version is None:
            raise NotFound(f"'{identifier}' has no value on {moment:%Y-%m-%d}", field="as_of")
        return version

    # Facts

    async def get_fact(self, request: FactRequest) -> FactAnswer:
        """Return a key's value with its history and its rejected claims.

        Raises NotFound if nothing is known about the key.
        """
        project, branch = None, request.branch
        if request.project is not None:
            open_project, tree = self._projects.find(request.project)
            project, branch = open_project.id, request.branch if request.branch is not None else tree.branch or None
        scope = request.scope or (Scope.PROJECT if project else Scope.USER)
        categories = (request.category,) if request.category else (*CATEGORIES, None)
        slot_ids = [
            slot_id(project=project, scope=scope, category=category, key=request.key, branch=on)
            for on in dict.fromkeys((branch, None))
            for category in categories
        ]
        heads = await self._memories.find(slot_ids, project)
        for place in slot_ids:
            if (head := heads.get(place)) is None:
                continue
            family = await self._memories.list_family(place, project)
            version = find_valid_version(family, request.as_of or self._now())
            if version is not None or request.as_of is not None or len(heads) == 1:
                return FactAnswer(
                    fact=memory_to_record(version) if version else None,
                    changes=list_value_changes(head, family),
                    rejected=[memory_to_record(one) for one in family if _was_rejected(one)],
                )
        raise NotFound(f"nothing is known about {request.key!r}", field="key")

    async def add_fact_histories(
        self, request: SearchRequest, answer: SearchAnswer, facts: Iterable[Memory], conflicts: Iterable[Memory]
    ) -> SearchAnswer:
        """Add the histories of matching facts to the answer to a query about change.

        An example of such a query is "when did X change". The histories come before the other results. Of decisions,
        the answer always says what they replaced, and of facts what contradicts them (`conflicts`).
        """
        facts = list(facts)
        result_ids = {one.id for one in answer.results}
        decisions = [
            one for one in facts if one.id in result_ids and one.category == "decision" and not answer.degraded
        ]
        decisions = decisions[:MAX_MATCHING_FACTS]
        fact_histories = [[one, *await self._memories.list_replaced([one])] for one in decisions]
        answer = answer.with_results(describe_standing(answer.results, conflicts, fact_histories))
        if not is_about_change(request.query):
            return answer
        histories = []
        for fact in find_matching_facts(request.query, facts):
            value_changes = list_value_changes(fact, await self._memories.list_family(fact.id, fact.project))
            if len(value_changes) > 1:
                histories.append(_history_to_result(fact, value_changes))
        history_ids = {result.id for result in histories}
        others = [result for result in answer.results if result.id not in history_ids]
        return answer.with_results([*histories, *others][: request.k])

    async def build_shared_files(self, request: ShareRequest) -> SharedFilesAnswer:
        """Return the shareable memories of a project as files for the repository.

        No file is written.
        """
        return await self._shared_file_builder.build_files(request)


def is_about_change(query: str) -> bool:
    """Return True if a query asks when something changed."""
    return _WHEN_PATTERN.search(query) is not None


def find_matching_facts(query: str, facts: Iterable[Memory]) -> list[Memory]:
    """Return the facts that a query may be about, best first.

    The words of the query are compared with the words in the facts' keys and values.
    """
    query_terms = set(extract_terms(query))
    scored_facts = []
    for fact in facts:
        fact_terms = set(extract_terms(f"{fact.key} {fact.value} {fact.source.get('instead_of', '')}"))
        if fact.key and (shared_count := len(query_terms & fact_terms)):
            scored_facts.append((-shared_count / len(fact_terms) ** 0.5, fact.id, fact))
    return [fact for *_, fact in sorted(scored_facts, key=lambda one: one[:2])[:MAX_MATCHING_FACTS]]


def _history_to_result(fact: Memory, value_changes: Sequence[ValueChange]) -> SearchResult:
    steps = "; ".join(f"{one.at[:10]}: {one.before or '–'} → {one.after or '–'}" for one in value_changes)
    return SearchResult(
        id=fact.id,
        ref=fact.ref,
        kind=str(fact.kind),
        title=fact.title,
        snippet=f"{fact.key}: {steps}",
        score=1.0,
        reasons=[f"changed {len(value_changes) - 1} times"],
        source={**fact.source, "changes": to_json(value_changes)},
    )


def list_value_changes(head: Memory, family: Sequence[Memory]) -> list[ValueChange]:
    """Return the changes to a key's value, oldest first.

    Each change has its time, the values before and after, and the source.
    """
    value_changes: list[ValueChange] = []
    before: Memory | None = None
    for version in reversed(list_versions(head, {one.id: one for one in family})):
        if version.status is Status.ARCHIVED:
            continue
        if before is None or not is_same_value(before, version):
            value_changes.append(
                ValueChange(
                    at=format_iso(get_valid_from(version)),
                    before=before.value if before is not None else None,
                    after=version.value,
                    source=dict(version.source),
                    id=version.id,
                )
            )
        before = version
    if before is not None and before.valid_to is not None:
        value_changes.append(
            ValueChange(at=format_iso(before.valid_to), before=before.value, after=None, source={}, id=before.id)
        )
    return value_changes


def _was_rejected(memory: Memory) -> bool:
    return memory.status is Status.ARCHIVED and any(link.get("type") == "rejected_for" for link in memory.links)


def _describe_ruling(ruling: ClaimResolution, draft: MemoryDraft) -> UnderstoodAnswer:
    memory, against = ruling.memory, ruling.compared_with
    earlier = (
        EarlierValue(id=against.id, value=against.value or against.title, since=format_iso(get_valid_from(against)))
        if against is not None
        else None
    )
    conflicts = (one for one in ruling.change.memories if one.kind is Kind.CONTRADICTION)
    sent_text, stored_text = (f"{one.title}\n{one.content}\n{one.value or ''}" for one in (draft, memory))
    return UnderstoodAnswer(
        id=memory.id,
        verdict=ruling.verdict,
        category=memory.category or None,
        key=memory.key or None,
        value=memory.value or None,
        branch=memory.branch or None,
        instead_of=memory.source.get("instead_of") or None,
        reason=memory.source.get("reason") or None,
        replaced=earlier if ruling.verdict is ClaimOutcome.REPLACED else None,
        rejected_for=earlier if ruling.verdict is ClaimOutcome.REJECTED else None,
        contradiction=next(one.id for one in conflicts if one.status is Status.ACTIVE) if ruling.conflicting else None,
        redacted=list(find_new_redactions(sent_text, stored_text)),
    )
